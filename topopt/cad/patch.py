"""A patch: the part of a body's boundary that a support or a load acts on."""

from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from topopt.cad.body import Surface
from topopt.cad.closest import TriangleTree
from topopt.errors import DesignError

Points = NDArray[np.float64]
Numbers = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Cylinder:
    """A full cylindrical face, exactly.

    Attributes:
        point: a point of the axis. (3,), mm.
        direction: unit direction of the axis. (3,)
        radius: mm.
        low, high: its ends, measured from `point` along `direction`, mm.
        hollow: a hole, seen from inside.
    """

    point: Points
    direction: Points
    radius: float
    low: float
    high: float
    hollow: bool

    @property
    def area(self) -> float:
        return 2 * np.pi * self.radius * (self.high - self.low)

    def frame(self) -> tuple[Points, Points]:
        """Two unit vectors across the axis; with it they are right-handed."""
        u = np.cross(np.eye(3)[np.argmin(np.abs(self.direction))], self.direction)
        u = u / np.linalg.norm(u)
        return u, np.cross(self.direction, u)

    def polar(self, points: Points) -> tuple[Numbers, Numbers, Points]:
        """Distance from the axis (n,), position along it (n,), unit radial direction (n, 3)."""
        offset = points - self.point
        along = offset @ self.direction
        radial = offset - along[:, None] * self.direction
        distance = np.linalg.norm(radial, axis=1)
        on_axis = distance < 1e-12 * max(self.radius, 1.0)
        safe = np.where(on_axis, 1.0, distance)
        return distance, along, np.where(on_axis[:, None], self.frame()[0], radial / safe[:, None])

    def closest(self, points: Points) -> tuple[Points, Points]:
        """Closest points and the outward normals of the body there. points : (n, 3) -> (n, 3), (n, 3)."""
        _, along, radial = self.polar(points)
        foot = self.point + np.clip(along, self.low, self.high)[:, None] * self.direction + self.radius * radial
        return foot, -radial if self.hollow else radial

    def sample(self, spacing: float) -> tuple[Points, Numbers, Points]:
        """Midpoints of equal cells of about `spacing`: points (n, 3), areas (n,), normals (n, 3)."""
        rows = max(1, int(np.ceil((self.high - self.low) / spacing)))
        # Never fewer than 12 around: sums of sine and cosine, hence resultants, are then exact.
        columns = max(12, 4 * int(np.ceil(2 * np.pi * self.radius / spacing / 4)))
        angle = (np.arange(columns) + 0.5) * 2 * np.pi / columns
        u, v = self.frame()
        radial = np.cos(angle)[:, None] * u + np.sin(angle)[:, None] * v
        along = self.low + (np.arange(rows) + 0.5) * (self.high - self.low) / rows
        points = self.point + along[:, None, None] * self.direction + self.radius * radial
        normals = np.broadcast_to(-radial if self.hollow else radial, points.shape)
        count = rows * columns
        return points.reshape(-1, 3), np.full(count, self.area / count), normals.reshape(-1, 3)


@dataclass(frozen=True, eq=False)
class Patch:
    """Triangles of a body's boundary, and the exact cylinders they stand for where they do.

    Attributes:
        triangles: corners, (k, 3, 3), mm, counter-clockwise from outside.
        name: the selector in words, for messages.
        cylinders: exact geometry if the patch consists of full cylinders; empty otherwise.
        boundary: the whole boundary of the body, to tell whether the patch is what is nearest; None: unknown.
    """

    triangles: Points
    name: str
    cylinders: tuple[Cylinder, ...] = ()
    boundary: Surface | None = field(default=None, repr=False)

    @property
    def cylinder(self) -> Cylinder | None:
        """The exact cylinder if the patch is one."""
        return self.cylinders[0] if len(self.cylinders) == 1 else None

    @property
    def area(self) -> float:
        """mm2."""
        if self.cylinders:
            return float(sum(c.area for c in self.cylinders))
        return float(np.linalg.norm(self._vectors, axis=1).sum())

    @property
    def centroid(self) -> Points:
        """Centre of the area, (3,), mm."""
        if self.cylinders:
            middles = [c.point + c.direction * (c.low + c.high) / 2 for c in self.cylinders]
            return np.average(middles, axis=0, weights=[c.area for c in self.cylinders])
        return np.average(self.triangles.mean(axis=1), axis=0, weights=np.linalg.norm(self._vectors, axis=1))

    @property
    def normals(self) -> Points:
        """Outward unit normals of the triangles, (k, 3)."""
        return self._vectors / np.linalg.norm(self._vectors, axis=1)[:, None]

    def sample(self, spacing: float) -> tuple[Points, Numbers, Points]:
        """A quadrature of the patch: points (n, 3), areas (n,) that sum to `area`, outward normals (n, 3).

        Triangles are cut along a raster of cubes of edge `spacing` mm; what lies in one cube and in one plane is one
        point at its centroid. Constant and linear tractions are integrated exactly.

        Raises:
            DesignError: the spacing is not positive.
        """
        if not spacing > 0:
            raise DesignError(f"the spacing of samples must be positive, not {spacing}")
        if self.cylinders:
            parts = [c.sample(spacing) for c in self.cylinders]
            points, areas, normals = (np.concatenate(column) for column in zip(*parts, strict=True))
            return points, areas, normals
        cells, owner, areas, points = _cut(self.triangles, spacing)
        _, first, plane = np.unique(np.round(self.normals, 9), axis=0, return_index=True, return_inverse=True)
        size = cells.max(axis=0) + 1
        key = np.ravel_multi_index(tuple(cells.T), tuple(size)) * len(first) + plane.ravel()[owner]
        key, group = np.unique(key, return_inverse=True)
        total = np.bincount(group, weights=areas)
        sums = [np.bincount(group, weights=areas * points[:, axis]) for axis in range(3)]
        return np.stack(sums, axis=1) / total[:, None], total, self.normals[first[key % len(first)]]

    def closest(self, points: Points) -> tuple[Points, Points]:
        """Closest points of the patch and the body's outward normals there. points : (n, 3) -> (n, 3), (n, 3)."""
        points = np.asarray(points, float).reshape(-1, 3)
        if not self.cylinders:
            foot, triangle = self._tree.closest(points)
            return foot, self.normals[triangle]
        foot, normal = self.cylinders[0].closest(points)
        best = np.linalg.norm(points - foot, axis=1)
        for other in self.cylinders[1:]:
            its_foot, its_normal = other.closest(points)
            distance = np.linalg.norm(points - its_foot, axis=1)
            nearer = distance < best
            foot[nearer], normal[nearer], best[nearer] = its_foot[nearer], its_normal[nearer], distance[nearer]
        return foot, normal

    def distance(self, points: Points) -> tuple[Numbers, Points]:
        """Exact distance to the patch, mm, and the outward normal at the closest point. points : (n, 3)."""
        foot, normal = self.closest(points)
        return np.linalg.norm(np.asarray(points, float).reshape(-1, 3) - foot, axis=1), normal

    @cached_property
    def _vectors(self) -> Points:
        return _area_vectors(self.triangles)

    @cached_property
    def _tree(self) -> TriangleTree:
        return TriangleTree.of(self.triangles)


def _cut(triangles: Points, spacing: float) -> tuple[NDArray[np.int64], NDArray[np.int64], Numbers, Points]:
    """Pieces of triangles in a raster: cells (n, 3) from 0, triangle numbers (n,), areas (n,), centroids (n, 3)."""
    from topopt.cad.raster_loops import cut_by_raster  # compiles on first use

    triangles = np.ascontiguousarray(triangles, float)
    # Off the corners a little, so that a plane face is not torn between two layers of cubes by rounding.
    origin = triangles.min(axis=(0, 1)) - 1e-6 * spacing
    count = 0
    for _ in range(2):
        cells, owners = np.empty((count, 3), np.int64), np.empty(count, np.int64)
        areas, centroids = np.empty(count), np.empty((count, 3))
        count = cut_by_raster(triangles, origin, float(spacing), cells, owners, areas, centroids)
    return cells, owners, areas, centroids


def _area_vectors(triangles: Points) -> Points:
    return np.cross(triangles[:, 1] - triangles[:, 0], triangles[:, 2] - triangles[:, 0]) / 2

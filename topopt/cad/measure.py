"""Figures of a surface that prove what was exported: open edges, pieces, the radius of a hole."""

import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike, NDArray
from scipy.sparse.csgraph import connected_components

from topopt.cad.body import Points, Surface
from topopt.errors import ExportError

BAND = 0.1  # share of the radius within which a facet counts as wall of the hole
FACING = 0.9  # cosine between the normal of a facet of the wall and the radius
LEAST_ARC = 2 * np.pi / 3  # of the wall that must be there: a fillet is no hole, half a slot's end is enough
MOST_OFF_AXIS = 0.1  # share of the radius


def open_edges(faces: NDArray[np.int64]) -> int:
    """Edges that are not shared by exactly two triangles of opposite direction. faces : (m, 3)."""
    edges = np.concatenate([faces[:, [0, 1]], faces[:, [1, 2]], faces[:, [2, 0]]])
    n = int(faces.max()) + 1
    forward, counts = np.unique(edges[:, 0] * n + edges[:, 1], return_counts=True)
    backward = np.unique(edges[:, 1] * n + edges[:, 0])
    return int((counts > 1).sum() + len(np.setxor1d(forward, backward)))


def count_components(surface: Surface) -> int:
    """Connected pieces of material: shells that enclose positive volume. Closed cavities do not count."""
    n, faces = len(surface.vertices), surface.faces
    links = sp.coo_matrix((np.ones(2 * len(faces)), (faces[:, [0, 1]].ravel("F"), faces[:, [1, 2]].ravel("F"))), (n, n))
    _, shell = connected_components(links, directed=False)
    volume = np.bincount(shell[faces[:, 0]], np.einsum("ij,ij->i", surface.corners.mean(axis=1), surface.normals) / 3)
    return int((volume > 0).sum())


def measure_hole_radius(surface: Surface, axis_point: ArrayLike, axis_direction: ArrayLike, radius: float) -> float:
    """Radius in mm of the circle of least squares through the wall of a hole or a round (Gauss-Newton, free centre).

    The wall are the facets whose corners lie within 10 % of the radius and which face the axis or turn their back on
    it. Vertices that lie off the circle by more than five times the median are no part of it: a smoothed surface runs
    past there.

    Args:
        axis_point: a point of the axis, (3,), mm.
        axis_direction: its direction, (3,), any length.
        radius: where to look, mm.

    Raises:
        ExportError: less than a third of the circle is there, or its centre is off the axis.
    """
    axis = np.asarray(axis_direction, float) / np.linalg.norm(axis_direction)
    side = np.cross(axis, np.eye(3)[np.argmin(np.abs(axis))])
    side /= np.linalg.norm(side)
    plane = np.stack([side, np.cross(axis, side)], axis=1)
    points = (surface.vertices - np.asarray(axis_point, float)) @ plane
    points = points[_wall(surface, points, plane, radius)]
    centre, found = np.zeros(2), radius
    for _ in range(3):
        if len(points) < 6 or _arc(points) < LEAST_ARC:
            raise ExportError(f"no wall of radius {radius:g} mm at this axis: {len(points)} vertices lie near it")
        centre, found = _circle(points, radius)
        miss = np.abs(np.linalg.norm(points - centre, axis=1) - found)
        points = points[miss <= 5 * np.median(miss) + 1e-9 * radius]
    if np.linalg.norm(centre) > MOST_OFF_AXIS * radius:
        raise ExportError(f"the hole of radius {radius:g} mm lies {np.linalg.norm(centre):.3g} mm off its axis")
    return float(found)


def _wall(surface: Surface, points: Points, plane: Points, radius: float) -> NDArray[np.int64]:
    """Vertices of the facets that are wall. points : (n, 2) in the plane across the axis."""
    near = np.abs(np.linalg.norm(points, axis=1) - radius) < BAND * radius
    faces = surface.faces[near[surface.faces].all(axis=1)]
    corners = surface.vertices[faces]
    vectors = np.cross(corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0])
    middles = points[faces].mean(axis=1)
    facing = np.abs(np.einsum("ij,ij->i", vectors @ plane, middles))
    return np.unique(faces[facing > FACING * np.linalg.norm(vectors, axis=1) * np.linalg.norm(middles, axis=1)])


def _arc(points: Points) -> float:
    """Angle that is left of the full turn after the largest gap, radians."""
    bearing = np.sort(np.arctan2(points[:, 1], points[:, 0]))
    return float(2 * np.pi - np.diff(bearing, append=bearing[0] + 2 * np.pi).max())


def _circle(points: Points, radius: float) -> tuple[Points, float]:
    centre, found = np.zeros(2), radius
    for _ in range(30):
        offset = points - centre
        distance = np.linalg.norm(offset, axis=1)
        jacobian = np.column_stack([-offset / distance[:, None], -np.ones(len(points))])
        step = np.linalg.lstsq(jacobian, found - distance, rcond=None)[0]
        centre, found = centre + step[:2], found + step[2]
        if np.abs(step).max() < 1e-12 * radius:
            break
    return centre, float(found)

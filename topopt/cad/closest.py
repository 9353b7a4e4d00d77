"""The closest point of a triangulated surface, exactly and for millions of points.

A bounding-volume tree over the triangles (median split of the centroids along the longest side, as in Kay and Kajiya
1986) finds candidates; the closest point of a triangle follows from its seven Voronoi regions (Ericson 2005, sec.
5.1.5). The same tree counts the signed crossings of a ray along z, which tells inside from outside.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Points = NDArray[np.float64]

LEAF = 4  # triangles; fewer costs more boxes, more costs more triangles


@dataclass(frozen=True, eq=False)
class TriangleTree:
    """Triangles sorted into nested boxes.

    Attributes:
        corners: (m, 3, 3), mm, in the order of the leaves.
        order: (m,), number of each of these triangles in the input.
        boxes: (n, 2, 3), lowest and highest corner of every tree node.
        span: (n, 2), the triangles of a node, first and one beyond last.
        right: (n,), the second child of a node (the first one follows it); -1 for a leaf.
    """

    corners: Points
    order: NDArray[np.int64]
    boxes: Points
    span: NDArray[np.int64]
    right: NDArray[np.int64]

    @classmethod
    def of(cls, triangles: Points) -> "TriangleTree":
        """Build from triangle corners, (m, 3, 3) with m >= 1."""
        from topopt.cad.tree_loops import grow  # compiles on first use

        triangles = np.ascontiguousarray(triangles, float)
        order = np.arange(len(triangles))
        most = 2 * len(triangles)
        boxes, span, right = np.empty((most, 2, 3)), np.empty((most, 2), np.int64), np.empty(most, np.int64)
        nodes = grow(triangles, LEAF, order, boxes, span, right)
        return cls(triangles[order], order, boxes[:nodes].copy(), span[:nodes].copy(), right[:nodes].copy())

    def closest(self, points: Points) -> tuple[Points, NDArray[np.int64]]:
        """Closest points and the triangles they lie on. points : (n, 3) -> (n, 3), (n,) int64."""
        points = np.ascontiguousarray(points, float)
        found, which = np.empty_like(points), np.empty(len(points), np.int64)
        from topopt.cad.tree_loops import closest_points  # compiles on first use

        closest_points(points, self.corners, self.boxes, self.span, self.right, found, which)
        return found, self.order[which]

    def inside(self, points: Points) -> NDArray[np.bool_]:
        """Whether the closed surface of these triangles encloses the points. points : (n, 3) -> (n,) bool."""
        points = np.ascontiguousarray(points, float)
        winding = np.empty(len(points), np.int64)
        # Off the raster for the same reason as the rays of the voxels: vertices like round numbers.
        size = float(np.ptp(self.boxes[0], axis=0).max())
        shifted = points + np.array([1.3e-9, 0.7e-9, 0.0]) * size
        from topopt.cad.tree_loops import winding_along_z

        winding_along_z(shifted, self.corners, self.boxes, self.span, self.right, winding)
        return winding > 0

"""Straight-sided quadratic tetrahedra: their nodes, their boundary, and what a traction on the boundary is worth.

A tetrahedron has ten nodes: its four corners, then the middles of its edges (2,3), (1,3), (1,2), (0,3), (0,2), (0,1). A
facet has six: three corners, then the middles of the edges opposite to them. With barycentric coordinates L,

    N_a = L_a (2 L_a - 1)   at a corner,        N_ab = 4 L_a L_b   in the middle of an edge,

and a traction t weighs on node i with f_i = int N_i t dS. Zienkiewicz, Taylor and Zhu (2013), chapter 6.
"""

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from pde.fem.errors import FemError

Field = NDArray[np.float64]
Numbers = NDArray[np.int64]

CELL_EDGES = ((2, 3), (1, 3), (1, 2), (0, 3), (0, 2), (0, 1))
_FACET_EDGES = ((1, 2), (0, 2), (0, 1))
# Corners of the facet opposite to each corner, anticlockwise from outside when the tetrahedron is positive.
_CELL_FACETS = ((1, 2, 3), (0, 3, 2), (0, 1, 3), (0, 2, 1))
_SUBDIVISION = 6


@dataclass(frozen=True)
class QuadraticTetrahedra:
    """A body made of quadratic tetrahedra.

    Args:
        vertices: (n, 3) float64, mm.
        cells: (m, 4) int64, vertex numbers, positively oriented: (b - a) x (c - a) . (d - a) > 0.

    Raises:
        FemError: a shape is wrong, a vertex is used by no cell or does not exist, a cell is flat or inside out.
    """

    vertices: Field
    cells: Numbers

    def __post_init__(self) -> None:
        vertices, cells = np.asarray(self.vertices, float), np.asarray(self.cells, np.int64)
        if vertices.ndim != 2 or vertices.shape[1] != 3 or cells.ndim != 2 or cells.shape[1:] != (4,) or not len(cells):
            raise FemError(f"a mesh needs vertices (n, 3) and cells (m, 4), not {vertices.shape} and {cells.shape}")
        if not np.array_equal(np.unique(cells), np.arange(len(vertices))):
            raise FemError("every vertex of the mesh must belong to a cell, and every cell to vertices that exist")
        object.__setattr__(self, "vertices", vertices)
        object.__setattr__(self, "cells", cells)
        if not (np.isfinite(vertices).all() and (self.volumes > 0).all()):
            raise FemError(
                "the mesh has flat or inside-out tetrahedra: order their corners so that volumes are positive"
            )

    @cached_property
    def volumes(self) -> Field:
        """(m,), mm3."""
        a, b, c, d = np.moveaxis(self.vertices[self.cells], 1, 0)
        return np.einsum("ij,ij->i", np.cross(b - a, c - a), d - a) / 6

    @cached_property
    def edges(self) -> Numbers:
        """(e, 2), lower vertex first, in lexicographic order."""
        return np.unique(np.sort(self.cells[:, CELL_EDGES].reshape(-1, 2), axis=1), axis=0)

    @cached_property
    def nodes(self) -> Field:
        """Corners, then edge middles, (n + e, 3), mm."""
        return np.concatenate([self.vertices, self.vertices[self.edges].mean(axis=1)])

    @cached_property
    def cell_nodes(self) -> Numbers:
        """(m, 10)"""
        return np.hstack([self.cells, self.middles(self.cells[:, CELL_EDGES])])

    @cached_property
    def boundary(self) -> Numbers:
        """Corners of the facets that belong to one cell only, anticlockwise from outside, (k, 3)."""
        facets = self.cells[:, _CELL_FACETS].reshape(-1, 3)
        _, first, count = np.unique(np.sort(facets, axis=1), axis=0, return_index=True, return_counts=True)
        return facets[np.sort(first[count == 1])]

    @cached_property
    def boundary_nodes(self) -> Numbers:
        """(k, 6)"""
        return np.hstack([self.boundary, self.middles(self.boundary[:, _FACET_EDGES])])

    @cached_property
    def boundary_normals(self) -> Field:
        """Outward area vectors, (k, 3), mm2."""
        a, b, c = np.moveaxis(self.vertices[self.boundary], 1, 0)
        return np.cross(b - a, c - a) / 2

    def facet_points(self, facets: Numbers) -> tuple[Field, Field]:
        """Where tractions on boundary facets are sampled.

        Args:
            facets: (k,), rows of `boundary`.

        Returns:
            The points (k, q, 3) in mm and the area that each stands for (k, q) in mm2.
        """
        barycentric, weights = triangle_rule()
        points = np.einsum("qa,kax->kqx", barycentric, self.vertices[self.boundary[facets]])
        areas = np.linalg.norm(self.boundary_normals[facets], axis=1)
        return points, areas[:, None] * weights

    def facet_forces(self, facets: Numbers, tractions: Field) -> Field:
        """Nodal forces of a traction.

        Args:
            facets: (k,), rows of `boundary`.
            tractions: (k, q, 3) in MPa at `facet_points(facets)`, or anything that broadcasts to it.

        Returns:
            (nodes, 3), N.
        """
        L, weights = triangle_rule()
        shapes = np.hstack([L * (2 * L - 1), np.stack([4 * L[:, a] * L[:, b] for a, b in _FACET_EDGES], axis=1)])
        areas = np.linalg.norm(self.boundary_normals[facets], axis=1)
        tractions = np.broadcast_to(tractions, (len(facets), len(weights), 3))
        forces = np.zeros_like(self.nodes)
        np.add.at(forces, self.boundary_nodes[facets], np.einsum("k,q,qi,kqx->kix", areas, weights, shapes, tractions))
        return forces

    def middles(self, pairs: Numbers) -> Numbers:
        """Node numbers of the middles of edges. pairs : (..., 2), vertex numbers -> (...)"""
        n = len(self.vertices)
        low, high = pairs.min(axis=-1), pairs.max(axis=-1)
        return n + np.searchsorted(self.edges[:, 0] * n + self.edges[:, 1], low * n + high)


def triangle_rule() -> tuple[Field, Field]:
    """Barycentric points (q, 3) and weights (q,), sum 1, of a composite rule on a triangle.

    Each of 36 equal sub-triangles carries the three-point rule of degree 2 (Hammer and Stroud 1956): exact for
    resultant and moment of a linear traction, and fine enough to see where the rim of a patch cuts through a facet.
    """
    corners = []
    n = _SUBDIVISION
    for i in range(n):
        for j in range(n - i):
            corners.append([(i, j), (i + 1, j), (i, j + 1)])
            if i + j < n - 1:
                corners.append([(i + 1, j + 1), (i, j + 1), (i + 1, j)])
    inner = np.full((3, 3), 1 / 6) + np.eye(3) / 2
    xy = np.einsum("pa,tax->tpx", inner, np.array(corners, float)).reshape(-1, 2) / n
    return np.column_stack([1 - xy.sum(axis=1), xy]), np.full(len(xy), 1 / len(xy))

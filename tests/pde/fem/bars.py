"""Small meshes with known answers."""

import itertools

import numpy as np
from numpy.typing import NDArray

from pde.fem.quadratic import QuadraticTetrahedra


def box(counts: tuple[int, int, int], size: tuple[float, float, float], jitter: float = 0.0) -> QuadraticTetrahedra:
    """A box at the origin, six tetrahedra around the diagonal of each brick (Kuhn 1960), inner vertices shaken."""
    axes = [np.linspace(0, s, n + 1) for s, n in zip(size, counts, strict=True)]
    vertices = np.stack(np.meshgrid(*axes, indexing="ij"), axis=-1)
    inner = np.random.default_rng(7).uniform(-1, 1, vertices.shape) * np.array(size) / counts * jitter
    for axis in range(3):
        ends = np.moveaxis(inner[..., axis], axis, 0)
        ends[[0, -1]] = 0
    number = np.arange(len(axes[0]) * len(axes[1]) * len(axes[2])).reshape(vertices.shape[:3])
    corner: dict[tuple[int, ...], NDArray[np.int64]] = {
        o: number[tuple(slice(a, a + n) for a, n in zip(o, counts, strict=True))].ravel() for o in np.ndindex(2, 2, 2)
    }
    cells = []
    for order in itertools.permutations(range(3)):
        steps = [np.zeros(3, int)]
        for axis in order:
            steps.append(steps[-1] + np.eye(3, dtype=int)[axis])
        cell = [corner[tuple(int(v) for v in step)] for step in steps]
        odd = np.linalg.det(np.eye(3)[list(order)]) < 0
        cells.append(np.stack(cell if not odd else [cell[0], cell[1], cell[3], cell[2]], axis=1))
    return QuadraticTetrahedra((vertices + inner).reshape(-1, 3), np.concatenate(cells))


def facets_at(mesh: QuadraticTetrahedra, axis: int, value: float) -> NDArray[np.int64]:
    """Boundary facets in the plane x[axis] = value."""
    return np.flatnonzero(np.abs(mesh.vertices[mesh.boundary][:, :, axis] - value).max(axis=1) < 1e-9)


def nodes_at(mesh: QuadraticTetrahedra, axis: int, value: float) -> NDArray[np.bool_]:
    """Nodes in the plane x[axis] = value, (nodes,) bool."""
    return np.abs(mesh.nodes[:, axis] - value) < 1e-9

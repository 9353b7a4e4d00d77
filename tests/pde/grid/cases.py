"""Boundary value problems that several tests share."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from pde.grid import Conduction, Elasticity, Grid, Physics

Field = NDArray[np.float64]


@dataclass(frozen=True)
class Case:
    grid: Grid
    physics: Physics
    fixed: NDArray[np.bool_]
    force: Field


def field_f11(shape: tuple[int, ...], softest: float = 1e-9) -> Field:
    """Moduli between `softest` and 1 from the densities ((7 i + 5 j + 3 k) mod 11) / 10, cubed."""
    weights = (7, 5, 3)[: len(shape)]
    index = np.indices(shape)
    x = sum(w * i for w, i in zip(weights, index, strict=True)) % 11 / 10
    return np.asarray(softest + x**3)


def mbb(nx: int, ny: int, element: str = "standard") -> Case:
    """Half of the MBB beam: u_x = 0 on x = 0, u_y = 0 at (nx, 0), unit force down at (0, ny)."""
    grid = Grid((nx, ny))
    fixed, force = np.zeros((nx + 1, ny + 1, 2), bool), np.zeros((nx + 1, ny + 1, 2))
    fixed[0, :, 0] = fixed[nx, 0, 1] = True
    force[0, ny, 1] = -1
    return Case(grid, Elasticity(0.3, element), fixed, force)  # type: ignore[arg-type]


def cantilever_2d(nx: int, ny: int, loaded_row: int) -> Case:
    """Clamped at x = 0, unit force down at (nx, loaded_row)."""
    fixed, force = np.zeros((nx + 1, ny + 1, 2), bool), np.zeros((nx + 1, ny + 1, 2))
    fixed[0] = True
    force[nx, loaded_row, 1] = -1
    return Case(Grid((nx, ny)), Elasticity(0.3, "standard"), fixed, force)


def heat(nx: int, ny: int) -> Case:
    """T = 0 on the middle of the left edge (node rows 9..11 of 20), 0.01 on every other node."""
    grid = Grid((nx, ny))
    fixed = np.zeros((nx + 1, ny + 1, 1), bool)
    fixed[0, 9:12] = True
    return Case(grid, Conduction(), fixed, np.where(fixed, 0.0, 0.01))


def clamped_block(shape: tuple[int, ...], physics: Physics, seed: int = 0) -> Case:
    """Held at x = 0, random loads on the edge or corner line at the far end."""
    grid = Grid(shape)
    dofs = physics.dofs_per_node(grid.dim)
    fixed, force = np.zeros((*grid.node_shape, dofs), bool), np.zeros((*grid.node_shape, dofs))
    fixed[0] = True
    force[-1] = np.random.default_rng(seed).normal(size=force[-1].shape)
    return Case(grid, physics, fixed, force)


def quarter_clamped_cantilever(n: int) -> Case:
    """2n x n x n voxels, the problem of `benchmarks/topopt3d.py`: x = 0 held in the lower and upper quarter of y, a
    unit load in -z spread over a quarter disc of elements of the face z = 0 at the far end."""
    nx, ny, nz = 2 * n, n, n
    fixed, force = np.zeros((nx + 1, ny + 1, nz + 1, 3), bool), np.zeros((nx + 1, ny + 1, nz + 1, 3))
    rows = np.arange(ny + 1)
    fixed[0, (rows <= ny / 4) | (rows >= 3 * ny / 4)] = True
    i, j = np.indices((nx, ny))
    loaded = (i - nx) ** 2 + (j - (ny - 1) / 2) ** 2 < ((ny + 1) / 5) ** 2
    for di in (0, 1):
        for dj in (0, 1):
            force[di : nx + di, dj : ny + dj, 0, 2] -= loaded / (4 * loaded.sum())
    return Case(Grid((nx, ny, nz)), Elasticity(0.3, "standard"), fixed, force)

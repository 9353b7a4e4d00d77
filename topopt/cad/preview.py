"""The design of this moment as a surface, for the live view: no Booleans, a tenth of a second."""

from pathlib import Path

import numpy as np

from pde.grid.grid import Grid
from topopt.cad.body import Surface
from topopt.cad.glb import glb_bytes
from topopt.cad.isosurface import Field, clear_of, extend, march_nodes, node_mean, taubin
from topopt.cad.whole import write_whole

SMOOTHING = 3  # Taubin steps


def preview_glb(density: Field, fraction: Field, grid: Grid, path: str | Path, max_triangles: int = 60_000) -> Path:
    """The design of this moment as GLB, without Booleans: fast, and right to a fraction of a voxel.

    density, fraction : (nx, ny, nz), or (nx, ny) on a plane grid, which is drawn one pixel thick. Fields whose surface
    would have more than `max_triangles` triangles are coarsened first.

    Raises:
        ExportError: shapes do not fit, or there is no material yet.
    """
    return write_whole(path, glb_bytes(preview(density, fraction, grid, max_triangles), crease=50.0))


def preview(density: Field, fraction: Field, grid: Grid, max_triangles: int = 60_000) -> Surface:
    """The surface behind `preview_glb`."""
    density, fraction, grid = _as_solid(np.asarray(density, float), np.asarray(fraction, float), grid)
    while True:
        # The body's fill is one half on its boundary: there the product ends a solid design, gently.
        field = node_mean(extend(density, fraction, 1)) * node_mean(np.pad(fraction, 1))
        surface = march_nodes(clear_of(np.pad(field, 1), 0.5), 0.5, np.asarray(grid.origin) - grid.steps, grid.steps)
        if len(surface.faces) <= max_triangles or max(grid.shape) < 8:
            return taubin(surface, SMOOTHING)
        density, fraction, grid = _coarser(density, fraction, grid)


def _as_solid(density: Field, fraction: Field, grid: Grid) -> tuple[Field, Field, Grid]:
    """Three axes, and at least three layers: the product of the fields needs nodes inside the body."""
    if grid.dim == 2:
        grid = Grid((*grid.shape, 1), (*grid.steps, float(grid.steps.min())), (*grid.origin, 0.0))
        density, fraction = density.reshape(grid.shape), fraction.reshape(grid.shape)
    for axis in range(3):
        if grid.shape[axis] < 3:
            shape, spacing = list(grid.shape), list(grid.steps)
            shape[axis], spacing[axis] = 3 * shape[axis], spacing[axis] / 3
            density, fraction = np.repeat(density, 3, axis=axis), np.repeat(fraction, 3, axis=axis)
            grid = Grid(tuple(shape), tuple(spacing), grid.origin)
    return density, fraction, grid


def _coarser(density: Field, fraction: Field, grid: Grid) -> tuple[Field, Field, Grid]:
    """Blocks of two voxels along every axis that has six or more; a last odd one is half empty."""
    blocks = [2 if n >= 6 else 1 for n in grid.shape]
    weight = np.pad(fraction, [(0, n % b) for n, b in zip(grid.shape, blocks, strict=True)])
    material = np.pad(density * fraction, [(0, n % b) for n, b in zip(grid.shape, blocks, strict=True)])
    shape = tuple(n // b for n, b in zip(weight.shape, blocks, strict=True))
    split = (shape[0], blocks[0], shape[1], blocks[1], shape[2], blocks[2])
    mass, full = (f.reshape(split).mean(axis=(1, 3, 5)) for f in (material, weight))
    spacing = tuple(h * b for h, b in zip(grid.steps, blocks, strict=True))
    return np.clip(mass / np.maximum(full, 1e-12), 0, 1), full, Grid(shape, spacing, grid.origin)

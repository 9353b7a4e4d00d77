"""A body as voxels that know how much of them is filled.

Rays along z pierce the surface; where a ray enters the body everything above counts +1, where it leaves -1, so the
running sum along z of the signed crossings is the inside length, exact along each ray. With `samples` x `samples` rays
per voxel column their mean is the volume fraction of the voxel. A ray whose signs do not add up to zero has found a
hole or a flipped triangle: a volume check misses those, the count does not.
"""

import math

import numpy as np
from numpy.typing import NDArray

from pde.grid.grid import Grid
from topopt.cad.body import Surface
from topopt.errors import BodyError, DesignError

Fractions = NDArray[np.float64]

# Rays are moved by this share of a voxel (x, y), because meshes like to have vertices on the raster.
SHIFT = (1.03e-4, 0.97e-4)
LARGEST = 400_000_000  # voxels; beyond it the arrays of a design no longer fit into any machine we know of


def grid_for(surface: Surface, *, size: float | None = None, count: int | None = None) -> Grid:
    """The voxel grid that holds a body.

    Args:
        surface: the body, mm.
        size: voxel edge in mm; or
        count: about how many voxels the body itself shall fill; sizes that divide the body's extents are preferred.

    Along an axis where the body measures a whole number of voxels the grid starts at its lower bound; elsewhere the
    grid is centred on the body and less than a voxel longer.

    Raises:
        DesignError: neither or both of size and count, one of them not positive, or far too many voxels.
    """
    if (size is None) == (count is None):
        raise DesignError("give the voxel `size` in mm or the voxel `count`, one of the two")
    if count is not None and not count >= 1:
        raise DesignError(f"voxel `count` must be at least 1, not {count}")
    size = float(size if count is None else _size_for(surface, count))  # type: ignore[arg-type]
    if not (math.isfinite(size) and size > 0):
        raise DesignError(f"voxel `size` must be positive and finite, not {size}")
    low, high = surface.bounds
    lengths = (high - low) / size
    whole = np.rint(lengths)
    fits = (np.abs(lengths - whole) < 1e-6 * np.maximum(1.0, lengths)) & (whole >= 1)
    shape = np.maximum(1.0, np.where(fits, whole, np.ceil(lengths)))
    if np.prod(shape) > LARGEST:
        raise DesignError(f"voxels of {size:g} mm would be {np.prod(shape):.2g} in number: raise the voxel `size`")
    origin = np.where(fits, low, (low + high) / 2 - shape * size / 2)
    return Grid(tuple(int(n) for n in shape), size, tuple(float(o) for o in origin))


def _size_for(surface: Surface, count: int) -> float:
    """A voxel edge near the one that gives `count` voxels, whole along as many axes as possible: faces of the body that
    lie between two planes of nodes cost accuracy."""
    ideal = (abs(surface.volume) / count) ** (1 / 3)
    lengths = np.ptp(surface.bounds, axis=0)
    numbers = np.maximum(1, np.rint(lengths / ideal)[:, None] + np.arange(-4, 5))
    candidates = (lengths[:, None] / numbers).ravel()
    candidates = np.append(candidates[np.abs(candidates / ideal - 1) < 0.03], ideal)
    counts = lengths / candidates[:, None]
    whole = (np.abs(counts - np.rint(counts)) < 1e-6 * counts).sum(axis=1)
    # More whole axes first, then the nearest to what was asked.
    return float(candidates[np.lexsort((np.abs(candidates / ideal - 1), -whole))[0]])


def volume_fractions(surface: Surface, grid: Grid, samples: int = 4, drop: float = 0.02) -> Fractions:
    """Share of every voxel that lies inside the surface.

    Args:
        surface: closed and outward-oriented, mm.
        grid: three-dimensional. What reaches beyond it is cut off.
        samples: rays per voxel edge.
        drop: smaller fractions become exactly 0, because a sliver of material is a stiffness that only costs
            condition. 0 keeps all.

    Returns:
        (nx, ny, nz) float64 in [0, 1].

    Raises:
        DesignError: the grid is not three-dimensional, or `samples` is below 1.
        BodyError: the surface is open or has flipped triangles; the message says how many rays noticed.
    """
    if grid.dim != 3 or samples < 1:
        raise DesignError("volume fractions need a three-dimensional grid and at least one ray per voxel edge")
    from topopt.rays import pierce  # compiles on first use

    vertices = np.ascontiguousarray(surface.vertices, float)
    faces = np.ascontiguousarray(surface.faces, np.int64)
    filled = np.zeros((grid.shape[0], grid.shape[1], grid.shape[2] + 1))
    crossings = np.zeros((samples**2, grid.shape[0], grid.shape[1]), np.int32)
    pierce(vertices, faces, np.asarray(grid.origin), grid.steps, _ray_offsets(samples), filled, crossings)
    bad = int(np.count_nonzero(crossings))
    if bad:
        raise BodyError(
            f"the body is open or has flipped triangles: {bad} of {crossings.size} rays enter it more or less often "
            "than they leave it; close the surface and orient its triangles outward"
        )
    fractions = np.cumsum(filled, axis=2)[:, :, :-1] / samples**2
    if fractions.max(initial=0.0) > 1 + 1e-6 or fractions.min(initial=0.0) < -1e-6:
        raise BodyError("the body overlaps itself or is inside out: unite its shells and orient them outward")
    # Rounding of the running sum must not pass as a sliver of material, nor as more than full.
    fractions[fractions < max(drop, 1e-9)] = 0.0
    fractions[fractions > 1 - 1e-9] = 1.0
    return fractions


def _ray_offsets(samples: int) -> NDArray[np.float64]:
    """Where the rays of a voxel stand in it, (samples**2, 2), in voxels.

    Rays in rows and columns would see a wall along x or y at `samples` places only. For an even number every quarter
    of the voxel has its rays at places that differ in x and in y, and the quarters are mirror images, so that a
    symmetric body has symmetric fractions and a wall is seen at samples**2 / 2 places.
    """
    if samples % 2:
        axis = (np.arange(samples) + 0.5) / samples
        offsets = np.stack(np.meshgrid(axis, axis, indexing="ij"), axis=-1).reshape(-1, 2)
    else:
        side = samples // 2
        k = np.arange(side**2)
        quarter = (np.stack([k, (k % side) * side + k // side], axis=1) + 0.5) / (2 * side**2)
        mirrored = [np.where([x, y], 1 - quarter, quarter) for x in (False, True) for y in (False, True)]
        offsets = np.concatenate(mirrored)
    return offsets + SHIFT

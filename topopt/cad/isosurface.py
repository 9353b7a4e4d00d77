"""From densities of voxels to a smooth closed surface: nodal field, level, smoothing.

A design knows nothing about the outside of its body, so the field is carried outward from the nearest voxel of the body
before anything is interpolated: the surface then crosses the body's boundary at a right angle instead of rounding it
off, and the exact body cuts it. Two more voxels on every side and one layer of zeros close it where nobody looks.
"""

from typing import TYPE_CHECKING

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from scipy.ndimage import distance_transform_edt

from pde.grid.grid import Grid
from topopt.cad.body import Surface
from topopt.errors import ExportError

if TYPE_CHECKING:
    from manifold3d import CrossSection

Field = NDArray[np.float64]

PAD = 2  # voxels added on every side before averaging to nodes
CLEARANCE = 1e-3  # no nodal value comes nearer to the level than this
SHRINK, SWELL = 0.5, -0.53  # Taubin's lambda and mu


def extend(density: Field, fraction: Field, pad: int = PAD) -> Field:
    """Densities carried outward by nearest neighbour. density, fraction : (nx, ny, nz) -> each axis longer by 2 pad.

    Raises:
        ExportError: shapes differ, an entry is not finite or outside [0, 1], or no voxel belongs to the body.
    """
    density, fraction = np.asarray(density, float), np.asarray(fraction, float)
    if density.ndim != 3 or density.shape != fraction.shape:
        raise ExportError(
            f"density {density.shape} and fraction {fraction.shape} must have one three-dimensional shape"
        )
    if not np.isfinite(density).all() or density.min() < -1e-6 or density.max() > 1 + 1e-6:
        raise ExportError("densities must be finite and lie in [0, 1]: hand over the physical densities of the design")
    known = np.pad(fraction > 0, pad)
    if not known.any():
        raise ExportError("no voxel belongs to the body: the body and the grid do not overlap")
    padded = np.pad(density, pad)
    nearest = np.asarray(distance_transform_edt(~known, return_distances=False, return_indices=True))
    return padded[tuple(nearest)]


def nodal_field(density: Field, fraction: Field) -> Field:
    """Graded nodal values of the extended field with a closed rim of zeros.

    density, fraction : (nx, ny, nz) -> (nx + 5, ny + 5, nz + 5); entry (i, j, k) lies at
    origin + (i - 2, j - 2, k - 2) h.
    """
    return np.pad(node_mean(extend(density, fraction)), 1)


def node_mean(cells: Field) -> Field:
    """Mean of the eight cells around every inner node. cells : (a, b, c) -> (a - 1, b - 1, c - 1)."""
    for axis in range(3):
        lower, upper = [slice(None)] * 3, [slice(None)] * 3
        lower[axis], upper[axis] = slice(None, -1), slice(1, None)
        cells = 0.5 * (cells[tuple(lower)] + cells[tuple(upper)])
    return cells


def clear_of(field: Field, level: float) -> Field:
    """Nodal values moved off the level: a node on it gives triangles without area and edges with three sides."""
    return np.where(np.abs(field - level) < CLEARANCE, level + CLEARANCE, field)


def march(field: Field, level: float, grid: Grid) -> Surface:
    """The iso-surface of the field of `nodal_field`, outward from high values, in the part's coordinates.

    Raises:
        ExportError: the field does not cross the level.
    """
    return march_nodes(clear_of(field, level), level, np.asarray(grid.origin) - PAD * grid.steps, grid.steps)


def march_nodes(field: Field, level: float, origin: Field, steps: Field) -> Surface:
    """The iso-surface of nodal values that are clear of the level (Lewiner et al. 2003). origin: of the first node, mm.

    Raises:
        ExportError: the field does not cross the level.
    """
    from skimage.measure import marching_cubes

    if not field.min() < level < field.max():
        raise ExportError(f"the density field does not cross the level {level:.4f}: the design is empty or solid")
    # "ascent" says that the material has the high values; the default would turn the surface inside out.
    points, faces, _, _ = marching_cubes(field, level, gradient_direction="ascent", allow_degenerate=True)
    return Surface(origin + steps * points.astype(float), faces.astype(np.int64))


def outline(field: Field, level: float, grid: Grid, smoothing: int) -> "CrossSection":
    """The iso-line of a design of one layer, smoothed, as a plane region in the part's x and y.

    field: nodal values of `nodal_field`; every layer but the rim is the same.
    """
    from manifold3d import CrossSection, FillRule
    from skimage.measure import find_contours

    plane = clear_of(field[:, :, PAD], level)
    loops = find_contours(plane, level, positive_orientation="high")
    if not loops:
        raise ExportError(f"the density field does not cross the level {level:.4f}: the design is empty or solid")
    origin, steps = np.asarray(grid.origin[:2]), grid.steps[:2]
    return CrossSection(
        [origin + steps * (_smooth_loop(loop[:-1], smoothing) - PAD) for loop in loops], FillRule.Positive
    )


def taubin(surface: Surface, steps: int) -> Surface:
    """Smoothing that keeps volume: a shrinking and a swelling Laplacian step in turn (Taubin 1995).

    Laplacian steps alone eat necks: after 30 of them a neck of 2 x 2 voxels has 3 % of its section left.
    """
    if steps == 0:
        return surface
    n = len(surface.vertices)
    edges = np.concatenate([surface.faces[:, [0, 1]], surface.faces[:, [1, 2]], surface.faces[:, [2, 0]]])
    adjacency = sp.csr_matrix((np.ones(len(edges)), (edges[:, 0], edges[:, 1])), shape=(n, n))
    degree = np.maximum(np.asarray(adjacency.sum(axis=1)).ravel(), 1.0)
    mean = sp.diags(1 / degree) @ adjacency
    points = surface.vertices
    for _ in range(steps):
        for weight in (SHRINK, SWELL):
            points = points + weight * (mean @ points - points)
    return Surface(points, surface.faces)


def _smooth_loop(loop: Field, steps: int) -> Field:
    for _ in range(steps):
        for weight in (SHRINK, SWELL):
            loop = loop + weight * (0.5 * (np.roll(loop, 1, axis=0) + np.roll(loop, -1, axis=0)) - loop)
    return loop

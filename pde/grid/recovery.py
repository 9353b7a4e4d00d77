"""Strains and stresses of the elements, at their centroids and Gauss points, from nodal displacements.

The centroid is where the derivatives of bilinear and trilinear elements are most accurate (Barlow 1976). Wilson's
incompatible modes, 1 - xi^2, have no slope there, so that both elements of `Elasticity` are served by the same formula.
Voigt order (xx, yy, xy) or (xx, yy, zz, yz, xz, xy), engineering shear strains.
"""

from itertools import product

import numpy as np
from numpy.typing import NDArray

from pde.grid.elementwise import corner_windows
from pde.grid.grid import Grid
from pde.grid.physics import Anisotropic, Elasticity, gauss_strain_matrices

Field = NDArray[np.float64]
SHEARS = {2: ((1, 0),), 3: ((1, 2), (0, 2), (0, 1))}


def strain(grid: Grid, u: Field) -> Field:
    """u : (*node_shape, dim) in mm -> (*shape, 3 or 6)."""
    dim = grid.dim
    slopes = {(c, a): _slope(grid, u[..., c], a) for c in range(dim) for a in range(dim)}
    normal = [slopes[c, c] for c in range(dim)]
    return np.stack([*normal, *(slopes[a, b] + slopes[b, a] for a, b in SHEARS[dim])], axis=-1)


def strain_vjp(grid: Grid, dJ_dstrain: Field) -> Field:
    """Pull a derivative back through `strain`: (*shape, 3 or 6) -> dJ/du, (*node_shape, dim)."""
    dim = grid.dim
    out = np.zeros((*grid.node_shape, dim))
    for c in range(dim):
        _slope_transposed(grid, dJ_dstrain[..., c], c, out[..., c])
    for k, (a, b) in enumerate(SHEARS[dim], start=dim):
        _slope_transposed(grid, dJ_dstrain[..., k], b, out[..., a])
        _slope_transposed(grid, dJ_dstrain[..., k], a, out[..., b])
    return out


def stress(grid: Grid, physics: Elasticity | Anisotropic, u: Field, modulus: Field | None = None) -> Field:
    """modulus : (*shape,) in MPa scales the stress of a modulus of 1; None leaves it. -> (*shape, 3 or 6)"""
    sigma = strain(grid, u) @ physics.material_matrix(grid.dim)
    return sigma if modulus is None else sigma * modulus[..., None]


def gauss_stress(grid: Grid, physics: Elasticity | Anisotropic, u: Field, modulus: Field | None = None) -> Field:
    """Stress at the 2**dim Gauss points, numbered as corners. -> (*shape, 2**dim, 3 or 6)

    Wilson's modes, found again from the nodal values, have slopes there: a beam of one element through its thickness
    shows its bending stress at the Gauss points, and its mean at the centroid.
    """
    B = gauss_strain_matrices(physics, tuple(grid.steps.tolist()))
    u_e = np.concatenate([u[window] for window in corner_windows(grid)], axis=-1)
    sigma = np.einsum("...n,gvn->...gv", u_e, B, optimize=True) @ physics.material_matrix(grid.dim)
    return sigma if modulus is None else sigma * modulus[..., None, None]


def nodal_average(grid: Grid, values: Field, weights: Field | None = None) -> Field:
    """Means over the elements around each node, for pictures. (*shape, ...) -> (*node_shape, ...)

    weights : (*shape,), densities for example, so that void does not count; zero around a node gives zero there.
    """
    weights = np.ones(grid.shape) if weights is None else weights
    inner = values.shape[grid.dim :]
    total, mass = np.zeros((*grid.node_shape, *inner)), np.zeros(grid.node_shape)
    spread = weights.reshape(*grid.shape, *[1] * len(inner))
    for window in corner_windows(grid):
        total[window] += spread * values
        mass[window] += weights
    mass = mass.reshape(*grid.node_shape, *[1] * len(inner))
    return np.divide(total, mass, out=np.zeros_like(total), where=mass > 0)


def von_mises(physics: Elasticity, sigma: Field) -> Field:
    """Equivalent stress, (..., 3 or 6) -> (...). In plane strain the stress across the plane counts."""
    if sigma.shape[-1] == 3:
        x, y, xy = np.moveaxis(sigma, -1, 0)
        z = physics.nu * (x + y) if physics.plane == "strain" else np.zeros_like(x)
        shear = xy**2
    else:
        x, y, z = np.moveaxis(sigma[..., :3], -1, 0)
        shear = (sigma[..., 3:] ** 2).sum(axis=-1)
    return np.sqrt(((x - y) ** 2 + (y - z) ** 2 + (z - x) ** 2) / 2 + 3 * shear)


def strain_energy_density(grid: Grid, energies: Field, modulus: Field) -> Field:
    """Mean over each element, N/mm2. energies : of `System.energies`, (*shape,); modulus : (*shape,), MPa."""
    return modulus * energies / (2 * grid.element_volume)


def _corners(grid: Grid, axis: int) -> list[tuple[float, tuple[slice, ...]]]:
    # The slope along an axis at the centroid: mean over the edges along it of (upper - lower) / h.
    weight = 1 / (2 ** (grid.dim - 1) * grid.steps[axis])
    return [
        (weight if offset[axis] else -weight, tuple(slice(o, o + n) for o, n in zip(offset, grid.shape, strict=True)))
        for offset in product((0, 1), repeat=grid.dim)
    ]


def _slope(grid: Grid, values: Field, axis: int) -> Field:
    return np.sum([weight * values[window] for weight, window in _corners(grid, axis)], axis=0)


def _slope_transposed(grid: Grid, values: Field, axis: int, out: Field) -> None:
    for weight, window in _corners(grid, axis):
        out[window] += weight * values

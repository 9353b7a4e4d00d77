"""The consistent mass matrix of a grid, matrix-free, and the mass of an element that is not quite there.

Along one axis the mass matrix of an element, h [[1/3, 1/6], [1/6, 1/3]], is diagonal in sums and differences of its two
nodes: h diag(1/4, 1/12). Along all axes so is their Kronecker product, for any box.
"""

import numpy as np
from numpy.typing import NDArray

from pde.grid.grid import Grid

Field = NDArray[np.float64]
# Below this density mass falls with the sixth power, faster than any usual stiffness (Du and Olhoff 2007, eq. 4).
THIN = 0.1


def mass_interpolation(density: Field) -> Field:
    """Share of the mass of the solid: rho, but 1e5 rho^6 where rho < 0.1, so that void has no vibrations of its own."""
    return np.where(density < THIN, 1e5 * density**6, density)


def mass_interpolation_derivative(density: Field) -> Field:
    return np.where(density < THIN, 6e5 * density**5, 1.0)


def apply_mass(grid: Grid, density: Field, u: Field) -> Field:
    """M u. density : (*shape,), tonne/mm3; u : (*node_shape, dofs) -> (*node_shape, dofs)."""
    weighted = {m: density[..., None] * w * s for m, (w, s) in _modes(grid, u).items()}
    for axis in reversed(range(grid.dim)):
        bit = 1 << axis
        weighted = {m: _to_nodes(t, weighted[m | bit], axis) for m, t in weighted.items() if not m & bit}
    return weighted[0]


def mass_energies(grid: Grid, u: Field) -> Field:
    """u_e . M_e u_e of every element with unit density, (*shape,)."""
    return np.sum([w * (s * s).sum(axis=-1) for w, s in _modes(grid, u).values()], axis=0)


def _modes(grid: Grid, u: Field) -> dict[int, tuple[float, Field]]:
    """Weight and values of every mode; bit a of its number: difference along axis a."""
    modes: dict[int, tuple[float, Field]] = {0: (grid.element_volume / 4**grid.dim, u)}
    for axis in range(grid.dim):
        for m, (w, s) in list(modes.items()):
            low, high = _halves(s, axis)
            modes[m] = w, high + low
            modes[m | 1 << axis] = w / 3, high - low
    return modes


def _halves(values: Field, axis: int) -> tuple[Field, Field]:
    along = np.moveaxis(values, axis, 0)
    return np.moveaxis(along[:-1], 0, axis), np.moveaxis(along[1:], 0, axis)


def _to_nodes(total: Field, difference: Field, axis: int) -> Field:
    shape = list(total.shape)
    shape[axis] += 1
    out = np.zeros(shape)
    low, high = _halves(out, axis)
    low += total - difference
    high += total + difference
    return out

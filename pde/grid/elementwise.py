"""Products with one weight per element that need no solver set-up: what derivatives of K(E) u are made of."""

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from pde.grid.grid import Grid
    from pde.grid.system import System

Field = NDArray[np.float64]


def mixed_energies(system: "System", v: Field, u: Field) -> Field:
    """v_e . K_e u_e with unit modulus: (*node_shape, dofs) twice -> (*shape,).

    By polarisation, (|u + t v|^2 - |u - t v|^2) / 4 t with t v as large as u, from the energies of the back-end.
    """
    size_u, size_v = float(np.abs(u).max()), float(np.abs(v).max())
    if size_u == 0 or size_v == 0:
        return np.zeros(system.grid.shape)
    t = size_u / size_v
    return (system.energies(u + t * v) - system.energies(u - t * v)) / (4 * t)


def product(system: "System", weights: Field, u: Field) -> Field:
    """K(w) u, fixed values treated like any other, for any weights, also negative ones.

    weights : (*shape,), u : (*node_shape, dofs) -> (*node_shape, dofs)
    """
    grid, dofs = system.grid, u.shape[-1]
    u_e = np.concatenate([u[window] for window in corner_windows(grid)], axis=-1)
    f_e = (u_e @ system.element_matrix) * weights[..., None]
    out = np.zeros(u.shape)
    for n, window in enumerate(corner_windows(grid)):
        out[window] += f_e[..., n * dofs : (n + 1) * dofs]
    return out


def corner_windows(grid: "Grid") -> list[tuple[slice, ...]]:
    """Where the nodes lie that are corner n of all the elements."""
    return [tuple(slice(o, o + n) for o, n in zip(c, grid.shape, strict=True)) for c in grid.corner_offsets]

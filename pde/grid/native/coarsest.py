"""The coarsest level: assembled, scaled to a unit diagonal, factorised by banded Cholesky, longest axis slowest."""

from itertools import product

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view
from numpy.typing import NDArray
from scipy.linalg.lapack import dpbtrf  # type: ignore[attr-defined]

from pde.grid.errors import SolverError
from pde.grid.native.layout import Layout
from pde.grid.native.library import CCoarsest, address, apart, room
from pde.grid.native.modes import Modes

# Added to the unit diagonal: parts that nothing holds (islands in void) must not break the factorisation.
SHIFTS = (1e-9, 1e-7, 1e-5)


class Coarsest:
    """Direct solver of the last level. Values that are held or have no stiffness are dropped (their rows become the
    identity and their scale zero)."""

    def __init__(self, modes: Modes, K: NDArray[np.float64], layout: Layout, fixed: NDArray[np.bool_]) -> None:
        self.K = K
        self.transform = modes.transform[modes.active]
        number, position = _numbering(layout)
        corners = element_unknowns(number, modes)
        self.n, self.band = number.size, int((corners.max(1) - corners.min(1)).max())
        self.free = np.empty(self.n, bool)
        self.free[number.ravel()] = ~fixed.ravel()
        rows, cols = np.nonzero(np.ones(K.shape))
        r, c = corners[:, rows], corners[:, cols]
        self.entries = np.flatnonzero((r >= c).ravel())
        self.places = (c * (self.band + 1) + r - c).ravel()[self.entries]
        self.factor = room((self.n, self.band + 1), np.float32)
        self.scale = room((self.n,), np.float32)
        self.index = position.astype(np.int32)
        self.c = CCoarsest(
            n=self.n,
            band=self.band,
            factor=address(self.factor),
            scale=address(self.scale),
            index=address(self.index),
            apart=apart(self.n + self.band),
        )
        self.widen(1)

    def widen(self, width: int) -> None:
        """Room for so many columns."""
        self.work = room((width, self.c.apart), np.float32)
        self.c.work = address(self.work)

    def update(self, matrices: NDArray[np.float64]) -> None:
        """matrices : (layers, ny, nx, active, active), element matrices in mode space."""
        T = self.transform
        nodal = np.swapaxes(matrices.reshape(-1, *matrices.shape[-2:]) @ T, 1, 2) @ T
        band = np.bincount(self.places, nodal.ravel()[self.entries], minlength=self.n * (self.band + 1))
        band = band.reshape(self.n, self.band + 1)
        active = self.free & (band[:, 0] > 0)
        scale = np.zeros(self.n + self.band)
        scale[: self.n][active] = 1 / np.sqrt(band[active, 0])
        band *= scale[: self.n, None]
        band *= sliding_window_view(scale, self.band + 1)
        for shift in SHIFTS:
            band[:, 0] = 1 + shift
            factor, info = dpbtrf(band.T, lower=1)
            if info == 0:
                self.factor[...] = factor.T
                self.factor[:, 0] = 1 / factor[0]
                self.scale[...] = scale[: self.n]
                return
        raise SolverError(
            "the coarsest matrix of the multigrid is not positive definite: part of the body is not supported"
        )


def _numbering(layout: Layout) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Unknown number of every value, (planes, dofs, rows, x), and the position in memory of every unknown."""
    planes, dofs, rows, x = layout.nodal
    slowest_first = sorted((0, 2, 3), key=lambda axis: -layout.nodal[axis])
    order = np.arange(layout.values).reshape(planes, dofs, rows, x).transpose(*slowest_first, 1).ravel()
    number = np.empty(layout.values, np.int64)
    number[order] = np.arange(layout.values)
    return number.reshape(planes, dofs, rows, x), order


def element_unknowns(number: NDArray[np.int64], modes: Modes) -> NDArray[np.int64]:
    """(elements, 2**dim * dofs) in the local order of element matrices; elements in memory order."""
    planes, _, rows, x = number.shape
    layers, ny, nx = planes - 1, max(rows - 1, 1), x - 1
    corners = []
    for bits in product((0, 1), repeat=modes.dim):
        k, j, i = (bits[0], bits[1], bits[2]) if modes.dim == 3 else (bits[0], 0, bits[1])
        corners += [number[k : k + layers, c, j : j + ny, i : i + nx].ravel() for c in range(modes.dofs)]
    return np.stack(corners, axis=1)

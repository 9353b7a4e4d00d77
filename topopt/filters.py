"""No member thinner than the filter is wide, and no checkerboards: the cone filter on a regular grid.

    rho_e = sum_i w(e, i) x_i / sum_i w(e, i),      w(e, i) = max(0, r - |c_e - c_i|)

Bruns and Tortorelli (2001), eq. 7; Bourdin (2001). Only elements of the body are neighbours. The weights are those of
a convolution, so no matrix is stored. The sensitivity filter: Sigmund (1997), in the form of Andreassen et al. (2011).
"""

from dataclasses import dataclass, field

import numba
import numpy as np
from numpy.typing import NDArray

from topopt.errors import DesignError

Field = NDArray[np.float64]


@dataclass(frozen=True)
class ConeFilter:
    """Cone-weighted mean of element densities.

    Args:
        radius: in mm. One element wide or less, the filter does nothing.
        spacing: element edge lengths in mm, (dx, dy) or (dx, dy, dz).
        body: (*shape,) bool, the elements that count as neighbours.
    """

    radius: float
    spacing: tuple[float, ...]
    body: NDArray[np.bool_]
    _weights: Field = field(init=False, repr=False)
    _mass: Field = field(init=False, repr=False)

    def __post_init__(self) -> None:
        if not (np.isfinite(self.radius) and self.radius > 0):
            raise DesignError(f"filter radius must be a positive length in mm, not {self.radius}")
        object.__setattr__(self, "_weights", cone(self.radius, self.spacing))
        mass = convolve(self.body.astype(float), self._weights)
        object.__setattr__(self, "_mass", np.where(self.body, mass, 1.0))

    def __call__(self, x: Field) -> Field:
        """x : (*shape,) -> filtered, same shape, zero outside the body."""
        return self.body * convolve(self.body * x, self._weights) / self._mass

    def vjp(self, dJ_drho: Field) -> Field:
        """Pull a derivative back through the filter: dJ/drho -> dJ/dx, both (*shape,)."""
        return self.body * convolve(self.body * dJ_drho / self._mass, self._weights)

    def sensitivity(self, x: Field, dJ_dx: Field) -> Field:
        """The classical heuristic: filtered sensitivities instead of a filtered density. x, dJ_dx : (*shape,)."""
        return self(x * dJ_dx) / np.maximum(1e-3, x)


def cone(radius: float, spacing: tuple[float, ...]) -> Field:
    """Weights max(0, r - distance) over the smallest odd window that holds them all, in mm."""
    reach = [max(0, int(np.ceil(radius / h)) - 1) for h in spacing]
    offsets = np.meshgrid(*[h * np.arange(-n, n + 1) for n, h in zip(reach, spacing, strict=True)], indexing="ij")
    return np.maximum(0.0, radius - np.sqrt(sum(o**2 for o in offsets)))


def convolve(x: Field, weights: Field) -> Field:
    """Convolution with a symmetric odd window; beyond the border there is nothing. Bits do not depend on threads."""
    if x.ndim == 2:
        return _convolve(np.ascontiguousarray(x[:, :, None]), weights[:, :, None])[:, :, 0]
    return _convolve(np.ascontiguousarray(x), weights)


@numba.njit(parallel=True, cache=True)
def _convolve(x, weights):  # pragma: no cover (compiled)
    nx, ny, nz = x.shape
    mx, my, mz = weights.shape
    rx, ry, rz = mx // 2, my // 2, mz // 2
    out = np.zeros((nx, ny, nz))
    for i in numba.prange(nx):
        for a in range(max(0, rx - i), min(mx, nx + rx - i)):
            for j in range(ny):
                for b in range(max(0, ry - j), min(my, ny + ry - j)):
                    source, row, target = x[i + a - rx, j + b - ry], weights[a, b], out[i, j]
                    for c in range(mz):
                        w = row[c]
                        if w > 0.0:
                            shift = c - rz
                            for k in range(max(0, -shift), min(nz, nz - shift)):
                                target[k] += w * source[k + shift]
    return out

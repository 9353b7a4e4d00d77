"""From a filtered field, grey at every border, to a nearly black-and-white density.

    rho = (tanh(b e) + tanh(b (x - e))) / (tanh(b e) + tanh(b (1 - e)))         Wang, Lazarov, Sigmund (2011), eq. 9

`volume_preserving` picks the threshold e such that projecting does not change the volume (Xu et al. 2010; Li and
Khandelwal 2015). The volume of the projected field is then a linear function of the design, met at every iterate.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Field = NDArray[np.float64]


@dataclass(frozen=True)
class Tanh:
    """Smoothed Heaviside step at `eta`, sharper with `beta`; maps 0 to 0 and 1 to 1."""

    beta: float
    eta: float = 0.5

    def __call__(self, x: Field) -> Field:
        low, span = self._limits()
        return (low + np.tanh(self.beta * (x - self.eta))) / span

    def derivative(self, x: Field) -> Field:
        return self.beta / np.cosh(self.beta * (x - self.eta)) ** 2 / self._limits()[1]

    def eta_derivative(self, x: Field) -> Field:
        """d rho / d eta, the shift of the threshold."""
        b, e = self.beta, self.eta
        low, span = self._limits()
        d_low, d_high = b / np.cosh(b * e) ** 2, -b / np.cosh(b * (1 - e)) ** 2
        rho = (low + np.tanh(b * (x - e))) / span
        return (d_low - b / np.cosh(b * (x - e)) ** 2 - rho * (d_low + d_high)) / span

    def _limits(self) -> tuple[float, float]:
        low = float(np.tanh(self.beta * self.eta))
        return low, low + float(np.tanh(self.beta * (1 - self.eta)))


def volume_preserving(x: Field, weights: Field, beta: float) -> Tanh:
    """The projection of sharpness `beta` with sum(weights * rho) = sum(weights * x).

    x : (n,) filtered densities in [0, 1]; weights : (n,) element volumes. The volume falls as eta rises, from above
    the target at 0 to below it at 1, so bisection finds the one threshold; it stops when eta is known to rounding.
    """
    target = float(weights @ x)
    low, high = 0.0, 1.0
    for _ in range(60):
        eta = (low + high) / 2
        if float(weights @ Tanh(beta, eta)(x)) > target:
            low = eta
        else:
            high = eta
        if high - low < 1e-15:
            break
    return Tanh(beta, (low + high) / 2)


def grey_measure(rho: Field) -> float:
    """Mean of 4 rho (1 - rho): 0 for black and white, 1 for grey all over (Sigmund 2007, eq. 40)."""
    return float(np.mean(4 * rho * (1 - rho))) if rho.size else 0.0

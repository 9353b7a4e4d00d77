"""Optimality criteria: the fixed-point update for one volume constraint.

    x_new = clip(x (-dc/dv / lambda)^eta)   within the move limit and the bounds,

with the multiplier lambda found by bisection so that the volume is met (Bendsoe and Sigmund 1995; conventions of
Andreassen et al. 2011, whose reference values this reproduces).
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]


@dataclass(frozen=True)
class OptimalityCriteria:
    """Hyper-parameters of the update.

    Args:
        move: largest change of a variable in one step.
        exponent: damping, 1/2 for compliance, 0.3 for mechanisms.
        bracket: where the multiplier is sought.
        tolerance: relative width of the bracket at which the bisection stops.
    """

    move: float = 0.2
    exponent: float = 0.5
    bracket: tuple[float, float] = (0.0, 1e9)
    tolerance: float = 1e-3

    def update(self, x: Array, dc: Array, dv: Array, target: float, lower: float = 0.0, upper: float = 1.0) -> Array:
        """One step.

        Args:
            x: (n,) variables in [lower, upper].
            dc: (n,) derivative of the objective; where it is positive, the variable falls as fast as it may.
            dv: (n,) derivative of the volume, positive. The volume is linear: dv @ x.
            target: largest volume allowed.

        Returns:
            (n,) new variables.
        """
        floor, ceiling = np.maximum(lower, x - self.move), np.minimum(upper, x + self.move)
        ratio = np.maximum(0.0, -dc) / dv
        low, high = self.bracket
        candidate = x
        # A volume that even the loosest step does not fill needs no multiplier: high then falls towards zero.
        while high > 1e-100 and (high - low) / (low + high) > self.tolerance:
            multiplier = (low + high) / 2
            candidate = np.clip(x * (ratio / multiplier) ** self.exponent, floor, ceiling)
            if dv @ candidate > target:
                low = multiplier
            else:
                high = multiplier
        return candidate

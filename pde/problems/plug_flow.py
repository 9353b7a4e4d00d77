"""B7a. Where should the catalyst be in a narrow channel, if it also blocks the flow?

    max  v (1 - exp(-k S / v))      v = 1 / int (alpha_0 + alpha(theta)) dx,   S = int (1 - theta) dx,
                                    alpha(theta) = alpha_max q (1 - theta) / (q + theta),   0 <= theta <= 1

the yield of a reaction c' = -k (1 - theta) c / v along a channel of unit length under unit pressure drop; theta = 1 is
open and theta = 0 is catalyst. Only the two integrals matter and alpha is convex, so by Jensen's inequality the best
layout is uniform. For alpha_0 = 0.1, alpha_max = 10, q = 0.1, k = 1: theta* = 0.40502997, yield 0.4166628354, speed
0.78241840, and 0.46746800 is left at the outlet. It is the one-dimensional core of the micro-reactor `reactor`.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np

from optim.result import Stop
from optim.space import Space, Weighted
from pde.problems.posed import Posed, Vector

BEST = {"yield": 0.4166628354, "speed": 0.78241840, "outlet": 0.46746800, "mean_theta": 0.40502997}
STANDARD = (0.1, 10.0, 0.1, 1.0)


@dataclass(frozen=True)
class PlugFlow:
    """Minus the yield as a function of theta : (n,), in cells of equal length; a `TwiceReducedFunctional`."""

    n: int
    alpha_0: float
    alpha_max: float
    q: float
    k: float

    @property
    def space(self) -> Space:
        return Weighted(np.full(self.n, 1 / self.n))

    def value(self, x: Vector) -> float:
        R, S = self._integrals(x)
        return float(-(1 - np.exp(-self.k * S * R)) / R)

    def value_grad(self, x: Vector) -> tuple[float, Vector]:
        R, S = self._integrals(x)
        E = np.exp(-self.k * S * R)
        dR, dS = (self.k * S * R * E - (1 - E)) / R**2, self.k * E
        return self.value(x), -(dR * self._slope(x) - dS) / self.n

    def hvp(self, x: Vector, v: Vector) -> Vector:
        R, S = self._integrals(x)
        k, E = self.k, np.exp(-self.k * S * R)
        part = k * S * R * E - (1 - E)
        RR, RS, SS = (-(k**2) * S**2 * R**2 * E - 2 * part) / R**3, -(k**2) * S * E, -(k**2) * R * E
        slope, bend = self._slope(x), 2 * self.alpha_max * self.q * (1 + self.q) / (self.q + x) ** 3
        along_R, along_S = float(slope @ v) / self.n, -float(v.sum()) / self.n
        turned = (RR * along_R + RS * along_S) * slope - (RS * along_R + SS * along_S)
        return -(turned + part / R**2 * bend * v) / self.n

    def figures(self, theta: Vector) -> dict[str, float]:
        R, S = self._integrals(theta)
        return {"speed": 1 / R, "outlet": float(np.exp(-self.k * S * R)), "mean_theta": 1 - S}

    def _integrals(self, theta: Vector) -> tuple[float, float]:
        """1 / v and S."""
        blocked = self.alpha_max * self.q * (1 - theta) / (self.q + theta)
        return float(np.mean(self.alpha_0 + blocked)), float(np.mean(1 - theta))

    def _slope(self, theta: Vector) -> Vector:
        return -self.alpha_max * self.q * (1 + self.q) / (self.q + theta) ** 2


def pose(
    n: int = 40,
    alpha_0: float = 0.1,
    alpha_max: float = 10.0,
    q: float = 0.1,
    k: float = 1.0,
    seed: int = 1,
    *,
    comm: Any = None,
) -> Posed:
    """Pose it.

    Args:
        n: cells along the channel. alpha_0: inverse permeability of the open channel. alpha_max: what catalyst adds.
        q: how early catalyst blocks. k: rate of the reaction. seed: of the random start.
        comm: without effect: there is no mesh, and every process computes the whole.
    """
    J = PlugFlow(n, alpha_0, alpha_max, q, k)
    x0 = np.random.default_rng(seed).uniform(0.05, 0.95, n)

    def measure(x: Vector) -> dict[str, float]:
        return {"objective": J.value(x), "yield": -J.value(x), **J.figures(x), "spread": float(np.ptp(x))}

    known = {"objective": -BEST["yield"], **BEST, "spread": 0.0} if (alpha_0, alpha_max, q, k) == STANDARD else {}
    return Posed(J, x0, "lbfgs", Stop(max_iter=300, tol_kkt=1e-9, tol_x=None), known, measure, 0.0, 1.0)

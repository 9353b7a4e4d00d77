"""Formulas for time steps, and the weights with which they integrate.

    (a_0 M(u_(n+1)) + a_1 M(u_n) + a_2 M(u_(n-1))) / dt + F(theta u_(n+1) + (1 - theta) u_n, m_n, t_n + theta dt) = 0

    scheme            a_0   a_1   a_2   theta   order
    implicit-euler     1    -1     0      1       1
    crank-nicolson     1    -1     0     1/2      2      in its midpoint form: F is taken once per step, in its middle
    bdf2              3/2   -2    1/2     1       2      its first step is one of implicit Euler

(Hairer and Wanner 1996, chapters IV.3 and V.1.) All are stable for stiff equations; Crank-Nicolson does not damp what
is very stiff, the others do.

An integral over time is the component of a larger state, q' = j(u, m, t), integrated by the same formula: the sum of
dt w_n j at t_n + theta dt. With these weights the control of each step is priced as it acts, and the
objective at the optimum is of the scheme's order; for bdf2 they are 3/2, 1, ..., 1, 26/27, 8/9, 2/3.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from pde.fem.errors import FemError


@dataclass(frozen=True)
class Formula:
    """One line of the table. Args: a : (3,); theta."""

    a: tuple[float, float, float]
    theta: float


EULER = Formula((1.0, -1.0, 0.0), 1.0)
MIDPOINT = Formula((1.0, -1.0, 0.0), 0.5)
BDF2 = Formula((1.5, -2.0, 0.5), 1.0)


@dataclass(frozen=True)
class Scheme:
    """Args: name; first, the formula of the first step; other, that of all others."""

    name: str
    first: Formula
    other: Formula

    @property
    def depth(self) -> int:
        """Values of the state that a step needs."""
        return 2 if self.other.a[2] else 1

    def formula(self, n: int) -> Formula:
        return self.other if n else self.first

    def weights(self, steps: int) -> NDArray[np.float64]:
        """w, (steps,): sum 1 to the number of steps."""
        # What a unit source in step n adds to the last value of q: the adjoint of the scheme for q' = source.
        w = np.zeros(steps)
        now, before = 1.0, 0.0
        for n in reversed(range(steps)):
            a_0, a_1, a_2 = self.formula(n).a
            w[n] = now / a_0
            now, before = before - a_1 * w[n], -a_2 * w[n]
        return w


SCHEMES = {
    scheme.name: scheme
    for scheme in (
        Scheme("implicit-euler", EULER, EULER),
        Scheme("crank-nicolson", MIDPOINT, MIDPOINT),
        Scheme("bdf2", EULER, BDF2),
    )
}


def scheme_named(name: str) -> Scheme:
    """Raises: FemError, there is no such scheme."""
    if name not in SCHEMES:
        raise FemError(f"there is no time stepping named {name!r}: choose one of {', '.join(SCHEMES)}")
    return SCHEMES[name]

"""A problem whose material costs something: J(u, x) + price . x.

The state does not notice, so that an operator need not know the price; the optimum moves with it.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from operators.problems.fem import FemProblem
from pde.problems.posed import Posed

Vector = NDArray[np.float64]


class PricedFem(FemProblem):
    """Args: price: (n,), a covector of the design."""

    def __init__(self, posed: Posed, price: Vector) -> None:
        super().__init__(posed)
        self.price = price

    def objective(self, u: Vector, x: Vector) -> float:
        return super().objective(u, x) + float(self.price @ x)

    def partials(self, u: Vector, x: Vector) -> tuple[Vector, Vector]:
        Ju, Jx = super().partials(u, x)
        return Ju, Jx + self.price

    def adjoint_gradient(self, x: Vector, u: Vector) -> Vector:
        return super().adjoint_gradient(x, u) + self.price


def evenly(problem: Any) -> Vector:
    """(n,): the mean of a design over the domain, as a covector."""
    ones = np.ones(problem.n)
    mass = np.array([problem.space.inner(e, ones) for e in np.eye(problem.n)])
    return mass / mass.sum()

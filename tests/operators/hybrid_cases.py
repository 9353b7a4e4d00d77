"""Surrogates of known quality, and a small member of the family of inversions with its optimum."""

from dataclasses import dataclass, field
from functools import cache

import numpy as np

from operators.surrogates import Pull, Vector
from optim import Stop, minimize
from optim.design import ProjectedLBFGS
from pde.functional import Solved
from pde.problems.inversion import Inversion, Square

SQUARE = Square.of(8)


def member(number: int) -> tuple[Inversion, Vector]:
    return Inversion.member(SQUARE, number)


@cache
def optimum(number: int) -> float:
    """J* of a member."""
    problem, start = member(number)
    return float(minimize(Solved(problem), start, ProjectedLBFGS(), stop=Stop(max_iter=400, tol_kkt=1e-6)).f)


@dataclass
class Perfect:
    """The solver itself, on its own account. sign: -1 turns every pull-back round: an adversary."""

    solver: Inversion
    sign: float = 1.0
    name: str = "perfect"

    def anchor(self, x: Vector, u: Vector) -> None:
        pass

    def state(self, x: Vector) -> tuple[Vector, Pull]:
        u = self.solver.solve(x)
        return u, lambda w: self.sign * self.solver.state_pullback(x, u, w)


@dataclass
class Constant:
    """The state does not change."""

    name: str = "constant"
    u: Vector = field(default_factory=lambda: np.zeros(0))
    n: int = 0

    def anchor(self, x: Vector, u: Vector) -> None:
        self.u, self.n = u, len(x)

    def state(self, x: Vector) -> tuple[Vector, Pull]:
        return self.u, lambda w: np.zeros(self.n)


@dataclass
class Local(Perfect):
    """Right within `reach` of the anchor, and wrong by more and more outside: u + (|x - x_k|^2 - reach^2)+ e."""

    reach: float = 1.0
    x: Vector = field(default_factory=lambda: np.zeros(0))

    def anchor(self, x: Vector, u: Vector) -> None:
        self.x = x

    def state(self, x: Vector) -> tuple[Vector, Pull]:
        u, pull = super().state(x)
        away = x - self.x
        beyond = max(0.0, float(away @ away) - self.reach**2)
        wrong = 0.003 * np.sin(np.arange(len(u)))

        def bent(w: Vector) -> Vector:
            return pull(w) + (2 * float(w @ wrong) * away if beyond > 0 else 0.0)

        return u + beyond * wrong, bent

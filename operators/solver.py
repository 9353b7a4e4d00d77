"""The solver under the hybrid: what it has solved, what that cost, and the best design among it."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pde.functional import Spent, StateProblem

Vector = NDArray[np.float64]
FEASIBLE = 1e-6
# What a solver, or a surrogate, raises at a design that it cannot solve. Wrong shapes and names are not among it.
FAILURES = (ArithmeticError, RuntimeError, np.linalg.LinAlgError)


@dataclass
class Verified:
    """A design x : (n,), its state u : (s,), J, and dJ/dx : (n,) once it was asked for."""

    x: Vector
    u: Vector
    J: float
    g: Vector | None = None


class Solver:
    """Solves, and keeps count from here on.

    Args:
        most_forward: forward solves at most.

    Attributes:
        best: the lowest J among the feasible designs that were solved; None before the first.
    """

    def __init__(self, problem: StateProblem, most_forward: int) -> None:
        self.problem, self.most_forward = problem, most_forward
        self.best: Verified | None = None
        self._before = _numbers(problem.spent)

    @property
    def spent(self) -> Spent:
        """Since this was made."""
        now = _numbers(self.problem.spent)
        return Spent(*(a - b for a, b in zip(now, self._before, strict=True)))

    @property
    def exhausted(self) -> str:
        """Empty, or why no more may be solved."""
        return f"{self.most_forward} forward solves are spent" if self.spent.forward >= self.most_forward else ""

    def solve(self, x: Vector) -> Verified:
        """One forward solve. Raises what the solver raises, and ArithmeticError where J is not finite."""
        u = self.problem.solve(x)
        J = float(self.problem.objective(u, x))
        if not np.isfinite(J):
            raise ArithmeticError("the objective of the solved state is not a finite number")
        solved = Verified(np.array(x), u, J)
        if (self.best is None or self.best.J > J) and violation(self.problem, x) <= FEASIBLE:
            self.best = solved
        return solved

    def attempt(self, x: Vector) -> Verified | None:
        """None where the design cannot be solved."""
        try:
            return self.solve(x)
        except FAILURES:
            return None

    def gradient(self, solved: Verified) -> Vector:
        """dJ/dx : (n,); one adjoint solve, the first time only."""
        if solved.g is None:
            solved.g = self.problem.adjoint_gradient(solved.x, solved.u)
        return solved.g


def violation(problem: StateProblem, x: Vector) -> float:
    """Largest violation of bounds and constraints, 0 where there is none."""
    parts = [0.0]
    if problem.lower is not None:
        parts.append(float(np.max(problem.lower - x)))
    if problem.upper is not None:
        parts.append(float(np.max(x - problem.upper)))
    for g in problem.constraints:
        values = np.asarray(g.value(x))
        parts.append(float(np.max(np.abs(values) if g.kind == "eq" else values)))
    return max(parts)


def norm(problem: StateProblem, step: Vector) -> float:
    """In the inner product of the design space."""
    return float(max(0.0, problem.space.inner(step, step))) ** 0.5


def _numbers(spent: Any) -> tuple[int, int, int, int]:
    return spent.forward, spent.adjoint, spent.tangent, spent.factorisations

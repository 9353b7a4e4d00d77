"""A problem whose solves are seen while an optimiser is at work on it, and between which it can be broken off."""

import time
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from operators.solver import FEASIBLE, violation
from pde.functional import StateProblem

Vector = NDArray[np.float64]


class BrokenOff(Exception):
    """A stop was asked for; not among the failures that optimisers of `operators` live with."""


class Watched:
    """A `StateProblem` that tells of each solve; everything else is the problem's own.

    Args:
        tell: called after each solve with a row of numbers; what it raises ends the run.

    Attributes:
        best: design and state with the lowest J among the feasible ones; None before the first.
    """

    def __init__(self, problem: StateProblem, tell: Callable[[dict[str, Any]], None]) -> None:
        self._problem, self._tell, self._began = problem, tell, time.perf_counter()
        self._before = dict(vars(problem.spent))
        self._lowest = np.inf
        self.best: tuple[Vector, Vector] | None = None
        self.last: tuple[Vector, Vector] | None = None

    def __getattr__(self, name: str) -> Any:
        return getattr(self._problem, name)

    def solve(self, x: Vector) -> Vector:
        """u(x); one forward solve. Raises what the solver raises, and what `tell` does."""
        u = self._problem.solve(x)
        J = float(self._problem.objective(u, x))
        self.last = np.array(x), u
        if self._lowest > J and violation(self._problem, x) <= FEASIBLE:
            self._lowest, self.best = J, self.last
        self._tell(self.row(J))
        return u

    def row(self, J: float) -> dict[str, Any]:
        """What has been spent so far, and for what; numbers that are not finite are None."""
        now = vars(self._problem.spent)
        spent = {name: now[name] - before for name, before in self._before.items()}
        found = {"J": J, "best": self._lowest}
        found = {name: value if np.isfinite(value) else None for name, value in found.items()}
        return {
            "iteration": spent["forward"],
            **found,
            **spent,
            "seconds": round(time.perf_counter() - self._began, 4),
        }

"""The solver without a surrogate: whole runs, and the single steps that the hybrid falls back to."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from operators.hybrid_log import Log
from operators.solver import FEASIBLE, Solver, Verified, norm, violation
from operators.stationarity import stationarity
from optim import minimize
from optim.design import MMA, ProjectedLBFGS
from optim.problem import Problem
from optim.result import Stop

Vector = NDArray[np.float64]


class Over(Exception):
    """The run is over in the middle of a method's step."""


def solve_alone(solver: Solver, start: Verified, log: Log, *, target: float, tolerance: float) -> str:
    """Projected L-BFGS, or MMA where there are constraints, from a design that was solved; -> why it ended."""
    problem, largest = solver.problem, 0.0
    functional = _Remembering(solver, log, target, [start])

    def tell(_: int, snapshot: Any, info: Any) -> str | None:
        nonlocal largest
        known = functional.find(snapshot.x)
        size = np.inf if known is None or known.g is None else stationarity(problem, known.x, known.g)
        largest = max(largest, size if np.isfinite(size) else 0.0)
        return "stop" if size <= tolerance * largest and info.feas <= FEASIBLE else None

    stated = Problem(functional, None, problem.lower, problem.upper, problem.constraints, problem.space)
    method = MMA() if problem.constraints else ProjectedLBFGS()
    stop = Stop(max_iter=100_000, tol_kkt=None, tol_x=None, tol_f=1e-9 if problem.constraints else 1e-12, patience=5)
    try:
        result = minimize(stated, start.x, method, stop=stop, callbacks=[tell])
    except Over as over:
        return str(over)
    optimal = result.status == "user_stop"
    return f"optimal to {tolerance:.2g} of the largest gradient" if optimal else f"the solver alone: {result.message}"


class _Remembering:
    """J as a method sees it; no design is solved twice in a row, so that the solver alone is not charged too much."""

    def __init__(self, solver: Solver, log: Log, target: float, known: list[Verified]) -> None:
        self.solver, self.log, self.target, self.known = solver, log, target, known

    def find(self, x: Vector) -> Verified | None:
        return next((one for one in self.known if np.array_equal(one.x, x)), None)

    def value(self, x: Vector) -> float:
        known = self.find(x) or self._solved(x)
        return np.inf if known is None else known.J

    def value_grad(self, x: Vector) -> tuple[float, Vector]:
        known = self.find(x) or self._solved(x)
        return (np.inf, np.zeros_like(x)) if known is None else (known.J, self.solver.gradient(known))

    def _solved(self, x: Vector) -> Verified | None:
        if why := self.solver.exhausted:
            raise Over(why)
        new = self.solver.attempt(x)
        if new is None:
            self.log.note("failed", "S", np.inf)
            return None
        self.known = [*self.known[-3:], new]
        self.log.note("solver", "S", new.J)
        if self.solver.best is not None and self.target >= self.solver.best.J:
            raise Over("the target is reached")
        return new


def one_step(solver: Solver, at: Verified, length: float, log: Log, why: str) -> Verified | None:
    """A better design by the true gradient alone, None where there is none or the solves are spent.

    Steepest descent into the bounds, of `length` or shorter; where there are constraints, a step of MMA's.
    """
    for x in _descents(solver, at, length):
        if solver.exhausted or violation(solver.problem, x) > FEASIBLE or np.array_equal(x, at.x):
            continue
        new = solver.attempt(x)
        better = new is not None and new.J < at.J
        event = "failed" if new is None else "solver step" if better else "rejected"
        step = norm(solver.problem, x - at.x)
        log.note(event, "B", np.inf if new is None else new.J, why=why, radius=length, step=step)
        if better:
            return new
    return None


def _descents(solver: Solver, at: Verified, length: float) -> Iterator[Vector]:
    problem, g = solver.problem, solver.gradient(at)
    if problem.constraints:
        linear = _Tangent(at.x, at.J, g)
        stated = Problem(linear, None, problem.lower, problem.upper, problem.constraints, problem.space)
        for move in (0.1, 0.02, 0.004):
            yield minimize(stated, at.x, MMA(move=move), stop=Stop(max_iter=1, tol_kkt=None)).x
        return
    down = -problem.space.riesz(g)
    for scale in length / max(norm(problem, down), 1e-300) * 0.25 ** np.arange(8):
        yield np.clip(at.x + scale * down, problem.lower, problem.upper)


@dataclass(frozen=True)
class _Tangent:
    """J + g . (x - x_k)."""

    x: Vector
    J: float
    g: Vector

    def value(self, x: Vector) -> float:
        return self.J + float(self.g @ (x - self.x))

    def value_grad(self, x: Vector) -> tuple[float, Vector]:
        return self.value(x), self.g

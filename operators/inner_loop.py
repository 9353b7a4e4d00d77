"""Between two solves: minimise the model in its trust region, under the bounds and constraints of the problem."""

from dataclasses import dataclass, replace
from math import ceil
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from operators.ball import minimize_in_ball
from operators.errors import OperatorError
from operators.model import Model
from operators.solver import FEASIBLE, norm, violation
from optim import minimize
from optim.design import MMA
from optim.prepared import prepare
from optim.problem import Problem
from optim.result import Snapshot, Stop
from optim.space import Euclidean
from pde.functional import StateProblem

Vector = NDArray[np.float64]
POOR, GOOD = 0.25, 0.75  # of decrease over promised decrease
FIRST = 2


class InnerLoop:
    """Minimises one model after the other: in a ball, or, where there are constraints, on MMA's way.

    With material to place there are many minima, and those that a bold step on a model ends in are worse than most:
    what has been taken away altogether has no gradient any more that could bring it back. So under constraints an
    inner run walks as MMA alone would, a few steps at first and more of them where the models prove right, until it
    leaves the ball; its asymptotes go on from trial to trial. A solve now and then tells where it is.

    Args:
        most: steps of an inner run at most. first: of MMA's first one.
    """

    def __init__(self, most: int, first: int) -> None:
        self.most, self.steps = most, min(first, most)
        self._last: Snapshot | None = None  # where the last inner run ended
        self._here: Snapshot | None = None  # where the one that led to the anchor did

    @classmethod
    def of(cls, problem: StateProblem, most: int) -> "InnerLoop":
        return cls(most, FIRST if problem.constraints else most)

    def judged(self, ratio: float) -> None:
        """What the last inner run has led to: decrease over promised decrease."""
        if ratio > GOOD:
            self.steps = min(self.most, ceil(1.5 * self.steps))
        elif ratio < POOR:
            self.steps = max(1, self.steps // 2)

    def longer(self) -> bool:
        """Make the next inner run longer, where it can be: little was promised by a short one."""
        before, self.steps = self.steps, min(self.most, 2 * self.steps)
        return self.steps > before

    def lower(self, model: Model, radius: float) -> tuple[Vector, float]:
        """A feasible design with a lower model, and the model's value there; the anchor itself where none was found."""
        problem = model.problem
        if problem.constraints:
            return self._on_the_way(model, radius)
        if problem.lower is None and problem.upper is None:
            x, value, _ = minimize_in_ball(model.value_grad, model.x, radius, self.most, space=problem.space)
            return x, value
        return self._in_box_and_ball(model, radius)

    def _in_box_and_ball(self, model: Model, radius: float) -> tuple[Vector, float]:
        problem, best = model.problem, (model.x, model.value(model.x))

        def keep(_: int, snapshot: Any, info: Any) -> None:
            # MMA may go up, or leave the feasible set on its way.
            nonlocal best
            if info.f < best[1] and info.feas <= FEASIBLE:
                best = np.array(snapshot.x), float(info.f)

        ball = Ball(problem, model.x, radius)
        stated = Problem(model, None, problem.lower, problem.upper, (ball,), problem.space)
        stop = Stop(max_iter=self.most, tol_kkt=None, tol_x=1e-4, patience=2)
        last = minimize(stated, model.x, MMA(move=0.2), stop=stop, callbacks=[keep]).x
        return _better(best, model, last, radius)

    def _on_the_way(self, model: Model, radius: float) -> tuple[Vector, float]:
        problem = model.problem
        best: tuple[Vector, float] = model.x, model.value(model.x)
        stated = Problem(model, None, problem.lower, problem.upper, problem.constraints, problem.space)
        before, self._last = self._resumed(stated, model.x), None

        def keep(_: int, snapshot: Any, info: Any) -> str | None:
            nonlocal best
            if norm(problem, snapshot.x - model.x) > radius:
                return "stop"
            if info.f < best[1] and info.feas <= FEASIBLE:
                best, self._last = (np.array(snapshot.x), float(info.f)), snapshot
            return None

        stop = Stop(max_iter=self.steps, tol_kkt=None, tol_x=1e-4, patience=2)
        last = minimize(stated, model.x, MMA(), stop=stop, callbacks=[keep], resume=before).x
        return best if self._last is not None else _better(best, model, last, radius)

    def _resumed(self, stated: Problem, x: Vector) -> Snapshot | None:
        """Where the path came to the anchor; None where it came from elsewhere."""
        for known in (self._last, self._here):
            if known is not None and np.array_equal(known.x, x):
                self._here = known
                now = prepare(stated, x, known.scales).look(x)
                return replace(known, state=replace(known.state, now=now), iteration=0, history=())
        self._here = None
        return None


def _better(best: tuple[Vector, float], model: Model, x: Vector, radius: float) -> tuple[Vector, float]:
    """The best, or the point towards x in the ball. The anchor is feasible, so on the way back to it a convex set is
    entered again, and the ball surely is."""
    away = x - model.x
    back = model.x + away * min(1.0, radius / max(norm(model.problem, away), 1e-300))
    value = model.value(back)
    return (back, value) if value < best[1] and violation(model.problem, back) <= FEASIBLE else best


@dataclass(frozen=True)
class Ball:
    """|x - centre|^2 / radius^2 <= 1 in the norm of the design space, as a constraint."""

    problem: StateProblem
    centre: Vector
    radius: float
    m = 1
    kind: Literal["ineq", "eq"] = "ineq"

    def value(self, x: Vector) -> Vector:
        """(1,)"""
        away = x - self.centre
        return np.array([self.problem.space.inner(away, away) / self.radius**2 - 1])

    def jac(self, x: Vector) -> Vector:
        """(1, n)"""
        return 2 * covector(self.problem.space, x - self.centre)[None] / self.radius**2


def covector(space: Any, a: Vector) -> Vector:
    """M a, of the inner product <a, b> = a . M b.

    Raises:
        OperatorError: a space of a kind that does not tell M.
    """
    if isinstance(space, Euclidean):
        return a
    if hasattr(space, "apply"):
        return space.apply(a)
    if hasattr(space, "weights"):
        return space.weights * a
    if hasattr(space, "spaces"):  # several controls beside each other
        parts = np.split(a, space.cuts[1:-1])
        return np.concatenate([covector(part, b) for part, b in zip(space.spaces, parts, strict=True)])
    raise OperatorError(f"{type(space).__name__} does not tell its matrix: give the space an apply(a) = M a")

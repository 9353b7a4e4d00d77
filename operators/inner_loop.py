"""Between two solves: minimise the model in its trust region, under the bounds and constraints of the problem."""

from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from operators.ball import minimize_in_ball
from operators.errors import OperatorError
from operators.model import Model
from operators.solver import FEASIBLE, norm, violation
from optim import minimize
from optim.design import MMA
from optim.problem import Problem
from optim.result import Stop
from optim.space import Euclidean
from pde.functional import StateProblem

Vector = NDArray[np.float64]


def lower_the_model(model: Model, radius: float, steps: int) -> tuple[Vector, float]:
    """A feasible design with a lower model, and the model's value there; the anchor itself where none was found.

    L-BFGS in the ball where nothing else is asked, else MMA with the ball as one more constraint.
    """
    problem = model.problem
    if problem.lower is None and problem.upper is None and not problem.constraints:
        x, value, _ = minimize_in_ball(model.value_grad, model.x, radius, steps, space=problem.space)
        return x, value
    return _by_mma(model, radius, steps)


def _by_mma(model: Model, radius: float, steps: int) -> tuple[Vector, float]:
    problem, best = model.problem, (model.x, model.value(model.x))

    def keep(_: int, snapshot: Any, info: Any) -> None:
        # MMA may go up, or leave the feasible set on its way.
        nonlocal best
        if info.f < best[1] and info.feas <= FEASIBLE:
            best = np.array(snapshot.x), float(info.f)

    ball = Ball(problem, model.x, radius)
    stated = Problem(model, None, problem.lower, problem.upper, (*problem.constraints, ball), problem.space)
    stop = Stop(max_iter=steps, tol_kkt=None, tol_x=1e-4, patience=2)
    last = minimize(stated, model.x, MMA(move=0.2), stop=stop, callbacks=[keep]).x
    # The anchor is feasible, so on the way back to it a convex set is entered again, and the ball surely is.
    away = last - model.x
    back = model.x + away * min(1.0, radius / max(norm(problem, away), 1e-300))
    value = model.value(back)
    return (back, value) if value < best[1] and violation(problem, back) <= FEASIBLE else best


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

"""Few solves, many surrogate steps, and no answer that a solver has not seen.

    minimise J(u(x), x) by minimising models of it in trust regions:
    A. anchor by a solve; the model's value is right there, its gradient is the surrogate's; a large first radius
    B. after a rejection, or when the model promises little: the gradient is made right too, by one adjoint per anchor

With the gradient right at every anchor this is a first-order consistent trust-region method, which converges whatever
the surrogate is (Alexandrov, Dennis, Lewis and Torczon 1998). Phase A is what makes it cheap: at long steps the
correction is larger than the signal. Three rejections, a gradient that points the wrong way, or a radius that vanished
lead to a step of the solver alone. The result is the best design that was solved.
"""

import time
from dataclasses import asdict, dataclass, field, replace
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from operators.ball import minimize_in_ball
from operators.errors import OperatorError
from operators.model import Correction, Model
from operators.surrogates import Surrogate
from optim import minimize
from optim.design import MMA, ProjectedLBFGS
from optim.problem import Problem
from optim.result import Stop
from pde.functional import Solved, Spent, StateProblem

Vector = NDArray[np.float64]
Mode = Literal["solver_only", "surrogate_only", "hybrid_reference", "hybrid_corrected", "hybrid_every_k"]
MODES: tuple[Mode, ...] = ("solver_only", "surrogate_only", "hybrid_reference", "hybrid_corrected", "hybrid_every_k")
FEASIBLE = 1e-6


@dataclass(frozen=True)
class HybridSettings:
    """How the hybrid goes.

    Attributes:
        mode: "hybrid_corrected" is the method above; "hybrid_reference" never corrects the gradient; "hybrid_every_k"
            anchors after each inner run without a test; "surrogate_only" anchors once; "solver_only" has no surrogate.
        radius: of the first trust region, in the norm of the design space; about the size of the set of designs.
        least_radius: of phase B, below which the solver steps alone.
        inner_steps: of each inner run. most_forward: solves at most. tolerance: of the projected true gradient, against
            that of the start. target: stop once J is this low.
        promise: phase A ends when the model promises less than this part of J.
        correction: form of the correction in phase B.
    """

    mode: Mode = "hybrid_corrected"
    radius: float = 30.0
    least_radius: float = 1e-4
    inner_steps: int = 50
    most_forward: int = 60
    tolerance: float = 1e-4
    target: float = -np.inf
    promise: float = 0.03
    correction: Correction = "rank_one"


@dataclass(frozen=True)
class Line:
    """One entry of the log: a trial, its test and what had been spent after it."""

    event: str
    phase: str
    J: float
    ratio: float | None
    radius: float
    step: float
    cosine: float | None
    forward: int
    adjoint: int
    model_gradients: int
    seconds: float


@dataclass(frozen=True)
class HybridResult:
    """x : (n,) and J: the best design that was solved, and its value. believed: what the last model said of it."""

    x: Vector
    J: float
    believed: float
    message: str
    spent: Spent
    log: tuple[Line, ...] = field(repr=False)

    def rows(self) -> list[dict[str, Any]]:
        return [asdict(line) for line in self.log]


def hybrid(
    problem: StateProblem, x0: Vector, surrogate: Surrogate | None = None, settings: HybridSettings | None = None
) -> HybridResult:
    """Minimise J(u(x), x) with few solves.

    Args:
        x0: (n,), feasible. surrogate: what stands in for the solver; None only for mode "solver_only".

    Raises:
        OperatorError: no surrogate where one is needed; x0 has another size or is not feasible.
        Whatever the solver raises at x0; later failures of the solver count as rejections.
    """
    settings = settings or HybridSettings()
    x0 = _checked(problem, x0, settings, surrogate)
    if settings.mode == "solver_only" or surrogate is None:
        return _solver_only(problem, x0, settings)
    return _Run(problem, surrogate, settings).go(x0)


def _checked(problem: StateProblem, x0: Vector, settings: HybridSettings, surrogate: Surrogate | None) -> Vector:
    if settings.mode not in MODES:
        raise OperatorError(f"mode is one of {', '.join(MODES)}, not {settings.mode!r}")
    if surrogate is None and settings.mode != "solver_only":
        raise OperatorError(f"mode {settings.mode} needs a surrogate: give one, or take mode solver_only")
    x0 = np.asarray(x0, float)
    if x0.shape != (problem.n,) or not np.isfinite(x0).all():
        raise OperatorError(f"x0 must be {problem.n} finite numbers, not shape {x0.shape}")
    if violation(problem, x0) > FEASIBLE:
        raise OperatorError("x0 violates a bound or a constraint: start from a feasible design")
    return x0


def violation(problem: StateProblem, x: Vector) -> float:
    """Largest violation of bounds and constraints."""
    parts = [0.0]
    if problem.lower is not None:
        parts.append(float(np.max(problem.lower - x)))
    if problem.upper is not None:
        parts.append(float(np.max(x - problem.upper)))
    for g in problem.constraints:
        values = np.asarray(g.value(x))
        parts.append(float(np.max(np.abs(values) if g.kind == "eq" else values)))
    return max(parts)


class _Run:
    def __init__(self, problem: StateProblem, surrogate: Surrogate, settings: HybridSettings) -> None:
        self.problem, self.surrogate, self.settings = problem, surrogate, settings
        self.log: list[Line] = []
        self.began, self.model_gradients = time.perf_counter(), 0
        self.corrected, self.radius, self.step = False, settings.radius, settings.radius
        self.g0, self.rejections = 0.0, 0

    def go(self, x0: Vector) -> HybridResult:
        self.x, self.u = x0, self.problem.solve(x0)
        self.J = self.believed = self.problem.objective(self.u, x0)
        self.g: Vector | None = None
        self._note("start", None, None)
        message = ""
        while not message:
            message = self._round()
        spent = replace(self.problem.spent) if isinstance(self.problem.spent, Spent) else self.problem.spent
        return HybridResult(self.x, self.J, self.believed, message, spent, tuple(self.log))

    def _round(self) -> str:
        """One model, one trial; -> why the run is over, or nothing."""
        s, mode = self.settings, self.settings.mode
        if s.target >= self.J:
            return "the target is reached"
        if self.problem.spent.forward >= s.most_forward:
            return f"{s.most_forward} forward solves are spent"
        if self.corrected and (over := self._stationary()):
            return over
        model = Model(self.problem, self.surrogate, self.x, self.u, self.g, s.correction)
        if self.corrected and self._points_wrong(model):
            return self._solver_step(model, "the model's gradient points the wrong way")
        steps = s.inner_steps if mode != "surrogate_only" else 2 * s.inner_steps
        candidate, promised = self._inner(model, steps)
        self.model_gradients += model.gradients
        self.believed, gain = promised, self.J - promised
        length = self._norm(candidate - self.x)
        if not gain > 1e-9 * abs(self.J) or length == 0:
            return self._promised_nothing(model)
        if mode == "hybrid_corrected" and not self.corrected and gain < s.promise * abs(self.J):
            self._switch()
            return ""
        return self._test(model, candidate, gain, length)

    def _test(self, model: Model, candidate: Vector, gain: float, length: float) -> str:
        """Solve at the candidate and decide."""
        mode = self.settings.mode
        try:
            u = self.problem.solve(candidate)
            J = self.problem.objective(u, candidate)
        except (ArithmeticError, RuntimeError, ValueError, np.linalg.LinAlgError):
            u, J = self.u, np.inf  # a design that cannot be solved is a bad one
        ratio = (self.J - J) / gain if np.isfinite(J) else -np.inf
        better = np.isfinite(J) and self.J > J and ratio >= 1e-3
        untested = mode == "hybrid_every_k" and np.isfinite(J)
        at_edge = length > 0.9 * self.radius
        self.step = length
        if better or untested:
            if self.J <= J:
                self._note("worse", ratio, model)
            kept = (self.x, self.u, self.J) if untested and self.J <= J else None
            self.x, self.u, self.J, self.g, self.rejections = candidate, u, J, None, 0
            self._note("accepted", ratio, model)
            if kept is not None:  # never return a design that is worse than one that was solved
                self.x, self.u, self.J = kept
                return "the surrogate led to a worse design"
        else:
            self.rejections += 1
            self._note("rejected", ratio, model)
        if ratio < 0.25:
            self.radius = min(self.radius, length) / (4 if ratio < -1 else 2)
        elif ratio > 0.75 and at_edge:
            self.radius *= 2.5
        if mode == "surrogate_only":
            return "the surrogate is at its end"
        if mode == "hybrid_corrected" and not better:
            if not self.corrected:
                self._switch()
            elif self.rejections >= 3 or self.radius < self.settings.least_radius:
                return self._solver_step(model, "three rejections")
        if mode == "hybrid_reference" and self.radius < self.settings.least_radius:
            return "the radius has vanished; without the true gradient the surrogate leads no further"
        return ""

    # -- parts --------------------------------------------------------------------------------------------------------

    def _switch(self) -> None:
        self.corrected = True
        self.radius = max(min(self.radius, 2 * self.step), 1e-2 * self.settings.radius)

    def _gradient(self) -> Vector:
        if self.g is None:
            self.g = self.problem.adjoint_gradient(self.x, self.u)
            self.g0 = max(self.g0, self._projected(self.g))
        return self.g

    def _stationary(self) -> str:
        size = self._projected(self._gradient())
        if size > self.settings.tolerance * self.g0:
            return ""
        return f"optimal to {size / self.g0:.2g} of the first gradient"

    def _projected(self, g: Vector) -> float:
        """Norm of the step that a short descent makes in the bounds; constraints are the inner loop's affair."""
        down = -self.problem.space.riesz(g)
        lower, upper = self.problem.lower, self.problem.upper
        if lower is None and upper is None:
            return self._norm(down)
        scale = 1e-3 / max(float(np.abs(down).max()), 1e-300)
        return self._norm(np.clip(self.x + scale * down, lower, upper) - self.x) / scale

    def _norm(self, step: Vector) -> float:
        return float(max(0.0, self.problem.space.inner(step, step))) ** 0.5

    def _points_wrong(self, model: Model) -> bool:
        """Near the optimum the cosine means nothing: there the residual is noise."""
        cosine = model.cosine
        return cosine is not None and cosine < 0.2 and self._projected(self._gradient()) > 0.1 * self.g0

    def _promised_nothing(self, model: Model) -> str:
        if self.settings.mode == "hybrid_corrected" and not self.corrected:
            self._switch()
            return ""
        if self.settings.mode == "hybrid_corrected":
            return self._solver_step(model, "the model promises nothing")
        return "the model promises nothing more"

    def _inner(self, model: Model, steps: int) -> tuple[Vector, float]:
        problem = self.problem
        if problem.lower is None and problem.upper is None and not problem.constraints:
            x, value, _ = minimize_in_ball(model.value_grad, self.x, self.radius, steps)
            return x, value
        ball = _Ball(problem, self.x, self.radius)
        stated = Problem(model, None, problem.lower, problem.upper, (*problem.constraints, ball), problem.space)
        stop = Stop(max_iter=steps, tol_kkt=None, tol_x=1e-4, patience=2)
        x = minimize(stated, self.x, MMA(move=0.2), stop=stop).x
        return (x, model.value(x)) if violation(problem, x) <= FEASIBLE else (self.x, self.J)

    def _solver_step(self, model: Model, why: str) -> str:
        """A step without the surrogate: steepest descent in the bounds, or MMA's where there are constraints."""
        g = self._gradient()
        for trial in self._descents(g):
            if self.problem.spent.forward >= self.settings.most_forward:
                return f"{self.settings.most_forward} forward solves are spent"
            try:
                u = self.problem.solve(trial)
                J = self.problem.objective(u, trial)
            except (ArithmeticError, RuntimeError, ValueError, np.linalg.LinAlgError):
                continue
            if J < self.J:
                self.step = self._norm(trial - self.x)
                self.radius = max(2 * self.step, 10 * self.settings.least_radius)
                self.x, self.u, self.J, self.g, self.rejections = trial, u, J, None, 0
                self._note(f"solver step: {why}", None, model)
                return ""
        return "no step along the true gradient makes it better"

    def _descents(self, g: Vector) -> Any:
        problem, down = self.problem, -self.problem.space.riesz(g)
        if problem.constraints:
            linear = _Tangent(self.x, self.J, g)
            stated = Problem(linear, None, problem.lower, problem.upper, problem.constraints, problem.space)
            for move in (0.1, 0.02, 0.004):
                x = minimize(stated, self.x, MMA(move=move), stop=Stop(max_iter=1, tol_kkt=None)).x
                if violation(problem, x) <= FEASIBLE:
                    yield x
            return
        size = max(self._norm(down), 1e-300)
        for length in max(self.radius, self.settings.least_radius) * 0.25 ** np.arange(8):
            yield np.clip(self.x + down * (length / size), problem.lower, problem.upper)

    def _note(self, event: str, ratio: float | None, model: Model | None) -> None:
        spent = self.problem.spent
        self.log.append(
            Line(
                event,
                "B" if self.corrected else "A",
                float(self.J),
                None if ratio is None else float(ratio),
                float(self.radius),
                float(self.step),
                None if model is None else model.cosine,
                spent.forward,
                spent.adjoint,
                self.model_gradients,
                time.perf_counter() - self.began,
            )
        )


@dataclass(frozen=True)
class _Ball:
    """|x - centre|^2 / radius^2 <= 1 in the norm of the design space, as a constraint."""

    problem: StateProblem
    centre: Vector
    radius: float
    m = 1
    kind: Literal["ineq", "eq"] = "ineq"

    def value(self, x: Vector) -> Vector:
        away = x - self.centre
        return np.array([self.problem.space.inner(away, away) / self.radius**2 - 1])

    def jac(self, x: Vector) -> Vector:
        # <a, .> as a covector: the inner product is symmetric, M a = d/da <a, a> / 2, by linearity in each unit vector
        # where the space has no matrix of its own.
        return 2 * apply_inner(self.problem.space, x - self.centre)[None] / self.radius**2


def apply_inner(space: Any, a: Vector) -> Vector:
    """M a of an inner product <a, b> = a . M b."""
    if hasattr(space, "apply"):
        return space.apply(a)
    if hasattr(space, "weights"):
        return space.weights * a
    return a


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


def _solver_only(problem: StateProblem, x0: Vector, settings: HybridSettings) -> HybridResult:
    """Projected L-BFGS, or MMA where there are constraints, on the solver alone."""
    began, log = time.perf_counter(), []
    solved = Solved(problem)
    method = MMA() if problem.constraints else ProjectedLBFGS()
    best: dict[str, Any] = {"J": np.inf, "x": x0}

    def tell(k: int, snapshot: Any, info: Any) -> str | None:
        if info.feas <= FEASIBLE and info.f < best["J"]:
            best.update(J=info.f, x=np.array(snapshot.x))
        spent, seconds = problem.spent, time.perf_counter() - began
        log.append(Line("step", "", info.f, None, 0.0, info.step_norm, None, spent.forward, spent.adjoint, 0, seconds))
        return "stop" if info.f <= settings.target else None

    stated = Problem(solved, None, problem.lower, problem.upper, problem.constraints, problem.space)
    stop = Stop(max_iter=10_000, max_evals=settings.most_forward, tol_kkt=None, tol_x=None, tol_f=1e-12, patience=5)
    result = minimize(stated, x0, method, stop=stop, callbacks=[tell])
    return HybridResult(best["x"], best["J"], best["J"], result.message, replace(problem.spent), tuple(log))


__all__ = ["MODES", "HybridResult", "HybridSettings", "Line", "Mode", "hybrid", "violation"]

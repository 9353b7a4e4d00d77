"""Sequential quadratic (or linear) programming with move limits, for up to 2000 variables and constraints.

Each step minimises a quadratic model of the Lagrangian over linearised constraints within a box that grows and shrinks
like a trust region; violations have a price, so that the step always exists (Fletcher 1985, the S l1 QP method). Where
the price function refuses a step because constraints curve (Maratos 1978), a second-order correction is tried.
"""

from dataclasses import dataclass, replace
from typing import ClassVar, Literal

import numpy as np

from optim.arrays import Array, Host
from optim.design import quadratic_step
from optim.design.kkt import report
from optim.errors import MethodError
from optim.prepared import Evaluation, Prepared, prepare
from optim.problem import Problem
from optim.result import Info

LARGEST = 2000


@dataclass(frozen=True)
class State:
    """x : (n,); now : its evaluation; lam : (m,); B : (n, n) Hessian model; radius of the box; price; updates of B."""

    x: Array
    now: Evaluation
    lam: Host
    B: Host
    radius: float
    price: float
    learnt: int = 0


@dataclass(frozen=True)
class SQP:
    """Hyper-parameters.

    Args:
        move: largest change of a variable in one step, in its own units.
        hessian: "bfgs" learns one (damped, Powell 1978); "none" is sequential linear programming.
        price: first price of a violation; it follows the multipliers, up to `price_most`.
    """

    move: float = 1.0
    hessian: Literal["bfgs", "none"] = "bfgs"
    price: float = 10.0
    price_most: float = 1e7
    scaled: ClassVar[bool] = True

    def init(self, problem: Problem | Prepared, x0: Array) -> State:
        problem = prepare(problem, x0)
        if problem.n + problem.m > LARGEST:
            raise MethodError(
                f"SQP is dense and takes up to {LARGEST} variables and constraints, not {problem.n + problem.m}: "
                "use MMA"
            )
        B = np.eye(problem.n) if self.hessian == "bfgs" else np.zeros((problem.n, problem.n))
        return State(x0, problem.first_look(x0), np.zeros(problem.m), B, self.move, self.price)

    def step(self, problem: Problem | Prepared, state: State) -> tuple[State, Info]:
        problem = prepare(problem, state.x)
        d, lam, price = self._priced_step(problem, state)
        violated = _violation(problem, state.now.c)
        J = _jacobian(problem, state.now)
        g = problem.xp.host(state.now.df)
        model = -float(g @ d + 0.5 * d @ state.B @ d)
        predicted = model + price * (violated - _violation(problem, state.now.c + J @ d))
        noise = 10 * problem.xp.precision(state.now.df) * (abs(state.now.f) + price * violated)
        x, now, ratio = self._try(problem, state, d, price, predicted, noise)
        corrected = 0.0
        if ratio < 0.1 and now is not None and problem.m and predicted > noise:
            # Move the linearisation to where the constraints really are at the proposed point.
            shifted = replace(state.now, c=now.c - J @ d)
            d2, lam2, _ = self._solve(problem, state, shifted, price)
            x2, now2, ratio2 = self._try(problem, state, d2, price, predicted, noise)
            if ratio2 >= 0.1:
                x, now, ratio, d, lam, corrected = x2, now2, ratio2, d2, lam2, 1.0
        length = float(np.abs(d).max())
        extra = {"radius": state.radius, "price": price, "corrected": corrected}
        if now is None or ratio < 0.1:
            return self._refuse(problem, state, (x, now), lam, price, predicted <= noise, length, extra)
        radius = state.radius
        if ratio > 0.75 and length > 0.9 * radius:
            radius = min(2 * radius, self.move)
        elif ratio < 0.25:
            radius = 0.5 * length
        B, learnt = self._learn(problem, state, x, now, lam)
        # A price far above the multipliers makes every step hug the constraints; it follows them down (Powell 1978).
        enough = 2 * float(np.abs(lam).max(initial=0.0)) + 1e-3
        after = State(x, now, lam, B, radius, max(enough, 0.5 * (price + enough)), learnt)
        change = problem.xp.largest(x - state.x)
        return after, report(problem, x, now, lam, change, extra=extra)

    def _refuse(
        self,
        problem: Prepared,
        state: State,
        tried: tuple[Array, Evaluation | None],
        lam: Host,
        price: float,
        over: bool,
        length: float,
        extra: dict[str, float],
    ) -> tuple[State, Info]:
        x, now = tried
        reason = "objective and violation do not fall as the model predicts; the move limit is halved"
        reason = reason if now is not None else "a value is not finite at the proposed point; the move limit is halved"
        radius = 0.5 * min(state.radius, length) if length > 0 else 0.5 * state.radius
        over = over or radius < 1e-14 * (1 + problem.xp.largest(state.x))
        infeasible = over and _violation(problem, state.now.c) > 1e-6
        verdict = "" if not over else "infeasible" if infeasible else "stalled"
        # The multipliers of the refused step are those of the point it starts from, and the better estimate.
        info = report(
            problem, state.x, state.now, lam, 0.0, accepted=False, reason=reason, verdict=verdict, extra=extra
        )
        # What the refused point says about the curvature is as good as from any other.
        B, learnt = state.B, state.learnt
        if now is not None and not over:
            B, learnt = self._learn(problem, state, x, now, lam)
        return replace(state, radius=radius, price=price, lam=lam, B=B, learnt=learnt), info

    def _priced_step(self, problem: Prepared, state: State) -> tuple[Host, Host, float]:
        """Step, multipliers and a price that is high enough for the violation to fall as far as it can."""
        price = state.price
        while True:
            d, lam, most = self._solve(problem, state, state.now, price)
            if most < 0.9 * price or price >= self.price_most:
                return d, lam, price
            price = min(10 * price, self.price_most)

    def _solve(self, problem: Prepared, state: State, now: Evaluation, price: float) -> tuple[Host, Host, float]:
        xp, equal = problem.xp, problem.equal
        J, at = _jacobian(problem, now), xp.host(state.x)
        lower = np.maximum(xp.host(problem.lower) - at, -state.radius)
        upper = np.minimum(xp.host(problem.upper) - at, state.radius)
        A, r = np.concatenate([J, -J[equal]]), np.concatenate([-now.c, now.c[equal]])
        d, rows = quadratic_step.solve(xp.host(now.df), state.B, A, r, lower, upper, price)
        lam = rows[: problem.m].copy()
        lam[equal] -= rows[problem.m :]
        return d, lam, float(np.abs(lam).max(initial=0.0))

    def _try(
        self, problem: Prepared, state: State, d: Host, price: float, predicted: float, noise: float
    ) -> tuple[Array, Evaluation | None, float]:
        x = problem.inside(state.x + problem.xp.like(d, state.x))
        if predicted <= 0:
            return x, state.now, -1.0
        now = problem.look(x)
        if problem.finite(now):
            return x, None, -1.0
        before = state.now.f + price * _violation(problem, state.now.c)
        actual = before - now.f - price * _violation(problem, now.c)
        return x, now, (actual + noise) / (predicted + noise)

    def _learn(self, problem: Prepared, state: State, x: Array, now: Evaluation, lam: Host) -> tuple[Host, int]:
        if self.hessian == "none":
            return state.B, 0
        xp = problem.xp
        s = xp.host(x - state.x)
        after = now.df + xp.pull(now.J, lam, x)
        y = xp.host(after - (state.now.df + xp.pull(state.now.J, lam, x)))
        sy, B = float(s @ y), state.B
        if float(s @ s) < 1e-28 * (1 + xp.largest(x)) ** 2:
            return B, state.learnt
        # A change of the derivative that rounding could have made teaches nothing.
        if np.linalg.norm(y) <= 1e-8 * np.linalg.norm(xp.host(now.df)):
            return B, state.learnt
        if not state.learnt and sy > 0:
            B = (float(y @ y) / sy) * np.eye(problem.n)
        Bs = B @ s
        sBs = float(s @ Bs)
        part = 1.0 if sy >= 0.2 * sBs else 0.8 * sBs / (sBs - sy)
        y = part * y + (1 - part) * Bs
        return B - np.outer(Bs, Bs) / sBs + np.outer(y, y) / float(s @ y), state.learnt + 1


def _violation(problem: Prepared, c: Host) -> float:
    return float(np.where(problem.equal, np.abs(c), np.maximum(c, 0)).sum())


def _jacobian(problem: Prepared, now: Evaluation) -> Host:
    return np.zeros((0, problem.n)) if now.J is None else problem.xp.host(now.J)

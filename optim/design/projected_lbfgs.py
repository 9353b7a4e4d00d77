"""Projected limited-memory BFGS for bounds: curvature learnt from the last few steps, on the variables that are free.

Two metrics, as in Bertsekas (1982): variables pressed against a bound go to it, the others take the quasi-Newton
direction (Nocedal 1980), and the step is bent back into the box until the objective has fallen enough (Armijo 1966).
The first guess of the Hessian is the inner product of the design space, so meshes do not matter.
"""

from dataclasses import dataclass, replace

import numpy as np

from optim.arrays import Array, Host, Namespace
from optim.design.kkt import report
from optim.prepared import Evaluation, Prepared, need_no_constraints, prepare
from optim.problem import Problem
from optim.result import Info
from optim.space import Space, dual_norm


@dataclass(frozen=True)
class State:
    """x : (n,); now : its evaluation; the last steps and changes of the derivative, oldest first, (n,) each."""

    x: Array
    now: Evaluation
    lam: Host
    steps: tuple[Array, ...] = ()
    changes: tuple[Array, ...] = ()


@dataclass(frozen=True)
class ProjectedLBFGS:
    """Hyper-parameters.

    Args:
        memory: pairs that are kept.
        decrease: part of the predicted decrease that a step must bring.
        curvature: pairs with s.y below this times |s|^2 teach nothing and are dropped.
        backtracks: most shortenings of one step.
    """

    memory: int = 10
    decrease: float = 1e-4
    curvature: float = 1e-10
    backtracks: int = 30

    def init(self, problem: Problem | Prepared, x0: Array) -> State:
        problem = prepare(problem, x0)
        need_no_constraints(problem, "ProjectedLBFGS")
        return State(x0, problem.first_look(x0), np.zeros(0))

    def step(self, problem: Problem | Prepared, state: State) -> tuple[State, Info]:
        problem = prepare(problem, state.x)
        direction = self._direction(problem, state)
        found, trials = self._search(problem, state, direction)
        extra = {"trials": float(trials)}
        if isinstance(found, str):
            if state.steps:
                found, verdict = found + "; the memory is cleared", ""
            else:
                verdict = "stalled"
            info = report(
                problem, state.x, state.now, state.lam, 0.0, accepted=False, reason=found, verdict=verdict, extra=extra
            )
            return replace(state, steps=(), changes=()), info
        x, now = found
        s, y = x - state.x, now.df - state.now.df
        after = replace(state, x=x, now=now)
        if problem.xp.dot(s, y) > self.curvature * problem.space.inner(s, s):
            after = replace(
                after,
                steps=(*state.steps, s)[-self.memory :],
                changes=(*state.changes, y)[-self.memory :],
            )
        return after, report(problem, x, now, state.lam, problem.xp.largest(s), extra=extra)

    def _direction(self, problem: Prepared, state: State) -> Array:
        xp, x, g = problem.xp, state.x, state.now.df
        pressed_down, pressed_up = pressed(problem, x, g)
        free = xp.where(pressed_down | pressed_up, xp.zeros_like(x), xp.ones_like(x))
        d = -two_loops(xp, problem.space, free, g, state.steps, state.changes, self.curvature)
        return xp.where(pressed_down, problem.lower - x, xp.where(pressed_up, problem.upper - x, d))

    def _search(self, problem: Prepared, state: State, d: Array) -> tuple[tuple[Array, Evaluation] | str, int]:
        xp, f, g = problem.xp, state.now.f, state.now.df
        # Without curvature the length of the first step is a guess.
        t = 1.0 if state.steps else min(1.0, 1 / max(dual_norm(problem.space, g), 1e-300))
        noise = 10 * xp.precision(g) * abs(f)
        reason = "no step along the direction lowers the objective in working precision"
        for trial in range(1, self.backtracks + 1):
            x = problem.inside(state.x + t * d)
            slope = xp.dot(g, x - state.x)
            if slope >= 0 and trial > 1:
                break
            now = problem.look(x) if trial == 1 else None
            value = now.f if now else problem.values(x)[0]
            good = np.isfinite(value) and value <= f + self.decrease * slope + noise
            if good and slope < 0:
                now = now or problem.look(x, seen=True)
                if not (wrong := problem.finite(now)):
                    return (x, now) if state.steps or trial > 1 else self._farther(problem, state, d, t, x, now), trial
                reason = wrong
            if np.isfinite(value) and value - f - slope > 0:
                t *= min(0.5, max(0.1, -slope / (2 * (value - f - slope))))
            else:
                reason = reason if np.isfinite(value) else "the objective is not a finite number along the direction"
                t *= 0.1
        return reason, trial  # pyright: ignore[reportPossiblyUnboundVariable]

    def _farther(
        self, problem: Prepared, state: State, d: Array, t: float, x: Array, now: Evaluation
    ) -> tuple[Array, Evaluation]:
        """Without curvature, a step that was accepted at once may be far too short: double it while that pays."""
        best, value = x, now.f
        for _ in range(60):
            t *= 2
            candidate = problem.inside(state.x + t * d)
            f, _ = problem.values(candidate)
            slope = problem.xp.dot(state.now.df, candidate - state.x)
            if not (f < value and f <= state.now.f + self.decrease * slope):
                break
            best, value = candidate, f
        further = now if best is x else problem.look(best, seen=True)
        return (x, now) if problem.finite(further) else (best, further)


def pressed(problem: Prepared, x: Array, g: Array) -> tuple[Array, Array]:
    """Which variables the derivative pushes against a bound that is near: below, above; (n,) bool each."""
    xp = problem.xp
    gradient = problem.space.riesz(g)
    reach = min(1e-6, xp.largest(x - problem.inside(x - gradient)))
    return (x <= problem.lower + reach) & (g > 0), (x >= problem.upper - reach) & (g < 0)


def two_loops(
    xp: Namespace,
    space: Space,
    free: Array,
    g: Array,
    steps: tuple[Array, ...],
    changes: tuple[Array, ...],
    least: float,
) -> Array:
    """Inverse Hessian times g on the free variables (Nocedal 1980). free : (n,) of 0 and 1; g : (n,) a derivative."""
    pairs = []
    for s, y in zip(steps, changes, strict=True):
        s, y = free * s, free * y
        if (sy := xp.dot(s, y)) > least * space.inner(s, s):
            pairs.append((s, y, sy))
    q, weights = free * g, []
    for s, y, sy in reversed(pairs):
        weights.append(xp.dot(s, q) / sy)
        q = q - weights[-1] * y
    r = free * space.riesz(q)
    if pairs:
        _, y, sy = pairs[-1]
        r = r * (sy / xp.dot(y, free * space.riesz(y)))
    for (s, y, sy), weight in zip(pairs, reversed(weights), strict=True):
        r = r + (weight - xp.dot(y, r) / sy) * s
    return r

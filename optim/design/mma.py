"""The method of moving asymptotes, in the form of Svanberg (2007).

Around the iterate, objective and constraints become convex sums of p/(U - x) + q/(x - L). The asymptotes L and U close
in on a variable that oscillates and draw back from one that moves steadily; the subproblem is solved through its dual.
No line search: one evaluation per iteration, and a constraint may be violated on the way.
"""

from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np

from optim.arrays import Array, Host
from optim.design.kkt import report
from optim.design.subproblem import Subproblem
from optim.prepared import Evaluation, Prepared, need_finite_bounds, need_inequalities, prepare
from optim.problem import Problem
from optim.result import Info

MOST_REJECTIONS = 10
AT_ITS_PRICE = "a multiplier has reached the price of a violation; if the constraint can be met, raise penalty"


@dataclass(frozen=True)
class State:
    """x : (n,); now : its evaluation; lam : (m,); the two iterates before; asymptotes; steps;
    rejections running; looks at the last dual."""

    x: Array
    now: Evaluation
    lam: Host
    before: Array
    before_that: Array
    low: Array
    upp: Array
    steps: int = 0
    rejected: int = 0
    looks: int = 0


@dataclass(frozen=True)
class MMA:
    """Hyper-parameters; distances are fractions of upper - lower.

    Args:
        move: largest change of a variable in one step; 0.2 is usual for topology.
        asymptote: first distance of the asymptotes. A projection of slope beta wants about 0.5 / (beta + 1).
        incr, decr: factors of that distance for steady and for oscillating variables.
        penalty: price of violating a constraint; multipliers must stay below it.
        rho: convexity that is always added.
        width: what the distances are fractions of; None: upper - lower. Give it where the bounds are far wider than
            any step, with variables of about equal size.
        nearest, farthest: limits of the distance of the asymptotes.
    """

    move: float = 0.5
    asymptote: float = 0.5
    incr: float = 1.2
    decr: float = 0.7
    penalty: float = 1000.0
    rho: float = 1e-5
    width: float | None = None
    nearest: float = 0.01
    farthest: float = 10.0
    scaled: ClassVar[bool] = True

    def init(self, problem: Problem | Prepared, x0: Array) -> State:
        problem = prepare(problem, x0)
        need_finite_bounds(problem, "MMA")
        need_inequalities(problem, "MMA")
        reach = self.asymptote * reference(self, problem)
        low, upp = x0 - reach, x0 + reach
        return State(x0, problem.first_look(x0), np.ones(problem.m), x0, x0, low, upp)

    def step(self, problem: Problem | Prepared, state: State) -> tuple[State, Info]:
        problem = prepare(problem, state.x)
        proposed = self.propose(problem, state)
        now = problem.look(proposed.x)
        extra = {"dual_looks": float(proposed.looks)}
        if wrong := problem.finite(now):
            return reject(problem, state, f"{wrong} at the proposed point; the next step is half as long", extra)
        change = problem.xp.largest(proposed.x - state.x)
        reason = AT_ITS_PRICE if proposed.lam.max(initial=0.0) >= 0.99 * self.penalty else ""
        info = report(problem, proposed.x, now, proposed.lam, change, reason=reason, extra=extra)
        return replace(proposed, now=now), info

    def propose(self, problem: Prepared, state: State) -> State:
        """The next point and what was learnt on the way; `now` is still the evaluation it was found from."""
        low, upp = asymptotes(self, problem, state)
        sub = approximation(self, problem, state, low, upp, np.full(1 + problem.m, self.rho))
        x, lam = sub.solve(state.lam)
        x = in_its_precision(problem, x)
        return State(x, state.now, lam, state.x, state.before, low, upp, state.steps + 1, looks=sub.looks)


def asymptotes(method: Any, problem: Prepared, state: State) -> tuple[Array, Array]:
    """L and U for the next subproblem, (n,) each."""
    xp, x, width = problem.xp, state.x, reference(method, problem)
    if state.steps < 2:
        return x - method.asymptote * width, x + method.asymptote * width
    turn = (x - state.before) * (state.before - state.before_that)
    one = xp.ones_like(x)
    factor = xp.where(turn > 0, method.incr * one, xp.where(turn < 0, method.decr * one, one))
    nearest, farthest = method.nearest * width, method.farthest * width
    low = xp.clip(factor * (state.before - state.low), nearest, farthest)
    upp = xp.clip(factor * (state.upp - state.before), nearest, farthest)
    return x - low, x + upp


def approximation(method: Any, problem: Prepared, state: State, low: Array, upp: Array, rho: Host) -> Subproblem:
    """The subproblem around the iterate, in double precision. rho : (1 + m,)."""
    xp, x, width = problem.xp, state.x, reference(method, problem)
    move = method.move * 0.5**state.rejected
    alpha = xp.maximum(xp.maximum(problem.lower, low + 0.1 * (x - low)), x - move * width)
    beta = xp.minimum(xp.minimum(problem.upper, upp - 0.1 * (upp - x)), x + move * width)
    m = problem.m
    J = state.now.J if state.now.J is not None else x[None][:0]
    return Subproblem(
        xp,
        x=xp.double(x),
        df=xp.double(state.now.df),
        J=xp.double(J),
        c=state.now.c,
        low=xp.double(low),
        upp=xp.double(upp),
        alpha=xp.double(alpha),
        beta=xp.double(beta),
        width=xp.double(width),
        rho=rho,
        penalty=np.full(m, method.penalty),
        curvature=np.ones(m),
    )


def reject(problem: Prepared, state: Any, reason: str, extra: dict[str, float]) -> tuple[Any, Info]:
    """Stay, with shorter steps; after ten in a row the run has failed."""
    verdict = "failed" if state.rejected + 1 >= MOST_REJECTIONS else ""
    info = report(
        problem, state.x, state.now, state.lam, 0.0, accepted=False, reason=reason, verdict=verdict, extra=extra
    )
    return replace(state, rejected=state.rejected + 1), info


def in_its_precision(problem: Prepared, x: Array) -> Array:
    """Back to the caller's precision, where rounding must not leave the bounds."""
    return x if x.dtype == problem.dtype else problem.inside(problem.xp.like(x, problem.lower))


def reference(method: Any, problem: Prepared) -> Array:
    """What distances are fractions of, (n,)."""
    return box_width(problem) if method.width is None else problem.xp.full_like(problem.lower, method.width)


def box_width(problem: Prepared) -> Array:
    """upper - lower, 1 for variables that are fixed."""
    width = problem.upper - problem.lower
    return problem.xp.where(width > 0, width, problem.xp.ones_like(width))

"""Optimality criteria: the fixed-point update for one volume constraint.

    x_new = clip(x (-dc/dv / lambda)^eta)   within the move limit and the bounds,

with the multiplier lambda found by bisection so that the volume is met (Bendsoe and Sigmund 1995; conventions of
Andreassen et al. 2011, whose reference values this reproduces).
"""

from dataclasses import dataclass, replace

import numpy as np

from optim.arrays import Array, Host, namespace
from optim.design.kkt import report
from optim.design.mma import reject
from optim.errors import MethodError
from optim.functions import Linear
from optim.prepared import Evaluation, Prepared, need_finite_bounds, need_inequalities, prepare
from optim.problem import Problem
from optim.result import Info


@dataclass(frozen=True)
class State:
    """x : (n,); now : its evaluation; lam : (1,); rejections running."""

    x: Array
    now: Evaluation
    lam: Host
    rejected: int = 0


@dataclass(frozen=True)
class OptimalityCriteria:
    """Hyper-parameters of the update.

    Args:
        move: largest change of a variable in one step.
        exponent: damping, 1/2 for compliance, 0.3 for mechanisms.
        bracket: where the multiplier is sought.
        tolerance: relative width of the bracket at which the bisection stops.
    """

    move: float = 0.2
    exponent: float = 0.5
    bracket: tuple[float, float] = (0.0, 1e9)
    tolerance: float = 1e-3

    def init(self, problem: Problem | Prepared, x0: Array) -> State:
        problem = prepare(problem, x0)
        need_finite_bounds(problem, "OptimalityCriteria")
        need_inequalities(problem, "OptimalityCriteria")
        if problem.m != 1:
            raise MethodError(f"OptimalityCriteria takes exactly one constraint, not {problem.m}: use MMA")
        now = problem.first_look(x0)
        assert now.J is not None
        if not float(now.J.min()) > 0:
            raise MethodError("OptimalityCriteria needs a constraint that rises with every variable: use MMA")
        return State(x0, now, np.zeros(1))

    def step(self, problem: Problem | Prepared, state: State) -> tuple[State, Info]:
        problem = prepare(problem, state.x)
        proposed = self.propose(problem, state)
        now = problem.look(proposed.x)
        if wrong := problem.finite(now):
            return reject(problem, state, f"{wrong} at the proposed point; the next step is half as long", {})
        change = problem.xp.largest(proposed.x - state.x)
        return replace(proposed, now=now), report(problem, proposed.x, now, proposed.lam, change)

    def propose(self, problem: Prepared, state: State) -> State:
        """The next point and its multiplier; `now` is still the evaluation it was found from."""
        assert state.now.J is not None
        dv, constraint = state.now.J[0], problem.problem.constraints[0]
        if isinstance(constraint, Linear):
            target = float(problem.scales[1]) * float(constraint.limits[0])
        else:
            target = problem.xp.dot(dv, state.x) - float(state.now.c[0])
        move = self.move * 0.5**state.rejected
        x, multiplier = self._update(state.x, state.now.df, dv, target, problem.lower, problem.upper, move)
        return State(x, state.now, np.array([multiplier]))

    def update(
        self,
        x: Array,
        dc: Array,
        dv: Array,
        target: float,
        lower: Array | float = 0.0,
        upper: Array | float = 1.0,
    ) -> Array:
        """One step.

        Args:
            x: (n,) variables in [lower, upper].
            dc: (n,) derivative of the objective; where it is positive, the variable falls as fast as it may.
            dv: (n,) derivative of the volume, positive. The volume is linear: dv @ x.
            target: largest volume allowed.

        Returns:
            (n,) new variables.
        """
        return self._update(x, dc, dv, target, lower, upper, self.move)[0]

    def _update(
        self, x: Array, dc: Array, dv: Array, target: float, lower: Array | float, upper: Array | float, move: float
    ) -> tuple[Array, float]:
        xp = namespace(x)
        floor, ceiling = xp.maximum(x - move, lower), xp.minimum(x + move, upper)
        ratio = xp.maximum(-dc, 0.0) / dv
        low, high = self.bracket
        candidate, multiplier = x, high
        # A volume that even the loosest step does not fill needs no multiplier: high then falls towards zero.
        while high > 1e-100 and (high - low) / (low + high) > self.tolerance:
            multiplier = (low + high) / 2
            candidate = xp.clip(x * (ratio / multiplier) ** self.exponent, floor, ceiling)
            if dv @ candidate > target:
                low = multiplier
            else:
                high = multiplier
        return candidate, multiplier

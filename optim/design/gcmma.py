"""The globally convergent method of moving asymptotes (Svanberg 2002).

The subproblem of MMA with a convexity rho_i per function. A proposed point at which some function lies above its
approximation is given back, that rho_i grows, and the subproblem is solved again, with values only. Every iterate but
the start is then feasible whenever the start is, and the objective falls.
"""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from optim.arrays import Array, Host
from optim.design.kkt import report
from optim.design.mma import AT_ITS_PRICE, MMA, State, approximation, asymptotes, box_width, in_its_precision, reject
from optim.prepared import Prepared, prepare
from optim.problem import Problem
from optim.result import Info


@dataclass(frozen=True)
class GCMMA:
    """Hyper-parameters as in MMA.

    Args:
        inner: most subproblems per iteration.
        slack: by how much a function may lie above its approximation.
    """

    move: float = 0.5
    asymptote: float = 0.5
    incr: float = 1.2
    decr: float = 0.7
    penalty: float = 1000.0
    inner: int = 15
    slack: float = 1e-7
    width: ClassVar[None] = None
    nearest: ClassVar[float] = 0.01
    farthest: ClassVar[float] = 10.0
    scaled: ClassVar[bool] = True

    def init(self, problem: Problem | Prepared, x0: Array) -> State:
        return MMA(self.move, self.asymptote, self.incr, self.decr, self.penalty).init(problem, x0)

    def step(self, problem: Problem | Prepared, state: State) -> tuple[State, Info]:
        problem = prepare(problem, state.x)
        low, upp = asymptotes(self, problem, state)
        rho, lam = self._first_rho(problem, state), state.lam
        wrong, looks, inner = "", 0, 0
        while True:
            sub = approximation(self, problem, state, low, upp, rho)
            x, lam = sub.solve(lam)
            looks += sub.looks
            f, c = problem.values(in_its_precision(problem, x))
            excess = np.concatenate([[f], c]) - sub.models(x, state.now.f)
            wrong = "" if np.isfinite(excess).all() else "a value is not finite at the proposed point"
            if inner == self.inner or (not wrong and (excess <= self.slack).all()):
                break
            inner += 1
            grown = np.where(np.isfinite(excess), 1.1 * (rho + excess / max(sub.distance(x), 1e-300)), np.inf)
            rho = np.where(excess > self.slack, np.minimum(grown, 10 * rho), rho) if not wrong else 10 * rho
        extra = {"inner": float(inner), "dual_looks": float(looks)}
        x = in_its_precision(problem, x)
        now = problem.look(x, seen=True) if not wrong else state.now
        if wrong := wrong or problem.finite(now):
            return reject(problem, state, f"{wrong}; the next step is half as long", extra)
        change = problem.xp.largest(x - state.x)
        after = State(x, now, lam, state.x, state.before, low, upp, state.steps + 1, looks=looks)
        reason = AT_ITS_PRICE if lam.max(initial=0.0) >= 0.99 * self.penalty else ""
        return after, report(problem, x, now, lam, change, reason=reason, extra=extra)

    def _first_rho(self, problem: Prepared, state: State) -> Host:
        """max(1e-6, mean |dg| width / 10) for each function, (1 + m,)."""
        width, rows = box_width(problem), [state.now.df, *(state.now.J if state.now.J is not None else [])]
        return np.array([max(1e-6, 0.1 / problem.n * float((abs(row) * width).sum())) for row in rows])

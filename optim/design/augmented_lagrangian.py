"""Augmented Lagrangian: equations and inequalities through a sequence of bound-constrained problems.

    f + sum_eq (lam h + rho h^2 / 2) + sum_ineq (max(0, lam + rho g)^2 - lam^2) / (2 rho)

(Hestenes 1969; Powell 1969; Rockafellar 1973.) One step is one inner minimisation and one update of the multipliers;
the price rho rises only when the violation has not fallen to a quarter.
"""

from dataclasses import dataclass, field
from typing import ClassVar

import numpy as np

from optim.arrays import Array, Host
from optim.design.kkt import report
from optim.design.projected_lbfgs import ProjectedLBFGS
from optim.design.trust_region_newton import TrustRegionNewton
from optim.errors import MethodError
from optim.prepared import Evaluation, Prepared, prepare
from optim.problem import Problem
from optim.result import Info


@dataclass(frozen=True)
class State:
    """x : (n,); now : its evaluation; lam : (m,); price; violation after the last step; inner tolerance."""

    x: Array
    now: Evaluation
    lam: Host
    rho: float
    violation: float
    tolerance: float
    rejected: int = 0


@dataclass(frozen=True)
class AugmentedLagrangian:
    """Hyper-parameters.

    Args:
        inner: ProjectedLBFGS, or TrustRegionNewton where objective and constraints have Hessian actions.
        rho: first price of a violation; raised tenfold where it does too little, up to `rho_most`.
        inner_steps: most steps of an inner minimisation.
        tolerance: tightest residual that an inner minimisation is taken to.
    """

    inner: ProjectedLBFGS | TrustRegionNewton = field(default_factory=ProjectedLBFGS)
    rho: float = 10.0
    rho_most: float = 1e9
    inner_steps: int = 300
    tolerance: float = 1e-9
    scaled: ClassVar[bool] = True

    def init(self, problem: Problem | Prepared, x0: Array) -> State:
        problem = prepare(problem, x0)
        if isinstance(self.inner, TrustRegionNewton) and not problem.has_hvp(constraints=True):
            raise MethodError("TrustRegionNewton inside needs an hvp of the objective and of every constraint")
        now = problem.first_look(x0)
        return State(x0, now, np.zeros(problem.m), self.rho, np.inf, 1e-1)

    def step(self, problem: Problem | Prepared, state: State) -> tuple[State, Info]:
        problem = prepare(problem, state.x)
        merit = Merit(problem, state.lam, state.rho)
        inner = prepare(
            Problem(merit, None, problem.lower, problem.upper, (), problem.space),  # pyright: ignore[reportArgumentType]
            state.x,
        )
        at, steps = self.inner.init(inner, state.x), 0
        while steps < self.inner_steps:
            at, info = self.inner.step(inner, at)  # pyright: ignore[reportArgumentType]
            steps += 1
            if info.kkt <= state.tolerance or info.verdict or info.f < -1e30:
                break
        x, now = at.x, problem.look(at.x, seen=True)
        lam = merit.weights(now.c)
        # How far from feasible and complementary: an inequality with slack counts by its multiplier.
        slack = np.where(problem.equal, now.c, np.maximum(now.c, -state.lam / state.rho if state.rho else -np.inf))
        slack = np.where(~problem.equal & (lam == 0) & (now.c < 0), 0, slack)
        violation = float(np.abs(slack).max(initial=0.0))
        rho = state.rho
        if violation > max(0.25 * state.violation, 1e-12):
            rho = min(max(10 * rho, 1.0), self.rho_most)
        lost = rho >= self.rho_most and state.rho >= self.rho_most and violation > 0.9 * state.violation
        change = problem.xp.largest(x - state.x)
        after = State(x, now, lam, rho, violation, max(0.1 * state.tolerance, self.tolerance))
        infeasible = lost and violation > 1e-6
        extra = {"inner": float(steps), "rho": rho}
        verdict = "infeasible" if infeasible else "stalled" if lost and change == 0 else ""
        return after, report(problem, x, now, lam, change, verdict=verdict, extra=extra)


@dataclass
class Merit:
    """The augmented Lagrangian as a smooth function. lam : (m,); rho >= 0, zero for the plain Lagrangian."""

    problem: Prepared
    lam: Host
    rho: float

    def weights(self, c: Host) -> Host:
        """Derivative with respect to the constraints, (m,); also the next multipliers."""
        w = self.lam + self.rho * c
        return np.where(self.problem.equal, w, np.maximum(w, 0))

    def _value(self, f: float, c: Host) -> float:
        w = self.weights(c)
        quadratic = self.lam * c + 0.5 * self.rho * c**2
        idle = -(self.lam**2) / (2 * self.rho) if self.rho > 0 else np.zeros_like(c)
        return f + float(np.where(self.problem.equal | (w > 0), quadratic, idle).sum())

    def value(self, x: Array) -> float:
        return self._value(*self.problem.values(x))

    def value_grad(self, x: Array) -> tuple[float, Array]:
        now = self.problem.look(x)
        return self._value(now.f, now.c), now.df + self.problem.xp.pull(now.J, self.weights(now.c), x)

    def hvp(self, x: Array, v: Array) -> Array:
        problem, now = self.problem, self.problem.look(x)
        w = self.weights(now.c)
        out = problem.hvp(x, v, w)
        if now.J is None:
            return out
        active = self.rho * (problem.equal | (w > 0))
        return out + problem.xp.pull(now.J, active * problem.xp.host(now.J @ v), x)

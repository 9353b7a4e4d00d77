"""Trust-region Newton with conjugate gradients: second-order steps from Hessian actions alone.

The quadratic model is minimised by conjugate gradients inside a ball (Steihaug 1983; Toint 1981), preconditioned by the
Riesz map, so that the ball and the number of CG steps belong to the function and not to its mesh; how exactly, follows
the gradient (Eisenstat and Walker 1996). Bounds: variables pressed against one are left out, the step is projected.
"""

from dataclasses import dataclass, replace

import numpy as np

from optim.arrays import Array, Host
from optim.design.kkt import report
from optim.design.projected_lbfgs import pressed
from optim.errors import MethodError
from optim.prepared import Evaluation, Prepared, need_no_constraints, prepare
from optim.problem import Problem
from optim.result import Info
from optim.space import dual_norm


@dataclass(frozen=True)
class State:
    """x : (n,); now : its evaluation; radius of the region, in the norm of the design space."""

    x: Array
    now: Evaluation
    lam: Host
    radius: float


@dataclass(frozen=True)
class TrustRegionNewton:
    """Hyper-parameters.

    Args:
        radius: first radius; None: ten times the step to the minimum along the gradient.
        accept, enlarge: ratio of actual to predicted decrease from which a step is taken, and the region doubled.
        forcing: loosest relative residual of the Newton equation; tighter as the gradient falls.
        most_cg: steps of conjugate gradients per iteration.
    """

    radius: float | None = None
    accept: float = 0.1
    enlarge: float = 0.75
    forcing: float = 0.5
    most_cg: int = 500

    def init(self, problem: Problem | Prepared, x0: Array) -> State:
        problem = prepare(problem, x0)
        need_no_constraints(problem, "TrustRegionNewton")
        if not problem.has_hvp():
            raise MethodError(
                "TrustRegionNewton needs Hessian actions: give the objective an hvp, or use ProjectedLBFGS"
            )
        now = problem.first_look(x0)
        return State(x0, now, np.zeros(0), self.radius or self._first_radius(problem, x0, now))

    def step(self, problem: Problem | Prepared, state: State) -> tuple[State, Info]:
        problem = prepare(problem, state.x)
        xp, g = problem.xp, state.now.df
        d, cg, edge = self._direction(problem, state)
        x = problem.inside(state.x + d)
        s = x - state.x
        predicted = -xp.dot(g, s) - 0.5 * xp.dot(s, problem.hvp(state.x, s))
        extra = {"cg": float(cg), "radius": state.radius}
        noise = 10 * xp.precision(g) * abs(state.now.f)
        now, ratio, reason = state.now, -1.0, "the quadratic model predicts no decrease within the bounds"
        if predicted > 0:
            now = problem.look(x)
            reason = problem.finite(now) or "the objective falls less than the quadratic model predicts"
            ratio = (state.now.f - now.f + noise) / (predicted + noise) if np.isfinite(now.f) else -1.0
        if ratio < self.accept or problem.finite(now):
            radius = 0.25 * min(state.radius, problem.space.inner(s, s) ** 0.5 or state.radius)
            over = radius <= 1e-15 * (1 + xp.largest(state.x)) or (0 <= predicted <= noise)
            verdict = "stalled" if over else ""
            info = report(
                problem, state.x, state.now, state.lam, 0.0, accepted=False, reason=reason, verdict=verdict, extra=extra
            )
            return replace(state, radius=radius), info
        radius = 2 * state.radius if ratio > self.enlarge and edge else state.radius
        if ratio < 0.25:
            radius = 0.5 * state.radius
        return State(x, now, state.lam, radius), report(problem, x, now, state.lam, xp.largest(s), extra=extra)

    def _direction(self, problem: Prepared, state: State) -> tuple[Array, int, bool]:
        """Steihaug's step (n,), CG steps taken, and whether it ends on the edge of the region."""
        xp, x, g = problem.xp, state.x, state.now.df
        down, up = pressed(problem, x, g)
        zero = xp.zeros_like(x)
        free = xp.where(down | up, zero, xp.ones_like(x))
        to_bound = xp.where(down, problem.lower - x, xp.where(up, problem.upper - x, zero))
        r = free * g
        z = free * problem.space.riesz(r)
        rz = first = xp.dot(r, z)
        if first <= 0:
            return to_bound, 0, False
        tolerance = min(self.forcing, first**0.25)  # sqrt of the gradient's norm, sqrt(r.z)
        d, p = zero, -z
        dd, dp, pp = 0.0, 0.0, rz
        for cg in range(1, self.most_cg + 1):
            Hp = free * problem.hvp(x, p)
            bend = xp.dot(p, Hp)
            # A curvature lost in rounding is none; the edge is then as good.
            step = rz / bend if bend > 1e-15 * pp else np.inf
            if not np.isfinite(step) or dd + 2 * step * dp + step**2 * pp >= state.radius**2:
                edge = (-dp + (dp**2 + pp * max(0.0, state.radius**2 - dd)) ** 0.5) / pp
                return d + edge * p + to_bound, cg, True
            d, dd = d + step * p, dd + 2 * step * dp + step**2 * pp
            r = r + step * Hp
            z = free * problem.space.riesz(r)
            rz, old = xp.dot(r, z), rz
            if rz <= tolerance**2 * first:
                return d + to_bound, cg, False
            ratio = rz / old
            dp, pp = ratio * (dp + step * pp), rz + ratio**2 * pp
            p = -z + ratio * p
        return d + to_bound, self.most_cg, False

    def _first_radius(self, problem: Prepared, x: Array, now: Evaluation) -> float:
        gradient, size = problem.space.riesz(now.df), dual_norm(problem.space, now.df)
        if size == 0:
            return 1.0
        bend = problem.xp.dot(gradient, problem.hvp(x, gradient))
        return 10 * size**3 / bend if bend > 0 else max(1.0, size)

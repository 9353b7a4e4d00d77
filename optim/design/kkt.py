"""How far from optimal: one definition for every method (Karush 1939; Kuhn and Tucker 1951).

r = df + J^T lam.    A bound that is active may hold back r in one direction, so what counts is the natural residual
p_j = min(max(r_j, 0), x_j - l_j) - min(max(-r_j, 0), u_j - x_j),
measured in the dual norm of the design space; beside it complementarity |lam_i c_i| and feasibility max(0, g), |h|.
"""

from typing import Any

import numpy as np

from optim.arrays import Array, Host
from optim.prepared import Evaluation, Prepared
from optim.result import Info
from optim.space import dual_norm


def stationarity(problem: Prepared, x: Array, r: Array) -> float:
    """Dual norm of the natural residual. r : (n,) derivative of the Lagrangian."""
    xp = problem.xp
    down = xp.minimum(xp.maximum(r, 0.0), x - problem.lower)
    up = xp.minimum(xp.maximum(-r, 0.0), problem.upper - x)
    return dual_norm(problem.space, down - up)


def feasibility(c: Host, equal: np.ndarray) -> float:
    """Largest violation of g <= 0 and h = 0."""
    return float(np.where(equal, np.abs(c), np.maximum(c, 0)).max(initial=0.0))


def complementarity(c: Host, lam: Host, equal: np.ndarray) -> float:
    """Largest |lam_i g_i|, and of multipliers with the wrong sign."""
    inequality = ~equal
    wrong = np.maximum(-lam[inequality], 0).max(initial=0.0)
    return float(max(np.abs(lam * np.where(equal, 0, np.minimum(c, 0))).max(initial=0.0), wrong))


def residuals(problem: Prepared, x: Array, now: Evaluation, lam: Host) -> tuple[float, float]:
    """(kkt, feasibility) in the units of the problem as it was stated."""
    s, t = float(problem.scales[0]), problem.scales[1:]
    r = (now.df + problem.xp.pull(now.J, lam, x)) / s
    c = now.c / t
    return max(stationarity(problem, x, r), complementarity(c, lam * t / s, problem.equal)), feasibility(
        c, problem.equal
    )


def report(problem: Prepared, x: Array, now: Evaluation, lam: Host, step: float, **more: Any) -> Info:
    """The line of the history for the iterate x; `more` are fields of `Info`."""
    kkt, feas = residuals(problem, x, now, lam)
    n_f, n_g, n_h = problem.counts
    return Info(now.f / float(problem.scales[0]), kkt, feas, step, n_f, n_g, n_h, **more)

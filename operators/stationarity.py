"""How far a design is from optimal, by the true gradient."""

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import nnls

from optim.space import dual_norm
from pde.functional import StateProblem

Vector = NDArray[np.float64]
NEAR = 1e-6


def stationarity(problem: StateProblem, x: Vector, g: Vector) -> float:
    """Dual norm of dL/dx on the variables that no bound holds back (Karush 1939; Kuhn and Tucker 1951).

    The multipliers of the active constraints are those that make it smallest; which variables are held depends on
    them, so the two are found in turns.

    Args:
        x, g: (n,) a design and dJ/dx there.
    """
    rows = [np.atleast_2d(c.jac(x))[np.asarray(c.value(x)) > -1e-4] for c in problem.constraints if c.kind == "ineq"]
    A = np.concatenate([*rows, np.zeros((0, len(x)))])
    r = g
    for _ in range(5 if len(A) else 1):
        free = _free(problem, x, r)
        if len(A) and free.any():
            size = np.linalg.norm(A, axis=1, keepdims=True)
            A_free = A / np.where(size > 0, size, 1.0)
            r = g + A_free.T @ nnls(A_free[:, free].T, -g[free])[0]
    return dual_norm(problem.space, np.where(_free(problem, x, r), r, 0.0))


def _free(problem: StateProblem, x: Vector, r: Vector) -> NDArray[np.bool_]:
    """Variables that descent along r does not press against a bound."""
    free = np.full(len(x), True)
    if problem.lower is not None:
        free &= ~((x <= problem.lower + NEAR) & (r > 0))
    if problem.upper is not None:
        free &= ~((x >= problem.upper - NEAR) & (r < 0))
    return free

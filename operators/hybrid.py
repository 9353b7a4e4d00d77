"""Few solves, many surrogate steps, and no answer that a solver has not seen.

    result = hybrid(problem, x0, surrogate)          min J(u(x), x) over bounds and constraints

minimises models of J in trust regions (`trust_region`); the other modes are what it is compared with. Whatever
happens, the result is the best feasible design that was solved.
"""

from dataclasses import asdict, dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from operators.errors import OperatorError
from operators.hybrid_log import SOLVED, Line, Log
from operators.hybrid_settings import MODES, HybridSettings, Mode
from operators.solver import FEASIBLE, Solver, Verified, violation
from operators.solver_steps import solve_alone
from operators.surrogates import Surrogate
from operators.trust_region import TrustRegion
from operators.untested import follow
from pde.functional import Spent, StateProblem

Vector = NDArray[np.float64]


@dataclass(frozen=True)
class HybridResult:
    """A finished run.

    Attributes:
        x: (n,) and J: the best feasible design that was solved, and its value.
        believed: what the last model said of its design, before it was solved.
        message: why the run ended. spent: solves of this run. log: a line for each of them, and more.
    """

    x: Vector
    J: float
    believed: float
    message: str
    spent: Spent
    log: tuple[Line, ...] = field(repr=False)

    def rows(self) -> list[dict[str, Any]]:
        """The log as plain data."""
        return [asdict(line) for line in self.log]


def hybrid(
    problem: StateProblem, x0: Vector, surrogate: Surrogate | None = None, settings: HybridSettings | None = None
) -> HybridResult:
    """Minimise J(u(x), x) with few solves.

    Args:
        x0: (n,), feasible. surrogate: what stands in for the solver; None only for mode "solver_only".

    Raises:
        OperatorError: no surrogate where one is needed; x0 has another size or is not feasible; an equality constraint.
        Whatever solver and surrogate raise at x0; later failures of the solver count as rejections.
    """
    settings = settings or HybridSettings()
    if surrogate is None and settings.mode != "solver_only":
        raise OperatorError(f"mode {settings.mode} needs a surrogate: give one, or take mode solver_only")
    x0 = _checked(problem, x0)
    solver = Solver(problem, settings.most_forward)
    log = Log(lambda: (solver.spent, np.inf if solver.best is None else solver.best.J))
    start = solver.solve(x0)
    log.note("start", "S" if settings.mode == "solver_only" else "A", start.J, radius=settings.radius)
    message, believed = _run(solver, surrogate, start, settings, log)
    best = solver.best or start
    return HybridResult(best.x, best.J, believed, message, solver.spent, tuple(log.lines))


def _run(
    solver: Solver, surrogate: Surrogate | None, start: Verified, settings: HybridSettings, log: Log
) -> tuple[str, float]:
    """-> why it ended, and what the last model believed."""
    if settings.mode == "solver_only" or surrogate is None:
        if settings.target >= start.J:
            return "the target is reached", start.J
        message = solve_alone(solver, start, log, target=settings.target, tolerance=settings.tolerance)
        return message, (solver.best or start).J
    if settings.mode in ("surrogate_only", "hybrid_every_k"):
        return follow(solver, surrogate, start, settings, log)
    region = TrustRegion(solver, surrogate, settings, log)
    return region.run(start), region.believed


def _checked(problem: StateProblem, x0: Vector) -> Vector:
    x0 = np.asarray(x0, float)
    if x0.shape != (problem.n,) or not np.isfinite(x0).all():
        raise OperatorError(f"x0 must be {problem.n} finite numbers, not shape {x0.shape}")
    if any(g.kind == "eq" for g in problem.constraints):
        raise OperatorError("the hybrid takes inequality constraints: state an equality as two of them, with a slack")
    if violation(problem, x0) > FEASIBLE:
        raise OperatorError("x0 violates a bound or a constraint: start from a feasible design")
    return x0


__all__ = ["MODES", "SOLVED", "HybridResult", "HybridSettings", "Line", "Mode", "hybrid", "violation"]

"""What a problem can be solved by: solvers for the shipped problems; solver, surrogate and hybrids for families."""

from jobs.families import FAMILIES, Mode, trained
from pde.problems import METHODS

FAMILY = " family"  # after the name of a family, where it stands beside the names of problems
WORDS = {
    "newton_cg": "Newton-CG",
    "lbfgs": "L-BFGS",
    "mma": "MMA",
    "sqp": "SQP",
    "hybrid_corrected": "Hybrid",
    "hybrid_reference": "Hybrid, gradient not corrected",
    "hybrid_every_k": "Hybrid, steps not tested",
    "surrogate_only": "Surrogate alone",
    "solver_only": "Solver alone",
}
MORE = {
    "": "The one that suits the problem",
    "hybrid_corrected": "Hybrid: the surrogate proposes, the solver checks",
    "solver_only": "Solver alone: L-BFGS, or MMA under constraints",
    "surrogate_only": "Surrogate alone: one solve to see where it led",
}
ORDER: tuple[Mode, ...] = (
    "hybrid_corrected",
    "solver_only",
    "surrogate_only",
    "hybrid_reference",
    "hybrid_every_k",
)


def family_of(problem: str) -> str | None:
    """The family that a choice of the form stands for; None for a shipped problem."""
    name = problem.removesuffix(FAMILY)
    return name if name != problem and name in FAMILIES else None


def words(method: object) -> str:
    """A method in a legend or a table."""
    return WORDS.get(str(method), "The usual method" if method in (None, "") else str(method))


def choices(family: bool) -> dict[str, str]:
    """Method -> what it is, for shipped problems or for members of families."""
    if family:
        return {name: MORE.get(name, WORDS[name]) for name in ORDER}
    return {"": MORE[""], **{name: WORDS.get(name, name) for name in METHODS}}


def others(family: bool) -> dict[str, str]:
    """Methods to compare with."""
    return {name: what for name, what in choices(family).items() if name}


def usual(problem: str) -> tuple[str, str]:
    """The method that is chosen first, and the one to compare it with."""
    family = family_of(problem)
    if family is None:
        return "", "lbfgs"
    return ("hybrid_corrected", "solver_only") if trained(family) else ("solver_only", "hybrid_corrected")

"""Problems of PDE-constrained optimisation whose answers are known, and one call that solves them.

    from pde import problems
    solution = problems.solve("poisson_control", n=64, alpha=1e-4, method="newton_cg")
    solution.figures["objective"], solution.posed.known["objective"]

Importing this does not import DOLFINx; posing a problem does.
"""

from pde.problems.fields import fields
from pde.problems.posed import Posed, Solution
from pde.problems.registry import METHODS, PROBLEMS, Parameter, ProblemError, Shipped, check, find, pose, solve

__all__ = [
    "METHODS",
    "PROBLEMS",
    "Parameter",
    "Posed",
    "ProblemError",
    "Shipped",
    "Solution",
    "check",
    "fields",
    "find",
    "pose",
    "solve",
]

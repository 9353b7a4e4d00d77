"""The shipped problems by name, with their parameters as the signature of each `pose` states them."""

import inspect
from collections.abc import Callable
from dataclasses import dataclass
from types import ModuleType
from typing import Any

from optim import Problem, minimize
from optim.design import MMA, ProjectedLBFGS, TrustRegionNewton
from pde.fem.errors import FemError
from pde.problems import (
    bar,
    bounded_control,
    cantilever,
    heat_topology,
    permeability,
    poisson_control,
    stokes_control,
)
from pde.problems.posed import Posed, Solution

METHODS: dict[str, Callable[[], Any]] = {"newton_cg": TrustRegionNewton, "lbfgs": ProjectedLBFGS, "mma": MMA}


class ProblemError(FemError):
    """A problem, parameter or method that does not exist."""


@dataclass(frozen=True)
class Parameter:
    """Name, default, and type as it is written."""

    name: str
    default: int | float
    kind: type


@dataclass(frozen=True)
class Shipped:
    """Attributes: number among B1 to B7; module with `pose`, whose docstring is the problem's equation and answer."""

    number: str
    module: ModuleType

    @property
    def title(self) -> str:
        """The first sentence, for lists."""
        return (self.module.__doc__ or "").split("\n", 1)[0].split(". ", 1)[1]

    @property
    def story(self) -> str:
        """Equation, known answer and source."""
        return inspect.cleandoc((self.module.__doc__ or "").split("\n", 1)[1])

    @property
    def parameters(self) -> dict[str, Parameter]:
        """What `pose` takes."""
        given = inspect.signature(self.module.pose).parameters.values()
        return {p.name: Parameter(p.name, p.default, type(p.default)) for p in given}


PROBLEMS: dict[str, Shipped] = {
    "poisson_control": Shipped("B1", poisson_control),
    "bounded_control": Shipped("B1b", bounded_control),
    "permeability": Shipped("B3", permeability),
    "heat_topology": Shipped("B3b", heat_topology),
    "bar": Shipped("B4a", bar),
    "cantilever": Shipped("B4b", cantilever),
    "stokes_control": Shipped("B5a", stokes_control),
}


def pose(name: str, **parameters: int | float) -> Posed:
    """The problem of that name, ready to be solved.

    Raises:
        ProblemError: there is no such problem or parameter. FemUnavailable: DOLFINx is not installed.
    """
    if name not in PROBLEMS:
        raise ProblemError(f"there is no problem named {name!r}: choose one of {', '.join(PROBLEMS)}")
    problem = PROBLEMS[name]
    known, values = problem.parameters, {}
    for key, value in parameters.items():
        if key not in known:
            raise ProblemError(f"{name} has no parameter {key!r}: it has {', '.join(known)}, and method")
        kind = known[key].kind
        try:
            values[key] = kind(value)
        except (TypeError, ValueError):
            values[key] = None
        if values[key] is None or values[key] != float(value) or not values[key] > 0:
            raise ProblemError(
                f"{key} of {name} is {value!r}: give a positive {'integer' if kind is int else 'number'}"
            )
    return problem.module.pose(**values)


def solve(name: str, method: str | None = None, **parameters: Any) -> Solution:
    """Pose the problem and solve it.

    Args:
        method: "newton_cg", "lbfgs" or "mma"; None: the one that suits the problem.
        parameters: see `PROBLEMS[name].parameters`.

    Raises:
        ProblemError: a name that does not exist. OptimError: a method that cannot take this problem.
        FemSolverError: a PDE was not solved.
    """
    if method is not None and method not in METHODS:
        raise ProblemError(f"there is no method named {method!r}: choose one of {', '.join(METHODS)}")
    posed = pose(name, **parameters)
    problem = Problem(posed.J, None, posed.lower, posed.upper, posed.constraints, posed.J.space)
    result = minimize(problem, posed.x0, METHODS[method or posed.method](), stop=posed.stop)
    return Solution(posed, result, posed.measure(result.x))

"""The shipped problems by name, with their parameters as the signature of each `pose` states them."""

import inspect
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import ModuleType
from typing import Any

from optim import minimize
from optim.design import MMA, SQP, ProjectedLBFGS, TrustRegionNewton
from pde.fem.errors import FemError
from pde.problems import (
    bar,
    bounded_control,
    cantilever,
    disc_shape,
    double_pipe,
    heat_control,
    heat_smoothing,
    heat_topology,
    obstacle_drag,
    permeability,
    plug_flow,
    poisson_control,
    reactor,
    stokes_control,
    wall_flow,
)
from pde.problems.posed import Posed, Solution

METHODS: dict[str, Callable[[], Any]] = {
    "newton_cg": TrustRegionNewton,
    "lbfgs": ProjectedLBFGS,
    "mma": MMA,
    "sqp": SQP,
}


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
        """What `pose` takes and a user may choose."""
        given = inspect.signature(self.module.pose).parameters.values()
        return {p.name: Parameter(p.name, p.default, type(p.default)) for p in given if p.kind != p.KEYWORD_ONLY}


PROBLEMS: dict[str, Shipped] = {
    "poisson_control": Shipped("B1", poisson_control),
    "bounded_control": Shipped("B1b", bounded_control),
    "heat_control": Shipped("B2", heat_control),
    "heat_smoothing": Shipped("B2b", heat_smoothing),
    "permeability": Shipped("B3", permeability),
    "heat_topology": Shipped("B3b", heat_topology),
    "bar": Shipped("B4a", bar),
    "cantilever": Shipped("B4b", cantilever),
    "stokes_control": Shipped("B5a", stokes_control),
    "double_pipe": Shipped("B5b", double_pipe),
    "wall_flow": Shipped("B5c", wall_flow),
    "disc_shape": Shipped("B6a", disc_shape),
    "obstacle_drag": Shipped("B6c", obstacle_drag),
    "plug_flow": Shipped("B7a", plug_flow),
    "reactor": Shipped("B7", reactor),
}


def find(name: str) -> Shipped:
    """Raises: ProblemError, there is no problem of that name."""
    if name not in PROBLEMS:
        raise ProblemError(f"there is no problem named {name!r}: choose one of {', '.join(PROBLEMS)}")
    return PROBLEMS[name]


def check(name: str, method: str | None, parameters: Mapping[str, Any]) -> dict[str, int | float]:
    """What a user asked for, before anything heavy is loaded; -> the parameters, of the right kinds.

    Raises:
        ProblemError: a problem, method or parameter that does not exist; a value that cannot be.
    """
    known, values = find(name).parameters, {}
    if method is not None and method not in METHODS:
        raise ProblemError(f"there is no method named {method!r}: choose one of {', '.join(METHODS)}")
    for key, value in parameters.items():
        if key not in known:
            raise ProblemError(f"{name} has no parameter {key!r}: it has {', '.join(known)}, and method")
        kind = known[key].kind
        try:
            values[key] = kind(value)
        except (TypeError, ValueError):
            values[key] = None
        if values[key] is None or values[key] != float(value) or not values[key] > 0:
            wanted = "integer" if kind is int else "number"
            raise ProblemError(f"{key} of {name} is {value!r}: give a positive {wanted}")
    return values


def pose(name: str, *, comm: Any = None, **parameters: int | float) -> Posed:
    """The problem of that name, ready to be solved.

    Args:
        comm: the MPI communicator whose processes share the mesh; None: all processes. Each of them poses the problem,
            holds the whole of x and asks for the same; see `pde.fem.numbering`.
        parameters: see `PROBLEMS[name].parameters`.

    Raises:
        ProblemError: there is no such problem or parameter. FemUnavailable: DOLFINx is not installed.
    """
    values = check(name, None, parameters)
    return PROBLEMS[name].module.pose(**values, comm=comm)


def solve(name: str, method: str | None = None, *, comm: Any = None, **parameters: Any) -> Solution:
    """Pose the problem and solve it.

    Args:
        method: "newton_cg", "lbfgs", "mma" or "sqp"; None: the one that suits the problem.
        comm, parameters: as `pose` takes them.

    Raises:
        ProblemError: a name that does not exist. OptimError: a method that cannot take this problem.
        FemSolverError: a PDE was not solved.
    """
    check(name, method, parameters)
    posed = pose(name, comm=comm, **parameters)
    result = minimize(posed.problem, posed.x0, METHODS[method or posed.method](), stop=posed.stop)
    return Solution(posed, result, posed.measure(result.x))

"""What there is to see of a shipped problem: its control and its state, as functions with names."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pde.fem.dolfinx_import import load
from pde.fem.extension import Extended
from pde.fem.filter import Filtered
from pde.fem.gathered import gathered
from pde.fem.reduced import Reduced
from pde.fem.roughness import SmoothInTime
from pde.fem.transient import Transient
from pde.problems.posed import Posed, Vector


@dataclass(frozen=True)
class Curve:
    """A design along a line, where there is no mesh. position, values: (n,)."""

    name: str
    position: NDArray[np.float64]
    values: NDArray[np.float64]


def fields(posed: Posed, x: Vector) -> list[Any]:
    """dolfinx Functions (copies) of control and state at x, or Curves; the equation is solved once.

    Where several processes share the mesh, all of them ask, and the first gets the functions on the whole mesh, by
    vertex or cell; the others get none.

    Raises:
        FemSolverError: it was not solved.
    """
    return gathered(_at(posed, x))


def _at(posed: Posed, x: Vector) -> list[Any]:
    J: Any = posed.J
    if isinstance(J, SmoothInTime):
        J = J.J
    if isinstance(J, Transient):
        return _last(J, x)
    if isinstance(J, Filtered):
        J, x = J.J, J.filter.apply(x)
    if isinstance(J, Extended):
        J, x = J.J, J.extend(x)
    if isinstance(J, Reduced):
        J.value(x)
        return _standing(J, posed.parts)
    return [Curve("control", (np.arange(len(x)) + 0.5) / len(x), x)]


def standing(posed: Posed) -> list[Any]:
    """Control and state as they stand, without a solve; nothing where they are not functions on a mesh."""
    J: Any = posed.J
    J = J.J if isinstance(J, Filtered) else J
    return gathered(_standing(J, posed.parts)) if isinstance(J, Reduced) else []


def _standing(J: Reduced, parts: tuple[str, ...]) -> list[Any]:
    names = ["control"] if len(J.controls) == 1 else [f"control {k + 1}" for k in range(len(J.controls))]
    return [*map(_copy, J.controls, names), *_parts(J.state, parts)]


def _last(J: Transient, x: Vector) -> list[Any]:
    """The state at the end of the time."""
    at = load().fem.Function(J.state.function_space)
    for _, values in J.states(x):
        at.x.array[:] = values
    return [_copy(at, "state at the end")]


def _parts(state: Any, names: tuple[str, ...]) -> list[Any]:
    """The components of a mixed state, or the state."""
    V = state.function_space
    if V.num_sub_spaces and V.dofmap.index_map_bs == 1:
        names = names or tuple(f"state {k + 1}" for k in range(V.num_sub_spaces))
        return [_copy(state.sub(k).collapse(), name) for k, name in enumerate(names)]
    return [_copy(state, "state")]


def _copy(f: Any, name: str) -> Any:
    g = f.copy()
    g.name = name
    return g

"""Several controls as one flat vector: a source and a boundary flux, a modulus and the shape, in spaces of their own.

x is the numbers of the first control, then those of the second, and so on. Each has its own inner product; that of x is
their sum.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pde.fem.control import Control, Inner, checked
from pde.fem.dolfinx_import import Dolfinx
from pde.fem.errors import FemError
from pde.fem.motion import MeshMotion, MotionControl
from pde.fem.product import together

Vector = NDArray[np.float64]


class Controls:
    """All controls of one functional.

    Args:
        given: a Function, a Constant, a MeshMotion, or a sequence of these.
        active, inner: as `Control` takes them, for one; for a sequence of controls a sequence as long (one `inner` may
            also serve all).

    Raises:
        FemError: the arguments do not fit each other.
    """

    def __init__(self, fe: Dolfinx, given: Any, domain: Any, active: Any, inner: Inner | Sequence[Inner]) -> None:
        several = isinstance(given, list | tuple)
        controls = list(given) if several else [given]
        if not controls:
            raise FemError("the list of controls is empty: name at least one")
        if several:
            actives, inners = _each(active, len(controls), "active"), _each(inner, len(controls), "inner")
        else:
            actives, inners = [active], _each(inner, 1, "inner")
        self.fe = fe
        self.parts = tuple(
            (MotionControl if isinstance(c, MeshMotion) else Control)(fe, c, domain, a, i)
            for c, a, i in zip(controls, actives, inners, strict=True)
        )
        if len({id(part.coefficient) for part in self.parts}) < len(self.parts):
            raise FemError("the same control is named twice in the list: name it once, with all its active numbers")
        if sum(part.moves_mesh for part in self.parts) > 1:
            raise FemError("two of the controls move the mesh: give one MeshMotion")
        self.cuts = tuple(int(cut) for cut in np.cumsum([0, *(part.n for part in self.parts)]))
        self.n = self.cuts[-1]
        self.space = together(tuple(part.space for part in self.parts), self.cuts)

    @property
    def coefficients(self) -> tuple[Any, ...]:
        """The functions that stand for the controls in the forms."""
        return tuple(part.coefficient for part in self.parts)

    @property
    def moves_mesh(self) -> bool:
        return any(part.moves_mesh for part in self.parts)

    def get(self) -> Vector:
        """(n,) as the coefficients stand now."""
        return np.concatenate([part.get() for part in self.parts])

    def set(self, x: Vector) -> None:
        """Make the coefficients those of x."""
        for part, own in zip(self.parts, self.split(x), strict=True):
            part.set(own)

    def gather(self, duals: list[Vector]) -> Vector:
        """Derivatives by all degrees of freedom, one array per control -> (n,)."""
        return np.concatenate([part.gather(dual) for part, dual in zip(self.parts, duals, strict=True)])

    def directions(self, dx: Vector) -> list[Vector]:
        """dx : (n,) as a change of all degrees of freedom, one array per control."""
        return [part.direction(own) for part, own in zip(self.parts, self.split(dx), strict=True)]

    def split(self, x: Vector) -> list[Vector]:
        """x : (n,) -> one vector per control."""
        return np.split(x, self.cuts[1:-1])

    def check_apart(self, state: Any) -> None:
        """Raises: FemError, one of the controls is the state itself."""
        if any(part.coefficient is state for part in self.parts):
            raise FemError("the control is the state itself: give the control a Function of its own")

    def infeasible(self) -> str:
        """Why no equation can be solved for the controls as they stand; empty: it can."""
        return next((why for part in self.parts if (why := part.infeasible())), "")

    def checked(self, x: Any) -> Vector:
        """x as all processes shall take it: that of process 0, so that none strays by a rounding error.

        Raises:
            FemError: x cannot be a control.
        """
        comm = self.parts[0].comm
        return checked(x if comm.size == 1 else comm.bcast(x), self.n)

    def in_forms(self, *forms: Any) -> tuple[Any, ...]:
        """The forms with the functions that stand for Constants in their place."""
        constants = {part.given: part.coefficient for part in self.parts if part.constant}
        return tuple(self.fe.ufl.replace(form, constants) for form in forms) if constants else forms

    def derivative(self, form: Any, directions: Sequence[Any]) -> Any:
        """The derivative of a form along a function for each control."""
        return sum(part.derivative(form, d) for part, d in zip(self.parts, directions, strict=True))


def _each(given: Any, count: int, name: str) -> list[Any]:
    if given is None or isinstance(given, str) or callable(given):
        return [given] * count
    if not isinstance(given, list | tuple) or len(given) != count:
        raise FemError(f"there are {count} controls: give {name} as a list of {count}, one for each")
    return list(given)

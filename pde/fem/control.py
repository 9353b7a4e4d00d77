"""The control: which numbers of which UFL coefficient are free, and what "steep" means among them.

A `Function` gives its degrees of freedom, all or the active ones. A `Constant` becomes, inside, a function that is
constant on each cell with the same value on all of them: UFL can differentiate by that one, and the derivative by the
constant is the sum over the cells. `pde.fem.motion` adds the shape of the mesh.
"""

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from optim.space import Euclidean, Space
from pde.fem.dolfinx_import import Dolfinx
from pde.fem.errors import FemError
from pde.fem.numbering import Numbering, owned_size, total
from pde.fem.product import space_of

Vector = NDArray[np.float64]
type Inner = str | Callable[[Any, Any], Any]


class Control:
    """Between x : (n,), the same on all processes, and the coefficient of the forms.

    Args:
        control: a Function, or a Constant.
        domain: the mesh.
        active: (n,) degrees of freedom of the Function that are free, flat; None: all.
        inner: "L2", "H1", "l2", or a function of trial and test giving a UFL form, for instance an integral over `ds`.
    """

    moves_mesh = False

    def __init__(self, fe: Dolfinx, control: Any, domain: Any, active: Any, inner: Inner) -> None:
        self.fe, self.given, self.comm = fe, control, domain.comm
        self.constant = isinstance(control, fe.fem.Constant)
        if self.constant:
            if active is not None:
                raise FemError("active names degrees of freedom of a Function: leave it out for a Constant")
            self.coefficient = fe.fem.Function(fe.fem.functionspace(domain, ("DG", 0, control.ufl_shape)))
            self.n = int(np.prod(control.ufl_shape))
            self._owned = owned_size(self.coefficient.function_space)
            self.set(np.array(control.value, float).ravel())
        elif isinstance(control, fe.fem.Function):
            self.coefficient = control
            self.numbering = Numbering(fe, control.function_space, active)
            self.active = self.numbering.mine
            self.n = self.numbering.n
        else:
            raise FemError(f"the control is a {type(control).__name__}: give a dolfinx.fem.Function or Constant")
        self.space = self._space(inner)

    def derivative(self, form: Any, direction: Any) -> Any:
        """The derivative of a form, in the direction of a function or test function of the coefficient's space."""
        return self.fe.ufl.derivative(form, self.coefficient, direction)

    def is_in(self, *forms: Any) -> bool:
        """Do these forms depend on it?"""
        return any(self.coefficient in form.coefficients() for form in forms)

    def infeasible(self) -> str:
        """Why no equation can be solved for the control as it stands; empty: it can. The same on every process."""
        return ""

    def restore(self) -> None:
        """Bring what else hangs on the coefficient in line with it."""

    def get(self) -> Vector:
        """(n,) as the coefficient stands now."""
        if self.constant:
            return np.array(self.given.value, float).ravel()
        return self.numbering.gather(self.coefficient.x.array)

    def set(self, x: Vector) -> None:
        """Make the coefficient that of x."""
        if self.constant:
            self.given.value = x.reshape(self.given.ufl_shape)
        self.spread(x, self.coefficient.x.array)

    def spread(self, x: Vector, values: Vector) -> None:
        """Write x : (n,) into values : (all degrees of freedom here,); inactive ones stay."""
        if self.constant:
            values.reshape(-1, self.n)[:] = x
        else:
            self.numbering.spread(x, values)

    def gather(self, dual: Vector) -> Vector:
        """The transpose of `spread`: a derivative by all degrees of freedom -> (n,)."""
        if self.constant:
            own = dual[: self._owned].reshape(-1, self.n).sum(axis=0)
            return np.array([total(self.comm, float(part)) for part in own])
        return self.numbering.gather(dual)

    def direction(self, dx: Vector) -> Vector:
        """dx : (n,) as a change of all degrees of freedom, zero where inactive."""
        values = np.zeros_like(self.coefficient.x.array)
        self.spread(dx, values)
        return values

    def checked(self, x: Any) -> Vector:
        """Raises: FemError, if x cannot be a control."""
        return checked(x, self.n)

    def _space(self, inner: Inner) -> Space:
        if inner == "l2" or self.constant:
            return Euclidean()
        return space_of(self.fe, self._product(inner), self.numbering)

    def _product(self, inner: Inner) -> Any:
        """The inner product as a form of trial and test functions."""
        ufl, V = self.fe.ufl, self.coefficient.function_space
        a, b = ufl.TrialFunction(V), ufl.TestFunction(V)
        if callable(inner):
            return inner(a, b)
        if inner not in ("L2", "H1"):
            raise FemError(f"there is no inner product named {inner!r}: give 'L2', 'H1', 'l2' or a function of (a, b)")
        form = ufl.inner(a, b) * ufl.dx
        return form if inner == "L2" else form + ufl.inner(ufl.grad(a), ufl.grad(b)) * ufl.dx


def checked(x: Any, n: int) -> Vector:
    """x as a vector of n finite numbers.

    Raises:
        FemError: it is none.
    """
    x = np.asarray(x, float)
    if x.shape != (n,):
        raise FemError(f"the control has {n} numbers, x has shape {x.shape}: give a flat vector ({n},)")
    if not np.isfinite(x).all():
        raise FemError("x holds a value that is not finite: check it for nan and infinity")
    return x

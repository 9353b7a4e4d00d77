"""The control: which numbers of which UFL coefficient are free, and what "steep" means among them.

A `Function` gives its degrees of freedom, all or the active ones. A `Constant` becomes, inside, a function that is
constant on each cell with the same value on all of them: UFL can differentiate by that one, and the derivative by the
constant is the sum over the cells.
"""

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from optim.space import Euclidean, Hilbert, Space, Weighted
from pde.fem.dolfinx_import import Dolfinx
from pde.fem.errors import FemError

Vector = NDArray[np.float64]
type Inner = str | Callable[[Any, Any], Any]


class Control:
    """Between x : (n,) and the coefficient of the forms.

    Args:
        control: a Function, or a Constant.
        domain: the mesh.
        active: (n,) degrees of freedom of the Function that are free, flat; None: all.
        inner: "L2", "H1", "l2", or a function of trial and test giving a UFL form, for instance an integral over `ds`.
    """

    def __init__(self, fe: Dolfinx, control: Any, domain: Any, active: Any, inner: Inner) -> None:
        self.fe, self.given = fe, control
        self.constant = isinstance(control, fe.fem.Constant)
        if self.constant:
            if active is not None:
                raise FemError("active names degrees of freedom of a Function: leave it out for a Constant")
            self.coefficient = fe.fem.Function(fe.fem.functionspace(domain, ("DG", 0, control.ufl_shape)))
            self.n = int(np.prod(control.ufl_shape))
            self.set(np.array(control.value, float).ravel())
        elif isinstance(control, fe.fem.Function):
            self.coefficient = control
            size = len(control.x.array)
            self.active = np.arange(size) if active is None else np.asarray(active, np.int64)
            if self.active.ndim != 1 or not len(self.active) or not np.isin(self.active, np.arange(size)).all():
                raise FemError(f"active must be a list of degrees of freedom between 0 and {size - 1}")
            self.n = len(self.active)
        else:
            raise FemError(f"the control is a {type(control).__name__}: give a dolfinx.fem.Function or Constant")
        self.space = self._space(inner)

    def get(self) -> Vector:
        """(n,) as the coefficient stands now."""
        values = self.coefficient.x.array
        return values[: self.n].copy() if self.constant else values[self.active].copy()

    def set(self, x: Vector) -> None:
        """Make the coefficient that of x."""
        if self.constant:
            self.given.value = x.reshape(self.given.ufl_shape)
        self.spread(x, self.coefficient.x.array)

    def spread(self, x: Vector, values: Vector) -> None:
        """Write x : (n,) into values : (all degrees of freedom,); inactive ones stay."""
        if self.constant:
            values.reshape(-1, self.n)[:] = x
        else:
            values[self.active] = x

    def gather(self, dual: Vector) -> Vector:
        """The transpose of `spread`: a derivative by all degrees of freedom -> (n,)."""
        return dual.reshape(-1, self.n).sum(axis=0) if self.constant else dual[self.active].copy()

    def direction(self, dx: Vector) -> Vector:
        """dx : (n,) as a change of all degrees of freedom, zero where inactive."""
        values = np.zeros_like(self.coefficient.x.array)
        self.spread(dx, values)
        return values

    def checked(self, x: Any) -> Vector:
        """Raises: FemError, if x cannot be a control."""
        x = np.asarray(x, float)
        if x.shape != (self.n,):
            raise FemError(f"the control has {self.n} numbers, x has shape {x.shape}: give a flat vector ({self.n},)")
        if not np.isfinite(x).all():
            raise FemError("x holds a value that is not finite: check it for nan and infinity")
        return x

    def _space(self, inner: Inner) -> Space:
        if inner == "l2" or self.constant:
            return Euclidean()
        ufl, V = self.fe.ufl, self.coefficient.function_space
        a, b = ufl.TrialFunction(V), ufl.TestFunction(V)
        if callable(inner):
            form = inner(a, b)
        elif inner in ("L2", "H1"):
            form = ufl.inner(a, b) * ufl.dx
            form = form if inner == "L2" else form + ufl.inner(ufl.grad(a), ufl.grad(b)) * ufl.dx
        else:
            raise FemError(f"there is no inner product named {inner!r}: give 'L2', 'H1', 'l2' or a function of (a, b)")
        mass = self.fe.fem.assemble_matrix(self.fe.fem.form(form)).to_scipy().tocsc()[self.active][:, self.active]
        mass.eliminate_zeros()
        diagonal = mass.diagonal()
        if not (diagonal > 0).all():
            raise FemError(
                "the inner product vanishes for some degrees of freedom of the control: name those that matter in "
                "active, for instance those on the boundary"
            )
        return Weighted(diagonal) if mass.nnz == self.n else Hilbert.from_matrix(mass)

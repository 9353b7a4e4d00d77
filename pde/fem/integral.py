"""A condition on an integral of the control, for instance on the material that a design uses."""

from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from pde.fem.control import Control
from pde.fem.errors import FemError
from pde.fem.form import LinearForm, with_fixed_quadrature

Vector = NDArray[np.float64]


class IntegralConstraint:
    """g(x) = (int f(m) dx - limit) / scale, as `optim` takes constraints: g <= 0 or g = 0.

    Made by `Reduced.at_most` and `Reduced.equal`. It looks at a copy of the control, so it moves nobody's state.
    """

    m = 1

    def __init__(self, form: Any, control: Control, limit: float, kind: Literal["ineq", "eq"]) -> None:
        fe, given = control.fe, control.given
        self.kind: Literal["ineq", "eq"] = kind
        self._control, self._limit, self._scale = control, limit, abs(limit) or 1.0
        self._own = fe.fem.Function(control.coefficient.function_space)
        self._own.x.array[:] = control.coefficient.x.array
        known = form.constants() if control.constant else form.coefficients()
        if form.arguments() or given not in known:
            raise FemError("the constraint must be an integral of the control, without test functions")
        form = with_fixed_quadrature(fe, fe.ufl.replace(form, {given: self._own}))
        V = self._own.function_space
        v, self._dm = fe.ufl.TestFunction(V), fe.fem.Function(V)
        slope = fe.ufl.derivative(form, self._own, v)
        size = len(self._own.x.array)
        self._fe, self._form = fe, fe.fem.form(form)
        self._slope = LinearForm(fe, slope, size)
        self._bend = LinearForm(fe, fe.ufl.derivative(slope, self._own, self._dm), size)

    def value(self, x: Vector) -> Vector:
        """(1,)"""
        self._set(x)
        return np.array([(float(self._fe.fem.assemble_scalar(self._form)) - self._limit) / self._scale])

    def jac(self, x: Vector) -> Vector:
        """(1, n)"""
        self._set(x)
        return self._control.gather(self._slope.assemble())[None] / self._scale

    def hvp(self, x: Vector, v: Vector, weight: Vector) -> Vector:
        """Hessian of weight . g times v, (n,)."""
        self._set(x)
        self._dm.x.array[:] = self._control.direction(v)
        return float(weight[0]) / self._scale * self._control.gather(self._bend.assemble())

    def _set(self, x: Vector) -> None:
        self._control.spread(self._control.checked(x), self._own.x.array)

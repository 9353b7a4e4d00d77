"""A condition on an integral of the control, for instance on the material that a design uses or on the area it has."""

from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from numpy.typing import NDArray

from pde.fem.controls import Controls
from pde.fem.errors import FemError
from pde.fem.form import LinearForm, assembled_number, with_fixed_quadrature

if TYPE_CHECKING:
    from pde.fem.reduced import _Parts

Vector = NDArray[np.float64]


class IntegralConstraint:
    """g(x) = (int f(m) dx - limit) / scale, as `optim` takes constraints: g <= 0 or g = 0.

    Made by `Reduced.at_most` and `Reduced.equal`. It moves nobody's state: a look at it leaves the controls as they
    stood. Where the mesh is folded it is infinite.
    """

    m = 1

    def __init__(self, form: Any, controls: Controls, limit: float, kind: Literal["ineq", "eq"]) -> None:
        fe = controls.fe
        self.kind: Literal["ineq", "eq"] = kind
        self._controls, self._limit, self._scale = controls, limit, abs(limit) or 1.0
        (form,) = controls.in_forms(form)
        if form.arguments() or not any(part.is_in(form) for part in controls.parts):
            raise FemError("the constraint must be an integral of the control, without test functions")
        form = with_fixed_quadrature(fe, form)
        self._comm = controls.parts[0].comm
        spaces = [m.function_space for m in controls.coefficients]
        self._dm = [fe.fem.Function(space) for space in spaces]
        slopes = [part.derivative(form, fe.ufl.TestFunction(V)) for part, V in zip(controls.parts, spaces, strict=True)]
        sizes = [len(dm.x.array) for dm in self._dm]
        self._fe, self._form = fe, fe.fem.form(form)
        self._slopes = [LinearForm(fe, slope, size) for slope, size in zip(slopes, sizes, strict=True)]
        self._bends = [
            LinearForm(fe, controls.derivative(slope, self._dm), size)
            for slope, size in zip(slopes, sizes, strict=True)
        ]

    def value(self, x: Vector) -> Vector:
        """(1,)"""
        with _At(self._controls, x) as at:
            if at.infeasible:
                return np.array([np.inf])
            return np.array([(assembled_number(self._fe, self._form, self._comm) - self._limit) / self._scale])

    def jac(self, x: Vector) -> Vector:
        """(1, n)"""
        with _At(self._controls, x) as at:
            if at.infeasible:
                return np.zeros((1, self._controls.n))
            return self._controls.gather([slope.assemble() for slope in self._slopes])[None] / self._scale

    def hvp(self, x: Vector, v: Vector, weight: Vector) -> Vector:
        """Hessian of weight . g times v, (n,)."""
        with _At(self._controls, x):
            for dm, values in zip(self._dm, self._controls.directions(v), strict=True):
                dm.x.array[:] = values
            return float(weight[0]) / self._scale * self._controls.gather([b.assemble() for b in self._bends])


class StateIntegral:
    """g(x) = (int f(u(m), m) dx - limit) / scale, as `optim` takes constraints: an energy, a mean, a flow rate.

    Made by `Reduced.at_most` and `Reduced.equal`. It shares the state of an x, and its factors, with the objective.
    Where the equation cannot be posed it is infinite.
    """

    m = 1

    def __init__(self, parts: "_Parts", controls: Controls, limit: float, kind: Literal["ineq", "eq"]) -> None:
        self.kind: Literal["ineq", "eq"] = kind
        self._parts, self._controls, self._limit, self._scale = parts, controls, limit, abs(limit) or 1.0

    def value(self, x: Vector) -> Vector:
        """(1,)"""
        return np.array([(self._parts.value(self._controls.checked(x)) - self._limit) / self._scale])

    def jac(self, x: Vector) -> Vector:
        """(1, n); one adjoint solve."""
        x = self._controls.checked(x)
        self._parts.value(x)
        slope = np.zeros(self._controls.n) if self._parts.why else self._parts.derivative(x)
        return slope[None] / self._scale

    def hvp(self, x: Vector, v: Vector, weight: Vector) -> Vector:
        """Hessian of weight . g times v, (n,)."""
        bend = self._parts.hessian(self._controls.checked(x), self._controls.checked(v))
        return float(weight[0]) / self._scale * bend


class _At:
    """The controls at x, and afterwards as they were."""

    def __init__(self, controls: Controls, x: Vector) -> None:
        self._controls, self._x = controls, controls.checked(x)

    def __enter__(self) -> "_At":
        self._kept = [m.x.array.copy() for m in self._controls.coefficients]
        self._constants = [part.given.value.copy() for part in self._controls.parts if part.constant]
        self._controls.set(self._x)
        self.infeasible = self._controls.infeasible()
        return self

    def __exit__(self, *_: object) -> None:
        for m, values in zip(self._controls.coefficients, self._kept, strict=True):
            m.x.array[:] = values
        constants = iter(self._constants)
        for part in self._controls.parts:
            if part.constant:
                part.given.value = next(constants)
            part.restore()

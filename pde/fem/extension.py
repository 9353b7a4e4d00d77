"""A control that acts through a linear equation: a traction on a boundary, and the motion of the mesh that it causes.

    a(Phi, v) = l(h; v) for all v,     Phi = E h,     j(h) = J(E h),     dj = E^T dJ,     H_j = E^T H_J E

Moved vertex by vertex, a mesh has many motions that change no shape, and optimisation finds them. Moved by the traction
on its boundary as an elastic body is, it has only those that do, and its cells share the strain (Schulz and Siebenborn
2016). Both forms are assembled once, on the mesh as it is when the extension is made.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from optim.space import Space
from pde.fem.control import Control, Inner
from pde.fem.dolfinx_import import load
from pde.fem.errors import FemError
from pde.fem.form import with_fixed_quadrature
from pde.fem.linear_solver import LinearSolver
from pde.fem.numbering import Numbering
from pde.fem.reduced import Reduced
from pde.fem.solver_options import SolverOptions, named

Vector = NDArray[np.float64]


class Extended:
    """J(E h) as a function of h alone; a `pde.functional.TwiceReducedFunctional`.

    Args:
        J: of one control, all of whose degrees of freedom are active.
        a: bilinear form of trial and test functions in the space of J's control. l: form with h and a test function
            there, linear in both.
        control: h, a Function. Its values now are `x0`.
        bcs: Dirichlet conditions that hold Phi at zero.
        active, inner: of h; see `Reduced`.
        solver: for the equation of the extension.

    Raises:
        FemError: a part does not fit the others.
    """

    def __init__(
        self,
        J: Reduced,
        a: Any,
        l: Any,
        control: Any,
        bcs: Any = (),
        *,
        active: Any = None,
        inner: Inner = "L2",
        solver: str | SolverOptions = "direct",
    ) -> None:
        fe = load()
        if len(J.controls) != 1 or control not in l.coefficients():
            raise FemError("an extension needs a functional of one control, and its new control in the form l")
        (Phi,) = J.controls
        V = Phi.function_space
        self.J = J
        self._control = Control(fe, control, V.mesh, active, inner)
        self._Phi, self._numbering = fe.fem.Function(V), Numbering(fe, V)
        if self._numbering.n != J.n:
            raise FemError("an extension needs all degrees of freedom of the functional's control active")
        self._h = fe.fem.Function(control.function_space)
        a, l = (with_fixed_quadrature(fe, form) for form in (a, l))
        K = fe.petsc.assemble_matrix(fe.fem.form(a), bcs=list(bcs))
        K.assemble()
        self._load = fe.petsc.assemble_matrix(fe.fem.form(fe.ufl.derivative(l, control)))
        self._load.assemble()
        self._solver = LinearSolver(fe, K, named(solver), V)
        self._fixed = np.unique(np.concatenate([np.zeros(0, np.int32), *(bc.dof_indices()[0] for bc in bcs)]))
        self._left, self._right = self._load.createVecLeft(), self._load.createVecRight()
        self.space: Space = self._control.space
        self.x0: Vector = self._control.get()

    @property
    def n(self) -> int:
        """Numbers in x."""
        return self._control.n

    def extend(self, x: Vector) -> Vector:
        """E x: (n,) -> (J.n,)."""
        h = self._control.direction(self._control.checked(x))
        self._right.array[:] = h[: self._right.getLocalSize()]
        self._load.mult(self._right, self._left)
        b = np.zeros(len(self._Phi.x.array))
        b[: self._left.getLocalSize()] = self._left.array_r
        b[self._fixed] = 0
        return self._numbering.gather(self._solver.solve(b, "extension"))

    def pull_back(self, dual: Vector) -> Vector:
        """E^T dual: (J.n,) -> (n,)."""
        b = np.zeros(len(self._Phi.x.array))
        self._numbering.spread(dual, b)
        b[self._fixed] = 0
        p = self._solver.solve(b, "transposed extension", transposed=True)
        p[self._fixed] = 0
        self._left.array[:] = p[: self._left.getLocalSize()]
        self._load.multTranspose(self._left, self._right)
        own = np.zeros(len(self._h.x.array))
        own[: self._right.getLocalSize()] = self._right.array_r
        return self._control.gather(own)

    def value(self, x: Vector) -> float:
        """J at E x; infinite where J is. Raises what J raises."""
        return self.J.value(self.extend(x))

    def value_grad(self, x: Vector) -> tuple[float, Vector]:
        """J and dJ/dx, (n,), a covector."""
        J, dJ = self.J.value_grad(self.extend(x))
        return J, self.pull_back(dJ)

    def gradient(self, x: Vector) -> Vector:
        """The vector (n,) that represents the derivative in the inner product `space`."""
        return self.space.riesz(self.value_grad(x)[1])

    def hvp(self, x: Vector, v: Vector) -> Vector:
        """Hessian of J at x times v, (n,), a covector."""
        return self.pull_back(self.J.hvp(self.extend(x), self.extend(v)))

    def at_most(self, form: Any, limit: float) -> "ExtendedConstraint":
        """The constraint int f <= limit on what `Reduced.at_most` takes, as one on h."""
        return ExtendedConstraint(self, self.J.at_most(form, limit))

    def equal(self, form: Any, limit: float) -> "ExtendedConstraint":
        """The constraint int f = limit, as one on h."""
        return ExtendedConstraint(self, self.J.equal(form, limit))


class ExtendedConstraint:
    """g(E h), with derivatives, as `optim` takes constraints."""

    def __init__(self, through: Extended, g: Any) -> None:
        self._through, self._g = through, g
        self.m, self.kind = g.m, g.kind

    def value(self, x: Vector) -> Vector:
        """(m,)"""
        return self._g.value(self._through.extend(x))

    def jac(self, x: Vector) -> Vector:
        """(m, n)"""
        return np.array([self._through.pull_back(row) for row in self._g.jac(self._through.extend(x))])

    def hvp(self, x: Vector, v: Vector, weight: Vector) -> Vector:
        """Hessian of weight . g times v, (n,)."""
        E = self._through.extend
        return self._through.pull_back(self._g.hvp(E(x), E(v), weight))

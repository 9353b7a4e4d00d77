"""From a PDE in UFL to an exact derivative: J(u(m), m) as a function of m alone.

    F(u, m; v) = 0 for all v,  u = g where fixed           the state                    K = dF/du
    L(u, m, p) = J(u, m) + F(u, m; p)                      the Lagrangian
    K^T p = -dJ/du                                         the adjoint
    dJ/dm = dL/dm                                          the derivative

and for the Hessian in the direction dm (Hinze, Pinnau, Ulbrich and Ulbrich 2009, section 1.6):

    K du = -dF/dm dm                                       the tangent
    K^T dp = -(L_uu du + L_um dm)                          the second adjoint
    H dm = L_mm dm + L_mu du + (dF/dm)^T dp

Where the control is itself a fixed value, u = P m, both p and dp vanish there, du = P dm, and the derivative gains
P^T dL/du, the reaction of the boundary. All of this is discretised first: the derivative is exact for the discrete
problem, whatever the mesh.
"""

from collections.abc import Iterable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from optim.space import Space
from pde.fem.control import Control, Inner
from pde.fem.dirichlet import Dirichlet
from pde.fem.dolfinx_import import Dolfinx, load
from pde.fem.errors import FemError
from pde.fem.form import LinearForm, with_fixed_quadrature
from pde.fem.integral import IntegralConstraint
from pde.fem.solver_options import SolverOptions, named
from pde.fem.state import Counts, StateEquation

Vector = NDArray[np.float64]


class Reduced:
    """J(u(m), m) with derivative and Hessian actions; a `pde.functional.TwiceReducedFunctional`.

        u, m, v = Function(V), Function(M), TestFunction(V)
        F = inner(grad(u), grad(v)) * dx - m * v * dx
        J = Reduced(residual=F, objective=0.5 * (u - d)**2 * dx, state=u, control=m, bcs=[...])
        optim.minimize(J, J.x0)

    After a call, the functions of state and control hold the values at that call's x. Answers are kept for the last x;
    after changing other data of the forms, call `forget`. The same x gives the same bits, whatever was asked before.

    Args:
        residual: F(u, m; v), a UFL form that is linear in one test function of the state's space.
        objective: J(u, m), a UFL form without test functions.
        state: Function, also of a vector or mixed space. Its values now are the first guess of Newton's method.
        control: Function, in the domain or on the boundary (by where the forms use it, or as the value of a Dirichlet
            condition), or a Constant. Its values now are `x0`.
        bcs: dolfinx Dirichlet conditions of the state.
        inner: product of the control space: "L2", "H1", "l2", or a function of (trial, test) giving a form.
        active: degrees of freedom of the control that are free; None: all.
        solver, adjoint_solver: names in `pde.fem.solver_options.OPTIONS`, or SolverOptions. No adjoint_solver: one
            factorisation serves both.
        newton: SNES options that replace those in `solver_options.NEWTON`.

    Raises:
        FemError: a part does not fit the others.
        FemUnavailable: DOLFINx is not installed.
    """

    def __init__(
        self,
        residual: Any,
        objective: Any,
        state: Any,
        control: Any,
        bcs: Iterable[Any] = (),
        *,
        inner: Inner = "L2",
        active: Any = None,
        solver: str | SolverOptions = "direct",
        adjoint_solver: str | SolverOptions | None = None,
        newton: dict[str, str | int | float] | None = None,
    ) -> None:
        fe = load()
        _check(fe, residual, objective, state)
        self._control = Control(fe, control, state.function_space.mesh, active, inner)
        # Shared by shallow copies, so that a copy cannot move the state under its original.
        self._parts = _Parts(
            fe,
            residual,
            objective,
            state,
            self._control,
            tuple(bcs),
            named(solver),
            None if adjoint_solver is None else named(adjoint_solver),
            newton or {},
        )
        self.space: Space = self._control.space
        self.x0: Vector = self._control.get()

    @property
    def n(self) -> int:
        """Numbers in x."""
        return self._control.n

    @property
    def counts(self) -> Counts:
        """Solves and factorisations since this was made."""
        return self._parts.equation.counts

    def value(self, x: Vector) -> float:
        """J at x : (n,).

        Raises:
            FemError: x cannot be a control. FemSolverError: the state equation was not solved.
        """
        return self._parts.value(self._control.checked(x))

    def value_grad(self, x: Vector) -> tuple[float, Vector]:
        """J and dJ/dx, (n,), a covector: dJ . dx is the change of J.

        Raises:
            FemError, FemSolverError: see `value`; also when the adjoint was not solved.
        """
        x = self._control.checked(x)
        return self._parts.value(x), self._parts.derivative(x).copy()

    def gradient(self, x: Vector) -> Vector:
        """The vector (n,) that represents the derivative in the inner product `space`."""
        return self.space.riesz(self.value_grad(x)[1])

    def hvp(self, x: Vector, v: Vector) -> Vector:
        """Hessian of J at x times v, (n,), a covector. Two linear solves with the factors of the state."""
        return self._parts.hessian(self._control.checked(x), self._control.checked(v))

    def at_most(self, form: Any, limit: float) -> IntegralConstraint:
        """The constraint int f(m) <= limit. form : a UFL form of the control alone.

        Raises:
            FemError: it is not such a form.
        """
        return IntegralConstraint(form, self._control, limit, "ineq")

    def equal(self, form: Any, limit: float) -> IntegralConstraint:
        """The constraint int f(m) = limit; see `at_most`."""
        return IntegralConstraint(form, self._control, limit, "eq")

    def forget(self) -> None:
        """Solve anew at the next call, because data of the forms have changed."""
        self._parts.forget()


class _Parts:
    """The compiled forms, the functions that they refer to, and for which x these hold."""

    def __init__(
        self,
        fe: Dolfinx,
        F: Any,
        J: Any,
        u: Any,
        control: Control,
        bcs: tuple[Any, ...],
        solver: SolverOptions,
        adjoint_solver: SolverOptions | None,
        newton: dict[str, str | int | float],
    ) -> None:
        ufl, m = fe.ufl, control.coefficient
        if control.constant:
            F, J = (ufl.replace(form, {control.given: m}) for form in (F, J))
        F, J = with_fixed_quadrature(fe, F), with_fixed_quadrature(fe, J)
        self.fe, self.control, self.u, self.m = fe, control, u, m
        self.dirichlet = Dirichlet(bcs, u.function_space, m)
        _check_control(control, F, J, self.dirichlet)
        self.equation = StateEquation(fe, F, u, m, self.dirichlet, solver, adjoint_solver, newton)
        self.F, self.J = F, fe.fem.form(J)
        self.p, self.dp, self.du = (fe.fem.Function(u.function_space) for _ in range(3))
        self.dm = fe.fem.Function(m.function_space)
        self.L = J + ufl.replace(F, {F.arguments()[0]: self.p})
        self.L_u = self._state_form(ufl.derivative(self.L, u, ufl.TestFunction(u.function_space)))
        self.L_m = self._control_form(ufl.derivative(self.L, m, ufl.TestFunction(m.function_space)))
        self._second: tuple[LinearForm, LinearForm, LinearForm] | None = None
        self.forget()

    def forget(self) -> None:
        self.at: Vector | None = None
        self.J_at: float | None = None
        self.dJ_at: Vector | None = None
        self.equation.forget()

    def value(self, x: Vector) -> float:
        self._solve_state(x)
        if self.J_at is None:
            self.J_at = float(self.fe.fem.assemble_scalar(self.J))
        return self.J_at

    def derivative(self, x: Vector) -> Vector:
        self._solve_state(x)
        if self.dJ_at is None:
            p = self.p.x.array
            p[:] = 0
            p[:] = self._adjoint(self.L_u.assemble(), "adjoint")
            dJ = self.L_m.assemble()
            if self.dirichlet.link is not None:
                dJ += self.dirichlet.link.T @ self.L_u.assemble()
            self.dJ_at = self.control.gather(dJ)
        return self.dJ_at

    def hessian(self, x: Vector, v: Vector) -> Vector:
        self.derivative(x)
        tangent, adjoint, result = self._second_forms()
        link, equation = self.dirichlet.link, self.equation
        self.dm.x.array[:] = self.control.direction(v)
        boundary = np.zeros(equation.size) if link is None else self.dirichlet.follow(self.dm.x.array)
        # The tangent form is dF/dm dm + K du: with the boundary's part of du it is the right-hand side.
        self.du.x.array[:] = boundary
        equation.counts.tangents += 1
        self.du.x.array[:] -= equation.forward.solve(equation.free(tangent.assemble()), "tangent")
        self.dp.x.array[:] = 0
        self.dp.x.array[:] = self._adjoint(adjoint.assemble(), "second adjoint")
        H = result.assemble()
        if link is not None:
            H += link.T @ adjoint.assemble()
        return self.control.gather(H)

    def _solve_state(self, x: Vector) -> None:
        if self.at is not None and np.array_equal(self.at, x):
            # The functions are the caller's: whatever was written into them meanwhile, they stand for x again.
            self.control.set(x)
            self.u.x.array[:] = self.u_at
            return
        self.at, self.J_at, self.dJ_at = None, None, None
        self.control.set(x)
        self.equation.solve()
        self.at, self.u_at = x.copy(), self.u.x.array.copy()

    def _adjoint(self, b: Vector, what: str) -> Vector:
        self.equation.counts.adjoints += 1
        return self.equation.adjoint.solve(self.equation.free(-b), what, transposed=True)

    def _second_forms(self) -> tuple[LinearForm, LinearForm, LinearForm]:
        """Compiled when the first Hessian action is asked for: dF/dm dm + K du; d(dL/du); d(dL/dm)."""
        if self._second is None:
            ufl, u, m = self.fe.ufl, self.u, self.m
            v, w = ufl.TestFunction(u.function_space), ufl.TestFunction(m.function_space)

            def along(form: Any, adjoint: bool) -> Any:
                change = ufl.derivative(form, u, self.du) + ufl.derivative(form, m, self.dm)
                return change + ufl.derivative(form, self.p, self.dp) if adjoint else change

            self._second = (
                self._state_form(along(self.F, adjoint=False)),
                self._state_form(along(ufl.derivative(self.L, u, v), adjoint=True)),
                self._control_form(along(ufl.derivative(self.L, m, w), adjoint=True)),
            )
        return self._second

    def _state_form(self, form: Any) -> LinearForm:
        return LinearForm(self.fe, form, len(self.u.x.array))

    def _control_form(self, form: Any) -> LinearForm:
        return LinearForm(self.fe, form, len(self.m.x.array))


def _check(fe: Dolfinx, residual: Any, objective: Any, state: Any) -> None:
    if not isinstance(state, fe.fem.Function):
        raise FemError(f"the state is a {type(state).__name__}: give a dolfinx.fem.Function")
    if state.function_space.mesh.comm.size > 1:
        raise FemError("Reduced works on one process: make the mesh on MPI.COMM_SELF")
    if not (isinstance(residual, fe.ufl.Form) and isinstance(objective, fe.ufl.Form)):
        raise FemError("residual and objective must be UFL forms: integrals such as f * v * ufl.dx")
    arguments = residual.arguments()
    if len(arguments) != 1 or arguments[0].ufl_function_space() != state.function_space:
        raise FemError("the residual must be F(u, m; v) with one test function v of the state's space")
    if objective.arguments():
        raise FemError("the objective must be a number: a form without test or trial functions")
    if state not in residual.coefficients():
        raise FemError(
            "the residual does not contain the state: write F(u, m; v) with the Function u, not a TrialFunction"
        )


def _check_control(control: Control, F: Any, J: Any, dirichlet: Dirichlet) -> None:
    if control.constant and any(bc.g is control.given._cpp_object for bc in dirichlet.bcs):
        raise FemError("a Constant in a Dirichlet condition cannot be the control: give its value as a Function")
    used = control.coefficient in F.coefficients() or control.coefficient in J.coefficients()
    if not used and dirichlet.link is None:
        raise FemError(
            "the control is in neither residual, objective nor Dirichlet conditions: J does not depend on it"
        )

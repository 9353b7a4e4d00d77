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
P^T dL/du, the reaction of the boundary. Several controls m are one vector, their derivatives beside each other; a
control may be the shape of the mesh (`pde.fem.motion`). All of this is discretised first: the derivative is exact for
the discrete problem, whatever the mesh.
"""

import copy
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from optim.space import Space
from pde.fem.control import Inner
from pde.fem.controls import Controls
from pde.fem.dirichlet import Dirichlet, conditions
from pde.fem.dolfinx_import import Dolfinx, load
from pde.fem.errors import FemError, FemSolverError
from pde.fem.form import LinearForm, assembled_number, with_fixed_quadrature
from pde.fem.in_sight import StateInSight
from pde.fem.integral import IntegralConstraint, StateIntegral
from pde.fem.solver_options import SolverOptions, named
from pde.fem.state import Counts, StateEquation

Vector = NDArray[np.float64]

_NO_FORM = "residual and objective must be UFL forms: integrals such as f * v * ufl.dx"


class Reduced:
    """J(u(m), m) with derivative and Hessian actions; a `pde.functional.TwiceReducedFunctional`.

        u, m, v = Function(V), Function(M), TestFunction(V)
        F = inner(grad(u), grad(v)) * dx - m * v * dx
        J = Reduced(residual=F, objective=0.5 * (u - d)**2 * dx, state=u, control=m, bcs=[...])
        optim.minimize(J, J.x0)

    After a call, the functions of state and control hold the values at that call's x. Answers are kept for the last x;
    after changing other data of the forms, call `forget`. The same x gives the same bits, whatever was asked before.
    Under MPI every process holds all of x and asks the same; see `pde.fem.numbering`. There the same x gives the same
    numbers to rounding, and the same bits on every process: MUMPS adds up messages in the order of their arrival.

    Args:
        residual: F(u, m; v), a UFL form that is linear in one test function of the state's space.
        objective: J(u, m), a UFL form without test functions.
        state: Function, also of a vector or mixed space. Its values now are the first guess of Newton's method.
        control: Function, in the domain or on the boundary (by where the forms use it, or as the value of a Dirichlet
            condition), Constant, or MeshMotion; or a list of these. Their values now are `x0`.
        bcs: dolfinx Dirichlet conditions of the state.
        inner: product of the control space: "L2", "H1", "l2", or a function of (trial, test) giving a form; for several
            controls a list of these.
        active: degrees of freedom of the control that are free; None: all; for several controls a list of these.
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
        inner: Inner | Sequence[Inner] = "L2",
        active: Any = None,
        solver: str | SolverOptions = "direct",
        adjoint_solver: str | SolverOptions | None = None,
        newton: dict[str, str | int | float] | None = None,
    ) -> None:
        fe = load()
        check_state(fe, residual, state)
        _check_objective(fe, objective)
        self._control = Controls(fe, control, state.function_space.mesh, active, inner)
        # Shared by shallow copies, so that a copy cannot move the state under its original.
        self._parts = _Parts(
            fe,
            residual,
            objective,
            state,
            self._control,
            conditions(bcs),
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
    def controls(self) -> tuple[Any, ...]:
        """The function of each control: what was given, the displacement of a motion, or what stands for a Constant."""
        return self._control.coefficients

    @property
    def state(self) -> Any:
        """The function of the state; it holds the solution at the x that was asked for last."""
        return self._parts.u

    @property
    def counts(self) -> Counts:
        """Solves and factorisations since this was made."""
        return self._parts.equation.counts

    def value(self, x: Vector) -> float:
        """J at x : (n,); infinite where `why_infeasible` has something to say.

        Raises:
            FemError: x cannot be a control. FemSolverError: the state equation was not solved.
        """
        return self._parts.value(self._control.checked(x))

    def value_grad(self, x: Vector) -> tuple[float, Vector]:
        """J and dJ/dx, (n,), a covector: dJ . dx is the change of J. Infinity and zeros where x is infeasible.

        Raises:
            FemError, FemSolverError: see `value`; also when the adjoint was not solved.
        """
        x = self._control.checked(x)
        J = self._parts.value(x)
        return J, self._parts.derivative(x).copy() if self._parts.why == "" else np.zeros(self.n)

    def gradient(self, x: Vector) -> Vector:
        """The vector (n,) that represents the derivative in the inner product `space`."""
        return self.space.riesz(self.value_grad(x)[1])

    def hvp(self, x: Vector, v: Vector) -> Vector:
        """Hessian of J at x times v, (n,), a covector. Two linear solves with the factors of the state.

        Raises:
            FemError: x is infeasible, or see `value`.
        """
        return self._parts.hessian(self._control.checked(x), self._control.checked(v))

    def why_infeasible(self, x: Vector) -> str:
        """Why the equation cannot be posed at x, in a sentence; empty: it can. A mesh that folds is such a reason."""
        return self._parts.feasible(self._control.checked(x))

    def split(self, x: Vector) -> list[Vector]:
        """x, or a gradient, : (n,) -> one vector per control."""
        return self._control.split(np.asarray(x))

    def as_they_stand(self) -> Vector:
        """x : (n,) of the controls as their functions stand now, for instance after an interpolation into them."""
        return self._control.get()

    @property
    def in_sight(self) -> StateInSight:
        """The same functional with its state in the open: J(u, m) and F(u, m; v) apart, for models that replace u(m).

        Raises:
            FemError: there are several controls, or the control is a fixed value of the state.
        """
        return StateInSight(self._parts, self._control)

    def approach(self, parameter: Any, values: Iterable[float], x: Vector | None = None) -> None:
        """Continuation: solve at x for one value of a parameter after the other, each from the state before.

        Newton's method may fail for a fast flow that it finds from a slower one. From now on it starts from the last
        state found here, at every x, and derivatives are those at the last value: the way there leaves no trace but
        the first guess.

        Args:
            parameter: a dolfinx Constant in the forms, such as a Reynolds number. values: the last one stays.
            x: (n,) where; None: `x0`.

        Raises:
            FemSolverError: one of them has no solution near that of the one before; names it.
            FemError: no such parameter.
        """
        parts, x = self._parts, self.x0 if x is None else self._control.checked(x)
        if not isinstance(parameter, parts.fe.fem.Constant) or parameter not in parts.F.constants():
            raise FemError("the parameter of a continuation must be a dolfinx Constant in the residual")
        for value in values:
            parameter.value = value
            parts.forget()
            try:
                parts.value(x)
            except FemSolverError as reason:
                raise FemSolverError(f"at {float(value):g} on the way: {reason}") from reason
            parts.equation.guess[:] = parts.u.x.array
        parts.forget()

    def at_most(self, form: Any, limit: float) -> IntegralConstraint | StateIntegral:
        """The constraint int f <= limit.

        Args:
            form: a UFL form of the control, such as the material used, or of control and state, such as an energy. The
                second kind shares state solve and factors with the objective; a derivative costs an adjoint of its own.

        Raises:
            FemError: it is not such a form.
        """
        return self._integral(form, limit, "ineq")

    def equal(self, form: Any, limit: float) -> IntegralConstraint | StateIntegral:
        """The constraint int f = limit; see `at_most`."""
        return self._integral(form, limit, "eq")

    def _integral(self, form: Any, limit: float, kind: Any) -> IntegralConstraint | StateIntegral:
        _check_objective(self._parts.fe, form)
        if self._parts.u in form.coefficients():
            return StateIntegral(self._parts.beside(form), self._control, limit, kind)
        return IntegralConstraint(form, self._control, limit, kind)

    def forget(self) -> None:
        """Solve anew at the next call, because data of the forms have changed."""
        self._parts.forget()


@dataclass
class _Solved:
    """The x that was solved last, the state there, and how often there was another."""

    x: Vector | None = None
    u: Vector = field(default_factory=lambda: np.zeros(0))
    count: int = 0


class _Parts:
    """The compiled forms, the functions that they refer to, and for which x these hold."""

    def __init__(
        self,
        fe: Dolfinx,
        F: Any,
        J: Any,
        u: Any,
        controls: Controls,
        bcs: tuple[Any, ...],
        solver: SolverOptions,
        adjoint_solver: SolverOptions | None,
        newton: dict[str, str | int | float],
    ) -> None:
        V = u.function_space
        F, J = (with_fixed_quadrature(fe, form) for form in controls.in_forms(F, J))
        self.fe, self.controls, self.u, self.ms = fe, controls, u, controls.coefficients
        self.dirichlet = Dirichlet(bcs, V, self.ms)
        check_controls(controls, u, F, J, self.dirichlet)
        self.equation = StateEquation(
            fe, F, u, self.ms, self.dirichlet, solver, adjoint_solver, newton, controls.moves_mesh
        )
        self.F, self.comm, self._solved = F, V.mesh.comm, _Solved()
        self._weigh(J)
        self.forget()

    def beside(self, J: Any) -> "_Parts":
        """The same equation, its solutions and its factors, with another objective."""
        other = copy.copy(self)
        other._weigh(with_fixed_quadrature(self.fe, *self.controls.in_forms(J)))
        other.known = None
        return other

    def _weigh(self, J: Any) -> None:
        """Compile what depends on the objective."""
        fe, ufl, u, V = self.fe, self.fe.ufl, self.u, self.u.function_space
        self.J = fe.fem.form(J)
        self.p, self.dp, self.du = (fe.fem.Function(V) for _ in range(3))
        self.dms = [fe.fem.Function(m.function_space) for m in self.ms]
        self.L = J + ufl.replace(self.F, {self.F.arguments()[0]: self.p})
        self.L_u = self._state_form(ufl.derivative(self.L, u, ufl.TestFunction(V)))
        self.L_m = [
            self._control_form(which, part.derivative(self.L, self._test(which)))
            for which, part in enumerate(self.controls.parts)
        ]
        self._second: tuple[LinearForm, LinearForm, list[LinearForm]] | None = None
        self.J_at: float | None = None
        self.dJ_at: Vector | None = None
        self.why = ""

    @property
    def at(self) -> Vector | None:
        """For which x the state is solved; shared by all objectives beside each other."""
        return self._solved.x

    @at.setter
    def at(self, x: Vector | None) -> None:
        self._solved.x, self._solved.count = x, self._solved.count + 1

    @property
    def u_at(self) -> Vector:
        """The state there."""
        return self._solved.u

    @u_at.setter
    def u_at(self, u: Vector) -> None:
        self._solved.u = u

    def forget(self) -> None:
        """Data of the forms have changed."""
        self.at, self.why = None, ""
        self.known: int | None = None  # for which solve J_at and dJ_at hold
        self.equation.forget()

    def feasible(self, x: Vector) -> str:
        """Empty, or why not."""
        self.controls.set(x)
        return self.controls.infeasible()

    def value(self, x: Vector) -> float:
        self.why = self.feasible(x)
        if self.why:
            self.at = None
            return np.inf
        self.solve_state(x)
        if self.J_at is None:
            self.J_at = assembled_number(self.fe, self.J, self.comm)
        return self.J_at

    def derivative(self, x: Vector) -> Vector:
        self.solve_state(x)
        if self.dJ_at is None:
            p = self.p.x.array
            p[:] = 0
            p[:] = self.adjoint(self.L_u.assemble(), "adjoint")
            self.dJ_at = self.gathered(self.L_m, self.L_u)
        return self.dJ_at

    def hessian(self, x: Vector, v: Vector) -> Vector:
        if why := self.feasible(x):
            raise FemError(why)
        self.derivative(x)
        tangent, adjoint, results = self._second_forms()
        equation = self.equation
        changes = self.controls.directions(v)
        for dm, change in zip(self.dms, changes, strict=True):
            dm.x.array[:] = change
        # The tangent form is dF/dm dm + K du: with the boundary's part of du it is the right-hand side.
        self.du.x.array[:] = self.dirichlet.follow(*changes) if self.dirichlet.follows else 0
        equation.counts.tangents += 1
        self.du.x.array[:] -= equation.forward.solve(equation.free(tangent.assemble()), "tangent")
        self.dp.x.array[:] = 0
        self.dp.x.array[:] = self.adjoint(adjoint.assemble(), "second adjoint")
        return self.gathered(results, adjoint)

    def gathered(self, by_control: list[LinearForm], by_state: LinearForm) -> Vector:
        """(n,) from derivatives by each control and, where its values are held by the boundary, by the state."""
        duals = [form.assemble() for form in by_control]
        if self.dirichlet.follows:
            reaction = by_state.assemble()
            for which, link in enumerate(self.dirichlet.links):
                if link is not None:
                    duals[which] += self.dirichlet.pull_back(which, reaction)
        return self.controls.gather(duals)

    def solve_state(self, x: Vector) -> None:
        # The functions are the caller's: whatever was written into them meanwhile, they stand for x again.
        self.controls.set(x)
        if self.at is not None and np.array_equal(self.at, x):
            self.u.x.array[:] = self.u_at
        else:
            self.at = None
            self.equation.solve()
            self.at, self.u_at = x.copy(), self.u.x.array.copy()
        if self.known != self._solved.count:
            self.known, self.J_at, self.dJ_at = self._solved.count, None, None

    def adjoint(self, b: Vector, what: str) -> Vector:
        self.equation.counts.adjoints += 1
        return self.equation.adjoint.solve(self.equation.free(-b), what, transposed=True)

    def _second_forms(self) -> tuple[LinearForm, LinearForm, list[LinearForm]]:
        """Compiled when the first Hessian action is asked for: dF/dm dm + K du; d(dL/du); d(dL/dm)."""
        if self._second is None:
            ufl, u = self.fe.ufl, self.u
            v = ufl.TestFunction(u.function_space)

            def along(form: Any, adjoint: bool) -> Any:
                change = ufl.derivative(form, u, self.du) + self.controls.derivative(form, self.dms)
                return change + ufl.derivative(form, self.p, self.dp) if adjoint else change

            self._second = (
                self._state_form(along(self.F, adjoint=False)),
                self._state_form(along(ufl.derivative(self.L, u, v), adjoint=True)),
                [
                    self._control_form(which, along(part.derivative(self.L, self._test(which)), adjoint=True))
                    for which, part in enumerate(self.controls.parts)
                ],
            )
        return self._second

    def _test(self, which: int) -> Any:
        return self.fe.ufl.TestFunction(self.ms[which].function_space)

    def _state_form(self, form: Any) -> LinearForm:
        return LinearForm(self.fe, form, len(self.u.x.array))

    def _control_form(self, which: int, form: Any) -> LinearForm:
        return LinearForm(self.fe, form, len(self.ms[which].x.array))


def check_state(fe: Dolfinx, residual: Any, state: Any) -> None:
    """Raises: FemError, residual and state do not fit each other."""
    if not isinstance(state, fe.fem.Function):
        raise FemError(f"the state is a {type(state).__name__}: give a dolfinx.fem.Function")
    if not isinstance(residual, fe.ufl.Form):
        raise FemError(_NO_FORM)
    arguments = residual.arguments()
    if len(arguments) != 1 or arguments[0].ufl_function_space() != state.function_space:
        raise FemError("the residual must be F(u, m; v) with one test function v of the state's space")
    if state not in residual.coefficients():
        raise FemError(
            "the residual does not contain the state: write F(u, m; v) with the Function u, not a TrialFunction"
        )


def check_controls(controls: Controls, u: Any, F: Any, J: Any, dirichlet: Dirichlet) -> None:
    """Raises: FemError, a control is the state, has no influence, or one that cannot be followed. J may be None."""
    forms = [F] if J is None else [F, J]
    controls.check_apart(u)
    for part, link in zip(controls.parts, dirichlet.links, strict=True):
        if part.constant and any(bc.g is part.given._cpp_object for bc in dirichlet.bcs):
            raise FemError("a Constant in a Dirichlet condition cannot be the control: give its value as a Function")
        if not part.is_in(*forms) and link is None:
            raise FemError(
                "the control is in neither residual, objective nor Dirichlet conditions: J does not depend on it"
            )


def _check_objective(fe: Dolfinx, objective: Any) -> None:
    if not isinstance(objective, fe.ufl.Form):
        raise FemError(_NO_FORM)
    if objective.arguments():
        raise FemError("the objective must be a number: a form without test or trial functions")

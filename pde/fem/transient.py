"""From a time-dependent PDE in UFL to an exact derivative: J as a function of the control alone.

    d/dt M(u; v) + F(u, m, t; v) = 0 for all v,     u(0) = u_0,     u = g where fixed
    J(m) = int_0^T j(u, m, t) dt + phi(u(T), m)

The steps are those of `pde.fem.schemes`, the derivative is that of the steps (`pde.fem.stepping`), and `pde.tape` keeps
what the way back needs. M(u; v) = (u, v) unless given, F and M may be nonlinear. A control is one of

- a field or a number for each step, taken where the scheme takes F: in the middle of the step for crank-nicolson, at
  its end otherwise (`Transient.times`);
- a field or a number for all times: a coefficient, a source, a flux;
- values of the state that are fixed on the boundary, for each step or for all times: u_(n+1) = g_n, at the end of step
  n whatever the scheme;
- the state at time zero.

There may be several of them.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import fields
from typing import Any

import numpy as np

from optim.space import Space
from pde.fem.control import Inner
from pde.fem.controls_in_time import ControlsInTime
from pde.fem.dirichlet import Dirichlet, conditions
from pde.fem.dolfinx_import import load
from pde.fem.errors import FemError
from pde.fem.form import with_fixed_quadrature
from pde.fem.schemes import scheme_named
from pde.fem.solver_options import SolverOptions, named
from pde.fem.state import Counts
from pde.fem.stepping import Equation
from pde.fem.terminal import Terminal
from pde.fem.trajectory import Trajectory, Vector
from pde.tape import Budget, Plan, Schedule, keep_all


class Transient:
    """J(m) with derivative and Hessian actions; a `pde.functional.TwiceReducedFunctional`.

        u, m, v, t = Function(V), Function(V), TestFunction(V), Constant(mesh, 0.0)
        F = inner(grad(u), grad(v)) * dx - (f(t) + m) * v * dx
        J = Transient(residual=F, running=0.5 * (u - d(t))**2 * dx, state=u, control=m, per_step=True, time=t,
                      duration=1.0, steps=50, scheme="crank-nicolson", bcs=[...])
        optim.minimize(J, J.x0)

    x is flat, one control after the other; `split` takes it apart, with one row per step where a control has values for
    each step. After a call the state function holds u(T) at that call's x, and the control functions the values of the
    last step. Answers are kept
    for the last x; after changing other data of the forms, call `forget`. The same x gives the same bits, whatever was
    asked before and whatever the schedule.

    Args:
        residual: F(u, m, t; v), linear in one test function of the state's space; without the time derivative.
        state: Function; its values now are u_0 unless `initial` is given.
        control: Function, in the domain or on the boundary (by where the forms use it, or as the value of a Dirichlet
            condition), or a Constant; or a list of these.
        duration, steps: T, and into how many equal steps it is cut.
        running, terminal: j and phi, UFL forms without test functions; one of them may be missing.
        scheme: a name in `pde.fem.schemes.SCHEMES`.
        per_step: the control has a value for each step; for several controls one answer, or one for each.
        time: the Constant that F and j use as t; it is set in every step.
        initial: u_0, a Function of the state's space; it may be a control.
        mass: M(u; v), linear in a test function.
        bcs: dolfinx Dirichlet conditions of the state, held in every step.
        boundary_at: called with the time at the end of a step before it is solved, to set the values in bcs.
        inner: product of the control space, for one time: "L2", "H1", "l2", or a function of (trial, test) giving a
            form; for several controls a list of these. For controls per step it is integrated over time, except "l2".
        active, solver, adjoint_solver, newton: as `pde.fem.reduced.Reduced` takes them.
        schedule: which states are kept for the way back: `pde.tape.keep_all()`, `revolve(20)`, `keep_all("disk")`, or a
            `Budget` of bytes (of each process). Derivatives are the same bits for all of them.

    Raises:
        FemError: a part does not fit the others. TapeError: no such schedule.
        FemUnavailable: DOLFINx is not installed.
    """

    def __init__(
        self,
        residual: Any,
        state: Any,
        control: Any,
        *,
        duration: float,
        steps: int,
        running: Any = None,
        terminal: Any = None,
        scheme: str = "crank-nicolson",
        per_step: bool | Sequence[bool] = False,
        time: Any = None,
        initial: Any = None,
        mass: Any = None,
        bcs: Iterable[Any] = (),
        boundary_at: Callable[[float], None] | None = None,
        inner: Inner | Sequence[Inner] = "L2",
        active: Any = None,
        solver: str | SolverOptions = "direct",
        adjoint_solver: str | SolverOptions | None = None,
        newton: dict[str, str | int | float] | None = None,
        schedule: Schedule | Budget | None = None,
    ) -> None:
        fe, chosen = load(), scheme_named(scheme)
        ufl, V = fe.ufl, _space_of(fe, state)
        if not (duration > 0 and np.isfinite(duration)) or steps < 1:
            raise FemError(
                f"a run of duration {duration} in {steps} steps: give a positive duration and a step at least"
            )
        mass = ufl.inner(state, ufl.TestFunction(V)) * ufl.dx if mass is None else mass
        _check_forms(fe, state, residual, mass, running, terminal)
        if time is not None and not isinstance(time, fe.fem.Constant):
            raise FemError("time must be a dolfinx.fem.Constant, the one that the forms use as t")
        if initial is not None and (not isinstance(initial, fe.fem.Function) or initial.function_space != V):
            raise FemError("initial must be a Function of the state's space")

        dt = duration / steps
        controls = ControlsInTime(fe, control, V.mesh, active, inner, per_step, dt * chosen.weights(steps))
        controls.check_apart(state)
        F, M, j, phi = (
            None if form is None else with_fixed_quadrature(fe, controls.in_forms(form)[0])
            for form in (residual, mass, running, terminal)
        )
        dirichlet = Dirichlet(conditions(bcs), V, controls.coefficients)
        starts = next((k for k, m in enumerate(controls.coefficients) if initial is m), None)
        _check_controls(controls, (F, M, j), phi, starts, dirichlet)

        older = (fe.fem.Function(V), fe.fem.Function(V))
        rate, price = fe.fem.Constant(V.mesh, 1 / dt), fe.fem.Constant(V.mesh, dt)
        solvers = named(solver), None if adjoint_solver is None else named(adjoint_solver)
        equation = Equation(
            fe,
            F,
            M,
            j,
            state,
            older,
            controls.coefficients,
            time,
            rate,
            price,
            dirichlet,
            *solvers,
            newton or {},
        )
        # Shared by shallow copies, so that a copy cannot move the state under its original.
        self._trajectory = Trajectory(
            equation, chosen, controls, Terminal(fe, phi, state, controls.coefficients), duration,
            (starts, (state if initial is None else initial).x.array.copy()),
            boundary_at, keep_all() if schedule is None else schedule,
        )  # fmt: skip
        self.space: Space = controls.space
        self.x0: Vector = controls.get()

    @property
    def n(self) -> int:
        """Numbers in x."""
        return len(self.x0)

    @property
    def times(self) -> Vector:
        """(steps,), where the control of each step acts; values of a Dirichlet condition act at the end of the step."""
        return self._trajectory.times

    @property
    def controls(self) -> tuple[Any, ...]:
        """The function of each control: what was given, or what stands for a Constant."""
        return self._trajectory.controls.coefficients

    def split(self, x: Vector) -> list[Vector]:
        """x, or a gradient, : (n,) -> one array per control: (steps, k) where it has values for each step, or (k,)."""
        return self._trajectory.controls.split(np.asarray(x))

    @property
    def counts(self) -> Counts:
        """Solves and factorisations since this was made; those of steps that were repeated included."""
        parts = [step.state.counts for step in self._trajectory.formulas]
        return Counts(*(sum(getattr(part, f.name) for part in parts) for f in fields(Counts)))

    @property
    def plan(self) -> Plan | None:
        """What the planner decided about states, after the first call with a `Budget`; else None."""
        return self._trajectory.tape.plan

    def value(self, x: Vector) -> float:
        """J at x : (n,).

        Raises:
            FemError: x cannot be a control. FemSolverError: a step was not solved; the message names it.
            TapeError: there is no room for what is to be kept.
        """
        return self._trajectory.value(self._checked(x))

    def value_grad(self, x: Vector) -> tuple[float, Vector]:
        """J and dJ/dx, (n,), a covector: dJ . dx is the change of J.

        Raises:
            FemError, FemSolverError, TapeError: see `value`; also when an adjoint was not solved.
        """
        x = self._checked(x)
        return self._trajectory.value(x), self._trajectory.derivative(x).copy()

    def gradient(self, x: Vector) -> Vector:
        """The vector (n,) that represents the derivative in the inner product `space`."""
        return self.space.riesz(self.value_grad(x)[1])

    def hvp(self, x: Vector, v: Vector) -> Vector:
        """Hessian of J at x times v, (n,), a covector. Three linear solves per step with its factors.

        States are taken from the tape where it keeps all in memory, and solved for once more otherwise.
        """
        return self._trajectory.hessian(self._checked(x), self._checked(v))

    @property
    def state(self) -> Any:
        """The function of the state; its values are those at the end of the last run."""
        return self._trajectory.equation.u

    def states(self, x: Vector) -> Iterator[tuple[float, Vector]]:
        """Times 0, dt, ..., T with the values of the state there, one after the other."""
        return self._trajectory.states(self._checked(x))

    def forget(self) -> None:
        """Solve anew at the next call, because data of the forms have changed; gives back what the tape holds."""
        self._trajectory.forget()

    def _checked(self, x: Any) -> Vector:
        return self._trajectory.controls.checked(x)


def _space_of(fe: Any, state: Any) -> Any:
    if not isinstance(state, fe.fem.Function):
        raise FemError(f"the state is a {type(state).__name__}: give a dolfinx.fem.Function")
    return state.function_space


def _check_forms(fe: Any, u: Any, F: Any, M: Any, j: Any, phi: Any) -> None:
    for name, form in (("residual", F), ("mass", M), ("running", j), ("terminal", phi)):
        if form is not None and not isinstance(form, fe.ufl.Form):
            raise FemError(f"{name} must be a UFL form: integrals such as f * v * ufl.dx")
    for name, form in (("residual", F), ("mass", M)):
        arguments = form.arguments()
        if len(arguments) != 1 or arguments[0].ufl_function_space() != u.function_space:
            raise FemError(f"the {name} must have one test function v of the state's space")
    if u not in M.coefficients() and u not in F.coefficients():
        raise FemError("neither residual nor mass contains the state: write them with the Function u")
    if j is None and phi is None:
        raise FemError("there is no objective: give running, terminal or both")
    for name, form in (("running", j), ("terminal", phi)):
        if form is not None and form.arguments():
            raise FemError(f"{name} must be a number: a form without test or trial functions")


def _check_controls(
    controls: ControlsInTime, forms: tuple[Any, ...], phi: Any, starts: int | None, dirichlet: Dirichlet
) -> None:
    given = zip(controls.parts, controls.per_step, dirichlet.links, strict=True)
    for which, (part, per_step, link) in enumerate(given):
        m = part.coefficient
        if part.constant and any(bc.g is part.given._cpp_object for bc in dirichlet.bcs):
            raise FemError("a Constant in a Dirichlet condition cannot be the control: give its value as a Function")
        if m in forms[1].coefficients():
            raise FemError(
                "the mass contains the control, which is not supported: divide, and write it into the residual"
            )
        at_end = phi is not None and m in phi.coefficients()
        if per_step and (starts == which or at_end):
            raise FemError(
                "the control has a value for each step, so it can be neither the initial value nor in the terminal "
                "form: leave per_step out"
            )
        used = link is not None or starts == which or at_end
        if not (used or any(form is not None and m in form.coefficients() for form in forms)):
            raise FemError(
                "the control is in neither residual, objective, Dirichlet conditions nor initial value: J does not "
                "depend on it"
            )

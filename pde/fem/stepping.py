"""One time step as a small PDE-constrained problem: solved, gone back over, and both once more in a direction.

A step from (u_n, u_(n-1)) to u_(n+1) with the control m_n has the Lagrangian

    L = dt w_n j(u_theta, m_n) + R(u_(n+1), u_n, u_(n-1), m_n; p),            K = dR/du_(n+1)

and with the cotangent b of u_(n+1) that comes from the steps after it

    K^T p = -(b + dj/du_(n+1))             b_n = dL/du_n,  b_(n-1) = dL/du_(n-1),  dJ/dm_n = dL/dm_n

Where a control is itself a fixed value, u_(n+1) = P m_n there, p vanishes there, and dJ/dm_n gains the reaction
P^T (b + dL/du_(n+1)), as in `pde.fem.reduced`.

This is the adjoint of the scheme itself, not a scheme for the adjoint equation, so derivatives are exact for the values
that are computed. In a direction, with everything's change marked d:

    K du_(n+1) = -(dR - K du_(n+1))        K^T dp = -(db + dL_u without K^T dp)
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pde.fem.dirichlet import Dirichlet
from pde.fem.dolfinx_import import Dolfinx
from pde.fem.form import LinearForm
from pde.fem.schemes import Formula
from pde.fem.solver_options import SolverOptions
from pde.fem.state import StateEquation

Vector = NDArray[np.float64]


@dataclass(frozen=True)
class Equation:
    """What is the same for every step.

    Attributes:
        F, mass: forms with one test function. running: j, a form without arguments, or None.
        u: state. older: u_n and u_(n-1), Functions. ms: controls as Functions. t: time as a Constant, or None.
        rate: 1 / dt. price: dt w_n. Both Constants.
    """

    fe: Dolfinx
    F: Any
    mass: Any
    running: Any
    u: Any
    older: tuple[Any, Any]
    ms: tuple[Any, ...]
    t: Any
    rate: Any
    price: Any
    dirichlet: Dirichlet
    solver: SolverOptions
    adjoint_solver: SolverOptions | None
    newton: dict[str, str | int | float]


class Step:
    """The forms of one formula. Functions and Constants of the equation hold what a step is about when it is called.

    Attributes:
        state: the equation of u_(n+1), with K.
        varies: K is another one in every step. follows_control: K depends on the control.
    """

    def __init__(self, equation: Equation, formula: Formula, per_step: tuple[bool, ...]) -> None:
        self._e = e = equation
        fe, ufl, u, (u_n, u_before) = e.fe, e.fe.ufl, e.u, e.older
        a, theta = formula.a, formula.theta
        self.depth = 2 if a[2] else 1
        middle = {} if theta == 1 else {u: theta * u + (1 - theta) * u_n}

        def at_theta(form: Any) -> Any:
            return ufl.replace(form, middle) if middle else form

        R = e.rate * a[0] * e.mass + e.rate * a[1] * ufl.replace(e.mass, {u: u_n})
        if a[2]:
            R += e.rate * a[2] * ufl.replace(e.mass, {u: u_before})
        R += at_theta(e.F)
        j = None if e.running is None else e.price * at_theta(e.running)
        self.state = StateEquation(fe, R, u, (), e.dirichlet, e.solver, e.adjoint_solver, e.newton)
        K = ufl.algorithms.expand_derivatives(ufl.derivative(R, u, ufl.TrialFunction(u.function_space)))
        within = (*K.coefficients(), *K.constants())
        self.follows_control = any(m in within for m in e.ms)
        self.varies = any(x in within for x in (u, *e.older, e.t)) or any(
            own and m in within for m, own in zip(e.ms, per_step, strict=True)
        )
        self.p, self.dp, self.du = (fe.fem.Function(u.function_space) for _ in range(3))
        self.d_older = tuple(fe.fem.Function(u.function_space) for _ in e.older)
        self.dms = tuple(fe.fem.Function(m.function_space) for m in e.ms)
        self._R = R
        self._L = ufl.replace(R, {R.arguments()[0]: self.p}) + (0 if j is None else j)
        self._value = None if j is None else fe.fem.form(j)
        self._j_u = None if j is None else self._by(j, u)
        self._L_old = [self._by(self._L, old) for old in e.older[: self.depth]]
        self._L_m = [self._by(self._L, m) for m in e.ms]
        self._L_u = self._by(self._L, u) if e.dirichlet.follows else None
        self._second: tuple[LinearForm, LinearForm, list[LinearForm], list[LinearForm]] | None = None
        self._linearised: int | None = None

    def solve(self, n: int) -> Vector:
        """u_(n+1) from u_n, u_(n-1) and the controls as they stand.

        Raises:
            FemSolverError: there is none.
        """
        self._linearised = None
        if self.varies:
            self.state.forget()
        self.state.guess[:] = self._e.older[0].x.array
        self.state.solve()
        self._linearised = n
        return self._e.u.x.array.copy()

    def running(self) -> float:
        """dt w_n j on this process."""
        return 0.0 if self._value is None else float(self._e.fe.fem.assemble_scalar(self._value))

    def pull(self, n: int, bar: Vector) -> tuple[list[Vector], list[Vector]]:
        """Go back over step n with the cotangent of u_(n+1): those of u_n (and u_(n-1)), and dJ/dm_n by control."""
        self._linearise(n)
        self.p.x.array[:] = self._adjoint(bar if self._j_u is None else bar + self._j_u.assemble(), "adjoint")
        return [form.assemble() for form in self._L_old], self._by_controls(self._L_m, bar, self._L_u)

    def tangent(self, n: int) -> Vector:
        """du_(n+1) for the changes `d_older` and `dms` as they stand."""
        self._linearise(n)
        dirichlet, du = self._e.dirichlet, self.du.x.array
        du[:] = dirichlet.follow(*(dm.x.array for dm in self.dms)) if dirichlet.follows else 0
        self.state.counts.tangents += 1
        # The tangent form is the change of R for all changes, K du with the boundary's part of du among them.
        return du - self.state.forward.solve(self.state.free(self._second_forms()[0].assemble()), "tangent")

    def pull_tangent(self, dbar: Vector) -> tuple[list[Vector], list[Vector]]:
        """What `pull` gives, changed: after `pull`, with the changes `du`, `d_older`, `dms` as they stand."""
        _, by_u, by_old, by_m = self._second_forms()
        self.dp.x.array[:] = 0
        self.dp.x.array[:] = self._adjoint(dbar + by_u.assemble(), "second adjoint")
        return [form.assemble() for form in by_old], self._by_controls(by_m, dbar, by_u)

    def _by_controls(self, forms: list[LinearForm], bar: Vector, by_u: LinearForm | None) -> list[Vector]:
        """Derivatives by the controls, with the reactions of the values that they fix."""
        duals, dirichlet = [form.assemble() for form in forms], self._e.dirichlet
        if dirichlet.follows:
            assert by_u is not None
            reaction = bar + by_u.assemble()
            for which, link in enumerate(dirichlet.links):
                if link is not None:
                    duals[which] += dirichlet.pull_back(which, reaction)
        return duals

    def forget(self) -> None:
        """A control is another one."""
        self._linearised = None
        if self.follows_control:
            self.state.forget()

    def _adjoint(self, b: Vector, what: str) -> Vector:
        self.state.counts.adjoints += 1
        return self.state.adjoint.solve(self.state.free(-b), what, transposed=True)

    def _linearise(self, n: int) -> None:
        if self.varies and self._linearised != n:
            self.state.linearise()
            self._linearised = n

    def _second_forms(self) -> tuple[LinearForm, LinearForm, list[LinearForm], list[LinearForm]]:
        """Compiled when the first Hessian action is asked for."""
        if self._second is None:
            ufl, e = self._e.fe.ufl, self._e
            older = list(zip(e.older, self.d_older, strict=True))[: self.depth]
            changes = [(e.u, self.du), *zip(e.ms, self.dms, strict=True), *older]

            def along(form: Any, *more: tuple[Any, Any]) -> Any:
                return sum(ufl.derivative(form, f, df) for f, df in (*changes, *more))

            def second(f: Any) -> LinearForm:
                return self._linear(along(self._derivative(self._L, f), (self.p, self.dp)), f)

            self._second = (
                self._linear(along(self._R), e.u),
                second(e.u),
                [second(old) for old in e.older[: self.depth]],
                [second(m) for m in e.ms],
            )
        return self._second

    def _derivative(self, form: Any, f: Any) -> Any:
        ufl = self._e.fe.ufl
        return ufl.derivative(form, f, ufl.TestFunction(f.function_space))

    def _by(self, form: Any, f: Any) -> LinearForm:
        return self._linear(self._derivative(form, f), f)

    def _linear(self, form: Any, f: Any) -> LinearForm:
        return LinearForm(self._e.fe, form, len(f.x.array))

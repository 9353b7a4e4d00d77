"""A functional with its state in the open: u and m apart, as models that replace the map m -> u need it.

    J(u, m),    F(u, m; v) = 0,    dJ/dm = J_m - F_m^T K^-T J_u

`pde.fem.reduced.Reduced` hides the state; this shows it: the same forms, functions and factors, with u given from
outside. State vectors hold all degrees of freedom of this process, fixed ones with their values.
"""

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from pde.fem.controls import Controls
from pde.fem.errors import FemError
from pde.fem.form import LinearForm, assembled_number
from pde.fem.state import Counts

if TYPE_CHECKING:
    from pde.fem.reduced import _Parts

Vector = NDArray[np.float64]


class StateInSight:
    """What `Reduced.in_sight` gives.

    Attributes:
        fe: DOLFINx. u, m, p: Functions of state, control and adjoint, as the forms use them.
        F: residual, a UFL form with one test function. L: J + F(u, m; p), a UFL form.
        state_form: dF/du, compiled; K without regard to fixed values.
        fixed: degrees of freedom of u whose values are given. active: those of m that are free, in the order of x.
        linear: F is linear in u.

    Raises:
        FemError: there are several controls, or the control is a fixed value of the state.
    """

    def __init__(self, parts: "_Parts", controls: Controls) -> None:
        if len(controls.parts) != 1 or parts.dirichlet.follows:
            raise FemError("the state can be shown where there is one control, which is no fixed value of the state")
        self._parts, self._controls = parts, controls
        self.fe, self.u, self.m, self.p = parts.fe, parts.u, parts.ms[0], parts.p
        self.F, self.L, self.state_form = parts.F, parts.L, parts.equation.form
        self.fixed, self.linear = parts.dirichlet.fixed, parts.equation.linear
        part = controls.parts[0]
        self.active = np.zeros(0, np.int64) if part.constant else part.active
        ufl, M = self.fe.ufl, self.m.function_space
        work = ufl.replace(parts.F, {parts.F.arguments()[0]: parts.p})
        size = len(self.m.x.array)
        self._pulled = LinearForm(self.fe, ufl.derivative(work, self.m, ufl.TestFunction(M)), size)

    @property
    def counts(self) -> Counts:
        """Solves and factorisations; shared with the functional."""
        return self._parts.equation.counts

    def solve(self, x: Vector) -> Vector:
        """u : (s,) at x : (n,); one forward solve, or none where x was solved last.

        Raises:
            FemSolverError: the equation was not solved.
        """
        self._parts.solve_state(self._controls.checked(x))
        return self._parts.u_at.copy()

    def place(self, x: Vector, u: Vector) -> None:
        """Let the functions of the forms stand for x and u; no adjoint."""
        self._controls.set(x)
        self.u.x.array[:] = u
        self.p.x.array[:] = 0

    def objective(self, u: Vector, x: Vector) -> float:
        """J(u, m)."""
        self.place(x, u)
        return assembled_number(self.fe, self._parts.J, self._parts.comm)

    def residual(self, u: Vector, x: Vector) -> Vector:
        """F(u, m; .) : (s,), zero where the state is fixed."""
        self.place(x, u)
        return self._parts.equation.residual()

    def partials(self, u: Vector, x: Vector) -> tuple[Vector, Vector]:
        """dJ/du : (s,), also where the state is fixed, and dJ/dx : (n,), each with the other held."""
        self.place(x, u)  # the derivatives are those of J + F(u, m; p), with p = 0
        return self._parts.L_u.assemble(), self._parts.gathered(self._parts.L_m, self._parts.L_u)

    def pulled(self, u: Vector, x: Vector, p: Vector) -> Vector:
        """(dF/dx)^T p : (n,) for p : (s,), zero where the state is fixed."""
        self.place(x, u)
        self.p.x.array[:] = p
        return self._controls.gather([self._pulled.assemble()])

    def adjoint_gradient(self, u: Vector, x: Vector) -> Vector:
        """dJ/dx : (n,) in all, with u = u(x); one adjoint solve, and a factorisation where x was not solved last.

        Raises:
            FemSolverError: the adjoint was not solved.
        """
        parts = self._parts
        if parts.at is None or not np.array_equal(parts.at, x):
            parts.forget()
            self.place(x, u)
            parts.equation.linearise()
            parts.at, parts.u_at = x.copy(), u.copy()
        self.place(x, u)
        self.p.x.array[:] = parts.adjoint(parts.L_u.assemble(), "adjoint")
        return parts.gathered(parts.L_m, parts.L_u)

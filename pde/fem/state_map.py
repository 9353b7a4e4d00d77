"""The map from controls to states, u(m), with its derivative in both directions.

    F(u, m; v) = 0,     u' dm = -K^-1 (dF/dm dm)              pushed forward: one tangent solve
                        u'^T w = -(dF/dm)^T K^-T w            pulled back: one adjoint solve

with the reaction P^T (w + K^T p) of values that a control fixes, as in `pde.fem.reduced`. Nothing is minimised here: a
network behind the equation has its own loss.
"""

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pde.fem.control import Inner, checked
from pde.fem.controls import Controls
from pde.fem.dirichlet import Dirichlet, conditions
from pde.fem.dolfinx_import import load
from pde.fem.errors import FemError
from pde.fem.form import LinearForm, with_fixed_quadrature
from pde.fem.numbering import Numbering
from pde.fem.reduced import check_controls, check_state
from pde.fem.solver_options import SolverOptions, named
from pde.fem.state import Counts, StateEquation

Vector = NDArray[np.float64]


class StateMap:
    """u as a function of x.

        u_of = StateMap(F, state=u, control=m, bcs=[...])
        u_of(x), u_of.pull_back(x, w), u_of.push_forward(x, dx)

    Args:
        residual, state, control, bcs, active, inner, solver, adjoint_solver, newton: as `Reduced` takes them.

    Attributes:
        n, size: numbers in x and in u, over all processes.

    Raises:
        FemError: a part does not fit the others.
    """

    def __init__(
        self,
        residual: Any,
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
        ufl, V = fe.ufl, state.function_space
        controls = self._controls = Controls(fe, control, V.mesh, active, inner)
        (form,) = controls.in_forms(residual)
        F = with_fixed_quadrature(fe, form)
        self._u, self._numbering = state, Numbering(fe, V)
        self._dirichlet = Dirichlet(conditions(bcs), V, controls.coefficients)
        check_controls(controls, state, F, None, self._dirichlet)
        chosen = named(solver), None if adjoint_solver is None else named(adjoint_solver)
        self._equation = StateEquation(
            fe, F, state, controls.coefficients, self._dirichlet, *chosen, newton or {}, controls.moves_mesh
        )
        spaces = [m.function_space for m in controls.coefficients]
        self._p, self._du = fe.fem.Function(V), fe.fem.Function(V)
        self._dms = [fe.fem.Function(M) for M in spaces]
        weighed = ufl.replace(F, {F.arguments()[0]: self._p})
        size = len(state.x.array)
        self._by_state = LinearForm(fe, ufl.derivative(weighed, state, ufl.TestFunction(V)), size)
        self._by_control = [
            LinearForm(fe, part.derivative(weighed, ufl.TestFunction(M)), len(dm.x.array))
            for part, M, dm in zip(controls.parts, spaces, self._dms, strict=True)
        ]
        change = ufl.derivative(F, state, self._du) + controls.derivative(F, self._dms)
        self._tangent = LinearForm(fe, change, size)
        self.n, self.size = controls.n, self._numbering.n
        self.space, self.x0 = controls.space, controls.get()
        self._at: Vector | None = None

    @property
    def counts(self) -> Counts:
        """Solves and factorisations since this was made."""
        return self._equation.counts

    def __call__(self, x: Vector) -> Vector:
        """u : (size,) at x : (n,).

        Raises:
            FemError: x cannot be a control, or folds the mesh. FemSolverError: the equation was not solved.
        """
        self._solve(x)
        return self._numbering.gather(self._u.x.array)

    def pull_back(self, x: Vector, w: Vector) -> Vector:
        """w . du/dx, (n,), for w : (size,), weights on the numbers of u."""
        self._solve(x)
        weights = np.zeros(len(self._u.x.array))
        self._numbering.spread(checked(w, self.size), weights)
        equation, p = self._equation, self._p.x.array
        equation.counts.adjoints += 1
        p[:] = equation.adjoint.solve(equation.free(-weights), "adjoint", transposed=True)
        duals = [form.assemble() for form in self._by_control]
        if self._dirichlet.follows:
            reaction = weights + self._by_state.assemble()
            for which, link in enumerate(self._dirichlet.links):
                if link is not None:
                    duals[which] += self._dirichlet.pull_back(which, reaction)
        return self._controls.gather(duals)

    def push_forward(self, x: Vector, dx: Vector) -> Vector:
        """du/dx dx, (size,), for dx : (n,)."""
        self._solve(x)
        changes, equation = self._controls.directions(self._controls.checked(dx)), self._equation
        for dm, change in zip(self._dms, changes, strict=True):
            dm.x.array[:] = change
        du = self._du.x.array
        du[:] = self._dirichlet.follow(*changes) if self._dirichlet.follows else 0
        equation.counts.tangents += 1
        du -= equation.forward.solve(equation.free(self._tangent.assemble()), "tangent")
        return self._numbering.gather(du)

    def forget(self) -> None:
        """Solve anew at the next call, because data of the form have changed."""
        self._at = None
        self._equation.forget()

    def _solve(self, x: Vector) -> None:
        x = self._controls.checked(x)
        self._controls.set(x)
        if why := self._controls.infeasible():
            raise FemError(why)
        if self._at is not None and np.array_equal(self._at, x):
            self._u.x.array[:] = self._u_at
            return
        self._at = None
        self._equation.solve()
        self._at, self._u_at = x.copy(), self._u.x.array.copy()

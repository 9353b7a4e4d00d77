"""A problem in UFL with its state in sight: `pde.fem.reduced.Reduced` taken apart again.

    F(u, m; v) = 0,   J(u, m),   m = x, or the Helmholtz-filtered x

The state vector holds all degrees of freedom, fixed ones with their values. Models of J are evaluated with matrices of
their own, so that the factors of the last solve are still there for its adjoint.
"""

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from operators.errors import OperatorError
from optim.space import Space
from pde.fem.filter import Filtered, HelmholtzFilter
from pde.fem.form import LinearForm, assembled_number
from pde.fem.reduced import Reduced
from pde.functional import Spent
from pde.problems.posed import Posed

Vector = NDArray[np.float64]


class FemProblem:
    """min J(u(x), x) in the bounds and under the constraints of a posed problem; counts begin here.

    Args:
        posed: with a `Reduced` or `Filtered` objective of one control, that no Dirichlet condition follows.

    Raises:
        OperatorError: it is of another kind.
    """

    def __init__(self, posed: Posed) -> None:
        J = posed.J
        self._filter: HelmholtzFilter | None = J.filter if isinstance(J, Filtered) else None
        reduced = J.J if isinstance(J, Filtered) else J
        if not isinstance(reduced, Reduced) or len(reduced.controls) != 1 or reduced._parts.dirichlet.follows:
            raise OperatorError("the state can be shown where J is a Reduced of one control inside the domain")
        self.posed, self._parts, self.space = posed, reduced._parts, reduced.space
        self.space: Space
        self.lower, self.upper = (
            None if bound is None else np.broadcast_to(np.asarray(bound, float), (reduced.n,)).copy()
            for bound in (posed.lower, posed.upper)
        )
        self.constraints: tuple[Any, ...] = posed.constraints
        self.linear = self._parts.equation.linear
        self._n, self._before = reduced.n, self._counted()
        self._set_up_forms()

    def _set_up_forms(self) -> None:
        parts, fe = self._parts, self._parts.fe
        ufl, m = fe.ufl, self._parts.ms[0]
        M = m.function_space
        work = ufl.replace(parts.F, {parts.F.arguments()[0]: parts.p})
        self._pulled = LinearForm(fe, ufl.derivative(work, m, ufl.TestFunction(M)), len(m.x.array))
        self._sensitivity = fe.fem.form(ufl.derivative(parts.F, m, ufl.TrialFunction(M)))
        self._matrix = fe.fem.create_matrix(parts.equation._form)

    @property
    def n(self) -> int:
        return self._n

    @property
    def points(self) -> Vector:
        """(n, dimension): where the numbers of a scalar Lagrange control sit."""
        mesh, part = self._parts.u.function_space.mesh, self._parts.controls.parts[0]
        return part.coefficient.function_space.tabulate_dof_coordinates()[part.active, : mesh.geometry.dim]

    @property
    def state_space(self) -> Any:
        """Of DOLFINx."""
        return self._parts.u.function_space

    @property
    def field_space(self) -> Any:
        """Of the design, of DOLFINx."""
        return self._parts.ms[0].function_space

    @property
    def fixed(self) -> NDArray[np.integer]:
        """Numbers of the state whose values are given."""
        return self._parts.dirichlet.fixed

    @property
    def states(self) -> int:
        """Numbers in the state, s."""
        return len(self._parts.u.x.array)

    @property
    def spent(self) -> Spent:
        return Spent(*(a - b for a, b in zip(self._counted(), self._before, strict=True)))

    def _counted(self) -> tuple[int, int, int, int]:
        c = self._parts.equation.counts
        return c.states, c.adjoints, c.tangents, c.factorisations

    # -- the state ----------------------------------------------------------------------------------------------------

    def solve(self, x: Vector) -> Vector:
        """u(x) : (s,); one forward solve.

        Raises:
            FemSolverError: the equation was not solved.
        """
        self._parts._solve_state(self._filtered(x))
        return self._parts.u_at.copy()

    def adjoint_gradient(self, x: Vector, u: Vector) -> Vector:
        """dJ/dx : (n,) with u = u(x); one adjoint solve, and a factorisation where another design was solved last."""
        parts, equation, y = self._parts, self._parts.equation, self._filtered(x)
        if parts.at is None or not np.array_equal(parts.at, y):
            parts.forget()
            self._place(x, u)
            equation.linearise()
            parts.at, parts.u_at = y.copy(), u.copy()
        self._place(x, u)
        parts.p.x.array[:] = parts._adjoint(parts.L_u.assemble(), "adjoint")
        return self._unfiltered(parts._gathered(parts.L_m, parts.L_u))

    # -- the objective ------------------------------------------------------------------------------------------------

    def objective(self, u: Vector, x: Vector) -> float:
        self._place(x, u)
        return float(assembled_number(self._parts.fe, self._parts.J, self._parts.comm))

    def partials(self, u: Vector, x: Vector) -> tuple[Vector, Vector]:
        """dJ/du : (s,), zero where the state is fixed, and dJ/dx : (n,), each with the other held."""
        self._place(x, u)
        # Of the Lagrangian J + F(u, m; p) with p = 0.
        Ju = self._parts.equation.free(self._parts.L_u.assemble())
        return Ju, self._unfiltered(self._parts._gathered(self._parts.L_m, self._parts.L_u))

    def field(self, x: Vector) -> Vector:
        """m : (n,) at x : (n,), the field that the equation sees: the filtered design where there is a filter."""
        return self._filtered(x)

    def objective_slope(self, u: Vector, x: Vector) -> Vector:
        """dJ/du : (s,), also where the state is fixed."""
        self._place(x, u)
        return self._parts.L_u.assemble()

    def objective_bend(self, u: Vector, x: Vector) -> Any:
        """d^2 J/du^2 : (s, s), sparse, also where the state is fixed; compiled when it is asked for."""
        self._place(x, u)
        fe, w = self._parts.fe, self._parts.u
        slope = fe.ufl.derivative(self._parts.L, w, fe.ufl.TestFunction(w.function_space))
        return self.as_sparse(fe.fem.form(fe.ufl.derivative(slope, w, fe.ufl.TrialFunction(w.function_space))))

    def objective_mixed(self, u: Vector, x: Vector) -> Any:
        """d/dm dJ/du : (n, s), sparse, with respect to the field m and the state; compiled when it is asked for."""
        self._place(x, u)
        fe, m, w = self._parts.fe, self._parts.ms[0], self._parts.u
        by_field = fe.ufl.derivative(self._parts.L, m, fe.ufl.TestFunction(m.function_space))
        form = fe.fem.form(fe.ufl.derivative(by_field, w, fe.ufl.TrialFunction(w.function_space)))
        return self.as_sparse(form)[self._parts.controls.parts[0].active]

    # -- what projections need ----------------------------------------------------------------------------------------

    def pulled(self, x: Vector, u: Vector, p: Vector) -> Vector:
        """-(dR/dx)^T p : (n,) for the residual R and p : (s,), zero where the state is fixed."""
        self._place(x, u)
        self._parts.p.x.array[:] = p
        return -self._unfiltered(self._parts.controls.gather([self._pulled.assemble()]))

    def projector(self, V: Vector) -> Callable[[Vector, Vector], tuple[Vector, Vector]]:
        """(x, u) -> V^T R : (r,) and V^T K V : (r, r), for V : (s, r) with zero rows where the state is fixed."""

        def project(x: Vector, u: Vector) -> tuple[Vector, Vector]:
            self._place(x, u)
            return V.T @ self._parts.equation.residual(), V.T @ (self._assembled() @ V)

        return project

    def linearised(self, x: Vector, u: Vector) -> tuple[Vector, Any]:
        """R : (s,), zero where the state is fixed, and dR/du : (s, s), sparse, which pays no regard to fixed values;
        the memory of the matrix is reused by the next call."""
        self._place(x, u)
        return self._parts.equation.residual(), self._assembled()

    def jacobian(self, x: Vector, u: Vector) -> Vector:
        """du/dx : (s, n), dense; n tangent solves with one factorisation."""
        import scipy.sparse.linalg as sla

        parts = self._parts
        self._place(x, u)
        free = np.setdiff1d(np.arange(len(u)), parts.dirichlet.fixed)
        K = self._assembled().tocsr()[free][:, free].tocsc()
        columns = self._slopes()[free][:, parts.controls.parts[0].active]
        jacobian = np.zeros((len(u), self.n))
        jacobian[free] = -sla.splu(K).solve(columns.toarray())
        parts.equation.counts.tangents += self.n
        parts.equation.counts.factorisations += 1
        return self._unfiltered(jacobian.T).T

    # -- parts --------------------------------------------------------------------------------------------------------

    def _place(self, x: Vector, u: Vector) -> None:
        """Let the functions of the forms stand for x and u; no adjoint."""
        self._parts.controls.set(self._filtered(x))
        self._parts.u.x.array[:] = u
        self._parts.p.x.array[:] = 0

    def _assembled(self) -> Any:
        """dF/du as it stands, without regard to fixed values; the memory is reused by the next call."""
        self._matrix.data[:] = 0
        self._parts.fe.fem.assemble_matrix(self._matrix, self._parts.equation._form)
        return self._matrix.to_scipy()

    def _slopes(self) -> Any:
        """dF/dm as it stands, sparse. DOLFINx's own matrices take no blocks that are not square; PETSc's do."""
        return self.as_sparse(self._sensitivity)

    def as_sparse(self, form: Any) -> Any:
        """A compiled form with two arguments, at the present values of its coefficients."""
        from scipy.sparse import csr_array

        A = self._parts.fe.petsc.assemble_matrix(form)
        A.assemble()
        indptr, indices, data = A.getValuesCSR()
        return csr_array((data, indices, indptr), shape=A.getSize())

    def _filtered(self, x: Vector) -> Vector:
        return x if self._filter is None else self._filter.apply(x)

    def _unfiltered(self, dual: Vector) -> Vector:
        return dual if self._filter is None else self._filter.transposed(dual)

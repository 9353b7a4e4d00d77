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
from pde.fem.errors import FemError
from pde.fem.filter import Filtered, HelmholtzFilter
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
        if not isinstance(reduced, Reduced):
            raise OperatorError(
                f"the state of a {type(reduced).__name__} cannot be shown: pose the problem with Reduced"
            )
        try:
            self._state = reduced.in_sight
        except FemError as error:
            raise OperatorError(str(error)) from error
        self.posed = posed
        self.space: Space = reduced.space
        self.lower, self.upper = (
            None if bound is None else np.broadcast_to(np.asarray(bound, float), (reduced.n,)).copy()
            for bound in (posed.lower, posed.upper)
        )
        self.constraints: tuple[Any, ...] = posed.constraints
        self.linear = self._state.linear
        self._n, self._before = reduced.n, self._counted()
        fe = self._state.fe
        slope = fe.ufl.derivative(self._state.F, self._state.m, fe.ufl.TrialFunction(self.field_space))
        self._sensitivity = fe.fem.form(slope)
        self._matrix = fe.fem.create_matrix(self._state.state_form)

    @property
    def n(self) -> int:
        return self._n

    @property
    def points(self) -> Vector:
        """(n, dimension): where the numbers of a scalar Lagrange control sit."""
        dimension = self.state_space.mesh.geometry.dim
        return self.field_space.tabulate_dof_coordinates()[self._state.active, :dimension]

    @property
    def state_space(self) -> Any:
        """Of DOLFINx."""
        return self._state.u.function_space

    @property
    def field_space(self) -> Any:
        """Of the design, of DOLFINx."""
        return self._state.m.function_space

    @property
    def fixed(self) -> NDArray[np.integer]:
        """Numbers of the state whose values are given."""
        return self._state.fixed

    @property
    def states(self) -> int:
        """Numbers in the state, s."""
        return len(self._state.u.x.array)

    @property
    def spent(self) -> Spent:
        return Spent(*(a - b for a, b in zip(self._counted(), self._before, strict=True)))

    def _counted(self) -> tuple[int, int, int, int]:
        c = self._state.counts
        return c.states, c.adjoints, c.tangents, c.factorisations

    # -- the state ----------------------------------------------------------------------------------------------------

    def solve(self, x: Vector) -> Vector:
        """u(x) : (s,); one forward solve.

        Raises:
            FemSolverError: the equation was not solved.
        """
        return self._state.solve(self._filtered(x))

    def adjoint_gradient(self, x: Vector, u: Vector) -> Vector:
        """dJ/dx : (n,) with u = u(x); one adjoint solve, and a factorisation where another design was solved last."""
        return self._unfiltered(self._state.adjoint_gradient(u, self._filtered(x)))

    # -- the objective ------------------------------------------------------------------------------------------------

    def objective(self, u: Vector, x: Vector) -> float:
        return float(self._state.objective(u, self._filtered(x)))

    def partials(self, u: Vector, x: Vector) -> tuple[Vector, Vector]:
        """dJ/du : (s,), zero where the state is fixed, and dJ/dx : (n,), each with the other held."""
        Ju, Jm = self._state.partials(u, self._filtered(x))
        Ju[self.fixed] = 0
        return Ju, self._unfiltered(Jm)

    def field(self, x: Vector) -> Vector:
        """m : (n,) at x : (n,), the field that the equation sees: the filtered design where there is a filter."""
        return self._filtered(x)

    def objective_slope(self, u: Vector, x: Vector) -> Vector:
        """dJ/du : (s,), also where the state is fixed."""
        return self._state.partials(u, self._filtered(x))[0]

    def objective_bend(self, u: Vector, x: Vector) -> Any:
        """d^2 J/du^2 : (s, s), sparse, also where the state is fixed; compiled when it is asked for."""
        self._place(x, u)
        fe, w = self._state.fe, self._state.u
        slope = fe.ufl.derivative(self._state.L, w, fe.ufl.TestFunction(w.function_space))
        return self.as_sparse(fe.fem.form(fe.ufl.derivative(slope, w, fe.ufl.TrialFunction(w.function_space))))

    def objective_mixed(self, u: Vector, x: Vector) -> Any:
        """d/dm dJ/du : (n, s), sparse, with respect to the field m and the state; compiled when it is asked for."""
        self._place(x, u)
        fe, m, w = self._state.fe, self._state.m, self._state.u
        by_field = fe.ufl.derivative(self._state.L, m, fe.ufl.TestFunction(m.function_space))
        form = fe.fem.form(fe.ufl.derivative(by_field, w, fe.ufl.TrialFunction(w.function_space)))
        return self.as_sparse(form)[self._state.active]

    # -- what projections need ----------------------------------------------------------------------------------------

    def pulled(self, x: Vector, u: Vector, p: Vector) -> Vector:
        """-(dR/dx)^T p : (n,) for the residual R and p : (s,), zero where the state is fixed."""
        return -self._unfiltered(self._state.pulled(u, self._filtered(x), p))

    def projector(self, V: Vector) -> Callable[[Vector, Vector], tuple[Vector, Vector]]:
        """(x, u) -> V^T R : (r,) and V^T K V : (r, r), for V : (s, r) with zero rows where the state is fixed."""

        def project(x: Vector, u: Vector) -> tuple[Vector, Vector]:
            R, K = self.linearised(x, u)
            return V.T @ R, V.T @ (K @ V)

        return project

    def linearised(self, x: Vector, u: Vector) -> tuple[Vector, Any]:
        """R : (s,), zero where the state is fixed, and dR/du : (s, s), sparse, which pays no regard to fixed values;
        the memory of the matrix is reused by the next call."""
        return self._state.residual(u, self._filtered(x)), self._assembled()

    def jacobian(self, x: Vector, u: Vector) -> Vector:
        """du/dx : (s, n), dense; n tangent solves with one factorisation."""
        import scipy.sparse.linalg as sla

        self._place(x, u)
        free = np.setdiff1d(np.arange(len(u)), self.fixed)
        K = self._assembled().tocsr()[free][:, free].tocsc()
        columns = self._slopes()[free][:, self._state.active]
        jacobian = np.zeros((len(u), self.n))
        jacobian[free] = -sla.splu(K).solve(columns.toarray())
        self._state.counts.tangents += self.n
        self._state.counts.factorisations += 1
        return self._unfiltered(jacobian.T).T

    # -- parts --------------------------------------------------------------------------------------------------------

    def _place(self, x: Vector, u: Vector) -> None:
        """Let the functions of the forms stand for x and u; no adjoint."""
        self._state.place(self._filtered(x), u)

    def _assembled(self) -> Any:
        """dF/du as it stands, without regard to fixed values; the memory is reused by the next call."""
        self._matrix.data[:] = 0
        self._state.fe.fem.assemble_matrix(self._matrix, self._state.state_form)
        return self._matrix.to_scipy()

    def _slopes(self) -> Any:
        """dF/dm as it stands, sparse. DOLFINx's own matrices take no blocks that are not square; PETSc's do."""
        return self.as_sparse(self._sensitivity)

    def as_sparse(self, form: Any) -> Any:
        """A compiled form with two arguments, at the present values of its coefficients."""
        from scipy.sparse import csr_array

        A = self._state.fe.petsc.assemble_matrix(form)
        A.assemble()
        indptr, indices, data = A.getValuesCSR()
        return csr_array((data, indices, indptr), shape=A.getSize())

    def _filtered(self, x: Vector) -> Vector:
        return x if self._filter is None else self._filter.apply(x)

    def _unfiltered(self, dual: Vector) -> Vector:
        return dual if self._filter is None else self._filter.transposed(dual)

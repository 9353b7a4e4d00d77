"""The state equation: u(m) with F(u, m; v) = 0 for all v, u = g where fixed; and its linearisation, factorised.

A linear equation is one Newton step from the fixed values, and its matrix is assembled again only when the control is
in it. Otherwise SNES iterates, always from the same first guess, so that the answer does not depend on what was
asked before.
"""

import weakref
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pde.fem.dirichlet import Dirichlet
from pde.fem.dolfinx_import import Dolfinx
from pde.fem.errors import FemSolverError
from pde.fem.form import LinearForm
from pde.fem.linear_solver import LinearSolver, configure, reason_name, unset
from pde.fem.numbering import owned_size, total
from pde.fem.solver_options import CORRECTION, NEWTON, SolverOptions

Vector = NDArray[np.float64]

_NEWTON_REMEDY = (
    "there may be no solution here; start from a better state (the values of the state function when Reduced is made), "
    "or reach this control in smaller steps"
)


@dataclass
class Counts:
    """What has been spent: solves of each kind, Newton steps, and matrices factorised."""

    states: int = 0
    adjoints: int = 0
    tangents: int = 0
    newton_steps: int = 0
    factorisations: int = 0


class StateEquation:
    """Solves for the state function, and holds K with its solvers.

    Args:
        F: residual with one test function. u: state, a Function. m: the control as a Function, or several.
        adjoint_solver: None: the factors of `solver` serve the adjoint too.
        newton: SNES options beside those in `solver_options.NEWTON`.
        moves_mesh: the control moves the mesh, so that K follows it whatever K is made of.

    Attributes:
        form: of K, compiled. linear: F is linear in u.
    """

    def __init__(
        self,
        fe: Dolfinx,
        F: Any,
        u: Any,
        m: Any,
        dirichlet: Dirichlet,
        solver: SolverOptions,
        adjoint_solver: SolverOptions | None,
        newton: dict[str, str | int | float],
        moves_mesh: bool = False,
    ) -> None:
        ufl, V = fe.ufl, u.function_space
        self.fe, self.u, self.dirichlet = fe, u, dirichlet
        self.counts = Counts()
        self.size = len(u.x.array)
        self.guess = u.x.array.copy()
        self._F = LinearForm(fe, F, self.size)
        K = ufl.algorithms.expand_derivatives(ufl.derivative(F, u, ufl.TrialFunction(u.function_space)))
        self.linear = u not in K.coefficients()
        controls = m if isinstance(m, tuple) else (m,)
        self._follows_control = moves_mesh or any(control in K.coefficients() for control in controls)
        self.form = self._form = fe.fem.form(K)
        self.K = fe.petsc.create_matrix(self.form)
        if solver.rigid_motions:
            self.K.setNearNullSpace(_rigid_motions(fe, V))
        self.forward = LinearSolver(fe, self.K, solver, V)
        self.adjoint = LinearSolver(fe, self.K, adjoint_solver, V) if adjoint_solver else self.forward
        self._assembled = False
        self._x = self.K.createVecRight()
        self._snes = None if self.linear else self._newton(NEWTON | newton)

    def solve(self) -> None:
        """Find u for the control as it stands, and make K the linearisation there.

        Raises:
            FemSolverError: no solution was found. u is then where the solver gave up.
        """
        u = self.u.x.array
        u[:] = self.guess
        self.dirichlet.apply(u)
        self.counts.states += 1
        if self._snes is None:
            if self._follows_control or not self._assembled:
                self.linearise()
            u -= self.forward.solve(self.residual(), "state")
            return
        x = self._x
        x.array[:] = u[: x.getLocalSize()]
        self._snes.solve(None, x)
        steps, reason = self._snes.getIterationNumber(), self._snes.getConvergedReason()
        self.counts.newton_steps += steps
        self._take(x)
        if (reason <= 0 or not np.isfinite(x.norm())) and not self._stands_at_rounding(reason):
            name = reason_name(self.fe.PETSc.SNES.ConvergedReason, reason)
            raise FemSolverError(
                f"the state solve by Newton's method with '{self.forward.options.name}' did not converge ({name}, "
                f"{steps} steps, residual {self._snes.getFunctionNorm():.1e}): {_NEWTON_REMEDY}"
            )
        self.linearise()

    def _stands_at_rounding(self, reason: int) -> bool:
        """Whether Newton's method stopped because u is the answer already; it then takes the last step.

        A guess that is nearly the answer (the last time step, the end of a continuation) has a residual that rounding
        keeps from falling by a factor. There a whole Newton step is small, and the error after it is of the order of
        its square (Deuflhard 2011, section 2.1). Small is judged for velocity and pressure each: the larger would hide
        what the smaller still has to go.
        """
        stuck = self.fe.PETSc.SNES.ConvergedReason
        if reason not in (stuck.DIVERGED_LINE_SEARCH, stuck.DIVERGED_MAX_IT):
            return False
        self.linearise()
        try:
            step = self.forward.solve(self.residual(), "state")
        except FemSolverError:
            return False
        u, comm = self.u.x.array, self.K.comm.tompi4py()
        for dofs in self._fields():
            moved, size = (total(comm, float(values[dofs] @ values[dofs])) for values in (step, u))
            if not moved <= CORRECTION**2 * size:
                return False
        u -= step
        self.counts.newton_steps += 1
        return True

    def _fields(self) -> list[NDArray[np.int32]]:
        """Degrees of freedom of each part of a mixed space that this process owns; of another space, all."""
        V = self.u.function_space
        owned = owned_size(V)
        if V.num_sub_spaces == 0 or V.dofmap.index_map_bs > 1:
            return [np.arange(owned, dtype=np.int32)]
        parts = (np.unique(V.sub(k).collapse()[1]) for k in range(V.num_sub_spaces))
        return [part[part < owned] for part in parts]

    def residual(self) -> Vector:
        """F(u, m; .) on the free degrees of freedom, zero on the fixed ones."""
        return self.free(self._F.assemble())

    def free(self, b: Vector) -> Vector:
        """b with zeros where the state is fixed."""
        b[self.dirichlet.fixed] = 0
        return b

    def linearise(self) -> None:
        """K = dF/du at the present u and m."""
        self.K.zeroEntries()
        self.fe.petsc.assemble_matrix(self.K, self.form, bcs=list(self.dirichlet.bcs))
        self.K.assemble()
        self._assembled = True
        self.counts.factorisations += 1

    def forget(self) -> None:
        """Data that the forms refer to have changed."""
        self._assembled = False

    def _newton(self, options: dict[str, str | int | float]) -> Any:
        # PETSc would hold this object for ever if it were handed bound methods.
        me = weakref.proxy(self)
        snes = self.fe.PETSc.SNES().create(self.K.comm)
        snes.setKSP(self.forward.ksp)
        snes.setFunction(lambda snes, x, b: me._snes_residual(x, b), self.K.createVecLeft())
        snes.setJacobian(lambda snes, x, J, P: me._snes_jacobian(x), self.K)
        unset(self.fe, configure(self.fe, snes, options))
        return snes

    def _take(self, x: Any) -> None:
        self.u.x.array[: x.getLocalSize()] = x.array_r
        self.u.x.scatter_forward()

    def _snes_residual(self, x: Any, b: Any) -> None:
        self._take(x)
        b.array[:] = self.residual()[: b.getLocalSize()]

    def _snes_jacobian(self, x: Any) -> None:
        self._take(x)
        self.linearise()


def _rigid_motions(fe: Dolfinx, V: Any) -> Any:
    """Translations and rotations of a displacement space, orthonormal, as PETSc's near null space."""
    x, dim = V.tabulate_dof_coordinates()[: V.dofmap.index_map.size_local], V.mesh.geometry.dim
    modes = []
    for axis in range(dim):
        mode = np.zeros((len(x), dim))
        mode[:, axis] = 1
        modes.append(mode.ravel())
    for a, b in ((0, 1), (0, 2), (1, 2))[: {1: 0, 2: 1, 3: 3}[dim]]:
        mode = np.zeros((len(x), dim))
        mode[:, a], mode[:, b] = -x[:, b], x[:, a]
        modes.append(mode.ravel())
    # Q of a QR decomposition, by Cholesky of the Gram matrix, which is a sum over processes.
    columns = np.array(modes).T
    gram = sum(V.mesh.comm.allgather(columns.T @ columns))
    basis = np.linalg.solve(np.linalg.cholesky(gram), columns.T)
    vectors = [fe.PETSc.Vec().createWithArray(np.ascontiguousarray(row), comm=V.mesh.comm) for row in basis]
    return fe.PETSc.NullSpace().create(vectors=vectors, comm=V.mesh.comm)

"""The assembled matrix, factorised: small problems, and the oracle of the fast solvers' tests.

By SciPy's SuperLU, or on larger grids by the Cholesky factorisation of MUMPS where PETSc is installed, which is up to
three times faster in three dimensions and about a fifth in two.
"""

from typing import TYPE_CHECKING, Literal

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from scipy.sparse.linalg import SuperLU, splu

from pde.grid.errors import GridError, SolverError
from pde.grid.petsc import Cholesky, has_mumps

if TYPE_CHECKING:
    from pde.grid.system import System

Field = NDArray[np.float64]


# From so many values on (by dimension) MUMPS gains more than the import of PETSc costs.
MUMPS_VALUES = {2: 40_000, 3: 20_000}


class Direct:
    """One factorisation for all right-hand sides. Nodes without any stiffness stay at zero.

    Args:
        method: "mumps", or "superlu" in its symmetric mode with minimum degree; None: the faster of what is there.

    Raises:
        GridError: MUMPS is asked for and not installed.
    """

    def __init__(self, system: "System", method: Literal["mumps", "superlu"] | None = None) -> None:
        large = system.fixed.size >= MUMPS_VALUES[system.grid.dim]
        self.method = method or ("mumps" if large and has_mumps() else "superlu")
        if self.method == "mumps" and not has_mumps():
            raise GridError("MUMPS needs PETSc: pip install 'formgrad[fem]'")
        self.element_matrix = system.element_matrix
        self.shape, self.vector_shape = system.grid.shape, system.vector_shape
        dofs = self.vector_shape[-1]
        nodes = system.grid.element_nodes().reshape(system.grid.size, -1)
        self.dofs = (nodes[:, :, None] * dofs + np.arange(dofs)).reshape(system.grid.size, -1)
        self.free = ~system.fixed.ravel()
        self.springs = None if system.springs is None else np.where(system.fixed, 0.0, system.springs).ravel()

    def update(self, modulus: Field) -> None:
        n = self.dofs.shape[1]
        rows, cols = np.repeat(self.dofs, n, axis=1).ravel(), np.tile(self.dofs, n).ravel()
        values = (modulus.ravel()[:, None] * self.element_matrix.ravel()).ravel()
        self.matrix = sp.csc_matrix((values, (rows, cols)), shape=(self.free.size, self.free.size))
        self.held_by_springs = self.matrix if self.springs is None else self.matrix + sp.diags_array(self.springs)
        self.active = np.flatnonzero(self.free & (self.held_by_springs.diagonal() > 0))
        # Symmetric: rows are columns.
        matrix = sp.csc_matrix(self.held_by_springs)[:, self.active][self.active]
        if self.method == "mumps":
            self.factor = Cholesky(sp.csr_matrix(matrix.T))
        else:
            self.factor = _superlu(matrix)

    def solve(self, force: Field, guess: Field | None, tol: float, max_iterations: int) -> tuple[Field, int, float]:
        f = force.ravel() * self.free
        u = np.zeros_like(f)
        u[self.active] = self.factor.solve(f[self.active])
        residual = float(np.linalg.norm((f - self.held_by_springs @ u)[self.free]) / (np.linalg.norm(f) or 1.0))
        # A mechanism or a load on nothing leaves a residual that no factorisation can remove.
        if not residual <= max(tol, 1e-6):
            raise SolverError(
                f"the direct solver left a relative residual of {residual:.1e}: a part of the body is not supported, "
                "or a load acts where there is no material",
                [residual],
            )
        return u.reshape(self.vector_shape), 0, residual

    def apply(self, u: Field) -> Field:
        return (self.matrix @ u.ravel()).reshape(self.vector_shape)

    def energies(self, u: Field) -> Field:
        u_e = u.ravel()[self.dofs]
        return np.einsum("ei,ij,ej->e", u_e, self.element_matrix, u_e).reshape(self.shape)


def _superlu(matrix: sp.csc_matrix) -> SuperLU:
    try:
        return splu(matrix, permc_spec="MMD_AT_PLUS_A", options={"SymmetricMode": True})
    except RuntimeError as error:
        raise SolverError(f"the stiffness matrix could not be factorised ({error}): part of the body floats") from error

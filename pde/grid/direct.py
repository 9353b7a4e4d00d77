"""The assembled matrix, factorised by SuperLU: small problems, and the oracle of the fast solvers' tests."""

from typing import TYPE_CHECKING

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from scipy.sparse.linalg import splu

from pde.grid.errors import SolverError

if TYPE_CHECKING:
    from pde.grid.system import System

Field = NDArray[np.float64]


class Direct:
    """Sparse Cholesky-like LU (symmetric mode, minimum degree). Nodes without any stiffness stay at zero."""

    def __init__(self, system: "System") -> None:
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
        self.factor = splu(
            sp.csc_matrix(self.held_by_springs)[self.active][:, self.active].tocsc(),
            permc_spec="MMD_AT_PLUS_A",
            options={"SymmetricMode": True},
        )

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

"""K x = b and K^T x = b with one factorisation, and with a check that the answer is one.

The transposed solve is a solve of its own: other right-hand side, and for an iterative solver another convergence. It
is judged by its own residual and fails under its own name.
"""

import itertools
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pde.fem.dolfinx_import import Dolfinx
from pde.fem.errors import FemSolverError
from pde.fem.solver_options import RESIDUAL, SolverOptions

Vector = NDArray[np.float64]

_numbers = itertools.count()


class LinearSolver:
    """Solves with a matrix that its owner reassembles in place; PETSc notices, and sets up again at the next solve.

    Args:
        K: assembled, square; rows and columns of fixed unknowns are those of the identity.
    """

    def __init__(self, fe: Dolfinx, K: Any, options: SolverOptions) -> None:
        self.options, self.K = options, K
        self.ksp = fe.PETSc.KSP().create(K.comm)
        self.ksp.setOperators(K)
        configure(fe, self.ksp, options.options)
        self._reasons = fe.PETSc.KSP.ConvergedReason
        self._x, self._b = K.createVecs()

    def solve(self, b: Vector, what: str, transposed: bool = False) -> Vector:
        """x with K x = b, or K^T x = b.

        Args:
            b: (n,). what: "state", "adjoint", ...: the solve's name in a message.

        Raises:
            FemSolverError: with the solver's name, what it said, and the remedy.
        """
        if transposed and self.options.symmetric:
            if not self._is_symmetric():
                raise FemSolverError(
                    f"the {what} solve with '{self.options.name}' needs a symmetric matrix and this one is not: "
                    "use solver='direct'"
                )
            transposed = False
        self._b.array[:] = b
        if not b.any():
            return np.zeros_like(b)
        solve = self.ksp.solveTranspose if transposed else self.ksp.solve
        solve(self._b, self._x)
        x = self._x.array.copy()
        reason = self.ksp.getConvergedReason()
        residual = self._residual(b, transposed) if np.isfinite(x).all() else np.inf
        if reason < 0 or not residual <= RESIDUAL:
            name, steps = reason_name(self._reasons, reason), self.ksp.getIterationNumber()
            raise FemSolverError(
                f"the {what} solve with '{self.options.name}' did not converge ({name}, {steps} iterations, "
                f"relative residual {residual:.1e}): {self.options.remedy}"
            )
        return x

    def _residual(self, b: Vector, transposed: bool) -> float:
        multiply = self.K.multTranspose if transposed else self.K.mult
        multiply(self._x, self._b)
        return float(np.linalg.norm(self._b.array - b) / np.linalg.norm(b))

    def _is_symmetric(self) -> bool:
        return self.K.isSymmetric(1e-10 * self.K.norm())


def configure(fe: Dolfinx, solver: Any, options: dict[str, str | int | float]) -> None:
    """Set a KSP or SNES from options under a prefix of its own, which leaves PETSc's database as it was."""
    prefix = f"formgrad_{next(_numbers)}_"
    solver.setOptionsPrefix(prefix)
    database = fe.PETSc.Options()
    for key, value in options.items():
        database[prefix + key] = value
    solver.setFromOptions()
    if hasattr(solver, "setUp") and "snes_type" not in options:
        solver.getPC().setFromOptions()
    for key in options:
        database.delValue(prefix + key)


def reason_name(reasons: Any, reason: int) -> str:
    """PETSc's word for a number: DIVERGED_MAX_IT rather than -3."""
    names = [name for name, value in vars(reasons).items() if value == reason and "_" in name and name[0] != "_"]
    return names[0] if names else f"reason {reason}"

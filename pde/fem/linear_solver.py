"""K x = b and K^T x = b with one factorisation, and with a check that the answer is one.

The transposed solve is a solve of its own: other right-hand side, and for an iterative solver another convergence. It
is judged by its own residual and fails under its own name.
"""

import itertools
import weakref
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pde.fem.dolfinx_import import Dolfinx
from pde.fem.errors import FemSolverError
from pde.fem.saddle_point import split_velocity_and_pressure
from pde.fem.solver_options import CORRECTION, REFINEMENTS, RESIDUAL, SolverOptions

Vector = NDArray[np.float64]

_numbers = itertools.count()


class LinearSolver:
    """Solves with a matrix that its owner reassembles in place; PETSc notices, and sets up again at the next solve.

    Args:
        K: assembled, square; rows and columns of fixed unknowns are those of the identity.
        V: space of the unknown; needed by preconditioners that split it, and where several processes share K.
    """

    def __init__(self, fe: Dolfinx, K: Any, options: SolverOptions, V: Any = None) -> None:
        self.fe, self.options, self.K, self.V = fe, options, K, V
        self.ksp = self._prepared(K)
        self._reasons = fe.PETSc.KSP.ConvergedReason
        self._x, self._b = K.createVecs()
        self._owned = self._x.getLocalSize()
        self._ghosts = fe.fem.Function(V) if V is not None and K.comm.size > 1 else None
        self._transposed: tuple[Any, Any, int] | None = None  # K^T, its solver, and the state of K that it is of

    def solve(self, b: Vector, what: str, transposed: bool = False) -> Vector:
        """x with K x = b, or K^T x = b.

        Args:
            b: (n,), or with ghosts after the n numbers of this process. what: "state", "adjoint", ...: the solve's
                name in a message.

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
        self._b.array[:] = b[: self._owned]
        size = self._b.norm()
        if size == 0:
            return np.zeros_like(b)
        ksp, solve = self._solve(transposed)
        solve(self._b, self._x)
        reason = ksp.getConvergedReason()
        residual = self._residual(b, size, transposed)
        solved = residual <= RESIDUAL or (residual < np.inf and self._refined(solve, b, size, transposed))
        if reason < 0 or not solved:
            # A solver that is content with a wrong answer has no reason of its own to tell.
            said = f"{reason_name(self._reasons, reason)}, " if reason < 0 else ""
            raise FemSolverError(
                f"the {what} solve with '{self.options.name}' did not converge ({said}{ksp.getIterationNumber()} "
                f"iterations, relative residual {residual:.1e}): {self.options.remedy}"
            )
        if self._ghosts is None:
            return self._x.array.copy()
        self._ghosts.x.array[: self._owned] = self._x.array_r
        self._ghosts.x.scatter_forward()
        return self._ghosts.x.array.copy()

    def _solve(self, transposed: bool) -> tuple[Any, Any]:
        if not transposed:
            return self.ksp, self.ksp.solve
        if not self.options.transposes:
            return self.ksp, self.ksp.solveTranspose
        # This preconditioner cannot be applied transposed: build it for the transposed matrix.
        state = self.K.stateGet()
        if self._transposed is None or self._transposed[2] != state:
            if self._transposed is None:
                KT = self.K.transpose(self.fe.PETSc.Mat())
                self._transposed = KT, self._prepared(KT), state
            else:
                KT, ksp, _ = self._transposed
                self.K.setTransposePrecursor(KT)
                self.K.transpose(KT)
                self._transposed = KT, ksp, state
        return self._transposed[1], self._transposed[1].solve

    def _prepared(self, K: Any) -> Any:
        ksp = self.fe.PETSc.KSP().create(K.comm)
        ksp.setOperators(K)
        if self.options.split:
            split_velocity_and_pressure(self.fe, ksp, self.V)
        weakref.finalize(self, unset, self.fe, configure(self.fe, ksp, self.options.options))
        return ksp

    def _residual(self, b: Vector, size: float, transposed: bool) -> float:
        """|K x - b| / |b| of the present x, infinite where x is not finite; `_b` is K x - b then."""
        if not np.isfinite(self._x.norm()):
            return np.inf
        multiply = self.K.multTranspose if transposed else self.K.mult
        multiply(self._x, self._b)
        self._b.array[:] -= b[: self._owned]
        return float(self._b.norm() / size)

    def _refined(self, solve: Any, b: Vector, size: float, transposed: bool) -> bool:
        """Iterative refinement, x <- x - K^-1 (K x - b) (Wilkinson 1963); -> whether x is an answer then.

        Where contrasts are strong, the terms of K x are large beside b and cancel, and their rounding alone passes the
        limit. Then the last correction tells how far off x is (Higham 2002, section 12.3). A singular matrix is not
        mended by that: its corrections are as large as x.
        """
        step = self._x.duplicate()
        for _ in range(REFINEMENTS):
            solve(self._b, step)
            self._x.axpy(-1.0, step)
            small = self._residual(b, size, transposed) <= RESIDUAL
            if small or step.norm() <= CORRECTION * self._x.norm():
                return True
        return False

    def _is_symmetric(self) -> bool:
        """K v = K^T v for a v without any pattern."""
        v, (left, right) = self._x.duplicate(), self.K.createVecs()
        first, last = v.getOwnershipRange()
        v.array[:] = np.sin(1.0 + 7.3 * np.arange(first, last) ** 1.1)
        self.K.mult(v, left)
        self.K.multTranspose(v, right)
        size = left.norm()
        left.axpy(-1.0, right)
        return left.norm() <= 1e-10 * max(size, self.K.norm())


def configure(fe: Dolfinx, solver: Any, options: dict[str, str | int | float]) -> list[str]:
    """Set a KSP or SNES from options under a prefix of its own.

    Returns:
        What now stands in PETSc's database. Preconditioners with parts look there again at each set-up, so the caller
        takes it out with `unset` when the solver is gone.
    """
    prefix = f"formgrad_{next(_numbers)}_"
    solver.setOptionsPrefix(prefix)
    database = fe.PETSc.Options()
    for key, value in options.items():
        database[prefix + key] = value
    solver.setFromOptions()
    if hasattr(solver, "setUp") and "snes_type" not in options:
        solver.getPC().setFromOptions()
    return [prefix + key for key in options]


def unset(fe: Dolfinx, keys: list[str]) -> None:
    """Take options out of PETSc's database."""
    database = fe.PETSc.Options()
    for key in keys:
        database.delValue(key)


def reason_name(reasons: Any, reason: int) -> str:
    """PETSc's word for a number: DIVERGED_MAX_IT rather than -3."""
    names = [name for name, value in vars(reasons).items() if value == reason and "_" in name and name[0] != "_"]
    return names[0] if names else f"reason {reason}"

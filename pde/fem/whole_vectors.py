"""Matrices that are spread over processes, acting on vectors that every process holds whole.

x is numbered as in `pde.fem.numbering`: by processes, and within one by degrees of freedom, which is PETSc's order.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from pde.fem.dolfinx_import import Dolfinx

Vector = NDArray[np.float64]


class WholeVectors:
    """A symmetric positive definite PETSc matrix on vectors (n,). All processes ask for the same."""

    def __init__(self, fe: Dolfinx, matrix: Any) -> None:
        self._comm, self._matrix = matrix.comm.tompi4py(), matrix
        self._first, self._last = matrix.getOwnershipRange()
        self._left, self._right = matrix.createVecs()
        self._ksp = fe.PETSc.KSP().create(matrix.comm)
        self._ksp.setOperators(matrix)
        self._ksp.setType("preonly")
        self._ksp.getPC().setType("cholesky")
        self._ksp.getPC().setFactorSolverType("mumps")

    def multiply(self, x: Vector) -> Vector:
        """A x : (n,)"""
        return self._acted(self._matrix.mult, x)

    def solve(self, b: Vector) -> Vector:
        """A^-1 b : (n,)"""
        return self._acted(self._ksp.solve, b)

    def _acted(self, action: Any, x: Vector) -> Vector:
        self._left.array[:] = x[self._first : self._last]
        action(self._left, self._right)
        return np.concatenate(self._comm.allgather(self._right.array.copy()))

"""PETSc, where it is installed: its import, which takes about half a second, and its sparse Cholesky factorisation by
MUMPS."""

import importlib
import importlib.util
from functools import cache
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from pde.grid.errors import GridError, SolverError
from pde.wheel import prepare

Field = NDArray[np.float64]


@cache
def load_petsc() -> Any:
    """The module `petsc4py.PETSc`.

    Raises:
        GridError: it is not installed.
    """
    try:
        prepare()
        return importlib.import_module("petsc4py.PETSc")
    except ImportError as error:
        raise GridError("this needs PETSc: pip install 'formgrad[fem]'") from error


@cache
def has_mumps() -> bool:
    """Imports PETSc if it is there."""
    if not (importlib.util.find_spec("dolfinx_solver") or importlib.util.find_spec("petsc4py")):
        return False
    try:
        return bool(load_petsc().Sys.hasExternalPackage("mumps"))
    except GridError:
        return False


class Cholesky:
    """Factor of a symmetric positive definite matrix, kept for any number of right-hand sides.

    In this process alone (COMM_SELF), also under `mpirun`, where every rank factorises its own matrix.

    Raises:
        SolverError: the matrix is not positive definite, or the memory does not suffice.
    """

    def __init__(self, matrix: sp.csr_matrix) -> None:
        PETSc = load_petsc()
        index = (matrix.indptr.astype(np.int32), matrix.indices.astype(np.int32))
        self._matrix = PETSc.Mat().createAIJ(matrix.shape, csr=(*index, matrix.data), comm=PETSc.COMM_SELF)
        self._matrix.setOption(PETSc.Mat.Option.SPD, True)
        self._solver = PETSc.PC().create(PETSc.COMM_SELF)
        self._solver.setOperators(self._matrix)
        self._solver.setType(PETSc.PC.Type.CHOLESKY)
        self._solver.setFactorSolverType(PETSc.Mat.SolverType.MUMPS)
        self._solver.setUp()
        if self._solver.getFailedReason() != PETSc.PC.FailedReason.NOERROR:
            raise SolverError(
                "the stiffness matrix could not be factorised: a part of the body is not supported, or the memory does "
                "not suffice"
            )
        self._b, self._x = self._matrix.createVecLeft(), self._matrix.createVecRight()

    def solve(self, b: Field) -> Field:
        self._b.setArray(b)
        self._solver.apply(self._b, self._x)
        return self._x.getArray().copy()

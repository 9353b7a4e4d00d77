"""The compiled kernels as Python sees them: structures, signatures, memory with room for whole vectors."""

import ctypes
from collections.abc import Sequence
from ctypes import POINTER, Structure, c_double, c_float, c_int64, c_long, c_void_p
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from pde.grid.native import modes
from pde.grid.native.compiler import load_library
from pde.grid.native.source import engine_source

# Kernels read whole vectors and may look past the end of a row: so much room lies behind every array.
SLACK = 64
ALIGNMENT = 64


_LEVEL_NUMBERS = ("nx", "ny", "layers", "kind", "threads", "grain", "degree", "visits", "coef_layer", "apart")


class CLevel(Structure):
    """One grid of the hierarchy; see prelude.c."""

    _fields_ = [
        *[(name, c_long) for name in _LEVEL_NUMBERS],
        *[(name, c_void_p) for name in ("coef", "constants", "b", "z", "d", "dinv", "fixed_start", "fixed")],
        ("theta", c_double),
        ("delta", c_double),
        ("weight", c_float * 4),
    ]


class CCoarsest(Structure):
    """Banded Cholesky factor of the coarsest matrix; see cycle.c."""

    _fields_ = [
        ("n", c_long),
        ("band", c_long),
        *[(name, c_void_p) for name in ("factor", "scale", "index", "work")],
        ("apart", c_long),
    ]


class CScratch(Structure):
    """Working memory, `stride` bytes per thread."""

    _fields_ = [("memory", c_void_p), ("stride", c_long)]


class CColumns(Structure):
    """Which columns are worked on; columns belong to right-hand sides."""

    _fields_ = [("count", c_long), ("which", c_void_p)]

    def __init__(self, which: Sequence[int]) -> None:
        self._numbers = (c_int64 * len(which))(*which)
        super().__init__(len(which), ctypes.addressof(self._numbers))


_LEVEL, _COARSEST, _SCRATCH, _COLUMNS = (POINTER(c) for c in (CLevel, CCoarsest, CScratch, CColumns))
_SIGNATURES: dict[str, list] = {
    "apply_f": [_LEVEL, _SCRATCH, c_void_p],
    "apply_d": [_LEVEL, _SCRATCH, _COLUMNS, c_void_p, c_void_p, c_void_p, c_void_p, c_void_p, c_void_p, c_long],
    "energies_d": [_LEVEL, _SCRATCH, c_void_p, c_void_p, c_void_p],
    "hadamard_moduli": [_LEVEL, _LEVEL, c_long],
    "galerkin_from_hadamard": [_LEVEL, _LEVEL, c_void_p],
    "galerkin_from_packed": [_LEVEL, _LEVEL],
    "inverse_diagonal": [_LEVEL],
    "inverse_modulus_sum": [_LEVEL, c_long],
    "multigrid_cycle": [_LEVEL, c_long, _COARSEST, _SCRATCH, _COLUMNS, c_void_p],
    "direction": [_LEVEL, _COLUMNS, c_void_p, c_void_p],
    "advance": [_LEVEL, _COLUMNS, *[c_void_p] * 7],
}


@lru_cache
def kernels(structure: modes.Structure) -> ctypes.CDLL:
    """The library for one structure, compiled at the first call on this machine.

    Raises:
        NoCompilerError: it cannot be compiled here.
    """
    library = load_library(engine_source(structure))
    library.lanes.restype, library.lanes.argtypes = c_long, []
    for name, arguments in _SIGNATURES.items():
        function = getattr(library, name)
        function.argtypes, function.restype = arguments, None
    return library


def room(shape: tuple[int, ...], dtype: type) -> NDArray:
    """A zero array that starts on a cache line and has room behind it."""
    size, item = int(np.prod(shape)), np.dtype(dtype).itemsize
    memory = np.zeros(size * item + SLACK * item + ALIGNMENT, np.uint8)
    start = -memory.ctypes.data % ALIGNMENT
    return memory[start : start + size * item].view(dtype).reshape(shape)


def apart(size: int) -> int:
    """Distance in memory of columns with so many values, which start on cache lines with room between them."""
    return -(-(size + SLACK) // 16) * 16


def address(array: NDArray | None) -> int | None:
    return None if array is None else array.ctypes.data


FIRST = CColumns([0])

"""The grid hierarchy: Galerkin operators, smoothers, supports and the coarsest factor, set up for one modulus field.

Level 0 has the moduli themselves, level 1 their Hadamard transforms over the eight (four) children, from which its
exact Galerkin operator is applied on the fly, level 2 and deeper have packed matrices in mode space. The smoother is
Chebyshev iteration of the first kind on D^-1 K over [lambda/16, lambda] (a wider interval at higher degrees) with a
bound lambda that holds for every modulus field, so that the cycle is positive definite whatever the design is.
"""

import ctypes
import os
import weakref
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from pde.grid.native.coarsest import Coarsest
from pde.grid.native.layout import Layout
from pde.grid.native.library import FIRST, CColumns, CLevel, CScratch, address, apart, kernels, room
from pde.grid.native.modes import Structure, eigenvalue_bounds
from pde.grid.native.source import kernel_constants

# By level; deeper levels, which are cheap and have wider spectra, like the last.
DEGREES = (2, 3, 4)
# Share of the spectrum that the smoother is responsible for, 1 / ..., by degree.
INTERVAL = {1: 4.0, 2: 16.0, 3: 20.0, 4: 30.0}
# With more levels than this the inner ones are visited twice (W-cycle): deep levels resolve slender members badly.
V_LEVELS = 3
# A level with fewer values than this per thread is faster with fewer threads.
VALUES_PER_THREAD = 16_000

# GNU's OpenMP cannot start threads in a process that was forked after its parent had used them: it would wait for ever.
_alive: "weakref.WeakSet[Hierarchy]" = weakref.WeakSet()
_forked = False


def _after_fork() -> None:
    global _forked
    _forked = True
    for hierarchy in _alive:
        for level in hierarchy.array:
            level.threads = 1


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork)


@dataclass
class Level:
    """Arrays of one level; `c` is what the kernels see."""

    layout: Layout
    fixed: NDArray[np.bool_]
    coef: NDArray[np.float32]
    dinv: NDArray[np.float32]
    c: CLevel
    keep: list[NDArray] = field(default_factory=list)
    vectors: list[NDArray[np.float32]] = field(default_factory=list)

    def widen(self, width: int) -> None:
        """Room for so many columns in b, z and d."""
        self.vectors = [self.layout.columns(width, np.float32) for _ in range(3)]
        self.c.b, self.c.z, self.c.d = (address(v) for v in self.vectors)

    @property
    def b(self) -> NDArray[np.float32]:
        """Right-hand side of the first column, like z, its iterate, in memory order."""
        return self.vectors[0][0]

    @property
    def z(self) -> NDArray[np.float32]:
        return self.vectors[1][0]


class Hierarchy:
    """Everything that is needed to apply the V-cycle.

    Args:
        structure, K: of the element matrix, (n, n).
        layouts: finest first; each has half the elements of the one before along every axis.
        fixed: values held at zero on the finest level, shape `layouts[0].nodal`.
        threads: at most so many per kernel.
    """

    def __init__(
        self,
        structure: Structure,
        K: NDArray[np.float64],
        layouts: list[Layout],
        fixed: NDArray[np.bool_],
        threads: int,
    ) -> None:
        threads = 1 if _forked else threads
        self.library = kernels(structure)
        self.lanes = int(self.library.lanes())
        self.structure, self.modes = structure, structure.modes
        self.constants = kernel_constants(structure, self.modes.to_modes(K))
        self.constants_32 = {name: room(v.shape, np.float32) for name, v in self.constants.items()}
        for name, values in self.constants.items():
            self.constants_32[name][...] = values
        self.bounds = eigenvalue_bounds(self.modes, K, len(layouts))
        diagonal = np.diag(K)[: self.modes.dofs]
        self.levels = []
        for depth, layout in enumerate(layouts):
            if depth:
                fixed = coarse_fixed(fixed, layout)
            visits = 2 if len(layouts) > V_LEVELS and 2 <= depth < len(layouts) - 1 else 1
            self.levels.append(self._level(depth, layout, fixed, threads, visits, diagonal))
        self.array = (CLevel * len(layouts))(*[level.c for level in self.levels])
        self.finest = ctypes.pointer(self.array[0])
        # Structures are copied into an array; what is set later must be set in it.
        for n, level in enumerate(self.levels):
            level.c = self.array[n]
        last = self.levels[-1]
        self.coarsest, self.threads = Coarsest(self.modes, K, last.layout, last.fixed), threads
        self.scratch, self.width = CScratch(), 0
        self.widen(1)
        _alive.add(self)

    def widen(self, width: int) -> None:
        """Room for so many right-hand sides; what was in the vectors of the levels is lost."""
        if width <= self.width:
            return
        self.width = width
        layouts = [level.layout for level in self.levels]
        stride = _scratch_bytes(layouts, width, self.lanes)
        self._memory = room((self.threads * stride,), np.uint8)
        self.scratch.memory, self.scratch.stride = address(self._memory), stride
        self.partial = np.zeros((width, layouts[0].nodal[0]))
        self.coarsest.widen(width)
        for level in self.levels:
            level.widen(width)

    @property
    def row(self) -> int:
        """Distance of rows of moduli in memory."""
        return self.levels[0].coef.shape[-1]

    def update(self) -> None:
        """Set up every level after the moduli in `levels[0].coef` have changed."""
        pointers = [ctypes.pointer(level) for level in self.array]
        self.library.inverse_modulus_sum(pointers[0], self.row)
        for depth in range(1, len(pointers)):
            fine, coarse = pointers[depth - 1], pointers[depth]
            if depth == 1:
                self.library.hadamard_moduli(fine, coarse, self.row)
            elif depth == 2:
                self.library.galerkin_from_hadamard(fine, coarse, address(self.constants_32["tables"]))
            else:
                self.library.galerkin_from_packed(fine, coarse)
            self.library.inverse_diagonal(coarse)
        self.coarsest.update(self._coarsest_matrices())

    def cycle(self, columns: CColumns = FIRST) -> None:
        """z = V(b) on the finest level; `partial` becomes b.z per column and plane."""
        self.library.multigrid_cycle(
            self.array, len(self.array), self.coarsest.c, self.scratch, columns, address(self.partial)
        )

    def _level(
        self,
        depth: int,
        layout: Layout,
        fixed: NDArray[np.bool_],
        threads: int,
        visits: int,
        diagonal: NDArray[np.float64],
    ) -> Level:
        blocks, active, n = -(-layout.nx // self.lanes), len(self.modes.active), 2**self.modes.dim
        if depth == 0:
            # Rows of moduli end with zeros: two vectors of children must lie in one row.
            shape = (layout.layers, layout.ny, -(-layout.nx // (2 * self.lanes)) * 2 * self.lanes)
            diagonals = (layout.nodal[0], *layout.nodal[2:])
        else:
            entries = n if depth == 1 else active * (active + 1) // 2
            shape = (layout.layers, layout.ny, blocks, entries, self.lanes)
            diagonals = layout.nodal
        degree = DEGREES[min(depth, len(DEGREES) - 1)]
        highest = self.bounds[depth]
        lowest = highest / INTERVAL[degree]
        coef, dinv = room(shape, np.float32), room(diagonals, np.float32)
        start, offsets = fixed_lists(fixed)
        names = {0: "fine", 1: "coarse"}
        constants = self.constants_32[names[depth]] if depth in names else None
        c = CLevel(
            nx=layout.nx,
            ny=layout.ny,
            layers=layout.layers,
            kind=min(depth, 2),
            threads=threads,
            grain=VALUES_PER_THREAD,
            degree=degree,
            visits=visits,
            coef_layer=int(np.prod(shape[1:])),
            apart=apart(layout.values),
            coef=address(coef),
            constants=address(constants),
            dinv=address(dinv),
            fixed_start=address(start),
            fixed=address(offsets),
            theta=(highest + lowest) / 2,
            delta=(highest - lowest) / 2,
            weight=(ctypes.c_float * 4)(*(1 / diagonal)),
        )
        return Level(layout, fixed, coef, dinv, c, [start, offsets])

    def _coarsest_matrices(self) -> NDArray[np.float64]:
        """Element matrices of the last level in mode space, (layers, ny, nx, active, active)."""
        depth, level, active = len(self.levels) - 1, self.levels[-1], self.modes.active
        nx = level.layout.nx
        if depth == 0:
            M = self.structure.matrix(self.structure.constants(self.modes.to_modes(self.coarsest.K)))
            return level.coef[..., :nx, None, None].astype(float) * M[np.ix_(active, active)]
        coef = np.moveaxis(level.coef, 3, -1)
        coef = coef.reshape(*coef.shape[:2], -1, coef.shape[-1])[:, :, :nx].astype(float)
        if depth == 1:
            B = self.modes.galerkin(self.modes.to_modes(self.coarsest.K))
            par = self.modes.parities
            return coef[..., par[:, None] ^ par[None, :]][..., active, :][..., active] * B[np.ix_(active, active)]
        low = np.tril_indices(len(active))
        A = np.empty((*coef.shape[:3], len(active), len(active)))
        A[..., low[0], low[1]] = coef
        A[..., low[1], low[0]] = coef
        return A


def fixed_lists(fixed: NDArray[np.bool_]) -> tuple[NDArray[np.int64], NDArray[np.int32]]:
    """Offsets within each plane of the values that are held, plane after plane, and where each plane's list starts."""
    planes, offsets = np.nonzero(fixed.reshape(fixed.shape[0], -1))
    start = np.zeros(fixed.shape[0] + 1, np.int64)
    np.cumsum(np.bincount(planes, minlength=fixed.shape[0]), out=start[1:])
    return start, offsets.astype(np.int32)


def coarse_fixed(fixed: NDArray[np.bool_], layout: Layout) -> NDArray[np.bool_]:
    """A coarse value is held if any fine value in the support of its shape function is: always exact, always SPD."""
    for axis in (0, 2, 3):
        if axis == 2 and fixed.shape[2] == 1:
            continue
        fixed = np.moveaxis(fixed, axis, 0)
        coarse = fixed[::2].copy()
        coarse[1:] |= fixed[1::2]
        coarse[:-1] |= fixed[1::2]
        fixed = np.moveaxis(coarse, 0, axis)
    assert fixed.shape == layout.nodal
    return np.ascontiguousarray(fixed)


def _scratch_bytes(layouts: list[Layout], width: int, lanes: int) -> int:
    """Per thread: see `operate` in operate.c; 8 vectors per value of a node for every block of a row."""

    def planes(depth: int, layout: Layout) -> int:
        together = width if depth >= 2 else 1
        single, double = ((layout.plane + 4 * lanes) * size + 64 for size in (4, 8))
        return max(2 * (together + width) * single, 2 * double)

    finest = layouts[0]
    buffer = (-(-finest.nx // (lanes // 2)) + 1) * 8 * finest.dofs * 4 * lanes
    most = max(planes(depth, layout) for depth, layout in enumerate(layouts))
    return -(-(most + 4 * 64 + buffer) // 4096) * 4096 + 64

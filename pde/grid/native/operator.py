"""One discrete operator in memory: its moduli, its hierarchy, and conjugate gradients over them.

Conjugate gradients run in double precision; the preconditioner is one multigrid cycle in single precision, which is
symmetric and positive definite, so that the plain method of Hestenes and Stiefel (1952) applies.
"""

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray
from threadpoolctl import ThreadpoolController

from pde.grid.errors import GridError, SolverError
from pde.grid.native.hierarchy import Hierarchy
from pde.grid.native.layout import Layout
from pde.grid.native.library import address, room
from pde.grid.native.modes import Modes, find_structure
from pde.grid.native.sizes import padded_sizes

Field = NDArray[np.float64]
Single = NDArray[np.float32]
# Softer than this share of the stiffest element counts as no material: it could not be told from zero in the cycle.
SOFTEST = 1e-30
# The residual must halve within so many iterations.
PATIENCE = 150


class Operator:
    """K(E) on a padded grid.

    Args:
        shape: elements along each axis.
        dofs: values per node.
        K: element matrix of a unit modulus.
        fixed: (*node_shape, dofs) bool.
        threads: at most so many.

    Raises:
        GridError: the element matrix is not that of a box.
        NoCompilerError: the kernels cannot be compiled here.

    Attributes:
        held: (planes, dofs, rows, x) bool; fixed: the same as flat positions.
        void: (planes, rows, x) bool, nodes without material.
        residual: f - K x of the last solve, in memory order.
    """

    def __init__(self, shape: tuple[int, ...], dofs: int, K: Field, fixed: NDArray[np.bool_], threads: int) -> None:
        modes = Modes(len(shape), dofs)
        if find_structure(modes, modes.to_modes(K)) is None:
            raise GridError("the element matrix lacks the symmetry of a box: use backend='direct'")
        sizes = padded_sizes(shape, dofs)
        layouts = [Layout(shape, sizes[0], dofs), *[Layout(size, size, dofs) for size in sizes[1:]]]
        self.layout = layouts[0]
        self.held = np.zeros(self.layout.nodal, bool)
        self.layout.public(self.held)[...] = fixed
        self.fixed = np.flatnonzero(self.held)
        self._blas = ThreadpoolController()
        with self._blas.limit(limits=1, user_api="blas"):
            self._prepare(modes, K, layouts, threads)
        self._p, self._q, self.residual = (self.layout.vector() for _ in range(3))

    def _prepare(self, modes: Modes, K: Field, layouts: list[Layout], threads: int) -> None:
        structure = find_structure(modes, modes.to_modes(K))
        assert structure is not None
        self.hierarchy = Hierarchy(structure, K, layouts, self.held, threads)
        self.library, self.finest = self.hierarchy.library, self.hierarchy.finest
        self._constants = room(self.hierarchy.constants["fine"].shape, np.float64)
        self._constants[...] = self.hierarchy.constants["fine"]
        self._partial = np.zeros(self.layout.nodal[0])

    def field(self) -> Field:
        """Room for one modulus per element, as the kernels want it."""
        return room(self.hierarchy.levels[0].coef.shape, np.float64)

    def set_up(self, modulus: Field) -> None:
        """Take these moduli and prepare the preconditioner. modulus : from `field`; kept, and values below 1e-30 of the
        largest become zero."""
        self.modulus = modulus
        single = self._single_moduli(modulus.shape)
        np.multiply(modulus, 1 / modulus.max(), out=single, casting="same_kind")
        if (single < SOFTEST).any():
            single[single < SOFTEST] = 0
            modulus[single == 0] = 0
        # Threads of two libraries that wait for each other on the same cores cost more than they bring.
        with self._blas.limit(limits=1, user_api="blas"):
            self.void = self._set_up_hierarchy(single) == 0
        self.has_void = bool(self.void.any())

    def apply(self, u: Field, out: Field, *, b: Field | None = None, modulus: Field | None = None) -> float:
        """out = K u and u.out; with b, out = b - K u and |out|^2. Zero at held values, unless `modulus` is given: then
        K of those moduli, without supports."""
        arrays = (address(v) for v in (self.modulus if modulus is None else modulus, self._constants, u, b, out))
        self.library.apply_d(self.finest, self.hierarchy.scratch, *arrays, address(self._partial), int(modulus is None))
        return float(self._partial.sum())

    def energies(self, u: Field) -> Field:
        """u_e^T K_e u_e with unit modulus, (layers, ny, nx)."""
        out = room((self.layout.layers, self.layout.ny, self.layout.nx), np.float64)
        arrays = (address(v) for v in (self._constants, u, out))
        self.library.energies_d(self.finest, self.hierarchy.scratch, *arrays)
        return out

    def erase(self, x: Field) -> None:
        """Zero where nothing is to be known: at held values and at nodes without material."""
        x.reshape(-1)[self.fixed] = 0
        if self.has_void:
            x *= ~self.void[:, None]

    def conjugate_gradients(
        self, x: Field, *, warm: bool, tol: float, max_iterations: int, give_up: Callable[[int], bool]
    ) -> tuple[int, float]:
        """Solve K x = f, in place; f is expected in `residual` and replaced.

        Args:
            x: start, used if `warm`, else zero.
            give_up: asked before every iteration with its number.

        Returns:
            iterations and relative residual, which is above `tol` after giving up.

        Raises:
            SolverError: breakdown, stagnation, or the iterations are used up.
        """
        norm, r = self._norm(self.residual), self.residual
        size = float(np.sqrt(self.apply(x, r, b=r))) if warm else norm
        history, scale, rz_old = [size / norm], 1 / norm, 0.0
        single = self._single_residual()
        np.multiply(r, scale, out=single, casting="same_kind")
        for iteration in range(max_iterations + 1):
            if history[-1] <= tol or give_up(iteration):
                return iteration, history[-1]
            _check_progress(history, tol, max_iterations)
            z, rz = self.cycle(single)
            rz /= scale
            self._direction(z, rz / rz_old if rz_old else 0.0)
            rz_old = rz
            pq = self.apply(self._p, self._q)
            if not (rz > 0 and 0 < pq < np.inf):
                raise SolverError(
                    f"the stiffness is not positive definite (relative residual {history[-1]:.1e} after {iteration} "
                    "iterations): part of the body is not supported",
                    history,
                )
            history.append(float(np.sqrt(self._advance(x, rz / pq, scale, single))) / norm)
        raise AssertionError("unreachable")

    def cycle(self, residual: Single) -> tuple[Single, float]:
        """One multigrid cycle: z, about K^-1 of the residual, and residual . z."""
        level = self.hierarchy.levels[0]
        if residual is not level.b:
            level.b[...] = residual
        return level.z, self.hierarchy.cycle()

    def _single_moduli(self, shape: tuple[int, ...]) -> Single:
        del shape
        return self.hierarchy.levels[0].coef

    def _single_residual(self) -> Single:
        return self.hierarchy.levels[0].b

    def _set_up_hierarchy(self, single: Single) -> Single:
        """-> inverse diagonal of the finest level, zero at nodes without material."""
        del single
        self.hierarchy.update()
        return self.hierarchy.levels[0].dinv

    def _direction(self, z: Single, beta: float) -> None:
        """p = z + beta p"""
        del z
        self.library.direction(self.finest, address(self._p), beta)

    def _advance(self, x: Field, alpha: float, scale: float, single: Single) -> float:
        """x += alpha p, r -= alpha q, single = scale r. -> |r|^2"""
        del single
        arrays = (address(v) for v in (x, self.residual, self._p, self._q))
        self.library.advance(self.finest, *arrays, alpha, scale, address(self._partial))
        return float(self._partial.sum())

    def _norm(self, f: Field) -> float:
        planes = f.reshape(f.shape[0], -1)
        return float(np.sqrt(np.einsum("ij,ij->i", planes, planes).sum()))


def _check_progress(history: list[float], tol: float, max_iterations: int) -> None:
    if not np.isfinite(history[-1]):
        raise SolverError("the residual is not a number any more: the moduli or loads are out of range", history)
    if len(history) > PATIENCE and min(history) > 0.5 * min(history[:-PATIENCE]):
        raise SolverError(
            f"the solver stagnates at a relative residual of {min(history):.1e} ({tol:.1e} was asked): the supports "
            "leave a free motion, or part of the body hangs together with them through void only",
            history,
        )
    if len(history) > max_iterations:
        raise SolverError(
            f"no convergence: relative residual {history[-1]:.1e} after {max_iterations} iterations, {tol:.1e} was "
            "asked; raise max_iterations, ask for a larger tol, or look for parts that hang together through void only",
            history,
        )

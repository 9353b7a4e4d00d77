"""One discrete operator in memory: its moduli, its hierarchy, and conjugate gradients over them.

Conjugate gradients run in double precision; the preconditioner is one multigrid cycle in single precision, which is
symmetric and positive definite, so that the plain method of Hestenes and Stiefel (1952) applies.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from threadpoolctl import ThreadpoolController

from pde.grid.errors import GridError, SolverError
from pde.grid.native.hierarchy import Hierarchy
from pde.grid.native.layout import Layout
from pde.grid.native.library import FIRST, CColumns, address, room
from pde.grid.native.modes import Modes, find_structure
from pde.grid.native.sizes import padded_sizes

Field = NDArray[np.float64]
Single = NDArray[np.float32]
# Softer than this share of the stiffest element counts as no material: it could not be told from zero in the cycle.
SOFTEST = 1e-30
# The residual must halve within so many iterations.
PATIENCE = 150


@dataclass(frozen=True)
class Outcome:
    """Of one column: how far it came. Above the tolerance without an error it was given up."""

    iterations: int
    residual: float
    error: SolverError | None


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
        residuals: f - K x of the last solve, one per column, in memory order.
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
        self.residuals = np.zeros((0,))
        self.widen(1)

    def _prepare(self, modes: Modes, K: Field, layouts: list[Layout], threads: int) -> None:
        structure = find_structure(modes, modes.to_modes(K))
        assert structure is not None
        self.hierarchy = Hierarchy(structure, K, layouts, self.held, threads)
        self.library, self.finest = self.hierarchy.library, self.hierarchy.finest
        self._constants = room(self.hierarchy.constants["fine"].shape, np.float64)
        self._constants[...] = self.hierarchy.constants["fine"]

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
        held, modulus = int(modulus is None), self.modulus if modulus is None else modulus
        arrays = (address(v) for v in (modulus, self._constants, u, b, out, self._partials))
        self.library.apply_d(self.finest, self.hierarchy.scratch, FIRST, *arrays, held)
        return float(self._partials[0].sum())

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

    def widen(self, width: int) -> None:
        """Room for so many right-hand sides."""
        if width > len(self.residuals):
            self._p, self._q, self.residuals = (self.layout.columns(width) for _ in range(3))
            self._partials = np.zeros((width, self.layout.nodal[0]))
            self._widen(width)

    def conjugate_gradients(
        self,
        x: Field,
        which: Sequence[int],
        *,
        warm: bool,
        tol: float,
        max_iterations: int,
        give_up: Callable[[int, int], bool],
    ) -> dict[int, Outcome]:
        """Solve K x = f in several columns at once, in place; each f is expected in `residuals` and replaced.

        Every column has its own method and leaves when it is done; what it computes does not depend on the others, to
        the bit. They share the passes over the moduli and the coarse matrices, and the threads.

        Args:
            x: start, used if `warm`, else zero; from `Layout.columns`, at most as many as `widen` has made room for.
            which: columns of x.
            give_up: asked before every iteration with its number and the column.

        Returns:
            what became of each column.
        """
        r = self.residuals
        width = len(r)
        norms, scales, steps, betas = (np.ones(width) for _ in range(4))
        for c in which:
            norms[c] = self._norm(r[c])
        scales[:] = 1 / norms
        sizes = np.sqrt(self._products(x, r, which, b=r)) if warm else norms
        histories = {c: [float(sizes[c]) / norms[c]] for c in which}
        for c in which:
            self._load_single(c, scales[c])
        before, outcomes, active = np.zeros(width), {}, list(which)
        for iteration in range(max_iterations + 1):
            for c in active:
                error = None
                if histories[c][-1] > tol and not give_up(iteration, c):
                    error = _trouble(histories[c], tol, max_iterations)
                    if error is None:
                        continue
                outcomes[c] = Outcome(iteration, histories[c][-1], error)
            active = [c for c in active if c not in outcomes]
            if not active:
                return outcomes
            rz = self._cycles(active) / scales
            betas[:] = np.divide(rz, before, out=np.zeros(width), where=before != 0)
            self._direct(active, betas)
            before = rz
            pq = self._products(self._p, self._q, active)
            for c in active:
                if not (rz[c] > 0 and 0 < pq[c] < np.inf):
                    outcomes[c] = Outcome(iteration, histories[c][-1], _indefinite(histories[c]))
            active = [c for c in active if c not in outcomes]
            steps[active] = rz[active] / pq[active]
            sizes = np.sqrt(self._advance(x, active, steps, scales))
            for c in active:
                histories[c].append(float(sizes[c]) / norms[c])
        raise AssertionError("unreachable")

    def cycle(self, residual: Single) -> Single:
        """One multigrid cycle: about K^-1 of the residual, in the memory order of the first column."""
        level = self.hierarchy.levels[0]
        level.b[...] = residual
        self.hierarchy.cycle()
        return level.z

    # -- what the portable kernels do in their own way; arrays have one entry per column ----------------------------

    def _widen(self, width: int) -> None:
        self.hierarchy.widen(width)

    def _load_single(self, column: int, scale: float) -> None:
        """Right-hand side of the cycle."""
        single = self.hierarchy.levels[0].vectors[0][column]
        np.multiply(self.residuals[column], scale, out=single, casting="same_kind")

    def _cycles(self, which: Sequence[int]) -> Field:
        """z = V(b). -> b.z"""
        self.hierarchy.cycle(CColumns(which))
        return _sums(self.hierarchy.partial, which)

    def _products(self, u: Field, out: Field, which: Sequence[int], b: Field | None = None) -> Field:
        """`apply` in several columns."""
        arrays = (address(v) for v in (self.modulus, self._constants, u, b, out, self._partials))
        self.library.apply_d(self.finest, self.hierarchy.scratch, CColumns(which), *arrays, 1)
        return _sums(self._partials, which)

    def _direct(self, which: Sequence[int], betas: Field) -> None:
        """p = z + beta p"""
        self.library.direction(self.finest, CColumns(which), address(self._p), address(betas))

    def _advance(self, x: Field, which: Sequence[int], steps: Field, scales: Field) -> Field:
        """x += step p, r -= step q, b of the cycle = scale r. -> |r|^2"""
        arrays = (address(v) for v in (x, self.residuals, self._p, self._q, steps, scales, self._partials))
        self.library.advance(self.finest, CColumns(which), *arrays)
        return _sums(self._partials, which)

    def _single_moduli(self, shape: tuple[int, ...]) -> Single:
        del shape
        return self.hierarchy.levels[0].coef

    def _set_up_hierarchy(self, single: Single) -> Single:
        """-> inverse diagonal of the finest level, zero at nodes without material."""
        del single
        self.hierarchy.update()
        return self.hierarchy.levels[0].dinv

    def _norm(self, f: Field) -> float:
        planes = f.reshape(f.shape[0], -1)
        return float(np.sqrt(np.einsum("ij,ij->i", planes, planes).sum()))


def _sums(partials: Field, which: Sequence[int]) -> Field:
    """Over the planes, zero for the other columns."""
    out = np.zeros(len(partials))
    for c in which:
        out[c] = partials[c].sum()
    return out


def _trouble(history: list[float], tol: float, max_iterations: int) -> SolverError | None:
    if not np.isfinite(history[-1]):
        return SolverError("the residual is not a number any more: the moduli or loads are out of range", history)
    if len(history) > PATIENCE and min(history) > 0.5 * min(history[:-PATIENCE]):
        return SolverError(
            f"the solver stagnates at a relative residual of {min(history):.1e} ({tol:.1e} was asked): the supports "
            "leave a free motion, or part of the body hangs together with them through void only",
            history,
        )
    if len(history) > max_iterations:
        return SolverError(
            f"no convergence: relative residual {history[-1]:.1e} after {max_iterations} iterations, {tol:.1e} was "
            "asked; raise max_iterations, ask for a larger tol, or look for parts that hang together through void only",
            history,
        )
    return None


def _indefinite(history: list[float]) -> SolverError:
    return SolverError(
        f"the stiffness is not positive definite (relative residual {history[-1]:.1e} after {len(history) - 1} "
        "iterations): part of the body is not supported",
        history,
    )

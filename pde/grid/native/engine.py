"""Conjugate gradients in double precision, preconditioned by one multigrid cycle in single precision."""

import os

import numpy as np
from numpy.typing import NDArray
from threadpoolctl import ThreadpoolController

from pde.grid.errors import GridError, SolverError
from pde.grid.islands import corners, floating, solid
from pde.grid.native.hierarchy import Hierarchy
from pde.grid.native.layout import Layout
from pde.grid.native.library import address, room
from pde.grid.native.modes import Modes, find_structure
from pde.grid.native.sizes import padded_sizes

Field = NDArray[np.float64]
# Softer than this share of the stiffest element counts as no material: it could not be told from zero in the cycle.
SOFTEST = 1e-30
# The residual must halve within so many iterations.
PATIENCE = 150
# Floating parts are looked for after so many times the usual number of iterations.
SLOW, SLOW_AT_LEAST = 3.0, 60


class _Slow(Exception):
    """Convergence is slow and there are floating parts."""

    def __init__(self, iterations: int) -> None:
        super().__init__(f"slow after {iterations} iterations")
        self.iterations = iterations


def available_threads() -> int:
    """Cores that this process may use; `OMP_NUM_THREADS` lowers it."""
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    asked = os.environ.get("OMP_NUM_THREADS", "").split(",")[0]
    return min(cores, int(asked)) if asked.isdigit() and int(asked) > 0 else cores


class Native:
    """The matrix-free back-end.

    Args:
        shape: elements along each axis.
        dofs: values per node.
        K: element matrix of a unit modulus.
        fixed: (*node_shape, dofs) bool.
        threads: how many to use; None: all cores available. The answer does not depend on it, to the bit.

    Raises:
        GridError: the element matrix is not that of a box.
        NoCompilerError: the kernels cannot be compiled here.
    """

    def __init__(
        self, shape: tuple[int, ...], dofs: int, K: Field, fixed: NDArray[np.bool_], threads: int | None = None
    ) -> None:
        modes = Modes(len(shape), dofs)
        structure = find_structure(modes, modes.to_modes(K))
        if structure is None:
            raise GridError("the element matrix lacks the symmetry of a box: use backend='direct'")
        layouts = [Layout(shape if depth == 0 else size, size, dofs) for depth, size in enumerate(padded_sizes(shape, dofs))]
        self.layout, self.threads = layouts[0], threads or available_threads()
        held = np.zeros(self.layout.nodal, bool)
        self.layout.public(held)[...] = fixed
        self.held, self.fixed = held, np.flatnonzero(held)
        self._blas = ThreadpoolController()
        with self._blas.limit(limits=1, user_api="blas"):
            self.hierarchy = Hierarchy(structure, K, layouts, held, self.threads)
        self.library, self.finest = self.hierarchy.library, self.hierarchy.finest
        self.modulus = room(self.hierarchy.levels[0].coef.shape, np.float64)
        self.working = self.modulus
        # Nodes of floating parts that were dropped, (*node_shape,); None: nothing was dropped.
        self.islands: NDArray[np.bool_] | None = None
        # Iterations of the last solves: much slower than usual means that something floats.
        self.usual: list[int] = []
        self.constants = room(self.hierarchy.constants["fine"].shape, np.float64)
        self.constants[...] = self.hierarchy.constants["fine"]
        self.partial = np.zeros(self.layout.nodal[0])
        self.p, self.q, self.r = (self.layout.vector() for _ in range(3))

    def update(self, modulus: Field) -> None:
        """modulus : (*shape,), finite and not negative."""
        stiffest = float(modulus.max())
        if stiffest <= 0:
            raise SolverError("there is no material anywhere: every modulus is zero")
        self.layout.public_field(self.modulus)[...] = modulus
        self.working, self.islands = self.modulus, None
        self._set_up(1 / stiffest)

    def solve(self, force: Field, guess: Field | None, tol: float, max_iterations: int) -> tuple[Field, int, float]:
        f = self.layout.vector(force)
        f.reshape(-1)[self.fixed] = 0
        if not f.any():
            return self.layout.public(f), 0, 0.0
        x = self.layout.vector(guess)
        self._restore_islands(f)
        done = 0
        try:
            done, residual = self._solve(x, f, guess is not None, tol, max_iterations)
        except (SolverError, _Slow) as trouble:
            # Parts that float in the void are the usual reason: solve without them.
            if not self._drop_islands(f):
                raise self._explained(trouble, f) from None
            if isinstance(trouble, SolverError):
                x[...] = 0
            done = trouble.iterations if isinstance(trouble, _Slow) else len(trouble.residuals) - 1
            try:
                more, residual = self._solve(x, f, True, tol, max_iterations)
            except SolverError as again:
                raise self._explained(again, f) from None
            done += more
        else:
            self.usual = [*self.usual[-8:], done]
        if self.has_void:
            # Coarse corrections reach nodes without material; nothing acts there, and nothing is known.
            self._erase_unknown(x)
        return self.layout.public(x), done, residual

    def apply(self, u: Field) -> Field:
        out = self.layout.vector()
        self._operate(self.layout.vector(u), out, held=False)
        return self.layout.public(out)

    def energies(self, u: Field) -> Field:
        out = room((self.layout.layers, self.layout.ny, self.layout.nx), np.float64)
        memory = self.layout.vector(u)
        self.library.energies_d(self.finest, self.hierarchy.scratch, address(self.constants), address(memory), address(out))
        return self.layout.public_field(out)

    def _set_up(self, scale: float) -> None:
        single = self.hierarchy.levels[0].coef
        np.multiply(self.working, scale, out=single, casting="same_kind")
        if (softest := single.min()) < SOFTEST and (softest > 0 or (self.working[single < SOFTEST] > 0).any()):
            single[single < SOFTEST] = 0
            self.working[single == 0] = 0
        with self._blas.limit(limits=1, user_api="blas"):
            self.hierarchy.update()
        self.void = self.hierarchy.levels[0].dinv == 0
        self.has_void = bool(self.void.any())

    def _floating(self, f: Field) -> NDArray[np.bool_]:
        """Elements of parts that are neither held nor loaded."""
        anchors = (self.layout.public(self.held) | (self.layout.public(f) != 0)).any(axis=-1)
        return floating(self.layout.public_field(self.modulus), anchors)

    def _drop_islands(self, f: Field) -> bool:
        """Give floating parts the modulus of the void until the next update. -> whether there were any."""
        if self.islands is not None:
            return False
        modulus, islands = self.layout.public_field(self.modulus), self._floating(f)
        if not islands.any():
            return False
        self.islands = corners(islands) & ~corners(solid(modulus) & ~islands)
        self.working = room(self.modulus.shape, np.float64)
        self.working[...] = self.modulus
        self.layout.public_field(self.working)[islands] = modulus.min()
        self._set_up(1 / float(modulus[~islands].max()))
        return True

    def _restore_islands(self, f: Field) -> None:
        """Parts that were dropped for an earlier load come back if this one acts on them."""
        if self.islands is not None and self.layout.public(f)[self.islands].any():
            self.working, self.islands = self.modulus, None
            self._set_up(1 / float(self.modulus.max()))

    def _explained(self, trouble: Exception, f: Field) -> SolverError:
        assert isinstance(trouble, SolverError)
        loose = floating(self.layout.public_field(self.modulus), self.layout.public(self.held).any(axis=-1))
        if self.layout.public(f)[corners(loose)].any():
            return SolverError(
                "a part that carries a load is connected to no support: add a support or join the part", trouble.residuals
            )
        return trouble

    def _solve(self, x: Field, f: Field, warm: bool, tol: float, max_iterations: int) -> tuple[int, float]:
        """Conjugate gradients from x, in place. -> iterations, relative residual"""
        if self.has_void and (f * self.void[:, None]).any():
            raise SolverError("a load acts on a node without material: move the load or keep material under it")
        norm = self._norm(f)
        if warm:
            self._erase_unknown(x)
            residual = float(np.sqrt(self._operate(x, self.r, f)))
        else:
            self.r[...] = f
            residual = norm
        return self._iterate(x, f, norm, residual, tol, max_iterations)

    def _iterate(
        self, x: Field, f: Field, norm: float, residual: float, tol: float, max_iterations: int
    ) -> tuple[int, float]:
        """Preconditioned conjugate gradients from the residual in self.r (Hestenes and Stiefel 1952)."""
        level, scale = self.hierarchy.levels[0], 1 / norm
        history = [residual / norm]
        np.multiply(self.r, scale, out=level.b, casting="same_kind")
        suspicious = max(SLOW_AT_LEAST, int(SLOW * np.median(self.usual or [0])))
        rz_old = 0.0
        for iteration in range(max_iterations):
            if history[-1] <= tol:
                return iteration, history[-1]
            _check_progress(history, tol)
            if iteration == suspicious and self.islands is None and self._floating(f).any():
                raise _Slow(iteration)
            rz = self.hierarchy.cycle() / scale
            if not rz > 0:
                raise SolverError(_breakdown("the preconditioner", history), history)
            self.library.direction(self.finest, address(self.p), rz / rz_old if rz_old else 0.0)
            rz_old = rz
            pq = self._operate(self.p, self.q)
            if not (pq > 0 and np.isfinite(pq)):
                raise SolverError(_breakdown("the stiffness", history), history)
            self.library.advance(
                self.finest,
                *(address(v) for v in (x, self.r, self.p, self.q)),
                rz / pq,
                scale,
                address(self.partial),
            )
            history.append(float(np.sqrt(self.partial.sum())) / norm)
        if history[-1] <= tol:
            return max_iterations, history[-1]
        raise SolverError(
            f"no convergence: relative residual {history[-1]:.1e} after {max_iterations} iterations, {tol:.1e} was asked; "
            "raise max_iterations, ask for a larger tol, or look for parts that hang together only through void",
            history,
        )

    def _operate(self, u: Field, out: Field, b: Field | None = None, held: bool = True) -> float:
        """out = K u and u.out; with b, out = b - K u and |out|^2."""
        modulus = self.working if held else self.modulus
        arrays = (address(v) for v in (modulus, self.constants, u, b, out, self.partial))
        self.library.apply_d(self.finest, self.hierarchy.scratch, *arrays, int(held))
        return float(self.partial.sum())

    def _erase_unknown(self, x: Field) -> None:
        x.reshape(-1)[self.fixed] = 0
        if self.has_void:
            x *= ~self.void[:, None]

    def _norm(self, f: Field) -> float:
        planes = f.reshape(f.shape[0], -1)
        return float(np.sqrt(np.einsum("ij,ij->i", planes, planes).sum()))


def _check_progress(history: list[float], tol: float) -> None:
    if not np.isfinite(history[-1]):
        raise SolverError("the residual is not a number any more: the moduli or loads are out of range", history)
    if len(history) > PATIENCE and min(history) > 0.5 * min(history[:-PATIENCE]):
        raise SolverError(
            f"the solver stagnates at a relative residual of {min(history):.1e} ({tol:.1e} was asked): part of the body "
            "is connected to the supports through void only, or not at all",
            history,
        )


def _breakdown(what: str, history: list[float]) -> str:
    return (
        f"{what} is not positive definite (relative residual {history[-1]:.1e} after {len(history) - 1} iterations): "
        "part of the body is not supported"
    )



"""The native back-end of `pde.grid.System`: checks what cannot be solved, and what floats in the void."""

import os

import numpy as np
from numpy.typing import NDArray

from pde.grid.errors import SolverError
from pde.grid.islands import corners, floating, solid
from pde.grid.native.operator import Operator

Field = NDArray[np.float64]
# Floating parts are looked for after so many iterations; ordinary designs need fewer.
SUSPICIOUS = 60
# Share of the energy in the void up to which parts that float in it are left out.
NEGLIGIBLE = 1e-7


class Native:
    """The matrix-free back-end.

    Args:
        shape: elements along each axis.
        dofs: values per node.
        K: element matrix of a unit modulus.
        fixed: (*node_shape, dofs) bool.
        threads: how many to use; None: all cores available. The answer does not depend on it, to the bit.
        operator: compiled kernels, or their portable substitute.

    Raises:
        GridError: the element matrix is not that of a box.
        NoCompilerError: the kernels cannot be compiled here.
    """

    def __init__(
        self,
        shape: tuple[int, ...],
        dofs: int,
        K: Field,
        fixed: NDArray[np.bool_],
        threads: int | None = None,
        operator: type[Operator] = Operator,
    ) -> None:
        self.operator = operator(shape, dofs, K, fixed, threads or available_threads())
        self.layout, self.held = self.operator.layout, fixed
        self.modulus = self.operator.field()
        # Nodes of floating parts that were dropped since the last update, (*node_shape,).
        self.dropped: NDArray[np.bool_] | None = None

    def update(self, modulus: Field) -> None:
        """modulus : (*shape,), finite and not negative.

        Raises:
            SolverError: it is zero everywhere.
        """
        if modulus.max() <= 0:
            raise SolverError("there is no material anywhere: every modulus is zero")
        self.layout.public_field(self.modulus)[...] = modulus
        self.operator.set_up(self.modulus)
        self.dropped = None

    def solve(self, force: Field, guess: Field | None, tol: float, max_iterations: int) -> tuple[Field, int, float]:
        """-> solution, iterations, relative residual.

        Raises:
            SolverError: nothing holds a part that is loaded, a load acts on nothing, or no convergence.
        """
        if not force[~self.held].any():
            return self.layout.public(self.layout.vector()), 0, 0.0
        if self.dropped is not None and force[self.dropped].any():
            self._restore()
        x = self.layout.vector(guess)
        iterations, residual = self._solve(x, force, guess is not None, tol, max_iterations)
        if self.operator.has_void:
            # Coarse corrections reach nodes without material; nothing acts there, and nothing is known.
            self.operator.erase(x)
        return self.layout.public(x), iterations, residual

    def apply(self, u: Field) -> Field:
        """K(E) u without supports; floating parts count."""
        out = self.layout.vector()
        self.operator.apply(self.layout.vector(u), out, modulus=self.modulus)
        return self.layout.public(out)

    def energies(self, u: Field) -> Field:
        return self.layout.public_field(self.operator.energies(self.layout.vector(u)))

    def _solve(self, x: Field, force: Field, warm: bool, tol: float, max_iterations: int) -> tuple[int, float]:
        """Conjugate gradients; once more without floating parts if they are in the way and do not matter."""
        trouble, done = None, 0
        if self.dropped is None:
            try:
                done, residual = self._attempt(x, force, warm, tol, max_iterations, watch=True)
                if residual <= tol:
                    return done, residual
                warm = True
            except SolverError as error:
                if not self._floating(force).any():
                    raise self._explained(error, force) from None
                trouble, done, warm, x[...] = error, len(error.residuals) - 1, False, 0
            self._drop(self._floating(force))
        try:
            more, residual = self._attempt(x, force, warm, tol, max_iterations)
        except SolverError as error:
            raise self._explained(error, force) from None
        done += more
        if self._void_share(x) <= NEGLIGIBLE:
            return done, residual
        self._restore()
        if trouble is not None:
            raise self._explained(trouble, force)
        x[...] = 0
        try:
            more, residual = self._attempt(x, force, False, tol, max_iterations)
        except SolverError as error:
            raise self._explained(error, force) from None
        return done + more, residual

    def _attempt(
        self, x: Field, force: Field, warm: bool, tol: float, max_iterations: int, watch: bool = False
    ) -> tuple[int, float]:
        """Conjugate gradients with the working moduli. `watch`: stop early if floating parts seem to be in the way."""

        def hindered(iteration: int) -> bool:
            late = watch and iteration == SUSPICIOUS
            return late and bool(self._floating(force).any()) and self._void_share(x) <= NEGLIGIBLE

        self._load(force)
        if warm:
            self.operator.erase(x)
        return self.operator.conjugate_gradients(x, warm=warm, tol=tol, max_iterations=max_iterations, give_up=hindered)

    def _load(self, force: Field) -> None:
        f = self.operator.residual
        f[...] = 0
        self.layout.public(f)[...] = force
        f.reshape(-1)[self.operator.fixed] = 0
        if self.operator.has_void and f[np.broadcast_to(self.operator.void[:, None], f.shape)].any():
            raise SolverError("a load acts on a node without material: move the load or keep material under it")

    def _floating(self, force: Field) -> NDArray[np.bool_]:
        """Elements of parts that are neither held nor loaded, (*shape,)."""
        return floating(self.layout.public_field(self.modulus), (self.held | (force != 0)).any(axis=-1))

    def _drop(self, parts: NDArray[np.bool_]) -> None:
        """Give these elements the modulus of the void until the next update: they carry nothing."""
        modulus, working = self.layout.public_field(self.modulus), self.operator.field()
        self.dropped = corners(parts) & ~corners(solid(modulus) & ~parts)
        working[...] = self.modulus
        self.layout.public_field(working)[parts] = modulus.min()
        self.operator.set_up(working)

    def _restore(self) -> None:
        self.operator.set_up(self.modulus)
        self.dropped = None

    def _void_share(self, x: Field) -> float:
        """Share of the strain energy that is not in solid elements. While it is negligible the void carries nothing,
        and what floats in it makes no difference."""
        modulus = self.operator.modulus[..., : self.layout.nx]
        energy = modulus * self.operator.energies(x)
        return float(energy[~solid(modulus)].sum() / energy.sum())

    def _explained(self, error: SolverError, force: Field) -> SolverError:
        loose = floating(self.layout.public_field(self.modulus), self.held.any(axis=-1))
        if force[corners(loose)].any():
            return SolverError(
                "a part that carries a load is connected to no support: add a support or join the part",
                error.residuals,
            )
        return error


def available_threads() -> int:
    """Cores that this process may use; `OMP_NUM_THREADS` lowers it."""
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    asked = os.environ.get("OMP_NUM_THREADS", "").split(",")[0]
    return min(cores, int(asked)) if asked.isdigit() and int(asked) > 0 else cores

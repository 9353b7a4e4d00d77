"""The native back-end of `pde.grid.System`: checks what cannot be solved, and what floats in the void."""

import os

import numpy as np
from numpy.typing import NDArray

from pde.grid.errors import SolverError
from pde.grid.islands import corners, floating, solid
from pde.grid.native.operator import Operator, Outcome

Field = NDArray[np.float64]
# Floating parts are looked for after so many iterations; ordinary designs need fewer.
SUSPICIOUS = 60
# Share of the energy in the void up to which parts that float in it are left out.
NEGLIGIBLE = 1e-7
# Right-hand sides that are solved together: at most so many, and so many values of theirs. On larger grids nothing is
# gained: there the kernels compute rather than wait for coefficients, and several sets of vectors leave the caches.
MOST_TOGETHER, VALUES_TOGETHER = 8, 130_000


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
        self.parts: NDArray[np.bool_] | None = None  # their elements, (*shape,)

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
        guesses = None if guess is None else guess[None]
        u, iterations, residual = self.solve_cases(force[None], guesses, tol, max_iterations)
        return u[0], iterations, residual

    def solve_cases(
        self, forces: Field, guesses: Field | None, tol: float, max_iterations: int
    ) -> tuple[Field, int, float]:
        """Several right-hand sides together, (cases, *node_shape, dofs). An answer does not depend on the others.

        -> solutions, iterations in all, largest relative residual.

        Raises:
            SolverError: see `solve`; it names the load case.
        """
        x = self.layout.columns(len(forces))
        if guesses is not None:
            for column, guess in zip(x, guesses, strict=True):
                self.layout.public(column)[...] = guess
        width = min(len(forces), max(1, min(MOST_TOGETHER, VALUES_TOGETHER // self.layout.values)))
        self.operator.widen(width)
        done = [(0, 0.0)] * len(forces)
        for first in range(0, len(forces), width):
            loaded = []
            for c in range(first, min(first + width, len(forces))):
                if forces[c][~self.held].any():
                    loaded.append(c)
                else:
                    x[c] = 0
            for c, answer in self._together(x, forces, loaded, guesses is not None, tol, max_iterations).items():
                done[c] = answer
        return self.layout.public(x), sum(a[0] for a in done), max(a[1] for a in done)

    def apply(self, u: Field) -> Field:
        """K(E) u without supports; floating parts count."""
        out = self.layout.vector()
        self.operator.apply(self.layout.vector(u), out, modulus=self.modulus)
        return self.layout.public(out)

    def energies(self, u: Field) -> Field:
        return self.layout.public_field(self.operator.energies(self.layout.vector(u)))

    def _together(
        self, x: Field, forces: Field, which: list[int], warm: bool, tol: float, max_iterations: int
    ) -> dict[int, tuple[int, float]]:
        """-> iterations and relative residual of the columns `which`, neighbours of each other."""
        done: dict[int, tuple[int, float]] = {}
        dropped = np.zeros_like(self.held[..., 0]) if self.dropped is None else self.dropped
        touched = [c for c in which if forces[c][dropped].any()]
        for group in ([c for c in which if c not in touched], touched):
            if group and group is touched:
                self._restore()
            whole = self.dropped is None
            outcomes = self._attempt(x, forces, group, warm, tol, max_iterations, watch=whole)
            reached = [
                c
                for c, outcome in outcomes.items()
                if outcome.error is None and outcome.residual <= tol and (whole or self._void_share(x[c]) <= NEGLIGIBLE)
            ]
            for c in group:
                if c in reached:
                    done[c] = outcomes[c].iterations, outcomes[c].residual
                else:
                    done[c] = self._again(x, forces, c, outcomes[c], whole, tol, max_iterations)
        return done

    def _again(
        self, x: Field, forces: Field, c: int, outcome: Outcome, whole: bool, tol: float, max_iterations: int
    ) -> tuple[int, float]:
        """One column once more: without floating parts, if they are in the way and do not matter, or else with them.

        `whole`: the first attempt was made with all parts.
        """
        done, trouble, parts = outcome.iterations, outcome.error, self._floating(forces[c])
        if trouble is not None and not (whole and parts.any()):
            raise self._explained(trouble, forces, c)
        if whole:
            if trouble is not None:
                x[c] = 0
            self._drop(parts)
            outcome = self._attempt(x, forces, [c], trouble is None, tol, max_iterations)[c]
            done += outcome.iterations
            if outcome.error is not None:
                raise self._explained(outcome.error, forces, c)
            if self._void_share(x[c]) <= NEGLIGIBLE:
                return done, outcome.residual
        self._restore()
        if trouble is not None:
            raise self._explained(trouble, forces, c)
        x[c] = 0
        outcome = self._attempt(x, forces, [c], False, tol, max_iterations)[c]
        if outcome.error is not None:
            raise self._explained(outcome.error, forces, c)
        return done + outcome.iterations, outcome.residual

    def _attempt(
        self,
        x: Field,
        forces: Field,
        which: list[int],
        warm: bool,
        tol: float,
        max_iterations: int,
        watch: bool = False,
    ) -> dict[int, Outcome]:
        """Conjugate gradients with the working moduli. `watch`: give up a column early if floating parts seem to be in
        its way."""
        if not which:
            return {}
        first = which[0]

        def hindered(iteration: int, column: int) -> bool:
            c, late = first + column, watch and iteration == SUSPICIOUS
            return late and bool(self._floating(forces[c]).any()) and self._void_share(x[c]) <= NEGLIGIBLE

        for c in which:
            self._load(self.operator.residuals[c - first], forces, c)
            if warm:
                self.operator.erase(x[c])
        outcomes = self.operator.conjugate_gradients(
            x[first:], [c - first for c in which], warm=warm, tol=tol, max_iterations=max_iterations, give_up=hindered
        )
        if self.operator.has_void:
            # Coarse corrections reach nodes without material; nothing acts there, and nothing is known.
            for c in which:
                self.operator.erase(x[c])
        return {first + column: outcome for column, outcome in outcomes.items()}

    def _load(self, f: Field, forces: Field, c: int) -> None:
        f[...] = 0
        self.layout.public(f)[...] = forces[c]
        f.reshape(-1)[self.operator.fixed] = 0
        if self.operator.has_void and f[np.broadcast_to(self.operator.void[:, None], f.shape)].any():
            on_nothing = SolverError("a load acts on a node without material: move the load or keep material under it")
            raise self._explained(on_nothing, forces, c)

    def _floating(self, force: Field) -> NDArray[np.bool_]:
        """Elements of parts that are neither held nor loaded, (*shape,)."""
        return floating(self.layout.public_field(self.modulus), (self.held | (force != 0)).any(axis=-1))

    def _drop(self, parts: NDArray[np.bool_]) -> None:
        """Give these elements the modulus of the void until the next update: they carry nothing."""
        modulus, working = self.layout.public_field(self.modulus), self.operator.field()
        if self.dropped is not None and self.parts is not None and np.array_equal(parts, self.parts):
            return
        self.parts, self.dropped = parts, corners(parts) & ~corners(solid(modulus) & ~parts)
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

    def _explained(self, error: SolverError, forces: Field, c: int) -> SolverError:
        loose = floating(self.layout.public_field(self.modulus), self.held.any(axis=-1))
        if forces[c][corners(loose)].any():
            error = SolverError(
                "a part that carries a load is connected to no support: add a support or join the part",
                error.residuals,
            )
        return error.of_case(c, len(forces))


def available_threads() -> int:
    """Cores that this process may use; `OMP_NUM_THREADS` lowers it."""
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    asked = os.environ.get("OMP_NUM_THREADS", "").split(",")[0]
    return min(cores, int(asked)) if asked.isdigit() and int(asked) > 0 else cores

"""K(E) u = f on a grid: one element matrix, one modulus per element, some nodal values fixed.

`System` checks what it is given and hands it to a back-end; every back-end gives the same answer.

    "native"   matrix-free in mode space, generated C, multigrid-preconditioned CG
    "direct"   assembled and factorised, by PETSc's MUMPS or by SciPy: small problems, and the oracle of the tests
    "numba"    the same method with portable kernels, about ten times slower: where there is no C compiler
    "jax"      the same method in JAX, on `device` "cpu" or "gpu": for accelerators; on CPUs several times slower
    "auto"     direct below some thousand values, else native; numba where no C compiler is found
"""

import logging
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, Protocol

import numpy as np
from numpy.typing import NDArray

from pde.grid.errors import GridError, SolverError
from pde.grid.grid import Grid
from pde.grid.physics import Physics

if TYPE_CHECKING:
    from pde.grid.native.engine import Native

Field = NDArray[np.float64]
Backend = Literal["auto", "native", "numba", "direct", "jax"]
LOG = logging.getLogger(__name__)
# Up to so many values a factorisation takes no longer than loading the kernels and a dozen iterations (by dimension).
DIRECT_VALUES = {2: 4000, 3: 1000}


@dataclass(frozen=True)
class Solution:
    """An answer that was reached.

    Attributes:
        u: nodal values, (*node_shape, dofs), or (cases, *node_shape, dofs) when several right-hand sides were given.
        iterations: CG iterations, summed over the right-hand sides; 0 for a direct solve.
        relative_residual: the largest |f - K u| / |f| over the right-hand sides.
    """

    u: Field
    iterations: int
    relative_residual: float


class Engine(Protocol):
    """What a back-end offers. Vectors are (*node_shape, dofs) float64; fixed entries of forces are ignored."""

    def update(self, modulus: Field) -> None: ...

    def solve(self, force: Field, guess: Field | None, tol: float, max_iterations: int) -> tuple[Field, int, float]: ...

    def apply(self, u: Field) -> Field:
        """K(E) u without regard to the fixed values."""
        ...

    def energies(self, u: Field) -> Field:
        """u_e^T K_e u_e of every element with unit modulus, (*shape,)."""
        ...


class System:
    """The discrete equation with its boundary conditions.

    Args:
        grid: the elements.
        physics: `Elasticity` or `Conduction`.
        fixed: (*node_shape, dofs) bool, True where the nodal value is held at zero.
        backend: see the module; "auto" picks the fastest that works here.
        threads: of the native back-end; None: every core that this process may use. Answers do not depend on it.
        springs: (*node_shape, dofs), stiffness of springs to ground, N/mm; see `pde.grid.springs`.
        device: of the JAX back-end; None: a GPU if there is one.

    Raises:
        GridError: `fixed` or `springs` has the wrong shape, or nothing is held.
    """

    def __init__(
        self,
        grid: Grid,
        physics: Physics,
        fixed: NDArray[np.bool_],
        backend: Backend = "auto",
        threads: int | None = None,
        springs: Field | None = None,
        device: Literal["cpu", "gpu"] | None = None,
    ) -> None:
        self.grid, self.physics = grid, physics
        self.vector_shape = (*grid.node_shape, physics.dofs_per_node(grid.dim))
        self.fixed = np.asarray(fixed, bool)
        if self.fixed.shape != self.vector_shape:
            raise GridError(f"`fixed` has shape {self.fixed.shape}, this grid needs {self.vector_shape}")
        self.springs = None if springs is None else self._checked_springs(springs)
        if not self.fixed.any() and self.springs is None:
            raise GridError("nothing is held: fix at least one nodal value, or the body floats")
        self.element_matrix = physics.element_matrix(tuple(grid.steps.tolist()))
        self.engine = _engine(self, backend, threads, device)
        self._modulus: Field | None = None

    def _checked_springs(self, springs: Field) -> Field | None:
        springs = np.asarray(springs, float)
        if springs.shape != self.vector_shape:
            raise GridError(f"`springs` has shape {springs.shape}, this grid needs {self.vector_shape}")
        if not np.isfinite(springs).all() or (springs < 0).any():
            raise GridError("springs must have finite stiffnesses that are not negative")
        return springs if springs.any() else None

    def update(self, modulus: Field) -> None:
        """Set the modulus. modulus : (*shape,), non-negative and finite; 0 means that there is no material."""
        modulus = np.asarray(modulus, float)
        if modulus.shape != self.grid.shape:
            raise GridError(f"modulus has shape {modulus.shape}, this grid needs {self.grid.shape}")
        if not np.isfinite(modulus).all() or (modulus < 0).any():
            raise GridError("modulus must be finite and not negative in every element")
        self.engine.update(modulus)
        self._modulus = modulus

    def solve(
        self,
        modulus: Field | None,
        force: Field,
        guess: Field | None = None,
        tol: float = 1e-8,
        max_iterations: int = 500,
        prescribed: Field | None = None,
    ) -> Solution:
        """Solve for one or several right-hand sides, which go through the native and the JAX back-end together.

        Args:
            modulus: (*shape,), or None to keep the modulus of the last `update` or `solve`.
            force: (*node_shape, dofs), or (cases, *node_shape, dofs). Entries at fixed values are ignored.
            guess: warm start, shape of `force`.
            tol: |f - K u| / |f| to reach; with prescribed values f includes the forces that they exert on the rest.
            prescribed: values that the fixed entries take, (*node_shape, dofs) or one per case; the others are ignored.
                None: zero.

        Raises:
            GridError: a shape is wrong or an entry is not finite.
            SolverError: the tolerance was not reached; of several load cases it names the one.
        """
        if modulus is None:
            modulus = self.modulus
        else:
            self.update(modulus)
        force = np.asarray(force, float)
        cases = force if force.ndim == len(self.vector_shape) + 1 else force[None]
        if cases.shape[1:] != self.vector_shape:
            raise GridError(f"force has shape {force.shape}, this grid needs {self.vector_shape}")
        if not np.isfinite(force).all():
            raise GridError("force must be finite everywhere")
        if prescribed is not None:
            return self._solve_lifted(force, guess, tol, max_iterations, prescribed)
        guesses = [None] * len(cases) if guess is None else np.reshape(guess, cases.shape)
        together = getattr(self.engine, "solve_cases", None)
        if together is not None and force.ndim > len(self.vector_shape):
            return Solution(
                *together(cases, None if guess is None else np.reshape(guess, cases.shape), tol, max_iterations)
            )
        answers = []
        for n, (f, start) in enumerate(zip(cases, guesses, strict=True)):
            try:
                answers.append(self.engine.solve(f, start, tol, max_iterations))
            except SolverError as error:
                raise error.of_case(n, len(cases)) from None
        u = answers[0][0] if force.ndim == len(self.vector_shape) else _stack([answer[0] for answer in answers])
        return Solution(u, sum(a[1] for a in answers), max(a[2] for a in answers))

    def _solve_lifted(
        self, force: Field, guess: Field | None, tol: float, max_iterations: int, prescribed: Field
    ) -> Solution:
        """u = g + u0 with g the prescribed values and zero elsewhere: K u0 = f - K g."""
        prescribed = np.asarray(prescribed, float)
        if prescribed.shape not in (self.vector_shape, force.shape):
            raise GridError(f"`prescribed` has shape {prescribed.shape}, this grid needs {self.vector_shape}")
        g = np.where(self.fixed, prescribed, 0.0)
        if not np.isfinite(g).all():
            raise GridError("prescribed values must be finite")
        forces = np.stack([self.apply(case) for case in g]) if g.ndim > len(self.vector_shape) else self.apply(g)
        solution = self.solve(None, force - forces, None if guess is None else guess - g, tol, max_iterations)
        return Solution(np.where(self.fixed, g, solution.u), solution.iterations, solution.relative_residual)

    @property
    def modulus(self) -> Field:
        """Of the last `update` or `solve`, (*shape,)."""
        if self._modulus is None:
            raise GridError("give a modulus before the first solve")
        return self._modulus

    def apply(self, u: Field) -> Field:
        """K(E) u, fixed values treated like any other, without springs. u : (*node_shape, dofs) -> same."""
        return self.engine.apply(np.asarray(u, float))

    def reactions(self, u: Field, force: Field) -> Field:
        """What the supports exert on the body, zero where nothing is fixed. u, force : (*node_shape, dofs) -> same.

        Springs exert -springs * u besides.
        """
        internal = self.apply(u)
        if self.springs is not None:
            internal = internal + self.springs * u
        return np.where(self.fixed, internal - force, 0.0)

    def energies(self, u: Field) -> Field:
        """u_e^T K_e u_e of every element with unit modulus. u : (*node_shape, dofs) -> (*shape,)."""
        return self.engine.energies(np.asarray(u, float))


def _engine(system: System, backend: Backend, threads: int | None, device: Literal["cpu", "gpu"] | None) -> Engine:
    from pde.grid.direct import Direct

    if backend not in ("auto", "native", "numba", "direct", "jax"):
        raise GridError(f"unknown backend {backend!r}: choose 'auto', 'native', 'numba', 'jax' or 'direct'")
    if backend == "jax":
        from pde.grid.jax_engine import JaxEngine

        if system.springs is not None:
            raise GridError("the JAX back-end has no springs: use backend='native'")
        return JaxEngine(system.grid.shape, system.element_matrix, system.fixed, device)
    if device is not None:
        raise GridError(f"`device` belongs to backend='jax', not {backend!r}")
    if system.springs is not None:
        return _sprung(system, backend, threads)
    if backend == "direct" or (backend == "auto" and system.fixed.size <= DIRECT_VALUES[system.grid.dim]):
        return Direct(system)
    try:
        return _iterative(system, system.fixed, backend, threads)
    except GridError as error:
        if backend == "native":
            raise
        LOG.warning("%s (done): slower, and it needs more memory", error)
        return Direct(system)


def _iterative(system: System, held: NDArray[np.bool_], backend: Backend, threads: int | None) -> "Native":
    from pde.grid.native.compiler import NoCompilerError
    from pde.grid.native.engine import Native

    arguments = system.grid.shape, system.vector_shape[-1], system.element_matrix, held, threads
    if backend != "numba":
        try:
            return Native(*arguments)
        except NoCompilerError as error:
            if backend == "native":
                raise GridError(str(error)) from error
            LOG.warning("%s; the portable kernels are used instead, which are about ten times slower", error)
    from pde.grid.native.portable import PortableOperator

    return Native(*arguments, operator=PortableOperator)


def _sprung(system: System, backend: Backend, threads: int | None) -> Engine:
    from pde.grid.direct import Direct
    from pde.grid.springs import Sprung

    assert system.springs is not None
    if backend == "direct" or (backend == "auto" and system.fixed.size <= DIRECT_VALUES[system.grid.dim]):
        return Direct(system)
    diagonal = np.diag(system.element_matrix)[: system.vector_shape[-1]]

    def build(held: NDArray[np.bool_]) -> "Native":
        return _iterative(system, held, backend, threads)

    try:
        return Sprung(build, system.springs, system.fixed, diagonal)
    except GridError as error:
        if backend == "native":
            raise
        LOG.warning("%s (done): slower, and it needs more memory", error)
        return Direct(system)


def _stack(fields: list[Field]) -> Field:
    """np.stack that keeps the fields' order in memory (they may be transposed views) instead of reshuffling them."""
    order = np.argsort([-stride for stride in fields[0].strides], kind="stable")
    stacked = np.stack([field.transpose(order) for field in fields])
    return stacked.transpose(0, *(np.argsort(order) + 1))

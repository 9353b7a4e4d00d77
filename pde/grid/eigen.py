"""Lowest natural frequencies: K phi = omega^2 M phi by LOBPCG (Knyazev 2001).

The preconditioner is one multigrid cycle of the native back-end, or the factorisation of the direct one, so that the
number of iterations hardly depends on the grid. The mass matrix is consistent; give it densities that vanish faster
than the moduli (`pde.grid.mass.mass_interpolation`), or the void vibrates on its own.

Units: MPa, mm and tonne give rad/s and Hz.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from pde.grid.errors import GridError, SolverError
from pde.grid.mass import apply_mass, mass_energies
from pde.grid.native.engine import Native
from pde.grid.springs import Sprung
from pde.grid.system import System

Field = NDArray[np.float64]
# Vectors beyond those that were asked for: the last ones converge slowly if their neighbours are close.
GUARDS = 3
# Vectors are dependent if their Gram matrix has an eigenvalue below this share of the largest.
DEPENDENT = 1e-12
# Products with K and M are combined from known ones; after so many iterations they are computed anew.
REFRESH = 8


@dataclass(frozen=True)
class NaturalModes:
    """What was found, lowest first.

    Attributes:
        eigenvalues: (count,), squares of the angular frequencies, 1/s2.
        shapes: (count, *node_shape, dofs), mass-normalised: phi . M phi = 1.
        iterations: of LOBPCG.
        residuals: (count,), |K phi - omega^2 M phi| in the norm of the preconditioner, about K^-1, relative to omega.
    """

    eigenvalues: NDArray[np.float64]
    shapes: Field
    iterations: int
    residuals: NDArray[np.float64]

    @property
    def frequencies(self) -> NDArray[np.float64]:
        """(count,), Hz."""
        return np.sqrt(self.eigenvalues) / (2 * np.pi)


def natural_modes(
    system: System,
    modulus: Field,
    density: Field,
    count: int = 6,
    *,
    tol: float = 1e-4,
    max_iterations: int = 200,
    rng: np.random.Generator | None = None,
    guess: Field | None = None,
) -> NaturalModes:
    """The lowest modes of vibration.

    Args:
        system: grid, physics, supports and springs.
        modulus: (*shape,), MPa.
        density: (*shape,), mass per volume, tonne/mm3, not negative.
        tol: of these residuals; the relative error of an eigenvalue is about its square.
        rng: of the first vectors. Default: seed 0.
        guess: shapes to start from, (k, *node_shape, dofs); those of the last design, for example.

    Raises:
        GridError: a shape is wrong, a density is negative, more modes than values.
        SolverError: not converged.
    """
    density = np.asarray(density, float)
    if density.shape != system.grid.shape or not np.isfinite(density).all() or (density < 0).any():
        raise GridError("the density must be finite and not negative, one number per element")
    system.update(modulus)
    problem = _Problem(system, density)
    if not 1 <= count <= problem.size // 5:
        raise GridError(f"{count} modes cannot be found among {problem.size} values that move: ask for fewer")
    X = problem.start(min(count + GUARDS, problem.size // 4), rng or np.random.default_rng(0), guess)
    return _lobpcg(problem, X, count, tol, max_iterations)


def eigenvalue_derivatives(system: System, modes: NaturalModes) -> tuple[Field, Field]:
    """Derivatives of simple eigenvalues with respect to moduli and densities, (count, *shape) each.

    d omega^2 / dE_e = phi_e . K_e phi_e,   d omega^2 / d rho_e = -omega^2 phi_e . M_e phi_e
    """
    stiffness = np.stack([system.energies(phi) for phi in modes.shapes])
    mass = np.stack([mass_energies(system.grid, phi) for phi in modes.shapes])
    return stiffness, -modes.eigenvalues.reshape(-1, *[1] * system.grid.dim) * mass


class _Problem:
    """K, M and the preconditioner on blocks of vectors, (*node_shape, dofs, k), zero where nothing moves."""

    def __init__(self, system: System, density: Field) -> None:
        self.system, self.density, self.stiffest = system, density, float(system.modulus.max())
        mass = apply_mass(system.grid, density, np.ones(system.vector_shape))
        # A node without mass would have an infinite frequency, one without stiffness none.
        self.moves = ~system.fixed & (mass > 0) & (_stiffness_sum(system) > 0)
        self.size = int(self.moves.sum())
        self.precondition = self._cycle if isinstance(system.engine, Native | Sprung) else self._solve

    def start(self, k: int, rng: np.random.Generator, guess: Field | None) -> Field:
        X = rng.normal(size=(*self.system.vector_shape, k)) * self.moves[..., None]
        X = self.blocks(self.precondition, X)
        if guess is not None:
            known = np.moveaxis(np.asarray(guess, float), 0, -1)[..., :k]
            X[..., : known.shape[-1]] = known * self.moves[..., None]
        return X

    def stiffness(self, u: Field) -> Field:
        Ku = self.system.apply(u)
        if self.system.springs is not None:
            Ku = Ku + self.system.springs * u
        return Ku * self.moves

    def mass(self, u: Field) -> Field:
        return apply_mass(self.system.grid, self.density, u) * self.moves

    def blocks(self, operation: Callable[[Field], Field], X: Field) -> Field:
        return np.stack([operation(X[..., j]) for j in range(X.shape[-1])], axis=-1)

    def _cycle(self, r: Field) -> Field:
        engine, scale = self.system.engine, float(np.abs(r).max()) or 1.0
        if isinstance(engine, Sprung):
            return np.where(self.moves, engine.precondition(r, scale), 0.0)
        assert isinstance(engine, Native)
        operator = engine.operator
        single = np.zeros(operator.layout.nodal, np.float32)
        operator.layout.public(single)[...] = r / scale
        z = operator.cycle(single)
        # The cycle works with moduli that are divided by the largest.
        return np.where(self.moves, operator.layout.public(z).astype(float) * (scale / self.stiffest), 0.0)

    def _solve(self, r: Field) -> Field:
        u = self.system.solve(None, np.where(self.moves, r, 0.0), tol=1e-3).u
        return np.where(self.moves, u, 0.0)


def _stiffness_sum(system: System) -> Field:
    modulus = np.pad(system.modulus, 1)
    total = np.zeros(system.grid.node_shape)
    for corner in np.ndindex(*(2,) * system.grid.dim):
        total += modulus[tuple(slice(o, o + n) for o, n in zip(corner, total.shape, strict=True))]
    return total[..., None] + (0.0 if system.springs is None else system.springs)


def _lobpcg(problem: _Problem, X: Field, count: int, tol: float, max_iterations: int) -> NaturalModes:
    """Rayleigh-Ritz over the present vectors, their preconditioned residuals and the last step, all kept together with
    their products with K and M: one product of each and one cycle per vector and iteration."""
    K, M = problem.stiffness, problem.mass
    k = X.shape[-1]
    basis = [X, problem.blocks(K, X), problem.blocks(M, X)]
    values, C = _rayleigh_ritz(basis, k)
    basis = [_combine(V, C) for V in basis]
    P: list[Field] = []
    for iteration in range(max_iterations + 1):
        if iteration % REFRESH == REFRESH - 1:
            basis[1:] = problem.blocks(K, basis[0]), problem.blocks(M, basis[0])
        X, KX, MX = basis
        R = KX - MX * values
        W = problem.blocks(problem.precondition, R)
        residuals = np.sqrt(np.einsum("nj,nj->j", _flat(R), _flat(W)) / values)
        if (residuals[:count] <= tol).all():
            return NaturalModes(values[:count], np.moveaxis(X, -1, 0)[:count].copy(), iteration, residuals[:count])
        W = W[..., residuals > tol / 10]
        # Against X in the inner product of M, and to unit length: the small matrices stay well conditioned.
        W -= _combine(X, _inner(MX, W))
        W /= _norms(W)
        search = [W, problem.blocks(K, W), problem.blocks(M, W)]
        joined = [np.concatenate(parts, axis=-1) for parts in zip(search, *([P] if P else []), strict=True)]
        full = [np.concatenate([V, S], axis=-1) for V, S in zip(basis, joined, strict=True)]
        values, C = _rayleigh_ritz(full, k)
        basis = [_combine(V, C) for V in full]
        P = [_combine(S, C[k:]) for S in joined]
        lengths = _norms(P[0])
        P = [V / np.where(lengths > 0, lengths, 1) for V in P]
    raise SolverError(
        f"the eigenvalue solver did not converge: relative residual {residuals[:count].max():.1e} after "
        f"{max_iterations} iterations, {tol:.1e} was asked; look for parts that hang together through void only",
        residuals[:count].tolist(),
    )


def _rayleigh_ritz(basis: list[Field], k: int) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """The k lowest eigenvalues in the span, and coefficients of their vectors, M-orthonormal.

    Vectors of the span that depend on others to rounding are left out (Stathopoulos and Wu 2002).
    """
    V, KV, MV = basis
    stiffness, mass = _inner(V, KV), _inner(V, MV)
    scale = 1 / np.sqrt(np.diag(mass))
    lengths, Q = np.linalg.eigh((mass + mass.T) / 2 * scale[:, None] * scale)
    keep = lengths > DEPENDENT * lengths[-1]
    T = scale[:, None] * Q[:, keep] / np.sqrt(lengths[keep])
    values, C = np.linalg.eigh(T.T @ (stiffness + stiffness.T) @ T / 2)
    return values[:k], T @ C[:, :k]


def _inner(A: Field, B: Field) -> NDArray[np.float64]:
    return _flat(A).T @ _flat(B)


def _combine(V: Field, C: NDArray[np.float64]) -> Field:
    return (_flat(V) @ C).reshape(*V.shape[:-1], C.shape[1])


def _norms(V: Field) -> NDArray[np.float64]:
    return np.sqrt(np.einsum("nj,nj->j", _flat(V), _flat(V)))


def _flat(V: Field) -> NDArray[np.float64]:
    return V.reshape(-1, V.shape[-1])

"""The element matrix seen through the Hadamard transform, and the constants that the kernels need.

An element's nodal values u_e become sums and differences along the axes, s[m, c] = sum_n (-1)^|m & ~n| u[n, c], where
the bits of m are the axes in which a difference is taken. In these modes the matrix of a box is almost diagonal:

    u_e^T K_e u_e = s^T M s,     M = T^-T K_e T^-1,     T = H (x) I

and the exact Galerkin product on a grid twice as coarse is told by parity: with par(m, c) = m XOR 2^c (m alone for
scalars), B = S_0^T M S_0 for the child at the lower corner, and ehat the Hadamard transform of the children's moduli,

    A1[i, j] = ehat[par i XOR par j] * B[i, j].

The same identity once more gives the second level from 64 numbers per element and the matrices C_p = S_0^T B_p S_0.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property, lru_cache

import numpy as np
from numpy.typing import NDArray

from pde.grid.physics import Anisotropic, Conduction, Elasticity, Physics, orthotropic

Matrix = NDArray[np.float64]
NO_ENTRY = -1
# Eigenvalue bounds are computed down to this level; from one deeper level to the next they grow by a few per cent.
EXACT_BOUNDS, BOUND_GROWTH = 3, 1.05


@dataclass(frozen=True)
class Modes:
    """Numbering of the modes of an element with `dofs` values per node: mode (m, c) has the number m * dofs + c."""

    dim: int
    dofs: int

    @property
    def count(self) -> int:
        return 2**self.dim * self.dofs

    @property
    def active(self) -> list[int]:
        """Modes that are not translations; only these carry stiffness."""
        return list(range(self.dofs, self.count))

    def bits(self, mode: int) -> int:
        return mode // self.dofs

    def component(self, mode: int) -> int:
        return mode % self.dofs

    def parity(self, mode: int) -> int:
        m = self.bits(mode)
        return m if self.dofs == 1 else m ^ (1 << self.component(mode))

    @cached_property
    def parities(self) -> NDArray[np.int64]:
        return np.array([self.parity(i) for i in range(self.count)])

    @cached_property
    def transform(self) -> Matrix:
        """T : nodal values -> modes, (count, count)."""
        H = np.ones((1, 1))
        for _ in range(self.dim):
            H = np.kron(np.array([[1.0, 1.0], [-1.0, 1.0]]), H)
        return np.asarray(np.kron(H, np.eye(self.dofs)), np.float64)

    def to_modes(self, K: Matrix) -> Matrix:
        """M = T^-T K T^-1. T^-1 is T^T / 2^dim."""
        T = self.transform
        return T @ K @ T.T / 4.0**self.dim

    def child(self, child: int) -> Matrix:
        """S_c : modes of an element -> modes of its child; bit a of `child`: lower (0) or upper half of axis a."""
        S = np.ones((1, 1))
        for axis in range(self.dim):
            sign = 0.5 if (child >> axis) & 1 else -0.5
            S = np.kron(np.array([[1.0, sign], [0.0, 0.5]]), S)
        return np.asarray(np.kron(S, np.eye(self.dofs)), np.float64)

    def galerkin(self, M: Matrix) -> Matrix:
        """B = S_0^T M S_0."""
        return self.child(0).T @ M @ self.child(0)

    def galerkin_tables(self, B: Matrix) -> Matrix:
        """C_p = S_0^T B_p S_0 for every parity p, (2**dim, count, count)."""
        mixed = self.parities[:, None] ^ self.parities[None, :]
        return np.stack([self.galerkin(np.where(mixed == p, B, 0.0)) for p in range(2**self.dim)])


@dataclass(frozen=True, eq=False)
class Structure:
    """Which entries of M are there, and which of them are equal. It shapes the generated code; values come later.

    Attributes:
        modes: numbering.
        groups: (count, count) int, the number of the constant at each entry, -1 where there is none.
        size: number of constants.
    """

    modes: Modes
    groups: NDArray[np.int64]

    @property
    def size(self) -> int:
        return int(self.groups.max()) + 1

    def matrix(self, constants: NDArray[np.float64]) -> Matrix:
        return np.where(self.groups >= 0, constants[self.groups], 0.0)

    def constants(self, M: Matrix) -> NDArray[np.float64]:
        """One value per constant, the mean of the entries that share it."""
        there = self.groups >= 0
        total = np.bincount(self.groups[there], M[there], minlength=self.size)
        return total / np.bincount(self.groups[there], minlength=self.size)

    def fits(self, M: Matrix) -> bool:
        return bool(np.abs(M - self.matrix(self.constants(M))).max() <= 1e-12 * np.abs(M).max())

    def derived(self, product: Callable[[Matrix], Matrix]) -> NDArray[np.int64]:
        """Groups of equal entries of a matrix that depends linearly on M, whatever the constants are."""
        probes = [product(self.matrix(np.random.default_rng(seed).uniform(0.5, 1.5, self.size))) for seed in range(3)]
        return _equal_entries(np.stack(probes))


@lru_cache
def structure(dim: int, dofs: int, *, equal_sides: bool, isotropic: bool = True) -> Structure:
    """The structure that all element matrices share: on squares and cubes, or on boxes of any proportions; of isotropic
    materials, or of all orthotropic ones whose axes are those of the grid."""
    modes = Modes(dim, dofs)
    sides = [(1.0,) * dim, (2.0,) * dim] if equal_sides else [(1.0, 1.3, 1.9)[:dim], (2.1, 0.7, 1.2)[:dim]]
    kinds = ("standard", "incompatible")
    physics: list[Physics] = [Conduction()]
    if dofs > 1 and isotropic:
        physics = [Elasticity(nu, element) for nu in (0.3, 0.17) for element in kinds]
    elif dofs > 1:
        physics = [Anisotropic(material, element) for material in _orthotropic_probes(dim) for element in kinds]
    probes = np.stack([modes.to_modes(p.element_matrix(s)) for p in physics for s in sides])
    return Structure(modes, _equal_entries(probes))


def _orthotropic_probes(dim: int) -> list[tuple[tuple[float, ...], ...]]:
    """Two materials without equal numbers."""
    if dim == 2:
        return [orthotropic((1.0, 1.7), (0.23,), (0.41,)), orthotropic((2.3, 0.9), (0.17,), (0.87,))]
    return [
        orthotropic((1.0, 1.7, 2.6), (0.23, 0.14, 0.31), (0.41, 0.67, 0.53)),
        orthotropic((2.3, 0.9, 1.4), (0.11, 0.29, 0.19), (0.87, 0.35, 1.13)),
    ]


def find_structure(modes: Modes, M: Matrix) -> Structure | None:
    """The narrowest structure that M has; None if it has none of them, and the kernels cannot be used."""
    for equal_sides, isotropic in ((True, True), (False, True), (False, False)):
        candidate = structure(modes.dim, modes.dofs, equal_sides=equal_sides, isotropic=isotropic)
        if candidate.fits(M):
            return candidate
    return None


def eigenvalue_bounds(modes: Modes, K: Matrix, levels: int) -> list[float]:
    """Bounds of lambda_max(D^-1 K(E)) on every level, whatever the moduli E >= 0 are.

    On the finest level it is lambda_max(K_e, diag K_e). A Galerkin matrix is a sum, with weights E, of the matrices of
    the fine elements (cells) that a coarse element holds, so there it is the maximum over these cells; by symmetry one
    corner of the element is enough. The bounds are attained where one solid element stands alone in a void.
    """
    bounds, cells = [_largest_eigenvalue(modes, modes.to_modes(K))], [modes.to_modes(K)]
    for level in range(1, levels):
        if level > EXACT_BOUNDS:
            bounds.append(bounds[-1] * BOUND_GROWTH)
            continue
        bounds.append(max(_largest_eigenvalue(modes, modes.galerkin(M)) for M in cells))
        if level < EXACT_BOUNDS:
            cells = [modes.child(c).T @ M @ modes.child(c) for M in cells for c in range(2**modes.dim)]
    return bounds


def _largest_eigenvalue(modes: Modes, M: Matrix) -> float:
    A = modes.transform.T @ M @ modes.transform
    diagonal = np.diag(A)
    some = diagonal > 1e-12 * diagonal.max()
    scale = 1 / np.sqrt(diagonal[some])
    return float(np.linalg.eigvalsh(A[np.ix_(some, some)] * scale[:, None] * scale)[-1])


def _equal_entries(probes: NDArray[np.float64]) -> NDArray[np.int64]:
    # probes : (n, rows, cols). Entries with the same values in all probes share a number, in order of appearance.
    scale = np.maximum(np.abs(probes).max(axis=(1, 2), keepdims=True), 1e-300)
    rounded = np.round(probes / scale * 1e10).astype(np.int64)
    groups = np.full(probes.shape[1:], NO_ENTRY)
    numbers: dict[tuple[int, ...], int] = {}
    for i, j in np.argwhere((np.abs(rounded) > 10).any(axis=0)):
        # Neighbouring roundings of the same value must not become two constants.
        key = tuple(rounded[:, i, j] + 5 >> 4)
        groups[i, j] = numbers.setdefault(key, len(numbers))
    return groups

"""The same solver where there is no C compiler: the fine operator in numba, coarse levels as sparse matrices of SciPy.

Same discretisation, same memory layout, same conjugate gradients and the same kind of cycle as the compiled engine,
about ten times slower and with more memory for the coarse matrices; the first call compiles for some seconds.
"""

from collections.abc import Callable, Sequence

import numba
import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from scipy.sparse.linalg import splu

from pde.grid.native.coarsest import element_unknowns
from pde.grid.native.hierarchy import DEGREES, INTERVAL, coarse_fixed
from pde.grid.native.layout import Layout
from pde.grid.native.modes import Modes, eigenvalue_bounds
from pde.grid.native.operator import Operator

Field = NDArray[np.float64]
Single = NDArray[np.float32]


class PortableOperator(Operator):
    """`Operator` without compiled kernels. Arguments: see there."""

    def _prepare(self, modes: Modes, K: Field, layouts: list[Layout], threads: int) -> None:
        del threads  # numba has its own setting, NUMBA_NUM_THREADS
        self._modes, self._layouts = modes, layouts
        M = modes.to_modes(K)
        rows, cols = np.nonzero(np.abs(M) > 1e-13 * np.abs(M).max())
        self._entries = rows, cols, M[rows, cols]
        self._entries_single = rows, cols, M[rows, cols].astype(np.float32)
        self._B, self._diagonal = modes.galerkin(M), np.diag(K)[: modes.dofs]
        self._masks = [self.held]
        for layout in layouts[1:]:
            self._masks.append(coarse_fixed(self._masks[-1], layout))
        self._interpolations = [_interpolation(layout) for layout in layouts[:-1]]
        self._bounds = eigenvalue_bounds(modes, K, len(layouts))

    def field(self) -> Field:
        return np.zeros((self.layout.layers, self.layout.ny, self.layout.nx))

    def _single_moduli(self, shape: tuple[int, ...]) -> Single:
        return np.zeros(shape, np.float32)

    def _set_up_hierarchy(self, single: Single) -> Single:
        self._single = single
        total = np.zeros((single.shape[0] + 1, self.layout.nodal[2], single.shape[2] + 1), np.float32)
        for k in (0, 1):
            for j in range(total.shape[1] - single.shape[1] + 1):
                for i in (0, 1):
                    window = np.s_[k : k + single.shape[0], j : j + single.shape[1], i : i + single.shape[2]]
                    total[window] += single
        inverse = _reciprocal(total)
        self._level_products: list[Callable[[Single], Single]] = [self._fine_product]
        self._inverses = [(inverse[:, None] / self._diagonal[:, None, None]).astype(np.float32).ravel()]
        matrix = self._first_coarse_matrix() if len(self._layouts) > 1 else None
        for depth in range(1, len(self._layouts)):
            if depth > 1:
                P = self._interpolations[depth - 1]
                matrix = sp.csr_matrix(P.T @ matrix @ P)
            assert matrix is not None
            self._level_products.append(_held_product(matrix, self._masks[depth].ravel()))
            self._inverses.append(_reciprocal(matrix.diagonal()))
        self._factorise(self._fine_matrix() if matrix is None else matrix)
        return inverse

    def cycle(self, residual: Single) -> Single:
        return self._cycle(0, residual.ravel()).reshape(self.layout.nodal)

    def apply(self, u: Field, out: Field, *, b: Field | None = None, modulus: Field | None = None) -> float:
        force = np.zeros_like(u)
        _apply(u, self.modulus if modulus is None else modulus, *self._entries, self._modes.dim, force)
        if modulus is None:
            force.reshape(-1)[self.fixed] = 0
        if b is None:
            out[...] = force
            return float(np.sum(u * out))
        np.subtract(b, force, out=out)
        return float(np.sum(out * out))

    def energies(self, u: Field) -> Field:
        out = np.zeros((self.layout.layers, self.layout.ny, self.layout.nx))
        _energies(u, *self._entries, self._modes.dim, out)
        return out

    def _widen(self, width: int) -> None:
        self._single_residuals, self._z = (self.layout.columns(width, np.float32) for _ in range(2))

    def _load_single(self, column: int, scale: float) -> None:
        np.multiply(self.residuals[column], scale, out=self._single_residuals[column], casting="same_kind")

    def _cycles(self, which: Sequence[int]) -> Field:
        sums = np.zeros(len(self._z))
        for c in which:
            self._z[c] = self.cycle(self._single_residuals[c])
            sums[c] = np.sum(self._single_residuals[c] * self._z[c], dtype=float)
        return sums

    def _products(self, u: Field, out: Field, which: Sequence[int], b: Field | None = None) -> Field:
        sums = np.zeros(len(out))
        for c in which:
            sums[c] = self.apply(u[c], out[c], b=None if b is None else b[c])
        return sums

    def _direct(self, which: Sequence[int], betas: Field) -> None:
        for c in which:
            self._p[c] = self._z[c] + (betas[c] * self._p[c] if betas[c] else 0.0)

    def _advance(self, x: Field, which: Sequence[int], steps: Field, scales: Field) -> Field:
        sums = np.zeros(len(steps))
        for c in which:
            x[c] += steps[c] * self._p[c]
            self.residuals[c] -= steps[c] * self._q[c]
            self._load_single(c, scales[c])
            sums[c] = np.sum(self.residuals[c] ** 2)
        return sums

    def _fine_product(self, u: Single) -> Single:
        force = np.zeros(self.layout.nodal, np.float32)
        _apply(u.reshape(self.layout.nodal), self._single, *self._entries_single, self._modes.dim, force)
        force.reshape(-1)[self.fixed] = 0
        return force.ravel()

    def _fine_matrix(self) -> sp.csr_matrix:
        M = np.zeros((self._modes.count,) * 2)
        M[self._entries[0], self._entries[1]] = self._entries[2]
        return self._assemble(self.layout, self._single.reshape(-1, 1, 1) * M)

    def _first_coarse_matrix(self) -> sp.csr_matrix:
        fine, modes = self._single.astype(float), self._modes
        children = [fine[c >> (modes.dim - 1) :: 2, :, c & 1 :: 2] for c in range(2**modes.dim)]
        if modes.dim == 3:
            children = [child[:, (c >> 1) & 1 :: 2] for c, child in enumerate(children)]
        signs = [[(-1) ** (p & c).bit_count() for c in range(2**modes.dim)] for p in range(2**modes.dim)]
        hat = np.stack([child.ravel() for child in children], axis=1) @ np.array(signs).T
        par = modes.parities
        return self._assemble(self._layouts[1], hat[:, par[:, None] ^ par[None, :]] * self._B)

    def _assemble(self, layout: Layout, matrices: Field) -> sp.csr_matrix:
        """matrices : (elements, count, count) in mode space."""
        T, n = self._modes.transform, self._modes.count
        unknowns = element_unknowns(np.arange(layout.values).reshape(layout.nodal), self._modes)
        pairs = np.repeat(unknowns, n, axis=1).ravel(), np.tile(unknowns, n).ravel()
        values = (T.T @ matrices @ T).astype(np.float32).ravel()
        return sp.csr_matrix(sp.coo_matrix((values, pairs), shape=(layout.values,) * 2))

    def _factorise(self, matrix: sp.csr_matrix) -> None:
        diagonal = matrix.diagonal()
        self._active = np.flatnonzero((diagonal > 0) & ~self._masks[-1].ravel())
        self._scale = 1 / np.sqrt(diagonal[self._active].astype(float))
        S = sp.diags_array(self._scale)
        scaled = S @ matrix[self._active][:, self._active].astype(float) @ S + 1e-8 * sp.eye_array(len(self._active))
        self._factor = splu(sp.csc_matrix(scaled), permc_spec="MMD_AT_PLUS_A", options={"SymmetricMode": True})

    def _cycle(self, depth: int, b: Single) -> Single:
        if depth == len(self._layouts) - 1:
            z = np.zeros_like(b)
            z[self._active] = self._scale * self._factor.solve(self._scale * b[self._active])
            return z
        z = self._smooth(depth, None, b)
        coarse = self._interpolations[depth].T @ (b - self._level_products[depth](z))
        coarse[self._masks[depth + 1].ravel()] = 0
        z = z + self._interpolations[depth] @ self._cycle(depth + 1, coarse)
        return self._smooth(depth, z, b)

    def _smooth(self, depth: int, start: Single | None, b: Single) -> Single:
        """Chebyshev iteration for `b`; start None: from zero."""
        degree = DEGREES[min(depth, len(DEGREES) - 1)]
        highest = self._bounds[depth]
        lowest = highest / INTERVAL[degree]
        theta, delta = (highest + lowest) / 2, (highest - lowest) / 2
        product, inverse, rho = self._level_products[depth], self._inverses[depth], delta / theta
        z = np.zeros_like(b) if start is None else start
        d = np.float32(1 / theta) * inverse * (b if start is None else b - product(z))
        z = np.add(z, d)
        for _ in range(1, degree):
            following = 1 / (2 * theta / delta - rho)
            step = np.float32(2 * following / delta) * inverse * (b - product(z))
            d, rho = np.float32(following * rho) * d + step, following
            z = np.add(z, d)
        return z


def _reciprocal(values: NDArray) -> Single:
    out = np.zeros(values.shape, np.float32)
    np.divide(1.0, values, out=out, where=values > 0)
    return out


def _held_product(matrix: sp.csr_matrix, held: NDArray[np.bool_]) -> Callable[[Single], Single]:
    def product(u: Single) -> Single:
        return np.where(held, np.float32(0), matrix @ u)

    return product


def _interpolation(fine: Layout) -> sp.csr_matrix:
    """Linear interpolation from the grid of half as many elements, in memory order."""
    planes, dofs, rows, x = fine.nodal
    P = sp.identity(1)
    for nodes in (planes, 0, rows, x):
        if nodes == 0:
            factor = sp.identity(dofs)
        elif nodes == 1:
            factor = sp.identity(1)
        else:
            n = np.arange(nodes)
            pairs = np.concatenate([n, n]), np.concatenate([n // 2, (n + 1) // 2])
            halves = np.full(2 * nodes, 0.5)
            factor = sp.csr_matrix((halves, pairs), shape=(nodes, nodes // 2 + 1))
        P = sp.kron(P, factor)
    return sp.csr_matrix(P, dtype=np.float32)


# Rows of nodes are one-dimensional and every loop touches few of them: only then does LLVM vectorise.


@numba.njit(cache=True)
def _sum_and_difference(a, b):  # pragma: no cover (compiled)
    for i in range(a.size):
        low = a[i]
        a[i] = b[i] + low
        b[i] = b[i] - low


@numba.njit(cache=True)
def _transposed(a, b):  # pragma: no cover (compiled)
    for i in range(a.size):
        even = a[i]
        a[i] = even - b[i]
        b[i] = even + b[i]


@numba.njit(cache=True)
def _add_product(out, factor, e, s):  # pragma: no cover (compiled)
    for i in range(out.size):
        out[i] += factor * e[i] * s[i]


@numba.njit(cache=True)
def _add(out, values):  # pragma: no cover (compiled)
    for i in range(out.size):
        out[i] += values[i]


@numba.njit(cache=True)
def _to_modes(u, k, j, dim, s):  # pragma: no cover (compiled)
    corners, dofs, nx = 2**dim, u.shape[1], s.shape[1]
    for n in range(corners):
        row = (n >> 1) & 1 if dim == 3 else 0
        for c in range(dofs):
            s[n * dofs + c] = u[k + (n >> (dim - 1)), c, j + row, (n & 1) : (n & 1) + nx]
    for axis in range(dim):
        for n in range(corners):
            if not (n >> axis) & 1:
                for c in range(dofs):
                    _sum_and_difference(s[n * dofs + c], s[(n | 1 << axis) * dofs + c])


@numba.njit(parallel=True, cache=True)
def _apply(u, modulus, rows, cols, values, dim, out):  # pragma: no cover (compiled)
    layers, ny, nx = modulus.shape
    corners, dofs = 2**dim, u.shape[1]
    # Even layers, then odd ones: no two threads write to the same plane.
    for colour in range(2):
        for half in numba.prange((layers + 1 - colour) // 2):
            k = 2 * half + colour
            s, t = np.empty((corners * dofs, nx), u.dtype), np.empty((corners * dofs, nx), u.dtype)
            for j in range(ny):
                _to_modes(u, k, j, dim, s)
                t[:] = 0
                for n in range(rows.size):
                    _add_product(t[rows[n]], values[n], modulus[k, j], s[cols[n]])
                for axis in range(dim):
                    for n in range(corners):
                        if not (n >> axis) & 1:
                            for c in range(dofs):
                                _transposed(t[n * dofs + c], t[(n | 1 << axis) * dofs + c])
                for n in range(corners):
                    row = (n >> 1) & 1 if dim == 3 else 0
                    for c in range(dofs):
                        target = out[k + (n >> (dim - 1)), c, j + row]
                        _add(target[(n & 1) : (n & 1) + nx], t[n * dofs + c])


@numba.njit(parallel=True, cache=True)
def _energies(u, rows, cols, values, dim, out):  # pragma: no cover (compiled)
    layers, ny, nx = out.shape
    for k in numba.prange(layers):
        s = np.empty((2**dim * u.shape[1], nx), u.dtype)
        for j in range(ny):
            _to_modes(u, k, j, dim, s)
            for n in range(rows.size):
                _add_product(out[k, j], values[n], s[rows[n]], s[cols[n]])

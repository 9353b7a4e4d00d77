"""The operator in mode space and its multigrid cycle in JAX: pure functions on arrays (dofs, *nodes), any device.

The same mathematics as the compiled kernels (`pde.grid.native.modes`): the fine operator from the non-zero entries of
M, exact Galerkin products on coarse levels, Chebyshev smoothing with bounds that hold for every modulus field. Coarse
matrices are stored, which costs memory and keeps the program short; the coarsest level is a dense inverse.

XLA would fuse the butterflies of all axes and recompute them for every mode: barriers between the axes keep them apart.
"""

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pde.grid.native.hierarchy import DEGREES, INTERVAL, V_LEVELS
from pde.grid.native.modes import Modes, eigenvalue_bounds

Array = Any
# Values on the coarsest grid: up to FEW always, up to MANY if a further halving would pad the grid by half.
FEW, MANY = 1500, 5000
# Added to the unit diagonal of the coarsest matrix: parts that nothing holds must not break the factorisation.
SHIFT = 1e-8


@dataclass(frozen=True, eq=False)
class Levels:
    """Everything that does not depend on the moduli.

    Args:
        shape: elements along each axis.
        K: element matrix of a unit modulus.
        fixed: (*node_shape, dofs) bool.
    """

    shape: tuple[int, ...]
    K: NDArray[np.float64]
    fixed: NDArray[np.bool_]

    @cached_property
    def modes(self) -> Modes:
        return Modes(len(self.shape), self.fixed.shape[-1])

    @cached_property
    def sizes(self) -> list[tuple[int, ...]]:
        return _sizes(self.shape, self.modes.dofs)

    @cached_property
    def held(self) -> list[NDArray[np.bool_]]:
        """Held values of every level, (dofs, *nodes)."""
        finest = np.zeros((self.modes.dofs, *(n + 1 for n in self.sizes[0])), bool)
        finest[(slice(None), *(slice(n + 1) for n in self.shape))] = np.moveaxis(self.fixed, -1, 0)
        levels = [finest]
        for _ in self.sizes[1:]:
            fine = levels[-1]
            for axis in range(1, fine.ndim):
                fine = np.moveaxis(fine, axis, 0)
                coarse = fine[::2].copy()
                coarse[1:] |= fine[1::2]
                coarse[:-1] |= fine[1::2]
                fine = np.moveaxis(coarse, 0, axis)
            levels.append(fine)
        return levels

    @cached_property
    def bounds(self) -> list[float]:
        return eigenvalue_bounds(self.modes, self.K, len(self.sizes))

    @cached_property
    def entries(self) -> list[list[tuple[int, float]]]:
        """Non-zero entries of M, row by row."""
        M = self.modes.to_modes(self.K)
        return [[(int(j), float(row[j])) for j in np.flatnonzero(np.abs(row) > 1e-13 * np.abs(M).max())] for row in M]

    # -- the fine operator ----------------------------------------------------------------------------------------

    def apply(self, modulus: Array, u: Array) -> Array:
        """K(E) u without supports. modulus : (*cells,), u : (dofs, *nodes)."""
        s = _to_modes(u)
        t = [sum(value * s[j] for j, value in row) * modulus if row else None for row in self.entries]
        return self._from_modes(t, u)

    def mixed(self, v: Array, u: Array) -> Array:
        """v_e . K_e u_e with unit modulus, (*cells,)."""
        a, b = _to_modes(v), _to_modes(u)
        return sum(value * a[i] * b[j] for i, row in enumerate(self.entries) for j, value in row)

    def _from_modes(self, t: list[Array], like: Array) -> Array:
        import jax.numpy as jnp

        dofs, dim = self.modes.dofs, self.modes.dim
        zero = jnp.zeros(tuple(n - 1 for n in like.shape[1:]), like.dtype)
        rows = [jnp.stack([zero if x is None else x for x in t[m * dofs : (m + 1) * dofs]]) for m in range(2**dim)]
        return _to_nodes(rows, dim)

    # -- what depends on the moduli -------------------------------------------------------------------------------

    def set_up(self, modulus: Array) -> dict[str, Any]:
        """Preconditioner data for moduli divided by the largest, (*cells,) float32."""
        import jax.numpy as jnp

        modes, active = self.modes, np.array(self.modes.active)
        M = modes.to_modes(self.K)
        diagonal = np.diag(self.K)[: modes.dofs].astype(np.float32).reshape(-1, *[1] * modes.dim)
        total = _add_corners([modulus] * 2**modes.dim, modes.dim)
        inverses = [_reciprocal(total[None] * diagonal)]
        if len(self.sizes) == 1:
            A = modulus.astype(jnp.float32)[..., None, None] * M[np.ix_(active, active)].astype(np.float32)
            return {"modulus": modulus, "matrices": [], "inverses": inverses, "coarsest": self._coarsest(A)}
        hat = _hadamard(_children(modulus, modes.dim))
        par = modes.parities[active]
        B = modes.galerkin(M)[np.ix_(active, active)].astype(np.float32)
        A = jnp.stack(hat, axis=-1)[..., par[:, None] ^ par[None, :]] * B
        matrices = [A]
        for _ in self.sizes[2:]:
            matrices.append(self._galerkin(matrices[-1]))
        inverses += [self._inverse_diagonal(A) for A in matrices]
        coarsest = self._coarsest(matrices[-1])
        return {"modulus": modulus, "matrices": matrices, "inverses": inverses, "coarsest": coarsest}

    def _galerkin(self, A: Array) -> Array:
        import jax.numpy as jnp

        modes, active, out = self.modes, np.array(self.modes.active), 0
        for c in range(2**modes.dim):
            S = modes.child(c)[np.ix_(active, active)].astype(np.float32)
            part = A[tuple(slice((c >> a) & 1, None, 2) for a in range(modes.dim))]
            out = out + jnp.einsum("ji,...jk,kl->...il", S, part, S, precision="highest")
        return out

    def _inverse_diagonal(self, A: Array) -> Array:
        import jax.numpy as jnp

        modes = self.modes
        T = modes.transform[modes.active]
        weights = np.einsum("in,jn->nij", T, T).astype(np.float32)
        local = jnp.einsum("nij,...ij->n...", weights, A, precision="highest")
        corners = [local[n * modes.dofs : (n + 1) * modes.dofs] for n in range(2**modes.dim)]
        return _reciprocal(_add_corners(corners, modes.dim))

    def _coarsest(self, A: Array) -> tuple[Array, Array]:
        """Dense inverse of the scaled matrix, and the scale."""
        import jax.numpy as jnp

        modes, held = self.modes, self.held[-1]
        T = modes.transform[modes.active]
        local = jnp.einsum("in,...ij,jm->nm...", T, A.astype(jnp.float64), T, precision="highest")
        number = np.arange(held.size).reshape(held.shape)
        windows = [
            number[(c, *(slice((n >> a) & 1, (n >> a & 1) + held.shape[a + 1] - 1) for a in range(modes.dim)))]
            for n in range(2**modes.dim)
            for c in range(modes.dofs)
        ]
        where = np.stack(windows)
        rows = np.broadcast_to(where[:, None], (len(where), *where.shape))
        matrix = jnp.zeros((held.size, held.size)).at[rows, np.swapaxes(rows, 0, 1)].add(local)
        diagonal = jnp.diagonal(matrix)
        active = jnp.asarray(~held.ravel()) & (diagonal > 0)
        scale = jnp.where(active, 1 / jnp.sqrt(jnp.where(active, diagonal, 1)), 0)
        matrix = matrix * scale[:, None] * scale
        matrix = matrix.at[np.arange(held.size), np.arange(held.size)].set(1 + SHIFT)
        return jnp.linalg.inv(matrix).astype(jnp.float32), scale.astype(jnp.float32)

    # -- the cycle ------------------------------------------------------------------------------------------------

    def cycle(self, data: dict[str, Any], b: Array, depth: int = 0) -> Array:
        """One multigrid cycle for b, (dofs, *nodes) float32, zero at held values."""
        import jax.numpy as jnp

        if depth == len(self.sizes) - 1:
            inverse, scale = data["coarsest"]
            z = scale * jnp.matmul(inverse, scale * b.ravel(), precision="highest")
            return z.reshape(b.shape)
        z = self._smooth(data, depth, None, b)
        coarse = _restrict(b - self._product(data, depth, z)) * ~self.held[depth + 1]
        correction = self.cycle(data, coarse, depth + 1)
        if len(self.sizes) > V_LEVELS and 1 <= depth < len(self.sizes) - 2:
            rest = coarse - self._product(data, depth + 1, correction)
            correction = correction + self.cycle(data, rest, depth + 1)
        return self._smooth(data, depth, z + _prolong(correction), b)

    def _product(self, data: dict[str, Any], depth: int, u: Array) -> Array:
        import jax.numpy as jnp

        free = ~self.held[depth]
        if depth == 0:
            return self.apply(data["modulus"], u) * free
        s = jnp.stack(_to_modes(u)[self.modes.dofs :], axis=-1)
        t = jnp.matmul(data["matrices"][depth - 1], s[..., None], precision="highest")[..., 0]
        return self._from_modes([*[None] * self.modes.dofs, *jnp.moveaxis(t, -1, 0)], u) * free

    def _smooth(self, data: dict[str, Any], depth: int, z: Array | None, b: Array) -> Array:
        """Chebyshev iteration of the first kind; z None: from zero."""
        degree = DEGREES[min(depth, len(DEGREES) - 1)]
        highest = self.bounds[depth]
        lowest = highest / INTERVAL[degree]
        theta, delta = (highest + lowest) / 2, (highest - lowest) / 2
        inverse, rho = data["inverses"][depth], delta / theta
        d = inverse * (b if z is None else b - self._product(data, depth, z)) / theta
        z = d if z is None else z + d
        for _ in range(1, degree):
            following = 1 / (2 * theta / delta - rho)
            d = following * rho * d + 2 * following / delta * inverse * (b - self._product(data, depth, z))
            z, rho = z + d, following
        return z


def _sizes(shape: tuple[int, ...], dofs: int) -> list[tuple[int, ...]]:
    def sizes(levels: int) -> list[tuple[int, ...]]:
        coarse = [-(-n // 2 ** (levels - 1)) for n in shape]
        return [tuple(n * 2 ** (levels - 1 - depth) for n in coarse) for depth in range(levels)]

    def values(levels: int) -> int:
        return dofs * int(np.prod([n + 1 for n in sizes(levels)[-1]]))

    levels = 1
    while values(levels) > FEW and max(sizes(levels)[-1]) > 1:
        levels += 1
    while levels > 1 and np.prod(sizes(levels)[0]) > 1.5 * np.prod(shape) and values(levels - 1) <= MANY:
        levels -= 1
    return sizes(levels)


def _to_modes(u: Array) -> list[Array]:
    """Sums and differences: (dofs, *nodes) -> a list over the modes m * dofs + c of (*cells,)."""
    from jax.lax import optimization_barrier

    parts = [u]
    for axis in range(1, u.ndim):
        halves = [_halves(part, axis) for part in parts]
        parts = optimization_barrier([high + low for low, high in halves] + [high - low for low, high in halves])
    return [part[c] for part in parts for c in range(u.shape[0])]


def _to_nodes(parts: list[Array], dim: int) -> Array:
    """The transpose: one (dofs, *cells) per mode -> (dofs, *nodes)."""
    from jax.lax import optimization_barrier

    parts = optimization_barrier(parts)
    for axis in reversed(range(dim)):
        half = len(parts) // 2
        pairs = zip(parts[:half], parts[half:], strict=True)
        parts = optimization_barrier([_spread(total - diff, total + diff, axis + 1) for total, diff in pairs])
    return parts[0]


def _halves(values: Array, axis: int) -> tuple[Array, Array]:
    n = values.shape[axis]
    low = [slice(None)] * values.ndim
    high = list(low)
    low[axis], high[axis] = slice(0, n - 1), slice(1, n)
    return values[tuple(low)], values[tuple(high)]


def _spread(low: Array, high: Array, axis: int) -> Array:
    import jax.numpy as jnp

    before, after = [(0, 0)] * low.ndim, [(0, 0)] * low.ndim
    before[axis], after[axis] = (1, 0), (0, 1)
    return jnp.pad(low, after) + jnp.pad(high, before)


def _add_corners(corners: list[Array], dim: int) -> Array:
    """Sum over the elements around each node; one array (..., *cells) per corner."""
    for axis in reversed(range(dim)):
        half = len(corners) // 2
        place = corners[0].ndim - dim + axis
        corners = [_spread(low, high, place) for low, high in zip(corners[:half], corners[half:], strict=True)]
    return corners[0]


def _children(values: Array, dim: int) -> list[Array]:
    return [values[tuple(slice((c >> a) & 1, None, 2) for a in range(dim))] for c in range(2**dim)]


def _hadamard(values: list[Array]) -> list[Array]:
    step = 1
    while step < len(values):
        values = [
            values[i] + values[i | step] if not i & step else values[i ^ step] - values[i] for i in range(len(values))
        ]
        step *= 2
    return values


def _restrict(fine: Array) -> Array:
    for axis in range(1, fine.ndim):
        even, odd = [slice(None)] * fine.ndim, [slice(None)] * fine.ndim
        even[axis], odd[axis] = slice(0, None, 2), slice(1, None, 2)
        half = 0.5 * fine[tuple(odd)]
        fine = fine[tuple(even)] + _spread(half, half, axis)
    return fine


def _prolong(coarse: Array) -> Array:
    import jax.numpy as jnp

    for axis in range(1, coarse.ndim):
        low, high = _halves(coarse, axis)
        shape = list(coarse.shape)
        shape[axis] = 2 * low.shape[axis]
        pairs = jnp.stack([low, 0.5 * (low + high)], axis=axis + 1).reshape(shape)
        last = [slice(None)] * coarse.ndim
        last[axis] = slice(-1, None)
        coarse = jnp.concatenate([pairs, coarse[tuple(last)]], axis=axis)
    return coarse


def _reciprocal(values: Array) -> Array:
    import jax.numpy as jnp

    return jnp.where(values > 0, 1 / jnp.where(values > 0, values, 1), 0).astype(jnp.float32)

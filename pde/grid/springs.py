"""Springs to ground: K + S with a diagonal S, solved by conjugate gradients on top of a back-end that knows only K.

The preconditioner splits the springs. Stiff ones, compared with what the body offers at their node, are supports for
the multigrid cycle, and their values are scaled by their own diagonal, K_ii + s_i. Soft ones are left out of the cycle:
they add little to what it inverts. A few at the ends of the sprung region always count as stiff, so that the cycle is
definite where springs are the only support. Both blocks are positive definite whatever the stiffnesses are. A face of
springs costs some tens of iterations, from hardly holding to clamping; springs in the whole volume are slow.
"""

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from pde.grid.errors import SolverError
from pde.grid.native.engine import Native

Field = NDArray[np.float64]
# A spring is stiff if it has more than this share of the diagonal of K.
STIFF = 0.1


class Sprung:
    """A `pde.grid.system.Engine` for K + S.

    Args:
        build: back-end of the same problem with the given values held.
        stiffness: (*node_shape, dofs), N/mm; zero where there is no spring.
        fixed: (*node_shape, dofs) bool, values that are held.
        diagonal: of the element matrix, one number per component.
    """

    def __init__(
        self,
        build: Callable[[NDArray[np.bool_]], Native],
        stiffness: Field,
        fixed: NDArray[np.bool_],
        diagonal: Field,
    ) -> None:
        self.stiffness, self.fixed, self.diagonal = np.where(fixed, 0.0, stiffness), fixed, diagonal
        self.sprung = self.stiffness > 0
        self.ends = _ends(self.sprung.any(axis=-1))[..., None] & self.sprung
        self.build, self.stiff = build, self.sprung
        self.inner = build(fixed | self.stiff)

    def update(self, modulus: Field) -> None:
        total = np.zeros(self.fixed.shape[:-1])
        for corner in np.ndindex(*(2,) * modulus.ndim):
            total[tuple(slice(o, o + n) for o, n in zip(corner, modulus.shape, strict=True))] += modulus
        self.empty = ((total == 0)[..., None] & ~self.sprung) | self.fixed
        own = total[..., None] * self.diagonal
        stiff = (self.sprung & (self.stiffness > STIFF * own)) | self.ends
        if not np.array_equal(stiff, self.stiff):
            self.inner, self.stiff = self.build(self.fixed | stiff), stiff
        self.inner.update(modulus)
        self.inverse = np.divide(1.0, own + self.stiffness, out=np.zeros(own.shape), where=stiff)
        self.stiffest = float(modulus.max())

    def solve(self, force: Field, guess: Field | None, tol: float, max_iterations: int) -> tuple[Field, int, float]:
        """-> solution, iterations, relative residual.

        Raises:
            SolverError: a load acts on nothing, or no convergence.
        """
        f = np.where(self.fixed, 0.0, force)
        norm = float(np.linalg.norm(f))
        x = np.zeros(f.shape) if guess is None else np.where(self.empty, 0.0, guess)
        if norm == 0:
            return np.zeros(f.shape), 0, 0.0
        if f[self.empty].any():
            raise SolverError("a load acts on a node without material: move the load or keep material under it")
        r = f - self._product(x)
        history, p, rz_old = [float(np.linalg.norm(r)) / norm], np.zeros(f.shape), 0.0
        while history[-1] > tol:
            if len(history) > max_iterations:
                raise SolverError(
                    f"no convergence with springs: relative residual {history[-1]:.1e} after {max_iterations} "
                    "iterations; raise max_iterations or check that supports and springs leave no free motion",
                    history,
                )
            z = self.precondition(r, norm)
            rz = float(np.vdot(r, z))
            p = z + (rz / rz_old if rz_old else 0.0) * p
            q = self._product(p)
            pq = float(np.vdot(p, q))
            if not (rz > 0 and 0 < pq < np.inf):
                raise SolverError("the stiffness is not positive definite: part of the body is not supported", history)
            x += rz / pq * p
            r -= rz / pq * q
            rz_old = rz
            history.append(float(np.linalg.norm(r)) / norm)
        return x, len(history) - 1, history[-1]

    def apply(self, u: Field) -> Field:
        """K u, without the springs."""
        return self.inner.apply(u)

    def energies(self, u: Field) -> Field:
        return self.inner.energies(u)

    def _product(self, u: Field) -> Field:
        out = self.inner.apply(u) + self.stiffness * u
        out[self.empty] = 0
        return out

    def precondition(self, r: Field, scale: float) -> Field:
        """About (K + S)^-1 r, symmetric and positive definite; `scale` brings r into the range of single precision."""
        operator = self.inner.operator
        single = np.zeros(operator.layout.nodal, np.float32)
        operator.layout.public(single)[...] = np.where(self.stiff, 0.0, r / scale)
        z = operator.cycle(single)
        # The cycle works with moduli that are divided by the largest.
        out = operator.layout.public(z) * (scale / self.stiffest)
        out[self.empty | self.stiff] = 0
        return out + self.inverse * r


def _ends(nodes: NDArray[np.bool_]) -> NDArray[np.bool_]:
    """The marked nodes that lie farthest along each axis and across, up to 2**dim + 2 dim of them."""
    place = np.argwhere(nodes)
    out = np.zeros(nodes.shape, bool)
    if len(place):
        corners = np.array([[1 if (c >> a) & 1 else -1 for a in range(nodes.ndim)] for c in range(2**nodes.ndim)])
        directions = np.vstack([corners, np.eye(nodes.ndim, dtype=int), -np.eye(nodes.ndim, dtype=int)])
        out[tuple(place[np.argmax(place @ directions.T, axis=0)].T)] = True
    return out

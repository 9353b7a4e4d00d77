"""A reduced basis and one sweep of Jacobi's over what it leaves: two levels, of which the basis is the coarse one.

    u_r in u_0 + span V,   V^T R(u_r, x) = 0                  the reduced state
    u = u_r + w q + V b,   q = -D^-1 R(u_r, x),               a sweep, and then what the basis says of it:
                           V^T R(u, x) = 0

for R = K(x) u - f and D the diagonal of K(x). Between the states that it has learnt a basis is too stiff, and an
optimizer goes where it is most so: to designs that differ from point to point, whose states do as well. Such errors
are short, and a sweep sees short errors. Where f . u is the objective and K is symmetric, u has the compliance of u_r
and w r . D^-1 r on top, about the energy of the error: the model tells by itself how far it can be trusted. The idea is
that of two-grid methods (Hackbusch 1985), with states in the place of a coarse grid. w is measured at every solve.
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from operators.errors import OperatorError
from operators.surrogates import Pull, Vector
from operators.surrogates.reduced_basis import ReducedBasis, Reducible

LEAST, FIRST, MOST = 1.0, 2.0, 4.0
type Group = NDArray[np.integer]


class Linearised(Reducible, Protocol):
    """A linear state equation that shows its matrix."""

    @property
    def fixed(self) -> Group:
        """Numbers of the state whose values are given."""
        ...

    def linearised(self, x: Vector, u: Vector) -> tuple[Vector, Any]:
        """R : (s,), zero where the state is fixed, and dR/du : (s, s), sparse, which pays no regard to fixed values."""
        ...


class _Level(NamedTuple):
    """The coarse one at a design: u_r, q, D : (s,); K sparse; V : (s, r); small: y -> (V^T K V)^-1 y, and of its
    transpose."""

    u: Vector
    q: Vector
    D: Vector
    K: Any
    V: Vector
    small: Callable[[Vector], Vector]
    turned: Callable[[Vector], Vector]


@dataclass
class SmoothedBasis:
    """Args:
    problem: linear in the state. base: the reduced basis; it learns as it always does.
    weight: w of the sweep, until a solve has shown a better one.

    Raises:
        OperatorError: the equation is not linear.
    """

    problem: Linearised
    base: ReducedBasis
    weight: float = FIRST
    learns: bool = True
    name: str = field(init=False)
    groups: list[Group] = field(default_factory=list, repr=False)

    def __post_init__(self) -> None:
        if not self.problem.linear:
            raise OperatorError("a smoothed basis needs an equation that is linear in the state: use the basis alone")
        self.name = f"{self.base.name}, smoothed"

    def anchor(self, x: Vector, u: Vector) -> None:
        self.learn(x, u)

    def learn(self, x: Vector, u: Vector) -> None:
        """A state that was solved; before it joins the basis, it shows how long the sweep should have been."""
        if self.base.knows(u):
            return
        if self.base.learnt:
            level = self._level(x)
            r = level.D * level.q
            share = float(r @ (u - level.u)) / max(float(r @ level.q), 1e-300)
            self.weight = float(np.clip(share, LEAST, MOST))
        self.base.learn(x, u)

    def state(self, x: Vector) -> tuple[Vector, Pull]:
        level, problem, w = self._level(x), self.problem, self.weight
        _, q, D, K, V, small, turned = level
        u = level.u + w * (q - V @ small(V.T @ (K @ q)))

        def pull(cotangent: Vector) -> Vector:
            last = V @ turned(V.T @ cotangent)
            rest = cotangent - K.T @ last
            swept = w * rest / D
            swept[problem.fixed] = 0
            first = V @ turned(V.T @ (rest - K.T @ swept))
            slope = problem.pulled(x, level.u, swept + first) + problem.pulled(x, u, last)
            return slope + self._pulled_diagonal(x, q, swept)

        return u, pull

    def doubt(self, x: Vector, u: Vector, slope: Vector) -> float:
        """See `ReducedBasis.doubt`."""
        return self.base.doubt(x, u, slope)

    def _level(self, x: Vector) -> _Level:
        V, origin = self.base.basis, self.base.origin
        R, K = self.problem.linearised(x, origin)
        KV = K @ V
        K_r = V.T @ KV
        a = -np.linalg.solve(K_r, V.T @ R)
        r = -(R + KV @ a)
        r[self.problem.fixed] = 0
        D = K.diagonal()
        return _Level(
            origin + V @ a, r / D, D, K, V, lambda y: np.linalg.solve(K_r, y), lambda y: np.linalg.solve(K_r.T, y)
        )

    def _pulled_diagonal(self, x: Vector, q: Vector, p: Vector) -> Vector:
        """-sum_i p_i q_i dK_ii/dx : (n,).

        The diagonal is seen through vectors whose entries the matrix does not connect: then p . K q has no other terms.
        """
        self.groups = self.groups or unconnected(self.problem.linearised(x, self.base.origin)[1])
        slope = -self.problem.pulled(x, np.zeros_like(q), p)  # R without the load
        for group in self.groups:
            slope += self.problem.pulled(x, _only(group, q), _only(group, p))
        return slope


def unconnected(K: Any) -> list[Group]:
    """Numbers in groups that K : (s, s) does not connect within; few groups, found greedily."""
    K = K.tocsr()
    group = np.full(K.shape[0], -1)
    for row in range(len(group)):
        taken = set(group[K.indices[K.indptr[row] : K.indptr[row + 1]]])
        group[row] = next(number for number in range(len(taken) + 1) if number not in taken)
    return [np.flatnonzero(group == number) for number in range(group.max() + 1)]


def _only(group: Group, values: Vector) -> Vector:
    kept = np.zeros_like(values)
    kept[group] = values[group]
    return kept

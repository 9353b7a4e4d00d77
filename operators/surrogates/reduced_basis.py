"""Galerkin projection of any state equation on a basis of states, which may grow with every solve.

    V^T R(u_0 + V a, x) = 0,     u = u_0 + V a        V : (s, r), left singular vectors of past states less u_0

with u_0 the values that all states share, the fixed ones, and zero elsewhere: where nothing but zero is fixed, the
states themselves are in the basis. One linear step where R is linear in u, else Newton's method from the coefficients
of the anchor. With `learns`, every state that is solved joins the basis: then the surrogate is exact there, and for
compliance its gradient is too, since the state is its own adjoint (as in Kirsch's reanalysis, 1991).
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from operators.errors import OperatorError
from operators.surrogates import Pull, Vector

STEPS, ENOUGH = 25, 1e-10


class Reducible(Protocol):
    """A state equation R(u, x) = 0 that can be projected."""

    @property
    def linear(self) -> bool:
        """R is linear in u."""
        ...

    def projector(self, V: Vector) -> Callable[[Vector, Vector], tuple[Vector, Vector]]:
        """(x, u) -> V^T R : (r,) and V^T dR/du V : (r, r)."""
        ...

    @property
    def fixed(self) -> NDArray[np.integer]:
        """Numbers of the state whose values are given."""
        ...

    def linearised(self, x: Vector, u: Vector) -> tuple[Vector, Any]:
        """R : (s,), zero where the state is fixed, and dR/du : (s, s), sparse, which pays no regard to fixed values."""
        ...

    def pulled(self, x: Vector, u: Vector, p: Vector) -> Vector:
        """-(dR/dx)^T p : (n,)"""
        ...


@dataclass
class ReducedBasis:
    """Args:
    origin: u_0, (s,), with the fixed values. V: (s, r), orthonormal, zero where the state is fixed.
    learns: states that are solved join the basis, `room` of them at most; then the oldest go.
    """

    problem: Reducible
    origin: Vector
    V: Vector
    learns: bool = True
    room: int = 30
    name: str = "POD-Galerkin"
    learnt: list[Vector] = field(default_factory=list, repr=False)

    @classmethod
    def of(cls, problem: Reducible, states: Vector, rank: int, learns: bool = True) -> "ReducedBasis":
        """The first `rank` directions of states : (k, s).

        Raises:
            OperatorError: more directions than states.
        """
        if rank >= len(states):
            raise OperatorError(f"{len(states)} states are too few for {rank} directions: add runs")
        origin = np.where(np.ptp(states, axis=0) == 0, states[0], 0.0)
        V = np.linalg.svd(states - origin, full_matrices=False)[2][:rank].T
        name = f"POD-Galerkin {rank}" + (", learning" if learns else "")
        return cls(problem, origin, np.ascontiguousarray(V), learns, name=name)

    def __post_init__(self) -> None:
        self._use(self.V)

    def anchor(self, x: Vector, u: Vector) -> None:
        self.learn(x, u)
        self._first = self._basis.T @ (u - self.origin)

    def learn(self, x: Vector, u: Vector) -> None:
        """A state that was solved, whether or not the design was taken."""
        if self.learns and not self.knows(u):
            self.learnt = [*self.learnt, u][-self.room :]
            news = np.array(self.learnt).T - self.origin[:, None]
            self._use(np.column_stack([self.V, _orthonormal(self.V, news)]))

    def knows(self, u: Vector) -> bool:
        """Has learnt this very state."""
        return any(np.array_equal(u, known) for known in self.learnt)

    @property
    def basis(self) -> Vector:
        """(s, k), orthonormal: V, and what was learnt."""
        return self._basis

    def state(self, x: Vector) -> tuple[Vector, Pull]:
        a = np.zeros(self._basis.shape[1]) if self.problem.linear else self._first.copy()
        u, K = self._solved(x, a)

        def pull(w: Vector) -> Vector:
            return self.problem.pulled(x, u, self._basis @ np.linalg.solve(K.T, self._basis.T @ w))

        return u, pull

    def doubt(self, x: Vector, u: Vector, slope: Vector) -> float:
        """Of the adjoint state at a solved design, with dJ/du : (s,) as the slope: what the reduced one leaves of the
        adjoint equation, as a part of the slope. Near zero the gradient of the surrogate is the true one, and the
        adjoint solve can be saved; one matrix is assembled for it, and nothing is solved."""
        K, V = self.problem.linearised(x, u)[1], self._basis
        p = V @ np.linalg.solve((V.T @ (K @ V)).T, V.T @ slope)
        left = slope - K.T @ p
        left[self.problem.fixed] = 0
        return float(np.linalg.norm(left) / max(np.linalg.norm(slope), 1e-300))

    def _solved(self, x: Vector, a: Vector) -> tuple[Vector, Vector]:
        """u and the projected matrix there. ArithmeticError where Newton's method does not converge."""
        V, first = self._basis, None
        for _ in range(STEPS):
            u = self.origin + V @ a
            r, K = self._project(x, u)
            step = np.linalg.solve(K, r)
            if self.problem.linear:
                return self.origin + V @ (a - step), K
            size = float(np.linalg.norm(step))
            first = first or max(size, float(np.linalg.norm(a)))
            if size <= ENOUGH * first:
                return u, K
            a = a - step
        raise ArithmeticError("the projected equation was not solved")

    def _use(self, basis: Vector) -> None:
        self._basis = np.ascontiguousarray(basis)
        self._project = self.problem.projector(self._basis)


def _orthonormal(V: Vector, news: Vector) -> Vector:
    """What news : (s, k) add to the span of V : (s, r)."""
    size = np.linalg.norm(news, axis=0)
    for _ in range(2):  # twice is enough (Kahan; Parlett 1980)
        news = news - V @ (V.T @ news)
    left, values, _ = np.linalg.svd(news / np.where(size > 0, size, 1.0), full_matrices=False)
    return left[:, values > 1e-9]

"""POD-Galerkin: the equation itself, projected on the main directions of past states.

    V^T K(x) V a = V^T f,    u = V a        V : (s, r), left singular vectors of the states

Exact where the true state lies in the span of V; it needs the matrix, which a network does not.
"""

from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

from operators.errors import OperatorError
from operators.surrogates import Pull, Vector


class Linear(Protocol):
    """A state equation K(x) u = f on the free values, as `pde.problems.inversion.Inversion` has it."""

    square: Any

    def matrix(self, x: Vector) -> Any: ...

    def load(self) -> Vector: ...

    def pulled(self, x: Vector, u: Vector, p: Vector) -> Vector: ...


@dataclass
class PodGalerkin:
    """Args: problem: gives the matrix. V: (free values, r), orthonormal columns."""

    problem: Linear
    V: Vector
    name: str = "POD-Galerkin"

    @classmethod
    def of(cls, problem: Linear, states: Vector, rank: int) -> "PodGalerkin":
        """The first `rank` directions of states : (k, s).

        Raises:
            OperatorError: more directions than states.
        """
        free = states[:, problem.square.inner]
        if rank > min(free.shape):
            raise OperatorError(f"{min(free.shape)} states have no {rank} directions: lower the rank or add runs")
        return cls(problem, np.linalg.svd(free, full_matrices=False)[2][:rank].T, f"POD-Galerkin {rank}")

    def anchor(self, x: Vector, u: Vector) -> None:
        """Nothing to learn from it; the hybrid shifts the state to meet the anchor."""

    def state(self, x: Vector) -> tuple[Vector, Pull]:
        V = self.V
        K = V.T @ (self.problem.matrix(x) @ V)
        u = self._whole(V @ np.linalg.solve(K, V.T @ self.problem.load()))

        def pull(w: Vector) -> Vector:
            p = np.linalg.solve(K.T, V.T @ w[self.problem.square.inner])
            return self.problem.pulled(x, u, self._whole(V @ p))

        return u, pull

    def _whole(self, free: Vector) -> Vector:
        u = np.zeros(self.problem.square.prior.shape[0])
        u[self.problem.square.inner] = free
        return u

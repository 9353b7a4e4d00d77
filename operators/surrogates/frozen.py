"""The frozen mean Jacobian: u(x) = u_k + B (x - x_k) with B the mean of du/dx over the optima of past runs."""

from collections.abc import Iterable
from dataclasses import dataclass, field

import numpy as np

from operators.surrogates import Pull, Vector


@dataclass
class MeanJacobian:
    """Args: B: (s, n)."""

    B: Vector
    name: str = "mean Jacobian"
    x: Vector = field(default_factory=lambda: np.zeros(0))
    u: Vector = field(default_factory=lambda: np.zeros(0))

    @classmethod
    def of(cls, jacobians: Iterable[Vector]) -> "MeanJacobian":
        """The mean of (s, n) arrays."""
        total, count = 0.0, 0
        for jacobian in jacobians:
            total, count = total + jacobian, count + 1
        return cls(np.asarray(total) / max(count, 1))

    def anchor(self, x: Vector, u: Vector) -> None:
        self.x, self.u = x, u

    def state(self, x: Vector) -> tuple[Vector, Pull]:
        return self.u + self.B @ (x - self.x), lambda w: self.B.T @ w

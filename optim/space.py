"""The geometry of the design space: what "steep" and "near" mean.

A derivative is a linear functional; the gradient is the vector that represents it, and which one depends on the inner
product (Riesz). On a mesh the plain dot product knows the mesh, the L2 product knows the function: methods that use the
latter take the same number of iterations on every mesh (Schwedes, Ham, Funke and Piggott 2017).
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Protocol, runtime_checkable

from optim.arrays import Array


@runtime_checkable
class Space(Protocol):
    """An inner product <a, b> = a . M b on (n,) vectors, and the way from derivatives to gradients."""

    def inner(self, a: Array, b: Array) -> float: ...

    def riesz(self, dual: Array) -> Array:
        """M^-1 dual: the gradient that represents a derivative."""
        ...


@dataclass(frozen=True)
class Euclidean:
    """The plain dot product."""

    def inner(self, a: Array, b: Array) -> float:
        return float((a * b).sum())

    def riesz(self, dual: Array) -> Array:
        return dual


@dataclass(frozen=True)
class Weighted:
    """<a, b> = sum w a b: element volumes, or a lumped mass matrix. weights : (n,), positive."""

    weights: Array

    def inner(self, a: Array, b: Array) -> float:
        return float((self.weights * a * b).sum())

    def riesz(self, dual: Array) -> Array:
        return dual / self.weights


@dataclass(frozen=True)
class Hilbert:
    """<a, b> = a . M b by the two actions v -> M v and d -> M^-1 d; M symmetric and positive definite."""

    apply: Callable[[Array], Array]
    solve: Callable[[Array], Array]

    def inner(self, a: Array, b: Array) -> float:
        return float((a * self.apply(b)).sum())

    def riesz(self, dual: Array) -> Array:
        return self.solve(dual)

    @classmethod
    def from_matrix(cls, mass: Any) -> "Hilbert":
        """From a SciPy sparse matrix (NumPy vectors), factorised once."""
        import scipy.sparse.linalg as sla

        mass = mass.tocsc()
        return cls(lambda v: mass @ v, sla.splu(mass).solve)


def dual_norm(space: Space, dual: Array) -> float:
    """Norm of a derivative: sqrt(d . M^-1 d)."""
    return max(0.0, float((dual * space.riesz(dual)).sum())) ** 0.5

"""What is minimised, over what, and under which conditions.

    min f(x) + psi(x)    over lower <= x <= upper    with g(x) <= 0 and h(x) = 0

Each part is a small protocol: any object with these methods will do. Which of them a method needs, it says itself.
"""

from dataclasses import dataclass, field
from typing import Literal, Protocol, runtime_checkable

from optim.arrays import Array
from optim.space import Euclidean, Space

Kind = Literal["ineq", "eq"]


@runtime_checkable
class Smooth(Protocol):
    """A differentiable function of x : (n,)."""

    def value(self, x: Array) -> float | Array: ...

    def value_grad(self, x: Array) -> tuple[float | Array, Array]:
        """Value, and the derivative (n,) with respect to the components of x."""
        ...


@runtime_checkable
class TwiceSmooth(Smooth, Protocol):
    """With the action of the Hessian."""

    def hvp(self, x: Array, v: Array) -> Array: ...


@runtime_checkable
class FiniteSum(Smooth, Protocol):
    """f = (1/n) sum_i f_i."""

    n: int

    def value_grad_i(self, x: Array, idx: Array) -> tuple[float | Array, Array]:
        """Mean over the components idx."""
        ...

    def prox_i(self, x: Array, i: int, step: float) -> Array: ...


@runtime_checkable
class Prox(Protocol):
    """A convex function that need not be smooth, by its proximal map argmin_y psi(y) + |y - x|^2 / (2 step)."""

    def value(self, x: Array) -> float | Array: ...

    def prox(self, x: Array, step: float) -> Array: ...

    def strong_convexity(self) -> float: ...


@runtime_checkable
class Constraint(Protocol):
    """m conditions g(x) <= 0 (kind "ineq") or h(x) = 0 (kind "eq")."""

    @property
    def m(self) -> int | None: ...

    @property
    def kind(self) -> Kind: ...

    def value(self, x: Array) -> Array:
        """(m,)"""
        ...

    def jac(self, x: Array) -> Array:
        """(m, n)"""
        ...


class Projection(Protocol):
    """Onto a convex set."""

    support_preserving: Literal["yes", "no", "unknown"]

    def __call__(self, x: Array) -> Array: ...


class Operator(Protocol):
    """A monotone field F(z), for saddle points and variational inequalities."""

    def F(self, z: Array) -> Array: ...

    def jac(self, z: Array) -> Array: ...


@runtime_checkable
class ZerothOrder(Protocol):
    """Values only, many points at a time; they may be noisy or not finite."""

    def evaluate(self, X: Array) -> Array:
        """(N, d) -> (N,)"""
        ...


@dataclass(frozen=True)
class Problem:
    """Everything a method needs to know.

    Args:
        f: the objective.
        psi: a convex term that need not be smooth.
        lower, upper: bounds, a number or (n,); None for none.
        constraints: beside the bounds.
        space: the inner product of the design space.
    """

    f: Smooth | FiniteSum | ZerothOrder
    psi: Prox | None = None
    lower: Array | float | None = None
    upper: Array | float | None = None
    constraints: tuple[Constraint, ...] = ()
    space: Space = field(default_factory=Euclidean)

"""One contract for "objective with a gradient", and the test that the gradient is right.

A `ReducedFunctional` is a function of the design alone: the state equation is solved inside. A topology problem, a UFL
problem, a trained surrogate and a user's own function all satisfy it, and so does every `optim` Smooth.

The Taylor test: with d the direction and h -> 0,

    |J(x + h d) - J(x)|                                 falls like h
    |J(x + h d) - J(x) - h dJ.d|                        falls like h^2 if the derivative is right
    |J(x + h d) - J(x) - h dJ.d - h^2 d.H d / 2|        falls like h^3 if the Hessian action is right
"""

import copy
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from optim.arrays import Array, namespace
from optim.errors import OptimError
from optim.space import Space

Table = NDArray[np.float64]


@runtime_checkable
class ReducedFunctional(Protocol):
    """J(x) for x : (n,), the state eliminated."""

    def value(self, x: Array) -> float | Array: ...

    def value_grad(self, x: Array) -> tuple[float | Array, Array]:
        """J and its derivative with respect to the components of x, (n,); `space.riesz` makes it a gradient."""
        ...


@runtime_checkable
class TwiceReducedFunctional(ReducedFunctional, Protocol):
    """With Hessian actions and the inner product of its design space."""

    @property
    def space(self) -> Space: ...

    def hvp(self, x: Array, v: Array) -> Array:
        """Hessian of J at x times v, (n,)."""
        ...


@dataclass
class Spent:
    """Solves of each kind, and matrices factorised."""

    forward: int = 0
    adjoint: int = 0
    tangent: int = 0
    factorisations: int = 0

    @property
    def solves(self) -> int:
        return self.forward + self.adjoint + self.tangent


class StateProblem(Protocol):
    """min J(u(x), x) over x : (n,) in bounds and under constraints, with the state u : (s,) in sight.

    A surrogate replaces `solve`; what is left of J is cheap.
    """

    spent: Spent
    lower: Any
    upper: Any
    constraints: tuple[Any, ...]

    @property
    def n(self) -> int: ...

    @property
    def space(self) -> Space: ...

    def solve(self, x: Table) -> Table:
        """u(x); one forward solve. Raises what the solver raises."""
        ...

    def objective(self, u: Table, x: Table) -> float: ...

    def partials(self, u: Table, x: Table) -> tuple[Table, Table]:
        """dJ/du : (s,) with x held, and dJ/dx : (n,) with u held."""
        ...

    def adjoint_gradient(self, x: Table, u: Table) -> Table:
        """dJ/dx : (n,) in all, with u = u(x); one adjoint solve."""
        ...


@dataclass(frozen=True)
class Solved:
    """A `StateProblem` as a `ReducedFunctional`: J(u(x), x)."""

    problem: StateProblem

    @property
    def space(self) -> Space:
        return self.problem.space

    def value(self, x: Table) -> float:
        return self.problem.objective(self.problem.solve(x), x)

    def value_grad(self, x: Table) -> tuple[float, Table]:
        u = self.problem.solve(x)
        return self.problem.objective(u, x), self.problem.adjoint_gradient(x, u)


@dataclass(frozen=True)
class TaylorTest:
    """What a Taylor test found.

    Attributes:
        steps: (k,) h. residuals: (orders, k). rates: (orders, k - 1) observed powers of h between neighbours.
        noise: residuals below this are rounding.
    """

    steps: Table
    residuals: Table
    rates: Table
    noise: float

    @property
    def passed(self) -> bool:
        """Every order falls as fast as it must, as long as it is above the noise."""
        return all(self.order_passed(order) for order in range(len(self.residuals)))

    def order_passed(self, order: int) -> bool:
        sound = self.residuals[order, 1:] > self.noise
        if not sound.any():
            return True
        # The finest steps that are still above the noise are the closest to the limit.
        return float(self.rates[order][sound][-1]) > order + 1 - 0.15

    def __str__(self) -> str:
        lines = ["         h" + "".join(f"   order {order}   rate" for order in range(len(self.residuals)))]
        for k, h in enumerate(self.steps):
            cells = ""
            for order, row in enumerate(self.residuals):
                rate = "      " if k == 0 else " noise" if row[k] <= self.noise else f"{self.rates[order, k - 1]:6.2f}"
                cells += f"  {row[k]:9.3e} {rate}"
            lines.append(f"{h:10.3e}{cells}")
        verdict = ["right" if self.order_passed(order) else "WRONG" for order in range(len(self.residuals))]
        names = ["continuity", "derivative", "Hessian action"]
        lines.append("; ".join(f"{name}: {word}" for name, word in zip(names, verdict, strict=False)))
        return "\n".join(lines)


def taylor_test(
    functional: Any,
    x: Array,
    direction: Array | None = None,
    *,
    order: int | None = None,
    steps: Sequence[float] = (1e-2, 5e-3, 2.5e-3, 1.25e-3, 6.25e-4),
    accuracy: float = 1e-13,
    seed: int = 0,
    show: bool = True,
) -> TaylorTest:
    """Check value, derivative and Hessian action against each other.

    The functional is looked at through a shallow copy, so what it remembers of its last solve stays as it was.

    Args:
        functional: a `ReducedFunctional` or an `optim` Smooth.
        x: (n,) where; not near a bound that the functional cannot cross.
        direction: (n,); None draws one with `seed`, as long as x.
        order: highest order; None: 2 where there are Hessian actions, else 1.
        steps: lengths along the direction, falling.
        accuracy: relative accuracy of J, below which residuals are noise; 1e-13 for direct solvers.
        show: print the table.

    Raises:
        OptimError: order 2 without Hessian actions, or J is not finite.
    """
    functional = copy.copy(functional)
    xp = namespace(x)
    most = 2 if hasattr(functional, "hvp") else 1
    order = most if order is None else order
    if order > most:
        raise OptimError("order 2 needs Hessian actions: give the functional an hvp, or test order 1")
    if direction is None:
        noise = xp.like(np.random.default_rng(seed).standard_normal(x.shape[0]), x)
        size = max(1.0, xp.dot(x, x) ** 0.5)
        direction = noise * (size / xp.dot(noise, noise) ** 0.5)
    assert direction is not None
    J, dJ = functional.value_grad(x)
    J, slope = float(J), xp.dot(dJ, direction)
    bend = xp.dot(direction, functional.hvp(x, direction)) if order == 2 else 0.0
    rows = []
    for h in steps:
        change = float(functional.value(x + h * direction)) - J
        rows.append([change, change - h * slope, change - h * slope - h * h / 2 * bend][: order + 1])
    residuals = np.abs(np.array(rows)).T
    if not np.isfinite(residuals).all():
        raise OptimError("the functional is not finite along the direction: test where x + h d can be evaluated")
    h = np.array(steps, float)
    floor = accuracy * max(abs(J), abs(slope) * float(h[0]))
    safe = np.maximum(residuals, 1e-300)
    rates = np.log(safe[:, :-1] / safe[:, 1:]) / np.log(h[:-1] / h[1:])
    result = TaylorTest(h, residuals, rates, floor)
    if show:
        print(result)
    return result

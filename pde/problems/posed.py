"""A problem that is ready to be solved, and what is known about its answer."""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from optim.problem import Constraint, Problem
from optim.result import Result, Stop
from pde.functional import TwiceReducedFunctional

Vector = NDArray[np.float64]


class Objective(TwiceReducedFunctional, Protocol):
    """What is minimised, with its PDE inside."""

    @property
    def n(self) -> int:
        """Numbers in x."""
        ...


@dataclass(frozen=True)
class Posed:
    """min J(x) over lower <= x <= upper under constraints, from x0.

    Attributes:
        J: objective, with its PDE inside.
        x0: (n,) start.
        method: "newton_cg", "lbfgs", "mma" or "sqp": the one that suits it.
        stop: when it is solved.
        known: figures of the exact or published answer, by name; "objective" among them where there is one.
        measure: x -> the same figures at x, and others.
        parts: what the components of a mixed state are.
    """

    J: Objective
    x0: Vector
    method: str
    stop: Stop
    known: dict[str, float]
    measure: Callable[[Vector], dict[str, float]]
    lower: float | Vector | None = None
    upper: float | Vector | None = None
    constraints: tuple[Constraint, ...] = ()
    parts: tuple[str, ...] = ()

    @property
    def problem(self) -> Problem:
        """As `optim.minimize` takes it."""
        return Problem(self.J, None, self.lower, self.upper, self.constraints, self.J.space)


@dataclass(frozen=True)
class Solution:
    """Attributes: x : (n,); figures at x, to be compared with `posed.known`; result of the optimizer."""

    posed: Posed
    result: Result
    figures: dict[str, float] = field(default_factory=dict)

    @property
    def x(self) -> Vector:
        return self.result.x

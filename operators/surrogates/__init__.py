"""What can stand in for a solve: neural operators, and the classical surrogates that they have to beat.

A surrogate is told of an anchor, a design and its solved state, and answers with a state and a pull-back:

    surrogate.anchor(x, u)
    u_hat, pull = surrogate.state(x);   pull(w) = (du_hat/dx)^T w

One that has `learns = True` and a method `learn(x, u)` is told of every other solve as well.
"""

from collections.abc import Callable
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

Vector = NDArray[np.float64]
type Pull = Callable[[Vector], Vector]


class Surrogate(Protocol):
    """Cheap states with derivatives."""

    name: str

    def anchor(self, x: Vector, u: Vector) -> None:
        """A solve has been made at x."""
        ...

    def state(self, x: Vector) -> tuple[Vector, Pull]:
        """u_hat(x) : (s,), and w : (s,) -> (du_hat/dx)^T w : (n,)."""
        ...

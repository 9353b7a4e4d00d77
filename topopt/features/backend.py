"""One call for every way to turn features into a field: `heaviside(points, features, backend, sharpness) -> h`.

`h[i, k]` says how far point k is inside feature i: 1 inside, 0 outside, in between across the outline. A back-end also
owns the numbers that an optimiser moves: it makes them from shapes, bounds them, keeps them valid, and gives the shapes
back as CAD will see them. `Analytic` takes the exact distance; a trained network is another.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from topopt.features.shapes import Shape

if TYPE_CHECKING:
    from topopt.features.validity import Rules

Field = NDArray[np.float64]


@dataclass(frozen=True)
class Box:
    """What an optimiser must know of each variable, all (n,).

    Attributes:
        lower, upper: bounds.
        move: largest change in one iteration while the moves are at their widest.
    """

    lower: Field
    upper: Field
    move: Field


@runtime_checkable
class Backend(Protocol):
    """What `topopt.features.optimize` asks of a back-end. Variables x are one flat array; n features, m points.

    The number and the kinds of the features may be part of the back-end.
    """

    def variables(self, shapes: Sequence[Shape]) -> Field:
        """x for these shapes (as near as the back-end can hold them)."""
        ...

    def shapes(self, x: Field) -> tuple[Shape, ...]:
        """The features as exact outlines."""
        ...

    def heaviside(self, points: Field, x: Field, sharpness: float) -> Field:
        """h (n, m) in [0, 1] at points (m, 2), mm. sharpness: slope parameter k in 1/mm, H = sigmoid(k d)."""
        ...

    def pullback(self, points: Field, x: Field, sharpness: float, weights: Field) -> Field:
        """Derivative of sum(weights * h) with respect to x. weights : (n, m) -> (len(x),)"""
        ...

    def box(self, x: Field, lower: Field, upper: Field, h: float) -> Box:
        """Bounds and steps for a domain between the corners lower, upper (2,), of element size h mm; x is within."""
        ...

    def corrected(self, x: Field, rules: "Rules", last: bool = False) -> Field:
        """The nearest valid variables. last: to convergence, before shapes leave for CAD."""
        ...


@runtime_checkable
class Ruled(Protocol):
    """A back-end that can also tell the optimiser which rules of validity are about to bind."""

    def validity(self, x: Field, rules: "Rules") -> tuple[Field, Field]:
        """Values (r,), to be kept from becoming positive, and their derivatives (r, len(x))."""
        ...


def heaviside(points: Field, shapes: Sequence[Shape], backend: Backend, sharpness: float) -> Field:
    """How far each point is inside each shape, (n, m), whatever the back-end."""
    return backend.heaviside(points, backend.variables(shapes), sharpness)

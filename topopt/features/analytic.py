"""The analytic back-end: H = sigmoid(k d) with the exact signed distance d, and shapes as their own variables.

No training, any number of vertices, and the field's half level is the outline that leaves for CAD.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit

from topopt.features.backend import Box
from topopt.features.distance import distance_vjp, signed_distance
from topopt.features.shapes import Capsule, Ellipse, RoundedPolygon, Shape, Slot, flat, unflat
from topopt.features.validity import Rules, constraints, corrected

Field = NDArray[np.float64]

# Steps and bounds in element sizes and as fractions; features-prototype table of settings.
VERTEX_MOVE = 1.5
FRACTION_MOVE = 0.04
ANGLE_MOVE = 0.1
NEAR = 1.0  # rules within so much of their limit take part in the optimiser's step
OUTSIDE = 0.12  # of the domain's short side: how far a vertex may leave it, so that voids can open the border


@dataclass(frozen=True)
class Analytic:
    """Features by their exact distance.

    Args:
        like: shapes whose kinds the variables have, in order.
        fractions: bounds of the tangent-length fractions.
        smallest: least radius or semi-axis of bars, slots and ellipses, in element sizes.
        vertex_move: largest step of a vertex, in element sizes.
    """

    like: tuple[Shape, ...] = ()
    fractions: tuple[float, float] = (0.05, 0.45)
    smallest: float = 1.0
    vertex_move: float = VERTEX_MOVE
    fraction_move: float = FRACTION_MOVE

    def variables(self, shapes: Sequence[Shape]) -> Field:
        """The parameters of the shapes, one after another."""
        return flat(shapes)

    def shapes(self, x: Field) -> tuple[Shape, ...]:
        """The shapes with the parameters x."""
        return unflat(x, self.like)

    def heaviside(self, points: Field, x: Field, sharpness: float) -> Field:
        """h (n, m) at points (m, 2)."""
        return expit(sharpness * signed_distance(points, self.shapes(x)))

    def pullback(self, points: Field, x: Field, sharpness: float, weights: Field) -> Field:
        """weights : (n, m) -> (len(x),)"""
        shapes = self.shapes(x)
        h = expit(sharpness * signed_distance(points, shapes))
        return distance_vjp(points, shapes, weights * sharpness * h * (1 - h))

    def box(self, x: Field, lower: Field, upper: Field, h: float) -> Box:
        """Bounds and steps, in the order of the variables."""
        slack = OUTSIDE * float((upper - lower).min())
        rows = [self._rows(shape, lower - slack, upper + slack, h) for shape in self.like]
        low, high, move = (
            (np.concatenate([np.zeros(0), *part]) for part in zip(*rows, strict=True)) if rows else ([],) * 3
        )
        return Box(np.minimum(low, x), np.maximum(high, x), np.asarray(move))

    def corrected(self, x: Field, rules: Rules, last: bool = False) -> Field:
        """Valid variables near x."""
        return flat(corrected(self.shapes(x), rules, 2000 if last else 40))

    def validity(self, x: Field, rules: Rules) -> tuple[Field, Field]:
        """The rules that are about to bind: values (r,), to be kept from becoming positive, and rows (r, len(x))."""
        return constraints(self.shapes(x), rules, NEAR)

    def _rows(self, shape: Shape, low: Field, high: Field, h: float) -> tuple[Field, Field, Field]:
        span = float(np.hypot(*(high - low)))
        step, thin = self.vertex_move * h, self.smallest * h
        if isinstance(shape, RoundedPolygon):
            n = len(shape.vertices)
            return (
                np.r_[np.tile(low, n), np.full(n, self.fractions[0])],
                np.r_[np.tile(high, n), np.full(n, self.fractions[1])],
                np.r_[np.full(2 * n, step), np.full(n, self.fraction_move)],
            )
        if isinstance(shape, Capsule):
            return np.r_[low, low, thin], np.r_[high, high, span], np.r_[np.full(4, step), 0.5 * step]
        assert isinstance(shape, Ellipse | Slot)
        turn = 4 * np.pi  # free to turn; no shape needs more
        least = thin if isinstance(shape, Ellipse) else 2 * thin
        move = np.r_[np.full(4, step), ANGLE_MOVE]
        return np.r_[low, least, least, -turn], np.r_[high, span, span, turn], move

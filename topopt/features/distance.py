"""Exact signed distance to features, positive inside, and its derivative with respect to their parameters.

NumPy with compiled loops, for the optimiser; `topopt.features.torch_distance` has the same in torch, differentiable
twice.
"""

from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike, NDArray

from topopt.features import capsule_distance, ellipse_distance, polygon_distance
from topopt.features.errors import FeatureError
from topopt.features.shapes import Capsule, Ellipse, RoundedPolygon, Shape, Slot

Field = NDArray[np.float64]


def signed_distance(points: ArrayLike, shapes: Sequence[Shape]) -> Field:
    """Distance from each point to the outline of each shape, in mm, positive inside.

    Args:
        points: (m, 2), mm.
        shapes: n of them.

    Returns:
        (n, m).

    Raises:
        FeatureError: points of another shape.
    """
    at = _points(points)
    out = np.empty((len(shapes), len(at)))
    for row, shape in zip(out, shapes, strict=True):
        if isinstance(shape, RoundedPolygon):
            polygon_distance.distances(at, np.array(shape.vertices), np.array(shape.fractions), row)
        elif isinstance(shape, Ellipse):
            ellipse_distance.distances(at, shape.parameters, row)
        else:
            capsule_distance.distances(at, _capsule(shape).parameters, row)
    return out


def distance_vjp(points: ArrayLike, shapes: Sequence[Shape], weights: ArrayLike) -> Field:
    """Derivative of sum(weights * signed_distance) with respect to `flat(shapes)`.

    Where two pieces of an outline are equally near, that of the first one.

    Args:
        points: (m, 2). weights: (n, m).
    """
    at, weights = _points(points), np.ascontiguousarray(weights, float)
    parts = [np.zeros(0)]
    for w, shape in zip(weights, shapes, strict=True):
        if isinstance(shape, RoundedPolygon):
            dv, df = polygon_distance.pullback(at, np.array(shape.vertices), np.array(shape.fractions), w)
            parts += [dv.ravel(), df]
        elif isinstance(shape, Ellipse):
            parts.append(ellipse_distance.pullback(at, shape.parameters, w))
        else:
            pull = capsule_distance.pullback(at, _capsule(shape).parameters, w)
            parts.append(_slot_vjp(shape, pull) if isinstance(shape, Slot) else pull)
    return np.concatenate(parts)


def _capsule(shape: Capsule | Slot) -> Capsule:
    return shape.capsule if isinstance(shape, Slot) else shape


def _slot_vjp(slot: Slot, pull: Field) -> Field:
    """From start, end, radius to centre, length, width, angle."""
    c, s = np.cos(slot.angle), np.sin(slot.angle)
    half = 0.5 * (slot.length - slot.width)
    spread = pull[2:4] - pull[0:2]
    along = 0.5 * (spread[0] * c + spread[1] * s)
    return np.array([*(pull[0:2] + pull[2:4]), along, 0.5 * pull[4] - along, half * (spread[1] * c - spread[0] * s)])


def _points(points: ArrayLike) -> Field:
    at = np.ascontiguousarray(points, float)
    if at.ndim != 2 or at.shape[1] != 2:
        raise FeatureError(f"points has shape {at.shape}: give (m, 2), x and y in mm")
    return at

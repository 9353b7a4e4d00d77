"""The exact outline that a field has: what the code decoder says, moved until its own field is nearest.

    min over the parameters of the shape   mean_k (sigmoid(s d(x_k)) - h_k)^2,     s = 20

on a grid of the square. The code decoder is a network of its own, with its own error, and a latent point between two
shapes has a field that neither of them has; the fit makes the outline that leaves for CAD that of the field which the
optimiser saw.
"""

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize
from scipy.special import expit

from topopt.features.distance import distance_vjp, signed_distance
from topopt.features.neural import codes, outlines, samples
from topopt.features.neural.codes import Kind
from topopt.features.shapes import Ellipse, RoundedPolygon, Shape

Field = NDArray[np.float64]

POINTS = 41  # along each side of the square
ROUNDS = 40
GOOD = 1e-4  # a misfit that no other class is asked to better
SLOPE = samples.SHARPNESS[Kind.QUADRILATERAL]
FRACTIONS = (0.01, 0.5)
REACH = 1.2  # a vertex may leave the square by so much


def grid() -> Field:
    """The points (1681, 2) where fields are compared."""
    line = np.linspace(-1, 1, POINTS)
    return np.stack(np.meshgrid(line, line, indexing="ij"), -1).reshape(-1, 2)


def outline_of(code: Field, h: Field) -> Shape:
    """The shape of the square nearest to a field, from what the code decoder says of it.

    Where the decoder's class does not fit well, as half-way from an ellipse (0) to a quadrilateral (1), which is the
    number of a triangle, the other classes are tried as well.

    Args:
        code: (15,), any. h: (1681,), the field at `grid()`.
    """
    best = fitted(outlines.local_outline(outlines.nearest_code(code)), h)
    least = misfit(best, h)
    if least <= GOOD:
        return best
    for kind in Kind:
        if kind is not codes.kind_of(code):
            other = fitted(outlines.local_outline(outlines.nearest_code(np.r_[kind / 2, code[1:]])), h)
            if (found := misfit(other, h)) < least:
                best, least = other, found
    return best


def misfit(shape: Shape, h: Field) -> float:
    """Mean squared difference between a shape's field and h (1681,) at `grid()`."""
    return float(((expit(SLOPE * signed_distance(grid(), [shape])[0]) - h) ** 2).mean())


def fitted(shape: Shape, h: Field) -> Shape:
    """The shape nearest to a field, of the kind of `shape`, which is where the search begins.

    A polygon that folds over on the way is not taken: `shape` is returned then.

    Args:
        shape: an ellipse or a polygon in the square. h: (1681,), the field at `grid()`.
    """
    points = grid()

    def slope(parameters: Field) -> tuple[float, Field]:
        one = shape.with_parameters(parameters)
        value = expit(SLOPE * signed_distance(points, [one])[0])
        error = value - h
        weights = 2 * SLOPE / len(h) * error * value * (1 - value)
        return float((error**2).mean()), distance_vjp(points, [one], weights[None])

    found = minimize(
        slope, shape.parameters, jac=True, method="L-BFGS-B", bounds=_bounds(shape), options={"maxiter": ROUNDS}
    )
    best = shape.with_parameters(found.x)
    return best if _is_sound(best) else shape


def _bounds(shape: Shape) -> list[tuple[float, float]]:
    if isinstance(shape, Ellipse):
        return [(-REACH, REACH)] * 2 + [(0.05, REACH)] * 2 + [(-2 * np.pi, 2 * np.pi)]
    assert isinstance(shape, RoundedPolygon)
    n = len(shape.vertices)
    return [(-REACH, REACH)] * (2 * n) + [FRACTIONS] * n


def _is_sound(shape: Shape) -> bool:
    if isinstance(shape, Ellipse):
        return True
    assert isinstance(shape, RoundedPolygon)
    return shape.area > 0 and bool(codes.is_simple(np.array(shape.vertices), np.array(shape.radii)))

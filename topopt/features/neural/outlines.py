"""From a shape of the design to its code and placement, and back to a shape that can be made.

    x = s Q(-t) v + o,    v in the square [-1, 1]^2 of the code,    Q(a) the rotation by a

A polygon may stand on any of its edges; the one that fits the ranges of the code best becomes the base. What a decoder
gives is near a code but not one: `nearest_code` rounds the class, brings vertices and radii into their ranges, and
draws a shape that folds over towards a plain one until it does not.
"""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from topopt.features.errors import FeatureError
from topopt.features.neural import codes
from topopt.features.neural.codes import Kind
from topopt.features.shapes import Ellipse, Quadrilateral, RoundedPolygon, Shape, Triangle

Field = NDArray[np.float64]

PLAIN = {
    Kind.TRIANGLE: np.array([0.0, 0.4]),
    Kind.QUADRILATERAL: np.array([0.5, 0.5, -0.5, 0.5]),
}
LARGEST_FRACTION = 0.5


def placed(shape: Shape) -> tuple[Field, Field]:
    """Placement (4,): offset x, y, scale s, rotation t; and the nearest valid code (15,) of a shape.

    Raises:
        FeatureError: a bar, or a polygon with more than four vertices; the code has no place for them.
    """
    if isinstance(shape, Ellipse):
        return _placed_ellipse(shape)
    if not isinstance(shape, RoundedPolygon) or len(shape.vertices) > 4:
        name = type(shape).__name__
        raise FeatureError(
            f"the neural back-end holds ellipses, triangles and quadrilaterals, not a {name}: use the analytic one"
        )
    vertices, radii = np.array(shape.vertices), np.array(shape.radii)
    stood = [_stood(vertices, radii, first) for first in range(len(vertices))]
    _, placement, code = min(stood, key=lambda found: found[0])
    return placement, nearest_code(code)


def outline(placement: Field, code: Field) -> Shape:
    """The shape of a valid code (15,) at a placement (4,)."""
    return moved(local_outline(code), placement)


def local_outline(code: Field) -> Shape:
    """The shape of a valid code (15,) in its own square."""
    kind = codes.kind_of(code)
    if kind is Kind.ELLIPSE:
        return Ellipse((0.0, 0.0), codes.HALF_AXIS, float(codes.HALF_AXIS * code[1] * codes.RATIO_SCALE))
    vertices, radii = codes.polygon_of(code, kind)
    parts = np.clip(codes.fractions(vertices, radii), 0.0, LARGEST_FRACTION)
    made = Triangle if kind is Kind.TRIANGLE else Quadrilateral
    return made(tuple(map(tuple, vertices.tolist())), tuple(parts.tolist()))


def moved(shape: Shape, placement: Field) -> Shape:
    """A shape of the square, an ellipse or a polygon, at a placement (4,)."""
    offset, scale, turn = placement[:2], placement[2], placement[3]
    if isinstance(shape, Ellipse):
        x, y = (scale * np.array(shape.centre) @ _rotation(turn) + offset).tolist()
        return Ellipse((x, y), float(scale * shape.a), float(scale * shape.b), float(shape.angle - turn))
    assert isinstance(shape, RoundedPolygon)
    vertices = scale * np.array(shape.vertices) @ _rotation(turn) + offset
    return shape.with_parameters(np.r_[vertices.ravel(), shape.fractions])


def nearest_code(code: Field) -> Field:
    """A valid code (15,) near any fifteen finite numbers; a valid code stays as it is."""
    kind = codes.kind_of(code)
    if kind is Kind.ELLIPSE:
        return codes.pack_ellipse(np.clip(code[1] * codes.RATIO_SCALE, 0.5, 1.5))
    box = codes.BOXES[kind]
    free = np.clip(code[codes.VERTICES[kind]], box[:, 0], box[:, 1])
    wanted = np.roll(code[codes.RADII[kind]] * codes.RADIUS_SCALE, 1)
    for share in np.linspace(0.0, 1.0, 21):
        there = (1 - share) * free + share * PLAIN[kind]
        found = _with_radii(there, wanted, (1 - share))
        if codes.is_valid(found):
            return found
    return found


def _with_radii(free: Field, wanted: Field, share: float) -> Field:
    vertices = np.concatenate([codes.BASE, free.reshape(-1, 2)])
    largest = 0.5 * codes.shorter_edges(vertices) * codes.half_tangents(vertices)
    radii = np.minimum(np.maximum(share * wanted, codes.SMALLEST_RADIUS), np.minimum(largest, codes.LARGEST_RADIUS))
    return codes.pack_polygon(vertices, radii)


def _placed_ellipse(shape: Ellipse) -> tuple[Field, Field]:
    # a is the half axis that the scale carries; of the two choices, the one whose ratio the code can hold.
    a, b, angle = shape.a, shape.b, shape.angle
    if not 0.5 <= b / a <= 1.5 and 0.5 <= a / b <= 1.5:
        a, b, angle = b, a, angle + 0.5 * np.pi
    turn = (-angle + 0.5 * np.pi) % np.pi - 0.5 * np.pi
    ratio = np.clip(b / a, 0.5, 1.5)
    scale = np.sqrt(a * b / ratio) / codes.HALF_AXIS  # of the same area where the ratio was out of range
    return np.array([*shape.centre, scale, turn]), codes.pack_ellipse(ratio)


def _stood(vertices: Field, radii: Field, first: int) -> tuple[float, Field, Field]:
    # How badly the polygon fits the ranges of the code when it stands on edge `first`; placement; raw code.
    vertices, radii = np.roll(vertices, -first, axis=0), np.roll(radii, -first)
    edge = vertices[1] - vertices[0]
    scale = float(np.hypot(*edge))
    turn = -float(np.arctan2(edge[1], edge[0]))
    offset = vertices[0] - scale * codes.BASE[0] @ _rotation(turn)
    local = (vertices - offset) @ _rotation(turn).T / scale
    local[:2] = codes.BASE
    kind = Kind(len(local) - 2)
    box, free = codes.BOXES[kind], local[2:].ravel()
    over = np.maximum(free - box[:, 1], 0).sum() + np.maximum(box[:, 0] - free, 0).sum()
    short = max(codes.SMALLEST_AREA - float(codes.area(local)), 0.0)
    # Equal fits: the least turned.
    return over + short + 1e-3 * abs(turn), np.array([*offset, scale, turn]), codes.pack_polygon(local, radii / scale)


def _rotation(angle: float) -> Field:
    c, s = np.cos(angle), np.sin(angle)
    return np.array([[c, -s], [s, c]])


def placements(shapes: Sequence[Shape]) -> tuple[Field, Field]:
    """Placements (n, 4) and codes (n, 15) of n shapes."""
    both = [placed(shape) for shape in shapes]
    return np.array([p for p, _ in both]).reshape(-1, 4), np.array([c for _, c in both]).reshape(-1, codes.SIZE)

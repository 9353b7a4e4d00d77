"""Training data: shapes drawn at random, points around them, and the smoothed Heaviside function there.

    H(x) = 1 / (1 + exp(-s d(x))),    d the signed distance, positive inside;   s = 20 for polygons, 22 for ellipses

Recipe of the published method (Heaviside-SDF topology optimisation, ICML 2025) with three rules of our own: a shape
whose rounded outline would cross itself is drawn again, an arc takes at most half of the shorter of its edges, as in
`topopt.features.shapes`, and radii end at 1.5. Nothing is stored: data are drawn as they are
needed, from a random state that is passed in, so that training sees every shape once.
"""

import numpy as np
from numpy.typing import NDArray

from topopt.features.neural import codes
from topopt.features.neural.codes import Kind
from topopt.features.polygon_distance import distances

Field = NDArray[np.float64]

SHARPNESS = {Kind.ELLIPSE: 22.0, Kind.TRIANGLE: 20.0, Kind.QUADRILATERAL: 20.0}


def draw(rng: np.random.Generator, count: int, points: int) -> tuple[Field, Field, Field]:
    """Codes (3 count, 15), points (3 count, points, 2) and H (3 count, points), `count` shapes of each kind in turn."""
    parts = []
    for kind in Kind:
        code = draw_codes(rng, count, kind)
        place = draw_points(rng, code, kind, points)
        parts.append((code, place, target(code, kind, place)))
    codes_, places, targets = (np.concatenate(part) for part in zip(*parts, strict=True))
    return codes_, places, targets


def draw_codes(rng: np.random.Generator, count: int, kind: Kind) -> Field:
    """Codes of `count` random shapes of one kind, (count, 15), all valid."""
    if kind is Kind.ELLIPSE:
        return codes.pack_ellipse(rng.uniform(0.5, 1.5, count))
    kept: list[Field] = []
    while sum(map(len, kept)) < count:
        kept.append(_draw_polygons(rng, count, kind))
    return np.concatenate(kept)[:count]


def _draw_polygons(rng: np.random.Generator, count: int, kind: Kind) -> Field:
    box = codes.BOXES[kind]
    free = rng.uniform(box[:, 0], box[:, 1], (count, len(box))).reshape(count, -1, 2)
    vertices = np.concatenate([np.broadcast_to(codes.BASE, (count, 2, 2)), free], axis=1)
    n = vertices.shape[1]
    split = rng.uniform(*codes.SHARE, (count, n))
    largest = np.minimum(codes.shares(vertices, split) * codes.half_tangents(vertices), codes.LARGEST_RADIUS)
    # Half of the corners have any radius, the others one in the lowest fifth of the range.
    reach = np.where(rng.random((count, n)) < 0.5, 1.0, 0.2)
    radii = codes.SMALLEST_RADIUS + reach * rng.random((count, n)) * (largest - codes.SMALLEST_RADIUS)
    good = (largest >= codes.SMALLEST_RADIUS).all(1) & codes.is_simple(vertices, radii)
    if kind is Kind.QUADRILATERAL:
        good &= codes.area(vertices) >= codes.SMALLEST_AREA
    return codes.pack_polygon(vertices[good], radii[good])


def draw_points(rng: np.random.Generator, code: Field, kind: Kind, count: int) -> Field:
    """`count` points in [-1, 1]^2 for each code (m, 15) of one kind: (m, count, 2).

    A third around the centroid, a third around the vertices, the rest anywhere; around ellipses anywhere.
    """
    m = len(code)
    points = rng.uniform(-1.0, 1.0, (m, count, 2))
    if kind is Kind.ELLIPSE:
        return points
    vertices, _ = codes.polygon_of(code, kind)
    third = count // 3
    points[:, :third] = vertices.mean(1, keepdims=True) + 0.5 * rng.standard_normal((m, third, 2))
    which = rng.integers(0, vertices.shape[1], (m, third))
    around = np.take_along_axis(vertices, which[..., None], axis=1)
    points[:, third : 2 * third] = around + 0.2 * rng.standard_normal((m, third, 2))
    return np.clip(points, -1.0, 1.0)


def target(code: Field, kind: Kind, points: Field) -> Field:
    """H (m, count) at points (m, count, 2) of the shapes (m, 15) of one kind."""
    return 1 / (1 + np.exp(-SHARPNESS[kind] * inner_distance(code, kind, points)))


def inner_distance(code: Field, kind: Kind, points: Field) -> Field:
    """Signed distance (m, count), positive inside, at points (m, count, 2) of the shapes (m, 15) of one kind.

    That of the ellipse is the published approximation min(a, b) (1 - |(x / a, y / b)|).
    """
    if kind is Kind.ELLIPSE:
        axes = np.stack([np.full(len(code), codes.HALF_AXIS), code[:, 1] * codes.RATIO_SCALE * codes.HALF_AXIS], -1)
        return axes.min(-1)[:, None] * (1 - np.linalg.norm(points / axes[:, None], axis=-1))
    vertices, radii = codes.polygon_of(code, kind)
    parts = codes.fractions(vertices, radii)
    out = np.empty(points.shape[:2])
    for place, corners, part, row in zip(points, vertices, parts, out, strict=True):
        distances(place, corners, part, row)
    return out

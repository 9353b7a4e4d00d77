"""Growing and shrinking features by a small uniform amount, to meet a volume exactly."""

import numpy as np

from topopt.features.shapes import Capsule, Ellipse, RoundedPolygon, Shape, Slot


def grown(shape: Shape, by: float) -> Shape:
    """Every edge moved outward by so many mm (inward if negative); corners keep their tangent-length fractions.

    Exact for ellipses only to first order; a shape that would vanish is returned as it is.
    """
    if isinstance(shape, RoundedPolygon):
        return _grown_polygon(shape, by)
    if isinstance(shape, Capsule):
        return Capsule(shape.start, shape.end, shape.radius + by) if shape.radius + by > 0 else shape
    if isinstance(shape, Slot):
        length, width = shape.length + 2 * by, shape.width + 2 * by
        return Slot(shape.centre, length, width, shape.angle) if width > 0 else shape
    a, b = shape.a + by, shape.b + by
    return Ellipse(shape.centre, a, b, shape.angle) if min(a, b) > 0 else shape


def _grown_polygon(shape: RoundedPolygon, by: float) -> RoundedPolygon:
    points = np.array(shape.vertices)
    ahead = np.roll(points, -1, 0) - points
    ahead /= np.maximum(np.hypot(*ahead.T), 1e-300)[:, None]
    behind = np.roll(ahead, 1, 0)
    # Outward normals (y, -x) of the edges before and after a vertex; it moves along their bisector.
    cross = behind[:, 0] * ahead[:, 1] - behind[:, 1] * ahead[:, 0]
    usable = np.abs(cross) > 0.02
    shift = by * (behind - ahead) / np.where(usable, cross, 1.0)[:, None]
    plain = by * np.stack([ahead[:, 1], -ahead[:, 0]], 1)
    moved = points + np.where(usable[:, None], shift, plain)
    return shape.with_parameters(np.concatenate([moved.ravel(), shape.fractions]))  # pyright: ignore[reportArgumentType]

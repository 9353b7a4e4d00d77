"""The shape code: fifteen numbers that name an ellipse, a rounded triangle or a rounded quadrilateral.

The layout is that of the published method (Heaviside-SDF topology optimisation, ICML 2025). All shapes live in the
square [-1, 1]^2; the base edge of a polygon runs from (-1/2, -1/2) to (1/2, -1/2), the half axis a of an ellipse is
1/2.

| entry | meaning |
|---|---|
| 0 | class: 0 ellipse, 1/2 triangle, 1 quadrilateral |
| 1 | ellipse: (b / a) / 1.5 |
| 2, 3 | triangle: apex x, y |
| 4..6 | triangle: corner radii / 3 |
| 7..10 | quadrilateral: third and fourth vertex |
| 11..14 | quadrilateral: corner radii / 3 |

Radius i belongs to vertex i + 1, cyclic: the first rounds the right end of the base, the last its left end. Entries of
the other classes are zero. A mean of codes is no code: `nearest` gives the code of a shape that exists.
"""

from enum import IntEnum

import numpy as np
from numpy.typing import NDArray

from topopt.errors import DesignError

Field = NDArray[np.float64]

SIZE = 15
HALF_AXIS = 0.5
RATIO_SCALE = 1.5
RADIUS_SCALE = 3.0
SMALLEST_RADIUS = 0.01
LARGEST_RADIUS = 1.5  # at corners that are nearly straight a radius has no effect, and no bound of its own
SMALLEST_AREA = 0.35
SHARE = (0.2, 0.8)  # the part of an edge that one of its corners may use
BASE = np.array([[-0.5, -0.5], [0.5, -0.5]])


class Kind(IntEnum):
    """The class of a shape; the code holds half of it."""

    ELLIPSE = 0
    TRIANGLE = 1
    QUADRILATERAL = 2


# Where the free vertices and the radii stand in the code, and the box of each free vertex: x low, high; y low, high.
VERTICES = {Kind.TRIANGLE: slice(2, 4), Kind.QUADRILATERAL: slice(7, 11)}
RADII = {Kind.TRIANGLE: slice(4, 7), Kind.QUADRILATERAL: slice(11, 15)}
BOXES = {
    Kind.TRIANGLE: np.array([[-0.8, 0.8], [0.1, 0.8]]),
    Kind.QUADRILATERAL: np.array([[-0.8, 0.8], [-0.2, 0.8], [-0.8, 0.8], [0.2, 0.8]]),
}


def pack_ellipse(ratio: float | Field) -> Field:
    """Codes (..., 15) of ellipses with half axes 1/2 and ratio / 2."""
    ratio = np.asarray(ratio, float)
    code = np.zeros((*ratio.shape, SIZE))
    code[..., 1] = ratio / RATIO_SCALE
    return code


def pack_polygon(vertices: Field, radii: Field) -> Field:
    """Codes (..., 15) of polygons, vertices (..., 3 or 4, 2) with the base first, radii (..., 3 or 4) at each vertex.

    Raises:
        DesignError: the polygon does not stand on the base edge, or has neither three nor four vertices.
    """
    vertices, radii = np.asarray(vertices, float), np.asarray(radii, float)
    n = vertices.shape[-2]
    if n not in (3, 4):
        raise DesignError(f"a shape code holds triangles and quadrilaterals, not a polygon of {n} vertices")
    if not np.allclose(vertices[..., :2, :], BASE, atol=1e-9):
        raise DesignError("a coded polygon stands on the base edge (-.5, -.5), (.5, -.5): move it there first")
    kind = Kind(n - 2)
    code = np.zeros((*vertices.shape[:-2], SIZE))
    code[..., 0] = kind / 2
    code[..., VERTICES[kind]] = vertices[..., 2:, :].reshape(*vertices.shape[:-2], 2 * kind)
    code[..., RADII[kind]] = np.roll(radii, -1, axis=-1) / RADIUS_SCALE
    return code


def kind_of(code: Field) -> Kind:
    """The class of a code (15,), rounded to the nearest."""
    return Kind(int(np.clip(np.rint(2 * code[0]), 0, 2)))


def polygon_of(code: Field, kind: Kind) -> tuple[Field, Field]:
    """Vertices (..., n, 2) and radii (..., n) of codes (..., 15) of one polygonal kind, as they stand, valid or not."""
    free = code[..., VERTICES[kind]].reshape(*code.shape[:-1], kind, 2)
    base = np.broadcast_to(BASE, (*code.shape[:-1], 2, 2))
    radii = np.roll(code[..., RADII[kind]] * RADIUS_SCALE, 1, axis=-1)
    return np.concatenate([base, free], axis=-2), radii


def shares(vertices: Field, split: Field) -> Field:
    """The length (..., n) that the arc of each corner may use of both its edges, at most half of the shorter one.

    vertices : (..., n, 2); split : (..., n), where edge i, from vertex i to i + 1, is divided between its ends. No two
    arcs can then meet on an edge, whatever their radii.
    """
    length = np.linalg.norm(np.roll(vertices, -1, axis=-2) - vertices, axis=-1)
    apart = np.minimum(split * length, np.roll((1 - split) * length, 1, axis=-1))
    return np.minimum(apart, 0.5 * shorter_edges(vertices))


def shorter_edges(vertices: Field) -> Field:
    """The length of the shorter edge at each corner (..., n). vertices : (..., n, 2)."""
    length = np.linalg.norm(np.roll(vertices, -1, axis=-2) - vertices, axis=-1)
    return np.minimum(length, np.roll(length, 1, axis=-1))


def fractions(vertices: Field, radii: Field) -> Field:
    """Tangent lengths over the shorter edge at each corner (..., n), as `topopt.features.shapes` counts them."""
    tangent = radii / np.maximum(half_tangents(vertices), 1e-12)
    return tangent / np.maximum(shorter_edges(vertices), 1e-12)


def half_tangents(vertices: Field) -> Field:
    """tan(angle / 2) at each corner (..., n): radius = tangent length times this. vertices : (..., n, 2)."""
    back, on = np.roll(vertices, 1, axis=-2) - vertices, np.roll(vertices, -1, axis=-2) - vertices
    cross = np.abs(back[..., 0] * on[..., 1] - back[..., 1] * on[..., 0])
    dot = (back * on).sum(-1)
    # tan(t / 2) = (1 - cos t) / sin t
    return (np.hypot(cross, dot) - dot) / np.maximum(cross, 1e-12)


def area(vertices: Field) -> Field:
    """Signed areas (...,) of polygons (..., n, 2), positive when counter-clockwise."""
    x, y = vertices[..., 0], vertices[..., 1]
    return 0.5 * (x * np.roll(y, -1, -1) - np.roll(x, -1, -1) * y).sum(-1)


def is_simple(vertices: Field, radii: Field) -> NDArray[np.bool_]:
    """Whether rounded polygons (..., n, 2) and (..., n) are free of crossings, edges and arcs alike: (...,).

    An arc lies between its corner and the chord of its tangent points, and chords of arcs that share no length of an
    edge cannot cross. So it suffices that no edge crosses an edge that is not its neighbour, and no chord an edge that
    is not of its corner.
    """
    n = vertices.shape[-2]
    on = np.roll(vertices, -1, axis=-2)
    length = np.linalg.norm(on - vertices, axis=-1, keepdims=True)
    along = (on - vertices) / np.maximum(length, 1e-12)
    tangent = (radii / np.maximum(half_tangents(vertices), 1e-12))[..., None]
    after, before = vertices + tangent * along, vertices - tangent * np.roll(along, 1, axis=-2)
    good = np.ones(vertices.shape[:-2], bool)
    for i in range(n):
        for j in range(n):
            if j not in (i, (i - 1) % n):
                good &= ~_cross(before[..., i, :], after[..., i, :], vertices[..., j, :], on[..., j, :])
            if j not in (i, (i - 1) % n, (i + 1) % n):
                good &= ~_cross(vertices[..., i, :], on[..., i, :], vertices[..., j, :], on[..., j, :])
    return good


def _cross(a: Field, b: Field, c: Field, d: Field) -> NDArray[np.bool_]:
    # Closed segments ab and cd, (..., 2) each.
    def side(p: Field, q: Field, r: Field) -> Field:
        return (q[..., 0] - p[..., 0]) * (r[..., 1] - p[..., 1]) - (q[..., 1] - p[..., 1]) * (r[..., 0] - p[..., 0])

    return (side(a, b, c) * side(a, b, d) <= 0) & (side(c, d, a) * side(c, d, b) <= 0)


def is_valid(code: Field) -> bool:
    """Whether a code (15,) is that of a shape as the generator makes them: simple, large enough, arcs apart."""
    kind = kind_of(code)
    if kind is Kind.ELLIPSE:
        return bool(0.5 <= code[1] * RATIO_SCALE <= 1.5)
    vertices, radii = polygon_of(code, kind)
    apart = (fractions(vertices, radii) <= 0.5 + 1e-9).all()
    rounded = (radii >= SMALLEST_RADIUS - 1e-9).all()
    large = area(vertices) >= (SMALLEST_AREA if kind is Kind.QUADRILATERAL else 0.2) - 1e-9
    return bool(apart and rounded and large and is_simple(vertices, radii))

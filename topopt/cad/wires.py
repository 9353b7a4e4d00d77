"""Closed wires of lines and arcs in the plane, in mm: the outlines and the voids of a planar design.

Edge i ends where edge i + 1 starts, and the last one ends where the first starts. Counter-clockwise wires have a
positive area. Nothing here is sampled except where a chord tolerance is asked for: area, length, box and the test
whether a point is inside are exact.
"""

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from numpy.typing import ArrayLike, NDArray

from topopt.cad.edges import Arc, Box, Edge, EllipseArc, Line, Point, Points
from topopt.errors import OutlineError

__all__ = [
    "Arc", "Box", "Edge", "EllipseArc", "Line", "Point", "Points", "Wire",
    "circle", "ellipse", "polygon", "rectangle", "rounded_polygon", "slot",
]  # fmt: skip

GAP = 1e-7  # of the size of a wire: edges that miss each other by less are joined


@dataclass(frozen=True)
class Wire:
    """A closed chain of edges.

    Raises:
        OutlineError: no edges, or a gap between two of them.
    """

    edges: tuple[Edge, ...]

    def __post_init__(self) -> None:
        object.__setattr__(self, "edges", tuple(self.edges))
        if not self.edges:
            raise OutlineError("a wire needs at least one edge")
        gap, number = self.gap
        if gap > GAP * self.size:
            x, y = self.edges[number].end
            raise OutlineError(
                f"edge {number + 1} of {len(self.edges)} ends at ({x:g}, {y:g}), {gap:.3g} mm from where the next "
                "one starts: close the outline"
            )

    @property
    def gap(self) -> tuple[float, int]:
        """The widest gap in mm, and the number of the edge that it follows."""
        following = (*self.edges[1:], self.edges[0])
        gaps = [math.dist(edge.end, after.start) for edge, after in zip(self.edges, following, strict=True)]
        number = int(np.argmax(gaps))
        return gaps[number], number

    @cached_property
    def bounds(self) -> Box:
        """Lower and upper corner of the box around the wire."""
        boxes = np.array([edge.bounds for edge in self.edges])
        lower, upper = boxes[:, 0].min(axis=0), boxes[:, 1].max(axis=0)
        return (float(lower[0]), float(lower[1])), (float(upper[0]), float(upper[1]))

    @property
    def size(self) -> float:
        """Diagonal of the box, mm."""
        return math.dist(*self.bounds)

    @cached_property
    def area(self) -> float:
        """Signed area, mm2: positive where the wire runs counter-clockwise."""
        origin = self.edges[0].start
        return math.fsum(edge.area_about(origin) for edge in self.edges)

    @property
    def ccw(self) -> bool:
        """Whether it runs counter-clockwise."""
        return self.area > 0

    @property
    def length(self) -> float:
        """mm."""
        return math.fsum(edge.length for edge in self.edges)

    @property
    def vertices(self) -> Points:
        """Start of every edge, (n, 2)."""
        return np.array([edge.start for edge in self.edges])

    @property
    def turns(self) -> NDArray[np.float64]:
        """Change of direction at the start of every edge, rad, in (-pi, pi]: zero where edges are tangent. (n,)"""
        before = np.array([edge.direction(1.0) for edge in (self.edges[-1], *self.edges[:-1])])
        after = np.array([edge.direction(0.0) for edge in self.edges])
        cross = before[:, 0] * after[:, 1] - before[:, 1] * after[:, 0]
        return np.arctan2(cross, (before * after).sum(axis=1))

    @property
    def is_full_turn(self) -> bool:
        """Whether it is one whole circle or ellipse, in two arcs."""
        if len(self.edges) != 2 or any(isinstance(edge, Line) for edge in self.edges):
            return False
        one, two = (replace(edge, start=self.edges[0].start, end=self.edges[0].end) for edge in self.edges)
        return one == two

    def reversed(self) -> "Wire":
        """The same wire, run through backwards."""
        return Wire(tuple(edge.reversed() for edge in reversed(self.edges)))

    def oriented(self, ccw: bool) -> "Wire":
        """The same wire in the wanted sense."""
        return self if self.ccw == ccw else self.reversed()

    def moved(self, scale: float = 1.0, angle: float = 0.0, offset: Point = (0.0, 0.0)) -> "Wire":
        """Scaled (positive) and turned (rad) about the origin, then shifted."""
        return Wire(tuple(edge.moved(scale, angle, offset) for edge in self.edges))

    def contains(self, points: ArrayLike) -> NDArray[np.bool_]:
        """Whether points are inside, by the parity of crossings. points : (n, 2) -> (n,)"""
        points = np.atleast_2d(np.asarray(points, float))
        return sum((edge.crossings(points) for edge in self.edges), np.zeros(len(points), np.int64)) % 2 == 1

    def sample(self, tolerance: float) -> Points:
        """Corners of a closed polygon that stays within `tolerance` mm of the wire, the first not repeated. -> (n, 2)

        Raises:
            OutlineError: the tolerance is not positive.
        """
        if not tolerance > 0:
            raise OutlineError(f"the chord tolerance must be positive, not {tolerance} mm")
        return np.concatenate([edge.sample(tolerance) for edge in self.edges])

    def is_simple(self, tolerance: float | None = None) -> bool:
        """Whether the wire, sampled to the tolerance (default: 1e-4 of its size), does not cross itself."""
        start = self.sample(1e-4 * self.size if tolerance is None else tolerance)
        return not _crosses_itself(start, np.roll(start, -1, axis=0))


def polygon(points: ArrayLike) -> Wire:
    """Straight edges between corners, in order. points : (n, 2)"""
    corners = _corners(points)
    return Wire(tuple(Line(a, b) for a, b in zip(corners, (*corners[1:], corners[0]), strict=True)))


def rectangle(lower: Point, upper: Point) -> Wire:
    """Edges along the axes, counter-clockwise."""
    (x0, y0), (x1, y1) = lower, upper
    return polygon([(x0, y0), (x1, y0), (x1, y1), (x0, y1)])


def circle(centre: Point, radius: float) -> Wire:
    """Two halves, counter-clockwise."""
    right, left = (centre[0] + radius, centre[1]), (centre[0] - radius, centre[1])
    return Wire((Arc(right, left, centre, radius, True), Arc(left, right, centre, radius, True)))


def ellipse(centre: Point, semi_x: float, semi_y: float, angle: float = 0.0) -> Wire:
    """Two halves, counter-clockwise. semi_x lies along `angle` (rad from +x); either axis may be the longer one."""
    if semi_x < semi_y:
        semi_x, semi_y, angle = semi_y, semi_x, angle + math.pi / 2
    dx, dy = semi_x * math.cos(angle), semi_x * math.sin(angle)
    one, two = (centre[0] + dx, centre[1] + dy), (centre[0] - dx, centre[1] - dy)
    return Wire(tuple(EllipseArc(p, q, centre, semi_x, semi_y, angle, True) for p, q in ((one, two), (two, one))))


def slot(start: Point, end: Point, radius: float) -> Wire:
    """All points within `radius` of a segment: a slot as a void, a capsule as a bar. Counter-clockwise."""
    length = math.dist(start, end)
    if length == 0:
        return circle(start, radius)
    nx, ny = (start[1] - end[1]) / length * radius, (end[0] - start[0]) / length * radius
    a, b = (start[0] - nx, start[1] - ny), (end[0] - nx, end[1] - ny)
    c, d = (end[0] + nx, end[1] + ny), (start[0] + nx, start[1] + ny)
    return Wire((Line(a, b), Arc(b, c, end, radius, True), Line(c, d), Arc(d, a, start, radius, True)))


def rounded_polygon(vertices: ArrayLike, radii: ArrayLike) -> Wire:
    """Straight edges joined by tangent arcs, in the order of the vertices; radius 0 keeps a sharp corner.

    At a vertex P between unit directions a and b to its neighbours, with the angle t between them, the arc touches the
    edges at P + a r / tan(t/2) and P + b r / tan(t/2), and its centre is P + (a + b) / |a + b| r / sin(t/2).

    Args:
        vertices: (n, 2), n >= 3, mm, either sense, reflex corners allowed.
        radii: (n,) or one number, mm.

    Raises:
        OutlineError: fewer than three vertices, a negative radius, or arcs that need more than an edge has.
    """
    corners = _corners(vertices)
    p = np.array(corners)
    r = np.broadcast_to(np.asarray(radii, float), len(p))
    if not (np.isfinite(r).all() and (r >= 0).all()):
        raise OutlineError(f"corner radii must be zero or positive numbers of mm, not {r.tolist()}")
    out = np.roll(p, -1, axis=0) - p
    length = np.hypot(*out.T)
    if not length.all():
        raise OutlineError("two neighbouring vertices of a rounded polygon coincide: drop one of them")
    ahead = out / length[:, None]
    back = -np.roll(ahead, 1, axis=0)
    cross = back[:, 1] * ahead[:, 0] - back[:, 0] * ahead[:, 1]  # positive at a left turn
    half = np.arctan2(np.abs(cross), (back * ahead).sum(axis=1)) / 2
    # A corner that is straight or nearly sharp has nothing to round; its arc would have no length.
    reach = r / np.tan(np.clip(half, 1e-9, math.pi / 2 - 1e-9))
    rounded = reach > 1e-9 * np.minimum(length, np.roll(length, 1))
    reach = np.where(rounded, reach, 0.0)
    _check_reach(reach, length)
    entry, leave = p + back * reach[:, None], p + ahead * reach[:, None]
    edges: list[Edge] = []
    for k, corner in enumerate(corners):
        after = (k + 1) % len(corners)
        a, b, c = (_point(q) for q in (entry[k], leave[k], entry[after]))
        if rounded[k]:
            bisector = back[k] + ahead[k]
            centre = p[k] + bisector / np.hypot(*bisector) * (r[k] / math.sin(half[k]))
            edges.append(Arc(a, b, _point(centre), float(r[k]), bool(cross[k] > 0)))
        # Where two arcs use up an edge exactly, no line is left between them; the next arc starts where this one ends.
        if math.dist(b, c) > 1e-9 * length[k]:
            edges.append(Line(b if rounded[k] else corner, c if rounded[after] else corners[after]))
    return Wire(tuple(edges))


def bounds_of(wires: Iterable[Wire]) -> Box:
    """The box around several wires."""
    boxes = np.array([wire.bounds for wire in wires])
    return _point(boxes[:, 0].min(axis=0)), _point(boxes[:, 1].max(axis=0))


def _check_reach(reach: NDArray[np.float64], length: NDArray[np.float64]) -> None:
    need = reach + np.roll(reach, -1)
    worst = int(np.argmax(need / length))
    if need[worst] > length[worst] * (1 + 1e-9):
        raise OutlineError(
            f"the arcs at both ends of edge {worst + 1} take {need[worst]:.4g} mm of its {length[worst]:.4g} mm: "
            "reduce the radii or move the vertices apart"
        )


def _corners(points: ArrayLike) -> Sequence[Point]:
    p = np.asarray(points, float)
    if p.ndim != 2 or p.shape[1] != 2 or len(p) < 3 or not np.isfinite(p).all():
        raise OutlineError(f"a polygon needs at least three finite points (x, y), not an array of shape {p.shape}")
    return [_point(q) for q in p]


def _point(p: NDArray[np.float64]) -> Point:
    return float(p[0]), float(p[1])


def _crosses_itself(start: Points, end: Points) -> bool:
    """Whether any two segments that are not neighbours meet. start, end : (n, 2)"""
    n = len(start)

    def side(a: Points, b: Points, c: Points) -> NDArray[np.float64]:
        return np.sign(
            (b[..., 0] - a[..., 0]) * (c[..., 1] - a[..., 1]) - (b[..., 1] - a[..., 1]) * (c[..., 0] - a[..., 0])
        )

    for k in range(n - 2):
        others = np.arange(k + 2, n - (k == 0))
        a, b, c, d = start[k], end[k], start[others], end[others]
        if np.any((side(a, b, c) != side(a, b, d)) & (side(c, d, a) != side(c, d, b))):
            return True
    return False

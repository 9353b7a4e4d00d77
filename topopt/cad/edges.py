"""Lines, circular arcs and arcs of ellipses in the plane: the three curves that a planar design is made of, in mm.

An arc runs from `start` to `end` around `centre`, counter-clockwise or not, by more than nothing and less than a full
turn; a circle is two arcs. Both kinds of arc are x(t) = centre + u cos t + v sin t with u and v orthogonal, where t is
the angle on a circle and the eccentric anomaly on an ellipse, so everything but the length is one formula for both.
"""

import math
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from topopt.errors import OutlineError

Point = tuple[float, float]
Points = NDArray[np.float64]
Box = tuple[Point, Point]

OFF_CURVE = 1e-6  # of the size of an arc: how far its ends may lie beside it


@dataclass(frozen=True)
class Line:
    """A straight edge."""

    start: Point
    end: Point

    def __post_init__(self) -> None:
        _check_ends(self)

    @property
    def length(self) -> float:
        """mm."""
        return math.dist(self.start, self.end)

    @property
    def bounds(self) -> Box:
        """Lower and upper corner of the box around the edge."""
        return _box(np.array([self.start, self.end]))

    def reversed(self) -> "Line":
        """The same edge, run through backwards."""
        return Line(self.end, self.start)

    def moved(self, scale: float = 1.0, angle: float = 0.0, offset: Point = (0.0, 0.0)) -> "Line":
        """Scaled and turned about the origin, then shifted."""
        return Line(_place(self.start, scale, angle, offset), _place(self.end, scale, angle, offset))

    def point(self, at: float) -> Point:
        """The point at a share `at` in [0, 1] of the way."""
        return _between(self.start, self.end, at)

    def direction(self, at: float) -> Point:
        """Unit tangent, in the sense of travel."""
        return _unit((self.end[0] - self.start[0], self.end[1] - self.start[1]))

    def sample(self, tolerance: float) -> Points:
        """Corners of a chain that stays within `tolerance` of the edge, the last one left out. -> (n, 2)"""
        return np.array([self.start])

    def area_about(self, origin: Point) -> float:
        """Signed area swept by the ray from `origin` to a point that travels along the edge, mm2."""
        (x0, y0), (x1, y1) = _less(self.start, origin), _less(self.end, origin)
        return (x0 * y1 - y0 * x1) / 2

    def crossings(self, points: Points) -> NDArray[np.int64]:
        """How often the edge crosses the ray from each point towards +x. points : (n, 2) -> (n,)"""
        (x0, y0), (x1, y1) = self.start, self.end
        spans = (y0 > points[:, 1]) != (y1 > points[:, 1])
        if y0 == y1:
            return np.zeros(len(points), np.int64)
        x = x0 + (points[:, 1] - y0) * ((x1 - x0) / (y1 - y0))
        return (spans & (points[:, 0] < x)).astype(np.int64)


@dataclass(frozen=True)
class Arc:
    """An arc of a circle.

    Raises:
        OutlineError: it has no radius, its ends coincide or lie beside the circle.
    """

    start: Point
    end: Point
    centre: Point
    radius: float
    ccw: bool

    def __post_init__(self) -> None:
        _check_ends(self)
        _check_axes("arc", self.radius, self.radius)
        for end in (self.start, self.end):
            miss = abs(math.dist(end, self.centre) - self.radius)
            if not miss <= OFF_CURVE * self.radius:
                raise OutlineError(
                    f"an arc's end ({end[0]:g}, {end[1]:g}) lies {miss:.3g} mm beside its circle of radius "
                    f"{self.radius:g} mm about ({self.centre[0]:g}, {self.centre[1]:g}): give matching numbers"
                )

    @cached_property
    def conic(self) -> "Conic":
        """The curve with its parameter."""
        return Conic.of(self.start, self.end, self.centre, (self.radius, 0.0), (0.0, self.radius), self.ccw)

    @property
    def sweep(self) -> float:
        """Angle from start to end, rad, negative where clockwise."""
        return self.conic.sweep

    @property
    def length(self) -> float:
        """mm."""
        return self.radius * abs(self.sweep)

    @property
    def bounds(self) -> Box:
        """Lower and upper corner of the box around the edge."""
        return self.conic.bounds

    def reversed(self) -> "Arc":
        """The same edge, run through backwards."""
        return Arc(self.end, self.start, self.centre, self.radius, not self.ccw)

    def moved(self, scale: float = 1.0, angle: float = 0.0, offset: Point = (0.0, 0.0)) -> "Arc":
        """Scaled and turned about the origin, then shifted."""
        start, end, centre = (_place(p, scale, angle, offset) for p in (self.start, self.end, self.centre))
        return Arc(start, end, centre, scale * self.radius, self.ccw)

    def point(self, at: float) -> Point:
        """The point at a share `at` in [0, 1] of the way."""
        return self.conic.point(at)

    def direction(self, at: float) -> Point:
        """Unit tangent, in the sense of travel."""
        return self.conic.direction(at)

    def sample(self, tolerance: float) -> Points:
        """Corners of a chain that stays within `tolerance` of the edge, the last one left out. -> (n, 2)"""
        return self.conic.sample(tolerance)

    def area_about(self, origin: Point) -> float:
        """Signed area swept by the ray from `origin` to a point that travels along the edge, mm2."""
        return self.conic.area_about(origin)

    def crossings(self, points: Points) -> NDArray[np.int64]:
        """How often the edge crosses the ray from each point towards +x. points : (n, 2) -> (n,)"""
        return self.conic.crossings(points)


@dataclass(frozen=True)
class EllipseArc:
    """An arc of an ellipse, whose major axis points along `angle` (rad, from +x).

    Raises:
        OutlineError: semi_major is less than semi_minor, an axis is not positive, or the ends are no ends of it.
    """

    start: Point
    end: Point
    centre: Point
    semi_major: float
    semi_minor: float
    angle: float
    ccw: bool

    def __post_init__(self) -> None:
        _check_ends(self)
        _check_axes("ellipse", self.semi_major, self.semi_minor)
        for end in (self.start, self.end):
            x, y = _turned(_less(end, self.centre), -self.angle)
            miss = abs(math.hypot(x / self.semi_major, y / self.semi_minor) - 1)
            if not miss <= OFF_CURVE:
                raise OutlineError(
                    f"an arc's end ({end[0]:g}, {end[1]:g}) lies beside its ellipse with semi-axes "
                    f"{self.semi_major:g} and {self.semi_minor:g} mm: give matching numbers"
                )

    @cached_property
    def conic(self) -> "Conic":
        """The curve with its parameter."""
        u = _turned((self.semi_major, 0.0), self.angle)
        v = _turned((0.0, self.semi_minor), self.angle)
        return Conic.of(self.start, self.end, self.centre, u, v, self.ccw)

    @property
    def sweep(self) -> float:
        """Eccentric anomaly from start to end, rad, negative where clockwise."""
        return self.conic.sweep

    @property
    def length(self) -> float:
        """mm, by the incomplete elliptic integral of the second kind."""
        from scipy.special import ellipeinc

        # |x'(t)| = a sqrt(1 - m cos2 t), m = 1 - b2/a2; with s = t + pi/2 this is a sqrt(1 - m sin2 s).
        m = 1 - (self.semi_minor / self.semi_major) ** 2
        first = self.conic.first + math.pi / 2
        return float(abs(self.semi_major * (ellipeinc(first + self.sweep, m) - ellipeinc(first, m))))

    @property
    def bounds(self) -> Box:
        """Lower and upper corner of the box around the edge."""
        return self.conic.bounds

    def reversed(self) -> "EllipseArc":
        """The same edge, run through backwards."""
        a, b = self.semi_major, self.semi_minor
        return EllipseArc(self.end, self.start, self.centre, a, b, self.angle, not self.ccw)

    def moved(self, scale: float = 1.0, angle: float = 0.0, offset: Point = (0.0, 0.0)) -> "EllipseArc":
        """Scaled and turned about the origin, then shifted."""
        start, end, centre = (_place(p, scale, angle, offset) for p in (self.start, self.end, self.centre))
        a, b = scale * self.semi_major, scale * self.semi_minor
        return EllipseArc(start, end, centre, a, b, self.angle + angle, self.ccw)

    def point(self, at: float) -> Point:
        """The point at a share `at` in [0, 1] of the way, by the eccentric anomaly."""
        return self.conic.point(at)

    def direction(self, at: float) -> Point:
        """Unit tangent, in the sense of travel."""
        return self.conic.direction(at)

    def sample(self, tolerance: float) -> Points:
        """Corners of a chain that stays within `tolerance` of the edge, the last one left out. -> (n, 2)"""
        return self.conic.sample(tolerance)

    def area_about(self, origin: Point) -> float:
        """Signed area swept by the ray from `origin` to a point that travels along the edge, mm2."""
        return self.conic.area_about(origin)

    def crossings(self, points: Points) -> NDArray[np.int64]:
        """How often the edge crosses the ray from each point towards +x. points : (n, 2) -> (n,)"""
        return self.conic.crossings(points)


Edge = Line | Arc | EllipseArc


@dataclass(frozen=True)
class Conic:
    """x(t) = centre + u cos t + v sin t for t from `first` to `first + sweep`; start and end are kept as given."""

    start: Point
    end: Point
    centre: Point
    u: Point
    v: Point
    first: float
    sweep: float

    @classmethod
    def of(cls, start: Point, end: Point, centre: Point, u: Point, v: Point, ccw: bool) -> "Conic":
        first, last = (_anomaly(_less(p, centre), u, v) for p in (start, end))
        turn = (last - first) % (2 * math.pi)
        return cls(start, end, centre, u, v, first, turn if ccw else turn - 2 * math.pi)

    def point(self, at: float) -> Point:
        if at in (0.0, 1.0):
            return self.end if at else self.start
        return self._at(self.first + at * self.sweep)

    def direction(self, at: float) -> Point:
        t = self.first + at * self.sweep
        c, s = math.cos(t), math.sin(t)
        sign = math.copysign(1.0, self.sweep)
        return _unit((sign * (self.v[0] * c - self.u[0] * s), sign * (self.v[1] * c - self.u[1] * s)))

    @property
    def bounds(self) -> Box:
        extremes = [self._at(t) for axis in (0, 1) for t in self._stops(axis)]
        return _box(np.array([self.start, self.end, *extremes]))

    def sample(self, tolerance: float) -> Points:
        # A chord of parameter dt departs from the curve by at most |x''| dt2/8 <= a dt2/8; on a circle by
        # r (1 - cos(dt/2)), which is less.
        a = max(math.hypot(*self.u), math.hypot(*self.v))
        step = 2 * math.acos(max(0.0, 1 - tolerance / a)) if tolerance < a else math.pi / 2
        n = max(1, math.ceil(abs(self.sweep) / min(step, math.pi / 2)))
        t = self.first + self.sweep * np.arange(n) / n
        points = np.array(self.centre) + np.outer(np.cos(t), self.u) + np.outer(np.sin(t), self.v)
        points[0] = self.start
        return points

    def area_about(self, origin: Point) -> float:
        # The chord's triangle and the segment beyond it. The sector about the centre would say the same, but loses
        # digits where a large circle gives a short arc.
        (x0, y0), (x1, y1) = _less(self.start, origin), _less(self.end, origin)
        turn = self.u[0] * self.v[1] - self.u[1] * self.v[0]
        return (x0 * y1 - y0 * x1 + turn * (self.sweep - math.sin(self.sweep))) / 2

    def crossings(self, points: Points) -> NDArray[np.int64]:
        count = np.zeros(len(points), np.int64)
        stops = [self.first, *self._stops(1), self.first + self.sweep]
        levels = [self.start[1], *(self._at(t)[1] for t in stops[1:-1]), self.end[1]]
        # y - cy = reach cos(t - top): on a piece between two extremes one branch of the arc cosine holds.
        reach, top = math.hypot(self.u[1], self.v[1]), math.atan2(self.v[1], self.u[1])
        cosine = np.clip((points[:, 1] - self.centre[1]) / reach, -1, 1)
        for t0, t1, y0, y1 in zip(stops, stops[1:], levels, levels[1:], strict=False):
            middle = ((t0 + t1) / 2 - top + math.pi) % (2 * math.pi) - math.pi
            t = top + math.copysign(1.0, middle) * np.arccos(cosine)
            x = self.centre[0] + self.u[0] * np.cos(t) + self.v[0] * np.sin(t)
            count += ((y0 > points[:, 1]) != (y1 > points[:, 1])) & (points[:, 0] < x)
        return count

    def _at(self, t: float) -> Point:
        c, s = math.cos(t), math.sin(t)
        return (
            self.centre[0] + self.u[0] * c + self.v[0] * s,
            self.centre[1] + self.u[1] * c + self.v[1] * s,
        )

    def _stops(self, axis: int) -> list[float]:
        """Parameters strictly inside the arc where the coordinate `axis` is extreme, in the order of travel."""
        top = math.atan2(self.v[axis], self.u[axis])
        low, high = sorted((self.first, self.first + self.sweep))
        k = np.arange(math.ceil((low - top) / math.pi), math.floor((high - top) / math.pi) + 1)
        inside = [float(t) for t in top + math.pi * k if low < t < high]
        return inside if self.sweep > 0 else inside[::-1]


def _anomaly(arm: Point, u: Point, v: Point) -> float:
    x, y = (arm[0] * w[0] + arm[1] * w[1] for w in (u, v))
    return math.atan2(y / (v[0] ** 2 + v[1] ** 2), x / (u[0] ** 2 + u[1] ** 2))


def _check_ends(edge: "Edge") -> None:
    numbers = (*edge.start, *edge.end)
    if len(numbers) != 4 or not all(map(math.isfinite, numbers)):
        raise OutlineError(f"an edge needs two finite points in the plane, not {edge.start} and {edge.end}")
    if edge.start == edge.end:
        raise OutlineError(
            f"an edge starts and ends at ({edge.start[0]:g}, {edge.start[1]:g}): drop it, or give a circle as two arcs"
        )


def _check_axes(name: str, major: float, minor: float) -> None:
    if not (math.isfinite(major) and major >= minor > 0):
        raise OutlineError(f"the radii of an {name} must be positive, the larger one first, not {major} and {minor} mm")


def _box(points: Points) -> Box:
    (x0, y0), (x1, y1) = points.min(axis=0), points.max(axis=0)
    return (float(x0), float(y0)), (float(x1), float(y1))


def _less(p: Point, q: Point) -> Point:
    return p[0] - q[0], p[1] - q[1]


def _between(p: Point, q: Point, at: float) -> Point:
    return (1 - at) * p[0] + at * q[0], (1 - at) * p[1] + at * q[1]


def _turned(p: Point, angle: float) -> Point:
    c, s = math.cos(angle), math.sin(angle)
    return c * p[0] - s * p[1], s * p[0] + c * p[1]


def _place(p: Point, scale: float, angle: float, offset: Point) -> Point:
    x, y = _turned(p, angle) if angle else p
    return scale * x + offset[0], scale * y + offset[1]


def _unit(p: Point) -> Point:
    size = math.hypot(*p)
    return p[0] / size, p[1] / size


def arc_by_bulge(start: Point, end: Point, bulge: float) -> Line | Arc:
    """The arc whose sagitta is |bulge| half chords, counter-clockwise where positive: bulge = tan(sweep / 4)."""
    if bulge == 0:
        return Line(start, end)
    (x0, y0), (x1, y1) = start, end
    # From the middle of the chord the centre lies to its left by half a chord times (1 - b2) / 2b.
    height = (1 - bulge**2) / (4 * bulge)
    centre = (x0 + x1) / 2 - height * (y1 - y0), (y0 + y1) / 2 + height * (x1 - x0)
    radius = math.dist(start, end) * (1 + bulge**2) / (4 * abs(bulge))
    return Arc(start, end, centre, radius, bulge > 0)

"""The features: closed outlines made of straight segments and tangent arcs, or one ellipse; lengths in mm.

Each is a plain frozen dataclass that knows its parameters as a flat array (`parameters`, `with_parameters`), its area
and its outline (`wires`). A feature may be cut out (a void) or put in (a bar); that is for the design to say.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from topopt.features.corners import corners
from topopt.features.errors import FeatureError

if TYPE_CHECKING:
    from topopt.cad.wires import Wire

Field = NDArray[np.float64]
Point = tuple[float, float]

DEFAULT_FRACTION = 0.25


@dataclass(frozen=True)
class RoundedPolygon:
    """A polygon whose corners are rounded by tangent arcs.

    Args:
        vertices: at least three, each (x, y) in mm, in order; anticlockwise is the valid orientation.
        fractions: per vertex, tangent length over the shorter of the two edges, in [0, 0.5]; arcs then never overlap.
            A single number serves all.

    Raises:
        FeatureError: too few vertices, a value that is not finite, a fraction outside [0, 0.5].
    """

    vertices: tuple[Point, ...]
    fractions: tuple[float, ...] | float = DEFAULT_FRACTION
    corners_needed: ClassVar[int | None] = None

    def __post_init__(self) -> None:
        points = np.asarray(self.vertices, float)
        if points.ndim != 2 or points.shape[1] != 2 or len(points) < 3:
            raise FeatureError(f"vertices has shape {points.shape}: give at least three points (x, y)")
        if self.corners_needed not in (None, len(points)):
            name = type(self).__name__
            raise FeatureError(f"a {name} has {self.corners_needed} vertices, not {len(points)}: use RoundedPolygon")
        parts = np.asarray(self.fractions, float)
        parts = np.full(len(points), float(parts)) if parts.ndim == 0 else parts
        if parts.shape != (len(points),):
            raise FeatureError(f"fractions has shape {parts.shape}: give one number or one for each vertex")
        if not (np.isfinite(points).all() and np.isfinite(parts).all()):
            raise FeatureError("vertices and fractions must be finite numbers: check them for nan")
        if parts.min() < 0 or parts.max() > 0.5:
            raise FeatureError(f"a fraction is {parts[np.abs(parts - 0.25).argmax()]:g}: keep it between 0 and 0.5")
        object.__setattr__(self, "vertices", tuple((float(x), float(y)) for x, y in points))
        object.__setattr__(self, "fractions", tuple(float(f) for f in parts))

    @classmethod
    def with_radii(cls, vertices: Sequence[Point], radii: Sequence[float] | float) -> Self:
        """From corner radii in mm instead of fractions.

        Raises:
            FeatureError: a radius is negative or needs more than half of an edge.
        """
        points = np.asarray(vertices, float)
        wanted = np.broadcast_to(np.asarray(radii, float), len(points))
        before, after = np.roll(points, 1, 0) - points, np.roll(points, -1, 0) - points
        lengths = np.minimum(np.hypot(*before.T), np.hypot(*after.T))
        angle = np.arccos(np.clip((before * after).sum(1) / np.hypot(*before.T) / np.hypot(*after.T), -1, 1))
        fractions = wanted / np.tan(angle / 2) / lengths
        for i in np.flatnonzero((wanted < 0) | (fractions > 0.5 + 1e-12)):
            most = 0.5 * lengths[i] * np.tan(angle[i] / 2)
            raise FeatureError(f"radius {wanted[i]:g} mm at vertex {i}: it must be between 0 and {most:.4g} mm here")
        return cls(tuple(map(_point, points)), tuple(np.minimum(fractions, 0.5).tolist()))

    @property
    def radii(self) -> tuple[float, ...]:
        """Corner radii in mm."""
        return tuple(float(r) for r in self.corners[:, 6])

    @property
    def corners(self) -> Field:
        """(n, 10), see `topopt.features.corners`."""
        return corners(np.array(self.vertices), np.array(self.fractions))

    @property
    def parameters(self) -> Field:
        """(3 n,): x and y of each vertex, then the fractions."""
        return np.concatenate([np.ravel(self.vertices), self.fractions])  # pyright: ignore[reportArgumentType]

    def with_parameters(self, values: ArrayLike) -> Self:
        """The same kind of shape with other parameters (3 n,)."""
        flat, n = _flat(values, 3 * len(self.vertices)), len(self.vertices)
        return type(self)(tuple(map(_point, flat[: 2 * n].reshape(n, 2))), tuple(flat[2 * n :].tolist()))

    @property
    def bounds(self) -> Field:
        """((x, y) lowest, (x, y) highest) in mm, of the vertices."""
        points = np.array(self.vertices)
        return np.stack([points.min(0), points.max(0)])

    @property
    def area(self) -> float:
        """Within the rounded outline, in mm2; negative for a clockwise polygon."""
        at = self.corners
        chain = at[:, :4].reshape(-1, 2)
        x, y = chain.T
        area = 0.5 * float(x @ np.roll(y, -1) - y @ np.roll(x, -1))
        turn = np.pi - 2 * np.arcsin(np.clip(at[:, 9], 0, 1))  # the angle an arc sweeps
        segments = 0.5 * at[:, 6] ** 2 * (turn - np.sin(turn))
        return area + float(segments @ np.sign(turning(np.array(self.vertices))))

    def wires(self) -> "Wire":
        """The outline: arcs and lines, tangent everywhere, in the order of the vertices."""
        from topopt.cad.wires import rounded_polygon

        return rounded_polygon(self.vertices, self.radii)


@dataclass(frozen=True)
class Triangle(RoundedPolygon):
    """A rounded polygon with three vertices."""

    corners_needed: ClassVar[int | None] = 3


@dataclass(frozen=True)
class Quadrilateral(RoundedPolygon):
    """A rounded polygon with four vertices."""

    corners_needed: ClassVar[int | None] = 4


@dataclass(frozen=True)
class Ellipse:
    """centre (x, y) and semi-axes a, b in mm; `angle` in radians from x to the axis of a, anticlockwise."""

    centre: Point
    a: float
    b: float
    angle: float = 0.0

    def __post_init__(self) -> None:
        _check(self, (*self.centre, self.a, self.b, self.angle))
        _positive(self, a=self.a, b=self.b)
        object.__setattr__(self, "centre", _point(self.centre))

    @property
    def parameters(self) -> Field:
        """(5,): centre, a, b, angle."""
        return np.array([*self.centre, self.a, self.b, self.angle])

    def with_parameters(self, values: ArrayLike) -> "Ellipse":
        x, y, a, b, angle = _flat(values, 5).tolist()
        return Ellipse((x, y), a, b, angle)

    @property
    def bounds(self) -> Field:
        """((x, y) lowest, (x, y) highest) in mm."""
        c, s = np.cos(self.angle), np.sin(self.angle)
        reach = np.array([np.hypot(self.a * c, self.b * s), np.hypot(self.a * s, self.b * c)])
        return np.stack([self.centre - reach, self.centre + reach])

    @property
    def area(self) -> float:
        """In mm2."""
        return np.pi * self.a * self.b

    def wires(self) -> "Wire":
        """Two half ellipses, anticlockwise."""
        from topopt.cad.wires import ellipse

        return ellipse(self.centre, self.a, self.b, self.angle)


@dataclass(frozen=True)
class Capsule:
    """A bar with round ends: all points within `radius` of the line from `start` to `end`, in mm."""

    start: Point
    end: Point
    radius: float

    def __post_init__(self) -> None:
        _check(self, (*self.start, *self.end, self.radius))
        _positive(self, radius=self.radius)
        object.__setattr__(self, "start", _point(self.start))
        object.__setattr__(self, "end", _point(self.end))

    @property
    def parameters(self) -> Field:
        """(5,): start, end, radius."""
        return np.array([*self.start, *self.end, self.radius])

    def with_parameters(self, values: ArrayLike) -> "Capsule":
        ax, ay, bx, by, radius = _flat(values, 5).tolist()
        return Capsule((ax, ay), (bx, by), radius)

    @property
    def bounds(self) -> Field:
        """((x, y) lowest, (x, y) highest) in mm."""
        ends = np.array([self.start, self.end])
        return np.stack([ends.min(0) - self.radius, ends.max(0) + self.radius])

    @property
    def area(self) -> float:
        """In mm2."""
        length = float(np.hypot(*np.subtract(self.end, self.start)))
        return np.pi * self.radius**2 + 2 * self.radius * length

    def wires(self) -> "Wire":
        """Two lines and two half circles, anticlockwise; one circle when start and end are one point."""
        from topopt.cad.wires import slot

        return slot(self.start, self.end, self.radius)


@dataclass(frozen=True)
class Slot:
    """A straight slot as a drawing gives it: `centre`, overall `length`, `width` in mm, `angle` of its axis in rad."""

    centre: Point
    length: float
    width: float
    angle: float = 0.0

    def __post_init__(self) -> None:
        _check(self, (*self.centre, self.length, self.width, self.angle))
        _positive(self, width=self.width)
        if self.length < self.width:
            raise FeatureError(
                f"a slot of length {self.length:g} mm is shorter than its width {self.width:g} mm: swap them"
            )
        object.__setattr__(self, "centre", _point(self.centre))

    @property
    def capsule(self) -> Capsule:
        """The same outline by its two end points."""
        half = 0.5 * (self.length - self.width) * np.array([np.cos(self.angle), np.sin(self.angle)])
        return Capsule(_point(self.centre - half), _point(self.centre + half), 0.5 * self.width)

    @property
    def parameters(self) -> Field:
        """(5,): centre, length, width, angle."""
        return np.array([*self.centre, self.length, self.width, self.angle])

    def with_parameters(self, values: ArrayLike) -> "Slot":
        x, y, length, width, angle = _flat(values, 5).tolist()
        return Slot((x, y), max(length, width), width, angle)

    @property
    def bounds(self) -> Field:
        """((x, y) lowest, (x, y) highest) in mm."""
        return self.capsule.bounds

    @property
    def area(self) -> float:
        """In mm2."""
        return self.capsule.area

    def wires(self) -> "Wire":
        """As `Capsule.wires`."""
        return self.capsule.wires()


Shape = RoundedPolygon | Ellipse | Capsule | Slot


def square(centre: Point, side: float, fraction: float = DEFAULT_FRACTION) -> Quadrilateral:
    """An upright square, anticlockwise from its lower left corner."""
    x, y, half = *centre, 0.5 * side
    return Quadrilateral(
        ((x - half, y - half), (x + half, y - half), (x + half, y + half), (x - half, y + half)), fraction
    )


def flat(shapes: Sequence[Shape]) -> Field:
    """Parameters of all shapes, one after another."""
    return np.concatenate([np.zeros(0), *(shape.parameters for shape in shapes)])


def unflat(values: ArrayLike, like: Sequence[Shape]) -> tuple[Shape, ...]:
    """Shapes of the kinds of `like` with the parameters that `flat` gave."""
    values, first, out = _flat(values, sum(len(shape.parameters) for shape in like)), 0, []
    for shape in like:
        n = len(shape.parameters)
        out.append(shape.with_parameters(values[first : first + n]))
        first += n
    return tuple(out)


def turning(vertices: Field) -> Field:
    """Sine of the turning angle at each vertex (n,); positive where an anticlockwise outline is convex."""
    ahead = np.roll(vertices, -1, 0) - vertices
    behind = vertices - np.roll(vertices, 1, 0)
    cross = behind[:, 0] * ahead[:, 1] - behind[:, 1] * ahead[:, 0]
    return cross / np.maximum(np.hypot(*ahead.T) * np.hypot(*behind.T), 1e-300)


def _flat(values: ArrayLike, n: int) -> Field:
    array = np.asarray(values, float)
    if array.shape != (n,):
        raise FeatureError(f"parameters has shape {array.shape}, this shape needs ({n},)")
    return array


def _point(values: ArrayLike) -> Point:
    x, y = np.asarray(values, float).tolist()
    return (x, y)


def _check(shape: object, values: tuple[float, ...]) -> None:
    if not np.isfinite(values).all():
        raise FeatureError(f"a {type(shape).__name__} with a value that is not finite: check it for nan")


def _positive(shape: object, **values: float) -> None:
    for name, value in values.items():
        if value <= 0:
            raise FeatureError(f"{name} of a {type(shape).__name__} is {value:g} mm: it must be positive")

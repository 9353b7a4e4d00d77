"""Regions of space, stated in a job: where material must stay (keep-in) and where none may be (keep-out).

cylinder: {axis: z, center: [48, 28, 0], radius: 9, length: 15}     or range: [0, 15], or neither: without end
box:      {min: [..], max: [..]}
sphere:   {center: [..], radius: 5}
plane:    {point: [..], normal: [0, 0, 1], thickness: 4}             the slab of that thickness behind the plane
body:     tool-access.stl                                            a solid from a file, beside the job file
around:   {on: SELECTOR, thickness: 4}                               all that is near a part of the boundary
"""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from topopt.cad.body import Body, Surface
from topopt.cad.closest import TriangleTree
from topopt.cad.patch import Cylinder, Patch
from topopt.cad.read import read_body
from topopt.cad.select import select
from topopt.errors import DesignError
from topopt.solids import ball, cuboid, tube, united
from topopt.wording import Words

Points = NDArray[np.float64]
Numbers = NDArray[np.float64]
Mask = NDArray[np.bool_]

KINDS = ("cylinder", "box", "sphere", "plane", "body", "around")
ENDLESS = 2e4  # mm, half the length of what has no end: twice the largest body


class Region(Protocol):
    """A part of space."""

    def contains(self, points: Points) -> Mask:
        """points : (n, 3), mm -> (n,) bool, the boundary included."""
        ...

    def signed_distance(self, points: Points) -> Numbers:
        """Distance to the boundary, negative inside. points : (n, 3), mm -> (n,), mm."""
        ...

    def surface(self) -> Surface | None:
        """The region as a closed solid for Booleans; None where it has no exact one."""
        ...


@dataclass(frozen=True, eq=False)
class Round:
    """A solid cylinder around an axis."""

    cylinder: Cylinder

    def contains(self, points: Points) -> Mask:
        return self.signed_distance(points) <= 1e-9

    def signed_distance(self, points: Points) -> Numbers:
        distance, along, _ = self.cylinder.polar(np.asarray(points, float))
        middle, half = (self.cylinder.low + self.cylinder.high) / 2, (self.cylinder.high - self.cylinder.low) / 2
        return _outside_and_inside(np.stack([distance - self.cylinder.radius, np.abs(along - middle) - half]))

    def surface(self) -> Surface:
        return tube(self.cylinder, 0.0, self.cylinder.radius)


@dataclass(frozen=True, eq=False)
class Cuboid:
    """A box along the axes."""

    low: Points
    high: Points

    def contains(self, points: Points) -> Mask:
        return self.signed_distance(points) <= 1e-9

    def signed_distance(self, points: Points) -> Numbers:
        middle, half = (self.low + self.high) / 2, (self.high - self.low) / 2
        return _outside_and_inside((np.abs(np.asarray(points, float) - middle) - half).T)

    def surface(self) -> Surface:
        return cuboid(self.low, self.high)


@dataclass(frozen=True, eq=False)
class Ball:
    center: Points
    radius: float

    def contains(self, points: Points) -> Mask:
        return self.signed_distance(points) <= 1e-9

    def signed_distance(self, points: Points) -> Numbers:
        return np.linalg.norm(np.asarray(points, float) - self.center, axis=1) - self.radius

    def surface(self) -> Surface:
        return ball(self.center, self.radius)


@dataclass(frozen=True, eq=False)
class Slab:
    """What lies behind a plane, seen against its normal, down to a thickness."""

    point: Points
    normal: Points
    thickness: float

    def contains(self, points: Points) -> Mask:
        return self.signed_distance(points) <= 1e-9

    def signed_distance(self, points: Points) -> Numbers:
        depth = (self.point - np.asarray(points, float)) @ self.normal
        return np.abs(depth - self.thickness / 2) - self.thickness / 2

    def surface(self) -> Surface:
        middle = self.point - self.normal * self.thickness / 2
        across = Cylinder(middle, self.normal, 1.0, -1.0, 1.0, False).frame()
        sides = np.stack([*across, self.normal])
        unit = cuboid(-np.ones(3), np.ones(3))
        size = np.array([ENDLESS, ENDLESS, self.thickness / 2])
        return Surface(middle + (unit.vertices * size) @ sides, unit.faces)


@dataclass(frozen=True, eq=False)
class Inside:
    """The inside of a body from a file."""

    body: Body

    def __post_init__(self) -> None:
        object.__setattr__(self, "_tree", TriangleTree.of(self.body.surface.corners))

    def contains(self, points: Points) -> Mask:
        return self._tree.inside(np.asarray(points, float))  # type: ignore[attr-defined]

    def signed_distance(self, points: Points) -> Numbers:
        points = np.asarray(points, float)
        foot, _ = self._tree.closest(points)  # type: ignore[attr-defined]
        return np.linalg.norm(points - foot, axis=1) * np.where(self.contains(points), -1.0, 1.0)

    def surface(self) -> Surface:
        return self.body.surface


@dataclass(frozen=True, eq=False)
class Around:
    """Everything within a thickness of a patch. Around full cylinders it is a collar that ends where they end."""

    patch: Patch
    thickness: float

    def contains(self, points: Points) -> Mask:
        return self.signed_distance(points) <= 1e-9

    def signed_distance(self, points: Points) -> Numbers:
        """Exact around full cylinders; elsewhere exact outside, and not less than the true value inside."""
        points = np.asarray(points, float)
        if not self.patch.cylinders:
            return self.patch.distance(points)[0] - self.thickness
        return np.min([self._collar(c, points) for c in self.patch.cylinders], axis=0)

    def surface(self) -> Surface | None:
        if not self.patch.cylinders:
            return None
        return united(
            [tube(c, max(0.0, c.radius - self.thickness), c.radius + self.thickness) for c in self.patch.cylinders]
        )

    def _collar(self, c: Cylinder, points: Points) -> Numbers:
        distance, along, _ = c.polar(points)
        inner = c.radius - self.thickness
        across = np.abs(distance - c.radius) - self.thickness if inner > 0 else distance - c.radius - self.thickness
        return _outside_and_inside(np.stack([across, np.abs(along - (c.low + c.high) / 2) - (c.high - c.low) / 2]))


def region(spec: Mapping[str, Any], base: Path, body: Body | None = None) -> Region:
    """A region as it is stated in a job; the module shows the words.

    Args:
        spec: one kind of region and what it needs. Lengths in mm.
        base: folder against which `body` files are looked up.
        body: the part whose boundary `around` selects on.

    Raises:
        DesignError: none or several kinds, an unknown key, a value of the wrong kind, or nothing selected.
        BodyError: the `body` file cannot be used.
    """
    words = Words(spec, "region")
    words.only(KINDS)
    if len(words.given) != 1:
        raise DesignError(
            f"a region is one of {', '.join(KINDS)}, not {' and '.join(words.given)}: make two regions of it"
        )
    kind = next(iter(words.given))
    if kind == "body":
        return _from_file(words.given["body"], base)
    inner = words.inner(kind)
    if kind == "cylinder":
        return Round(_cylinder(inner))
    if kind == "box":
        return Cuboid(*inner.box())
    if kind == "sphere":
        inner.only(("center", "radius"))
        return Ball(inner.vector("center"), inner.positive("radius"))
    if kind == "plane":
        inner.only(("point", "normal", "thickness"))
        return Slab(inner.vector("point"), inner.direction("normal"), inner.positive("thickness"))
    inner.only(("on", "thickness"))
    if body is None:
        raise DesignError("region around: there is no part whose boundary could be selected; state the body first")
    if not inner.has("on"):
        raise DesignError("region around: `on` is missing; give a selector such as cylinder: {radius: 5}")
    return Around(select(body, inner.inner("on").given), inner.positive("thickness"))


def _from_file(name: Any, base: Path) -> Region:
    if not isinstance(name, str):
        raise DesignError(f"region body: give the name of a file, not {name!r}")
    return Inside(read_body(Path(base) / name))


def _cylinder(words: Words) -> Cylinder:
    words.only(("axis", "center", "radius", "length", "range"))
    axis, center, radius = words.direction("axis"), words.vector("center"), words.positive("radius")
    if words.has("length") and words.has("range"):
        raise DesignError("region cylinder: give `length` (centred) or `range` (along the axis), not both")
    low, high = -ENDLESS, ENDLESS
    if words.has("length"):
        low, high = -words.positive("length") / 2, words.positive("length") / 2
    if words.has("range"):
        # Coordinates along the axis, so that [0, 15] on axis z means z from 0 to 15 wherever the centre is.
        low, high = (bound - float(center @ axis) for bound in words.span("range"))
    return Cylinder(center, axis, radius, low, high, False)


def _outside_and_inside(gaps: Numbers) -> Numbers:
    """Distance to a product of convex sets from its signed gaps, (k, n) -> (n,)."""
    return np.linalg.norm(np.maximum(gaps, 0.0), axis=0) + np.minimum(gaps.max(axis=0), 0.0)

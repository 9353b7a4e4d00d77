"""Selectors: pointing at the real geometry of a body in words.

    faces:    {normal: [0, 0, -1], tol_deg: 5}    all boundary that looks this way
    cylinder: {radius: 5, axis: z, hollow: true}  cylindrical faces; any subset of the keys, and center, tol
    box:      {min: [..], max: [..]}              what lies inside; faces are cut exactly
    nearest:  [x, y, z]                           of the faces that the other keys leave, the one nearest to the point
    all:      true                                everything

All keys that are given must hold.
"""

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from topopt.cad.body import Body, Face
from topopt.cad.closest import TriangleTree
from topopt.cad.patch import Cylinder, Patch
from topopt.errors import DesignError
from topopt.wording import Words

Points = NDArray[np.float64]

KEYS = ("faces", "cylinder", "box", "nearest", "all")
CYLINDER_KEYS = ("radius", "axis", "center", "tol", "hollow")
AXIS_TOLERANCE = np.cos(np.radians(1.0))


def select(body: Body, selector: Mapping[str, Any]) -> Patch:
    """The part of a body's boundary that a selector names.

    Args:
        body: with its faces.
        selector: see the module. Lengths in mm, angles in degrees.

    Raises:
        DesignError: an unknown key, a value of the wrong kind, or nothing selected; the message says what there is.
    """
    words = Words(selector, "selector")
    words.only(KEYS)
    name = describe(selector)
    if words.has("all") and words.flag("all") is not True:
        raise DesignError("selector: `all` can only be true; leave it away otherwise")
    chosen = [(face, face.triangles) for face in body.faces]
    if words.has("cylinder"):
        chosen = _cylinders(body, words.inner("cylinder"))
    if words.has("faces"):
        chosen = _facing(body, chosen, words.inner("faces"))
    clip = None
    if words.has("box"):
        low, high = words.inner("box").box()
        clip = (low - 1e-9, high + 1e-9)
    pieces = [(face, body.surface.corners[triangles]) for face, triangles in chosen if len(triangles)]
    if clip is not None:
        pieces = [(face, clip_triangles(corners, *clip)) for face, corners in pieces]
    pieces = [(face, corners) for face, corners in pieces if _area(corners) > 1e-9 * body.surface.areas.sum() * 1e-3]
    if words.has("nearest") and pieces:
        point = words.vector("nearest")[None]
        gaps = [np.linalg.norm(TriangleTree.of(corners).closest(point)[0] - point) for _, corners in pieces]
        pieces = [pieces[int(np.argmin(gaps))]]
    if not pieces:
        raise DesignError(f"{name} selects nothing on {body.name}: {inventory(body)}")
    triangles = np.concatenate([corners for _, corners in pieces])
    triangles = triangles[np.linalg.norm(_vectors(triangles), axis=1) > 0]
    return Patch(triangles, name, _full_cylinders(pieces), body.surface)


def describe(selector: Mapping[str, Any]) -> str:
    """A selector in a few words, for messages and reports."""
    parts = []
    for key, value in selector.items():
        inner = ", ".join(f"{k} {_short(v)}" for k, v in value.items()) if isinstance(value, Mapping) else _short(value)
        parts.append(f"{key} ({inner})")
    return " and ".join(parts)


def inventory(body: Body) -> str:
    """What a body offers to selectors, in one clause."""
    cylinders = [f for f in body.faces if f.kind == "cylinder"]
    holes = sorted({round(f.radius, 3) for f in cylinders if f.hollow})
    bosses = sorted({round(f.radius, 3) for f in cylinders if not f.hollow})
    low, high = body.surface.bounds
    told = [f"{sum(f.kind == 'plane' for f in body.faces)} planes"]
    if holes:
        told.append("holes of radius " + ", ".join(f"{r:g}" for r in holes) + " mm")
    if bosses:
        told.append("outer cylinders of radius " + ", ".join(f"{r:g}" for r in bosses) + " mm")
    corners = " to ".join("(" + ", ".join(f"{x:.4g}" for x in corner) + ")" for corner in (low, high))
    return f"the body has {', '.join(told)} and spans {corners} mm"


def clip_triangles(corners: Points, low: Points, high: Points) -> Points:
    """The parts of triangles inside a box, exactly (Sutherland and Hodgman 1974). corners : (m, 3, 3) -> (k, 3, 3)."""
    inside = ((corners >= low) & (corners <= high)).all(axis=(1, 2))
    outside = ((corners.max(axis=1) < low) | (corners.min(axis=1) > high)).any(axis=1)
    clipped = [corners[inside]]
    for triangle in corners[~inside & ~outside]:
        polygon = list(triangle)
        for axis in range(3):
            polygon = _cut(polygon, axis, low[axis], 1.0)
            polygon = _cut(polygon, axis, high[axis], -1.0)
        if len(polygon) >= 3:
            clipped.append(np.array([[polygon[0], polygon[k], polygon[k + 1]] for k in range(1, len(polygon) - 1)]))
    return np.concatenate(clipped)


def _cut(polygon: list[Points], axis: int, bound: float, side: float) -> list[Points]:
    kept: list[Points] = []
    for k, point in enumerate(polygon):
        previous = polygon[k - 1]
        here, before = side * (point[axis] - bound), side * (previous[axis] - bound)
        if (here >= 0) != (before >= 0):
            kept.append(previous + (point - previous) * before / (before - here))
        if here >= 0:
            kept.append(point)
    return kept


def _cylinders(body: Body, words: Words) -> list[tuple[Face, NDArray[np.int64]]]:
    words.only(CYLINDER_KEYS)
    if not words.given:
        raise DesignError("selector: `cylinder` needs at least one of radius, axis, center, hollow")
    tol = words.positive("tol", 0.05)
    found = [face for face in body.faces if face.kind == "cylinder"]
    if words.has("radius"):
        radius = words.positive("radius")
        found = [f for f in found if abs(f.radius - radius) <= tol]
    if words.has("hollow"):
        found = [f for f in found if f.hollow is words.flag("hollow")]
    if words.has("axis"):
        axis = words.direction("axis")
        found = [f for f in found if abs(f.direction @ axis) >= AXIS_TOLERANCE]
    if words.has("center"):
        center = words.vector("center")
        found = [f for f in found if np.linalg.norm(np.cross(center - f.point, f.direction)) <= tol]
    return [(face, face.triangles) for face in found]


def _facing(
    body: Body, chosen: list[tuple[Face, NDArray[np.int64]]], words: Words
) -> list[tuple[Face, NDArray[np.int64]]]:
    """Planes as a whole by their own normal; of curved faces the triangles that look this way."""
    words.only(("normal", "tol_deg"))
    normal = words.direction("normal")
    least = np.cos(np.radians(words.positive("tol_deg", 5.0))) - 1e-12
    vectors = body.surface.normals
    facing = vectors @ normal >= least * np.linalg.norm(vectors, axis=1)
    left = []
    for face, triangles in chosen:
        if face.kind == "plane":
            kept = triangles if face.direction @ normal >= least else triangles[:0]
        elif face.kind == "cylinder":
            # A strip of a hole is not what "the bottom" means: a cylinder counts only as a whole.
            kept = triangles if facing[triangles].all() else triangles[:0]
        else:
            kept = triangles[facing[triangles]]
        left.append((face, kept))
    return left


def _full_cylinders(pieces: list[tuple[Face, Points]]) -> tuple[Cylinder, ...]:
    """The exact cylinders that the pieces cover all round; empty if anything else is among them."""
    groups: list[tuple[Face, list[Points]]] = []
    for face, corners in pieces:
        if face.kind != "cylinder":
            return ()
        for first, members in groups:
            # Two halves of one hole, as some CAD programs write them.
            if _coaxial(first, face) and _overlapping(first, members[0], corners):
                members.append(corners)
                break
        else:
            groups.append((face, [corners]))
    cylinders = []
    for face, members in groups:
        corners = np.concatenate(members)
        along = (corners.reshape(-1, 3) - face.point) @ face.direction
        low, high = float(along.min()), float(along.max())
        exact = Cylinder(face.point, face.direction, face.radius, low, high, face.hollow)
        # The triangles are chords of the circle: a little less area, never as little as a gap leaves.
        if not 0.94 * exact.area < _area(corners) < 1.001 * exact.area or not _all_round(exact, corners):
            return ()
        cylinders.append(exact)
    return tuple(cylinders)


def _coaxial(one: Face, other: Face) -> bool:
    slack = 1e-3 * one.radius
    parallel = abs(one.direction @ other.direction) > 1 - 1e-6 and one.hollow == other.hollow
    away = np.linalg.norm(np.cross(other.point - one.point, one.direction))
    return bool(parallel and abs(one.radius - other.radius) < slack and away < slack)


def _overlapping(face: Face, one: Points, other: Points) -> bool:
    a, b = ((corners.reshape(-1, 3) - face.point) @ face.direction for corners in (one, other))
    return bool(min(a.max(), b.max()) > max(a.min(), b.min()))


def _all_round(cylinder: Cylinder, corners: Points) -> bool:
    """Both rims must be closed at their full height, or the cylinder is cut open somewhere."""
    _, along, radial = cylinder.polar(corners.reshape(-1, 3))
    u, v = cylinder.frame()
    angle = np.arctan2(radial @ v, radial @ u)
    slack = 1e-3 * max(cylinder.high - cylinder.low, cylinder.radius)
    for rim in (along < cylinder.low + slack, along > cylinder.high - slack):
        sorted_angles = np.sort(angle[rim])
        gaps = np.diff(np.append(sorted_angles, sorted_angles[0] + 2 * np.pi))
        if gaps.max() > np.pi / 4:
            return False
    return True


def _vectors(corners: Points) -> Points:
    return np.cross(corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0]) / 2


def _area(corners: Points) -> float:
    return float(np.linalg.norm(_vectors(corners), axis=1).sum()) if len(corners) else 0.0


def _short(value: Any) -> str:
    if isinstance(value, (list, tuple)):
        return "[" + ", ".join(_short(v) for v in value) + "]"
    return f"{value:g}" if isinstance(value, (int, float)) and not isinstance(value, bool) else str(value)

"""Edges of an outline as places: named by a point on them, found again on any mesh of the outline, kept by a strip."""

import math
from collections.abc import Callable, Sequence
from itertools import pairwise

import numpy as np
from numpy.typing import ArrayLike, NDArray

from topopt.cad.edges import Arc, Edge, Line, Point, Points
from topopt.cad.region import Region
from topopt.cad.wires import Wire, circle, slot
from topopt.errors import OutlineError

Field = NDArray[np.float64]
Where = Callable[[Points], NDArray[np.bool_]]  # (n, 2) -> (n,)

NEAR = 1e-6  # of the size of the outline: a point closer than this to an edge lies on it
ASTRAY = 0.02  # of the size: a point that names an edge may be so far from it
_CHORD = 1e-4  # of the size, to tell which edge is the nearest


def edges_at(region: Region, points: Sequence[Point]) -> tuple[Edge, ...]:
    """The edges of a region that pass through some points, mm; each edge once.

    Raises:
        OutlineError: a point with no edge near it.
    """
    edges = [edge for wire in region.wires for edge in wire.edges]
    chords = [_chords(edge, _CHORD * region.size) for edge in edges]
    found: dict[int, Edge] = {}
    for point in points:
        away = np.array([_to_chords(np.array(point, float), line) for line in chords])
        k = int(away.argmin())
        if not away[k] <= ASTRAY * region.size:
            raise OutlineError(
                f"no edge of the outline passes through ({point[0]:g}, {point[1]:g}): the nearest is {away[k]:.3g} mm "
                "away; name an edge by a point on it"
            )
        found[k] = edges[k]
    return tuple(found.values())


def on_edges(edges: Sequence[Edge], near: float) -> Where:
    """Tells which points lie within `near` mm of one of the edges."""

    def where(points: ArrayLike) -> NDArray[np.bool_]:
        at = np.atleast_2d(np.asarray(points, float))
        return np.any([_is_on(edge, at, near) for edge in edges], axis=0)

    return where


def strips(edges: Sequence[Edge], width: float) -> list[Wire]:
    """Closed wires that hold everything within about `width` mm of the edges; they reach to both sides of them.

    A round hole given as its two halves gets one larger circle. Arcs of ellipses are followed by slots along chords.
    """
    whole, rest = _whole_circles(edges)
    return [circle(one.centre, one.radius + width) for one in whole] + [
        wire for edge in rest for wire in _along(edge, width)
    ]


def _along(edge: Edge, width: float) -> list[Wire]:
    if isinstance(edge, Line):
        return [slot(edge.start, edge.end, width)]
    if isinstance(edge, Arc):
        return [_sector(edge, width)]
    chain = [*map(tuple, edge.sample(width / 20).tolist()), edge.end]
    return [slot(p, q, width) for p, q in pairwise(chain)]


def _sector(arc: Arc, width: float) -> Wire:
    """Between two radii, from the start to the end of an arc; a slice where the inner radius is nothing."""
    cx, cy = arc.centre

    def radial(point: Point, radius: float) -> Point:
        share = radius / arc.radius
        return cx + share * (point[0] - cx), cy + share * (point[1] - cy)

    far = arc.radius + width
    outer = Arc(radial(arc.start, far), radial(arc.end, far), arc.centre, far, arc.ccw)
    if (near := arc.radius - width) <= 0.01 * arc.radius:
        return Wire((outer, Line(outer.end, arc.centre), Line(arc.centre, outer.start)))
    inner = Arc(radial(arc.end, near), radial(arc.start, near), arc.centre, near, not arc.ccw)
    return Wire((outer, Line(outer.end, inner.start), inner, Line(inner.end, outer.start)))


def _whole_circles(edges: Sequence[Edge]) -> tuple[list[Arc], list[Edge]]:
    """One half of every circle of which both halves are there, and all other edges."""
    whole: list[Arc] = []
    rest = list(edges)
    for one in edges:
        twin = next((two for two in rest if two is not one and _closes(one, two)), None)
        if isinstance(one, Arc) and one in rest and twin is not None:
            whole.append(one)
            rest.remove(one)
            rest.remove(twin)
    return whole, rest


def _closes(one: Edge, two: Edge) -> bool:
    if not (isinstance(one, Arc) and isinstance(two, Arc) and one.end == two.start and two.end == one.start):
        return False
    return Wire((one, two)).is_full_turn


def _is_on(edge: Edge, points: Field, near: float) -> NDArray[np.bool_]:
    ends = np.min([np.hypot(*(points - end).T) for end in (edge.start, edge.end)], axis=0) <= near
    if isinstance(edge, Line):
        return ends | (_to_segment(points, np.array(edge.start), np.array(edge.end)) <= near)
    # |F| / |grad F| with F = x2 + y2 - 1 in the directions of both axes is the distance, to first order.
    conic = edge.conic
    u, v = np.array(conic.u), np.array(conic.v)
    arm = points - conic.centre
    x, y = arm @ u / (u @ u), arm @ v / (v @ v)
    slope = 2 * np.hypot(*(np.outer(x, u / (u @ u)) + np.outer(y, v / (v @ v))).T)
    close = np.abs(x * x + y * y - 1) <= near * np.maximum(slope, 1e-300)
    turned = ((np.arctan2(y, x) - conic.first) * math.copysign(1.0, conic.sweep)) % (2 * math.pi)
    return ends | (close & (turned <= abs(conic.sweep)))


def _to_segment(points: Field, start: Field, end: Field) -> Field:
    along = end - start
    share = np.clip((points - start) @ along / (along @ along), 0, 1)
    return np.hypot(*(points - start - share[:, None] * along).T)


def _chords(edge: Edge, tolerance: float) -> Field:
    """Points (n, 2) of the edge, its end among them."""
    return np.vstack([edge.sample(tolerance), edge.end])


def _to_chords(point: Field, line: Field) -> float:
    start, along = line[:-1], np.diff(line, axis=0)
    share = np.clip(((point - start) * along).sum(1) / np.maximum((along * along).sum(1), 1e-300), 0, 1)
    return float(np.hypot(*(point - start - share[:, None] * along).T).min())

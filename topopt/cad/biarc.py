"""Arcs that meet points in given directions, and how far points are from them.

A biarc joins two points with given tangents by two arcs that are tangent to each other and to both tangents. Of the
one-parameter family (Bolton 1975; Meek and Walton 1992) the parameter is the share of the first arm: with arms d1, d2
along the tangents, |v - d1 t0 - d2 t1| = d1 + d2 makes the joint a point where both arcs have one tangent.
"""

import math
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from topopt.cad.edges import Arc, Edge, Line, Point, Points, arc_by_bulge

FLAT = 1e-9  # sagitta over chord below which an arc is a line


def arc_from(start: Point, tangent: Point, end: Point) -> Line | Arc:
    """The arc that leaves `start` along a unit tangent and reaches `end`."""
    vx, vy = end[0] - start[0], end[1] - start[1]
    angle = math.atan2(tangent[0] * vy - tangent[1] * vx, tangent[0] * vx + tangent[1] * vy)
    bulge = math.tan(angle / 2)
    return Line(start, end) if abs(bulge) < FLAT else arc_by_bulge(start, end, bulge)


def biarc(p0: Point, t0: Point, p1: Point, t1: Point, ratio: float = 1.0) -> list[Line | Arc] | None:
    """Two arcs from p0 along t0 to p1 along t1, or None where there are none with positive arms.

    Args:
        ratio: first arm over second arm, positive.
    """
    v = (p1[0] - p0[0], p1[1] - p0[1])
    # With d1 = ratio d2: 2 ratio (1 - t0.t1) d2^2 + 2 v.(ratio t0 + t1) d2 - v.v = 0.
    a = 2 * ratio * (1 - _dot(t0, t1))
    b = 2 * (ratio * _dot(v, t0) + _dot(v, t1))
    c = -_dot(v, v)
    if c == 0:
        return None
    root = math.sqrt(b * b - 4 * a * c)
    # The positive solution, in the form that loses no digits.
    second = -2 * c / (b + root) if b > 0 else (root - b) / (2 * a) if a > 1e-15 else -1.0
    first = ratio * second
    if not (0 < second < 1e3 * math.sqrt(-c)):
        return None
    q0 = (p0[0] + first * t0[0], p0[1] + first * t0[1])
    q1 = (p1[0] - second * t1[0], p1[1] - second * t1[1])
    share = first / (first + second)
    joint = (q0[0] + share * (q1[0] - q0[0]), q0[1] + share * (q1[1] - q0[1]))
    if joint in (p0, p1):
        return None
    back = arc_from(p1, (-t1[0], -t1[1]), joint)
    return [arc_from(p0, t0, joint), back.reversed()]


def distance(points: Points, edges: Sequence[Edge]) -> NDArray[np.float64]:
    """From each point to the nearest of some lines and arcs. points : (n, 2) -> (n,)"""
    return np.min([_distance(points, edge) for edge in edges], axis=0)


def _distance(points: Points, edge: Edge) -> NDArray[np.float64]:
    if isinstance(edge, Line):
        start, along = np.array(edge.start), np.subtract(edge.end, edge.start)
        t = np.clip((points - start) @ along / (along @ along), 0, 1)
        return np.hypot(*(points - start - t[:, None] * along).T)
    if not isinstance(edge, Arc):
        raise TypeError("distances are known for lines and arcs only")
    arm = points - edge.centre
    first = edge.conic.first if edge.ccw else edge.conic.first + edge.sweep
    inside = (np.arctan2(arm[:, 1], arm[:, 0]) - first) % (2 * math.pi) <= abs(edge.sweep)
    on_arc = np.abs(np.hypot(*arm.T) - edge.radius)
    at_ends = np.minimum(np.hypot(*(points - edge.start).T), np.hypot(*(points - edge.end).T))
    return np.where(inside, on_arc, at_ends)


def _dot(p: Point, q: Point) -> float:
    return p[0] * q[0] + p[1] * q[1]

"""Joints of wires, put exactly where two curves meet.

A Boolean leaves its new vertices within the kernel's tolerance of both curves. Where the curves cross at an angle,
Newton's method on the two implicit equations finds the crossing to rounding; where they are tangent, the joint was
there before and stays.
"""

import math

from topopt.cad.edges import Arc, Edge, EllipseArc, Line, Point
from topopt.cad.region import Region
from topopt.cad.wires import Wire

_TANGENT = 1e-3  # sine of the angle below which two curves do not fix a point
_REACH = 1e-6  # of the wire's size: how far a joint may move


def sharpen(region: Region) -> Region:
    """The same region with every joint on both of its curves."""
    return Region(_sharp(region.outer), tuple(_sharp(hole) for hole in region.holes))


def _sharp(wire: Wire) -> Wire:
    edges = wire.edges
    at = [_meeting(edges[k - 1], edge, _REACH * wire.size) for k, edge in enumerate(edges)]
    return Wire(tuple(_with_ends(edge, at[k], at[(k + 1) % len(at)]) for k, edge in enumerate(edges)))


def _meeting(before: Edge, after: Edge, reach: float) -> Point:
    here = after.start
    x, y = here
    for _ in range(4):
        (f, fx, fy), (g, gx, gy) = _beside(before, x, y), _beside(after, x, y)
        turn = fx * gy - fy * gx
        if abs(turn) < _TANGENT:
            return here
        x, y = x - (f * gy - g * fy) / turn, y - (fx * g - gx * f) / turn
    # What moves by rounding only stays, so that corners of a domain keep their very numbers.
    return (x, y) if 1e-7 * reach < math.dist((x, y), here) <= reach else here


def _beside(edge: Edge, x: float, y: float) -> tuple[float, float, float]:
    """Distance from the curve, to first order, and its unit gradient."""
    if isinstance(edge, Line):
        (x0, y0), (x1, y1) = edge.start, edge.end
        nx, ny = (y0 - y1) / edge.length, (x1 - x0) / edge.length
        return (x - x0) * nx + (y - y0) * ny, nx, ny
    dx, dy = x - edge.centre[0], y - edge.centre[1]
    angle = edge.angle if isinstance(edge, EllipseArc) else 0.0
    a, b = (edge.radius, edge.radius) if isinstance(edge, Arc) else (edge.semi_major, edge.semi_minor)
    c, s = math.cos(angle), math.sin(angle)
    u, v = c * dx + s * dy, c * dy - s * dx
    gu, gv = u / a**2, v / b**2
    value, size = (u * gu + v * gv - 1) / 2, math.hypot(gu, gv)
    return value / size, (c * gu - s * gv) / size, (s * gu + c * gv) / size


def _with_ends(edge: Edge, start: Point, end: Point) -> Edge:
    if isinstance(edge, Line):
        return Line(start, end)
    if isinstance(edge, Arc):
        return Arc(start, end, edge.centre, edge.radius, edge.ccw)
    return EllipseArc(start, end, edge.centre, edge.semi_major, edge.semi_minor, edge.angle, edge.ccw)

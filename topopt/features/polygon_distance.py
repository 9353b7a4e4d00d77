"""Signed distance to a rounded polygon, exact, with its derivative, compiled.

The outline is the chain of segments B_i A_i+1 and arcs A_i B_i (`corners`). A point is nearest to an arc only within
its sector, otherwise to a segment. The sign is the parity of crossings of the chain of tangent points, toggled in the
circular segments between the chords and their arcs; so reflex corners and both orientations are covered.

On the nearest segment with the foot at a + s (b - a) and n the unit vector from the foot to the point, the distance
changes by -(1 - s) n . da - s n . db; on an arc by -n . dC - dr outside of it and n . dC + dr within.
"""

import numpy as np
from numba import njit
from numpy.typing import NDArray

from topopt.features.corners import corners, corners_vjp

Field = NDArray[np.float64]

CLOSE = 1e-12  # of the coordinates: a point nearer to a chord is on it as far as rounding tells
ASIDE = 1e-9  # of the radius: from a chord to a point that is not on it


@njit(cache=True)
def nearest(x: float, y: float, at: Field) -> tuple[float, int, float]:
    """Signed distance (positive inside), the piece (i: segment after corner i; -1 - i: arc of corner i) and, on a
    segment, the place of the foot from 0 to 1."""
    n = len(at)
    best, piece, place = np.inf, 0, 0.0
    inside, on_chord = False, -1
    for i in range(n):
        ax, ay, bx, by = at[i, 0], at[i, 1], at[i, 2], at[i, 3]
        j = i + 1 if i + 1 < n else 0
        ex, ey = at[j, 0], at[j, 1]
        # The segment from B_i to A_i+1.
        sx, sy = ex - bx, ey - by
        long = sx * sx + sy * sy
        s = ((x - bx) * sx + (y - by) * sy) / long if long > 0 else 0.0
        s = min(max(s, 0.0), 1.0)
        square = (x - bx - s * sx) ** 2 + (y - by - s * sy) ** 2
        if square < best:
            best, piece, place = square, i, s
        if (by > y) != (ey > y) and x < bx + (y - by) / (ey - by) * sx:
            inside = not inside
        # The arc from A_i to B_i, and its chord.
        if (ay > y) != (by > y) and x < ax + (y - ay) / (by - ay) * (bx - ax):
            inside = not inside
        cx, cy, r = x - at[i, 4], y - at[i, 5], at[i, 6]
        along = cx * at[i, 7] + cy * at[i, 8]
        reach = np.sqrt(cx * cx + cy * cy)
        if along > r * at[i, 9] and reach < r:
            inside = not inside
        if abs(along - r * at[i, 9]) <= CLOSE * (abs(x) + abs(y) + r) and reach < r:
            on_chord = i
        if along >= reach * at[i, 9]:
            square = (reach - r) ** 2
            if square < best:
                best, piece = square, -1 - i
    if on_chord >= 0:
        inside = _is_inside(
            x + ASIDE * at[on_chord, 6] * at[on_chord, 7], y + ASIDE * at[on_chord, 6] * at[on_chord, 8], at
        )
    d = np.sqrt(best)
    return (d if inside else -d), piece, place


@njit(cache=True)
def _is_inside(x: float, y: float, at: Field) -> bool:
    """The parity alone. A point on a chord is asked a little beside it, where both of its tests agree."""
    n = len(at)
    inside = False
    for i in range(n):
        ax, ay, bx, by = at[i, 0], at[i, 1], at[i, 2], at[i, 3]
        j = i + 1 if i + 1 < n else 0
        ex, ey = at[j, 0], at[j, 1]
        if (by > y) != (ey > y) and x < bx + (y - by) / (ey - by) * (ex - bx):
            inside = not inside
        if (ay > y) != (by > y) and x < ax + (y - ay) / (by - ay) * (bx - ax):
            inside = not inside
        cx, cy, r = x - at[i, 4], y - at[i, 5], at[i, 6]
        if cx * at[i, 7] + cy * at[i, 8] > r * at[i, 9] and cx * cx + cy * cy < r * r:
            inside = not inside
    return inside


@njit(cache=True)
def distances(points: Field, vertices: Field, fractions: Field, out: Field) -> None:
    """points (m, 2), vertices (n, 2), fractions (n,): signed distance, positive inside, into `out` (m,)."""
    at = corners(vertices, fractions)
    for k in range(len(points)):
        out[k] = nearest(points[k, 0], points[k, 1], at)[0]


@njit(cache=True)
def pullback(points: Field, vertices: Field, fractions: Field, weights: Field) -> tuple[Field, Field]:
    """sum_k weights_k d(distance_k), weights (m,) -> d vertices (n, 2), d fractions (n,)."""
    at = corners(vertices, fractions)
    n = len(at)
    pull = np.zeros((n, 7))
    for k in range(len(points)):
        w = weights[k]
        if w == 0.0:
            continue
        x, y = points[k, 0], points[k, 1]
        d, piece, s = nearest(x, y, at)
        if d < 0:
            w = -w  # from here on the derivative of the unsigned distance
        if piece >= 0:
            j = piece + 1 if piece + 1 < n else 0
            nx = x - (1 - s) * at[piece, 2] - s * at[j, 0]
            ny = y - (1 - s) * at[piece, 3] - s * at[j, 1]
            length = max(np.hypot(nx, ny), 1e-300)
            if length < 1e-12 * (abs(x) + abs(y) + 1e-300):  # on the outline: the normal of the segment
                nx, ny, length = _normal(at, piece, j, d < 0)
            nx, ny = w * nx / length, w * ny / length
            pull[piece, 2] -= (1 - s) * nx
            pull[piece, 3] -= (1 - s) * ny
            pull[j, 0] -= s * nx
            pull[j, 1] -= s * ny
        else:
            i = -1 - piece
            cx, cy = x - at[i, 4], y - at[i, 5]
            reach = max(np.hypot(cx, cy), 1e-300)
            side = w if reach >= at[i, 6] else -w
            pull[i, 4] -= side * cx / reach
            pull[i, 5] -= side * cy / reach
            pull[i, 6] -= side
    return corners_vjp(vertices, fractions, pull)


@njit(cache=True)
def _normal(at: Field, i: int, j: int, outside: bool) -> tuple[float, float, float]:
    """Outward from an anticlockwise chain, turned inward for a point that counts as inside; and its length."""
    sx, sy = at[j, 0] - at[i, 2], at[j, 1] - at[i, 3]
    turn = 1.0 if outside else -1.0
    return turn * sy, -turn * sx, max(np.hypot(sx, sy), 1e-300)

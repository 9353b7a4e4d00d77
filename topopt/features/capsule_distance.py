"""Signed distance to a capsule: its radius less the distance to its axis, with the derivative, compiled."""

import numpy as np
from numba import njit
from numpy.typing import NDArray

Field = NDArray[np.float64]


@njit(cache=True)
def distances(points: Field, p: Field, out: Field) -> None:
    """points (m, 2), p = (start, end, radius): signed distance, positive inside, into `out` (m,)."""
    sx, sy = p[2] - p[0], p[3] - p[1]
    long = sx * sx + sy * sy
    for k in range(len(points)):
        x, y = points[k, 0] - p[0], points[k, 1] - p[1]
        s = min(max((x * sx + y * sy) / long, 0.0), 1.0) if long > 0 else 0.0
        out[k] = p[4] - np.hypot(x - s * sx, y - s * sy)


@njit(cache=True)
def pullback(points: Field, p: Field, weights: Field) -> Field:
    """sum_k weights_k d(distance_k), weights (m,) -> (5,)."""
    sx, sy = p[2] - p[0], p[3] - p[1]
    long = sx * sx + sy * sy
    out = np.zeros(5)
    for k in range(len(points)):
        w = weights[k]
        if w == 0.0:
            continue
        x, y = points[k, 0] - p[0], points[k, 1] - p[1]
        s = min(max((x * sx + y * sy) / long, 0.0), 1.0) if long > 0 else 0.0
        nx, ny = x - s * sx, y - s * sy
        length = np.hypot(nx, ny)
        out[4] += w
        if length > 0:
            nx, ny = w * nx / length, w * ny / length
            out[0] += (1 - s) * nx
            out[1] += (1 - s) * ny
            out[2] += s * nx
            out[3] += s * ny
    return out

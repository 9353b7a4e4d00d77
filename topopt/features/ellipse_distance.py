"""Signed distance to an ellipse, exact, with its derivative, compiled.

In the ellipse's frame and first quadrant the nearest boundary point (a cos s, b sin s) of (x, y) is found from

    F(t) = (a x / (t + a^2))^2 + (b y / (t + b^2))^2 - 1 = 0,   t > -min(a, b)^2

whose left side falls monotonically (Eberly 2013): a Newton step where it stays in the bracket, a bisection elsewhere.
The derivative needs no ds: at the nearest point the outline moves along itself, d(distance) = -n . d(boundary point).
"""

import numpy as np
from numba import njit
from numpy.typing import NDArray

Field = NDArray[np.float64]


@njit(cache=True)
def nearest(x: float, y: float, a: float, b: float) -> tuple[float, float, float]:
    """Nearest point of the ellipse to (x, y) in its own frame, and the signed distance, positive inside."""
    px, py = abs(x), abs(y)
    u, v = px / a, py / b
    inside = u * u + v * v < 1
    swap = b > a
    if swap:
        px, py, a, b = py, px, b, a
    # Lengths in units of the shorter axis b: with r = (a/b)^2 >= 1 and z = t / b^2, F falls on z > -1.
    r, zx, zy = (a / b) ** 2, px / a, py / b
    if zy > 0:
        n0, low, high = r * zx, zy - 1, np.hypot(r * zx, zy) - 1
        if zx == 0.0:
            low = high
        z = high
        for _ in range(100):
            p, q = n0 / (z + r), zy / (z + 1)
            value = p * p + q * q - 1
            if value > 0:
                low = z
            else:
                high = z
            step = value / (2 * (p * p / (z + r) + q * q / (z + 1)))
            new = z + step
            if not (low <= new <= high):
                new = 0.5 * (low + high)
            if abs(new - z) <= 4e-16 * (abs(new) + 1e-300) or new == z:
                z = new
                break
            z = new
        qx, qy = r * px / (z + r), py / (z + 1)
    else:  # on the longer axis: the middle part has two nearest points, mirror images
        focal = a * a - b * b
        if a * px < focal:
            share = a * px / focal
            qx, qy = a * share, b * np.sqrt(max(1 - share * share, 0.0))
        else:
            qx, qy = a, 0.0
    d = np.hypot(px - qx, py - qy)
    if swap:
        qx, qy = qy, qx
    return np.copysign(qx, x), np.copysign(qy, y), (d if inside else -d)


@njit(cache=True)
def distances(points: Field, p: Field, out: Field) -> None:
    """points (m, 2), p = (centre, a, b, angle): signed distance, positive inside, into `out` (m,)."""
    c, s = np.cos(p[4]), np.sin(p[4])
    for k in range(len(points)):
        dx, dy = points[k, 0] - p[0], points[k, 1] - p[1]
        out[k] = nearest(c * dx + s * dy, c * dy - s * dx, p[2], p[3])[2]


@njit(cache=True)
def pullback(points: Field, p: Field, weights: Field) -> Field:
    """sum_k weights_k d(distance_k), weights (m,) -> (5,)."""
    c, s = np.cos(p[4]), np.sin(p[4])
    a, b = p[2], p[3]
    out = np.zeros(5)
    for k in range(len(points)):
        w = weights[k]
        if w == 0.0:
            continue
        dx, dy = points[k, 0] - p[0], points[k, 1] - p[1]
        qx, qy, _ = nearest(c * dx + s * dy, c * dy - s * dx, a, b)
        # Outward unit normal at the nearest point; the signed distance grows as the outline moves along it.
        nx, ny = qx / (a * a), qy / (b * b)
        length = np.hypot(nx, ny)
        nx, ny = w * nx / length, w * ny / length
        out[0] += c * nx - s * ny
        out[1] += s * nx + c * ny
        out[2] += nx * qx / a
        out[3] += ny * qy / b
        out[4] += ny * qx - nx * qy
    return out


@njit(cache=True)
def feet(x: Field, y: Field, a: Field, b: Field) -> Field:
    """Parameters s of the nearest points (a cos s, b sin s), each array (k,), in the ellipses' own frames."""
    out = np.empty(len(x))
    for k in range(len(x)):
        qx, qy, _ = nearest(x[k], y[k], a[k], b[k])
        out[k] = np.arctan2(qy / b[k], qx / a[k])
    return out

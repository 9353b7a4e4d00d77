"""The corners of a rounded polygon: from vertices and fractions to tangent points, centres and radii, and back.

At vertex P with unit vectors u, v to its neighbours and c = u . v, an arc touches both edges at the tangent length t:

    t = f min(|edges|),    A = P + t u,    B = P + t v,    C = P + t (u + v) / (1 + c),    r = t tan(angle / 2)

with tan(angle / 2) = sqrt((1 - c) / (1 + c)). At a corner that is nearly straight r would run to infinity; it is capped
there, and t with it. The formulas hold for convex and for reflex corners and for either orientation.
"""

import numpy as np
from numba import njit
from numpy.typing import NDArray

Field = NDArray[np.float64]

CAP = 20.0  # largest radius, in lengths of the shorter edge


@njit(cache=True)
def corners(vertices: Field, fractions: Field) -> Field:
    """vertices (n, 2), fractions (n,) -> (n, 10): A, B, C, r, the unit vector from C to P, sin(angle / 2)."""
    n = len(vertices)
    out = np.empty((n, 10))
    for i in range(n):
        px, py = vertices[i, 0], vertices[i, 1]
        ux, uy = vertices[i - 1, 0] - px, vertices[i - 1, 1] - py
        vx, vy = vertices[(i + 1) % n, 0] - px, vertices[(i + 1) % n, 1] - py
        first, second = max(np.hypot(ux, uy), 1e-300), max(np.hypot(vx, vy), 1e-300)
        ux, uy, vx, vy = ux / first, uy / first, vx / second, vy / second
        c = min(max(ux * vx + uy * vy, -1.0), 1.0)
        short = min(first, second)
        t = fractions[i] * short
        # 1 + c from the cross product where it would lose its digits.
        cross = ux * vy - uy * vx
        one = cross * cross / (1 - c) if c < -0.5 else 1 + c
        other = cross * cross / (1 + c) if c > 0.5 else 1 - c
        tangent = np.sqrt(other / max(one, 1e-30))
        t = min(t, CAP * short / max(tangent, 1e-30))
        out[i, 0], out[i, 1] = px + t * ux, py + t * uy
        out[i, 2], out[i, 3] = px + t * vx, py + t * vy
        bx, by = ux + vx, uy + vy
        length = np.hypot(bx, by)
        if length < 1e-14:  # straight: either side will do, the arc has no length
            bx, by, length = -vy, vx, 1.0
        bx, by = bx / length, by / length
        sine = np.sqrt(max(0.5 * other, 0.0))
        reach = t * np.sqrt(2 / max(one, 1e-30))
        out[i, 4], out[i, 5] = px + reach * bx, py + reach * by
        out[i, 6] = t * tangent
        out[i, 7], out[i, 8] = -bx, -by
        out[i, 9] = sine
    return out


@njit(cache=True)
def corners_vjp(vertices: Field, fractions: Field, weights: Field) -> tuple[Field, Field]:
    """Pull weights (n, 7) on A, B, C, r back to vertices (n, 2) and fractions (n,)."""
    n = len(vertices)
    dv, df = np.zeros((n, 2)), np.zeros(n)
    for i in range(n):
        before, after = (i - 1) % n, (i + 1) % n
        u, v = vertices[before] - vertices[i], vertices[after] - vertices[i]
        first, second = max(np.hypot(u[0], u[1]), 1e-300), max(np.hypot(v[0], v[1]), 1e-300)
        u, v = u / first, v / second
        both = u + v
        cross = u[0] * v[1] - u[1] * v[0]
        c = min(max(u[0] * v[0] + u[1] * v[1], -1.0), 1.0)
        one = max(cross * cross / (1 - c) if c < -0.5 else 1 + c, 1e-24)
        other = max(cross * cross / (1 + c) if c > 0.5 else 1 - c, 1e-24)
        tangent = np.sqrt(other / one)
        short = min(first, second)
        t, cap = fractions[i] * short, CAP * short / tangent
        wa, wb, wc, wr = weights[i, 0:2], weights[i, 2:4], weights[i, 4:6], weights[i, 6]
        bend = -1 / (one * one * tangent)  # d tan(angle / 2) / dc
        dt = np.sum(wa * u) + np.sum(wb * v) + np.sum(wc * both) / one + wr * tangent
        dc = -np.sum(wc * both) * min(t, cap) / (one * one) + wr * min(t, cap) * bend
        if cap < t:
            t = cap
            dc -= dt * t / tangent * bend
            dshort = dt * CAP / tangent
        else:
            df[i] = dt * short
            dshort = dt * fractions[i]
        du = t * wa + t * wc / one + dc * v
        dw = t * wb + t * wc / one + dc * u
        du = (du - np.sum(du * u) * u) / first
        dw = (dw - np.sum(dw * v) * v) / second
        if first <= second:
            du = du + dshort * u
        else:
            dw = dw + dshort * v
        dv[i] += wa + wb + wc - du - dw
        dv[before] += du
        dv[after] += dw
    return dv, df

"""The dense quadratic program of one SQP step, which always has a solution because violations have a price.

    min  g.d + d.B d / 2 + price sum t    with  A d - t <= r,   t >= 0,   lower <= d <= upper

Primal-dual interior point (Wright 1997): slack s of the rows, multipliers lam of the rows and price - lam of t >= 0,
z of the bounds. Everything but d is eliminated, so a step costs one factorisation of size n.
"""

import numpy as np
import scipy.linalg as sla

from optim.arrays import Host

MOST_STEPS = 80


def solve(
    g: Host, B: Host, A: Host, r: Host, lower: Host, upper: Host, price: float, tolerance: float = 1e-15
) -> tuple[Host, Host]:
    """d (n,) and lam (rows,) in [0, price]. B : (n, n) semidefinite; A : (rows, n); vectors (n,), r (rows,)."""
    width = np.maximum(upper - lower, 1e-13 * (1 + np.abs(lower)))
    d = lower + width / 2
    scale = max(1.0, np.abs(g).max(initial=0.0))
    low, high = np.full_like(d, scale), np.full_like(d, scale)
    rows = len(r)
    gap_0 = A @ d - r
    lam = np.full(rows, price / 2)
    t = np.maximum(gap_0, 0) + 1.0
    s = r + t - A @ d
    # Distances to the bounds and to the price, kept beside d and lam so that rounding cannot make them zero.
    a, b, w = width / 2, width / 2, price - lam
    count = 2 * len(d) + 2 * rows
    for _ in range(MOST_STEPS):
        rd = B @ d + g + A.T @ lam - low + high
        rp = r - (A @ d - t + s)
        gap = (s @ lam + t @ w + a @ low + b @ high) / count
        if (
            gap <= tolerance * scale
            and np.abs(rd).max() <= 1e-12 * scale
            and np.abs(rp).max(initial=0) <= 1e-11 * (1 + np.abs(r).max(initial=0))
        ):
            break
        weight = s / lam + t / w
        matrix = B + np.diag(low / a + high / b) + (A.T / weight) @ A
        try:
            factor = sla.cho_factor(matrix, check_finite=False)
        except sla.LinAlgError:
            break  # at the limit of precision; what there is, is the solution
        sigma = 0.0
        for target in (0.0, None):
            eps = gap * (sigma if target is None else 0.0)
            right = rp - (eps / lam - s) + (eps / w - t)
            slope = rd + low - high - eps / a + eps / b
            dd = sla.cho_solve(factor, -slope + A.T @ (right / weight), check_finite=False)
            dlam = (A @ dd - right) / weight
            ds, dt = (eps - s * dlam) / lam - s, (eps + t * dlam) / w - t
            dlow, dhigh = (eps - low * dd) / a - low, (eps + high * dd) / b - high
            pairs = [(a, dd), (b, -dd), (s, ds), (t, dt), (lam, dlam), (w, -dlam), (low, dlow), (high, dhigh)]
            length = min([1.0, *(_reach(v, dv) for v, dv in pairs)])
            if target is not None:
                ahead = (s + length * ds) @ (lam + length * dlam) + (t + length * dt) @ (w - length * dlam)
                ahead += (a + length * dd) @ (low + length * dlow) + (b - length * dd) @ (high + length * dhigh)
                sigma = min(1.0, max(1e-6, (ahead / count / gap) ** 3))
        length = min(1.0, 0.995 * length)  # pyright: ignore[reportPossiblyUnboundVariable]
        d, a, b = d + length * dd, a + length * dd, b - length * dd  # pyright: ignore[reportPossiblyUnboundVariable]
        s, t, w = s + length * ds, t + length * dt, w - length * dlam  # pyright: ignore[reportPossiblyUnboundVariable]
        lam, low, high = lam + length * dlam, low + length * dlow, high + length * dhigh  # pyright: ignore[reportPossiblyUnboundVariable]
    return np.clip(d, lower, upper), lam


def _reach(v: Host, dv: Host) -> float:
    falling = dv < 0
    return float((-v[falling] / dv[falling]).min()) if falling.any() else np.inf

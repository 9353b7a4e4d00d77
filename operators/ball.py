"""L-BFGS in a ball: the inner loop of the hybrid where there are no bounds and no constraints."""

from collections import deque
from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

Vector = NDArray[np.float64]
SUFFICIENT = 1e-4


def minimize_in_ball(
    value_grad: Callable[[Vector], tuple[float, Vector]], centre: Vector, radius: float, steps: int, memory: int = 30
) -> tuple[Vector, float, int]:
    """Few steps of L-BFGS from the centre, each trial projected onto |x - centre| <= radius.

    Returns:
        the best point, its value, and how often value_grad was called.
    """
    x = centre.copy()
    f, g = value_grad(x)
    calls, pairs = 1, deque[tuple[Vector, Vector]](maxlen=memory)
    for _ in range(steps):
        step = -_inverse_hessian(g, pairs)
        if step @ g >= 0:
            pairs.clear()
            step = -g
        if not pairs:
            step *= min(1.0, 0.25 * radius / max(float(np.linalg.norm(step)), 1e-300))
        for t in 0.5 ** np.arange(12):
            y = _into_ball(x + t * step, centre, radius)
            f_y, g_y = value_grad(y)
            calls += 1
            if f_y <= f + SUFFICIENT * float(g @ (y - x)) and np.isfinite(f_y):
                break
        else:
            return x, f, calls
        change, bend = y - x, g_y - g
        if change @ bend > 1e-12 * np.linalg.norm(change) * np.linalg.norm(bend):
            pairs.append((change, bend))
        small = f - f_y <= 1e-9 * max(abs(f), 1.0)
        x, f, g = y, f_y, g_y
        if small:
            break
    return x, f, calls


def _into_ball(y: Vector, centre: Vector, radius: float) -> Vector:
    away = y - centre
    distance = float(np.linalg.norm(away))
    return y if distance <= radius else centre + away * (radius / distance)


def _inverse_hessian(g: Vector, pairs: deque[tuple[Vector, Vector]]) -> Vector:
    """Two-loop recursion (Nocedal 1980)."""
    q, shares = g.copy(), []
    for s, y in reversed(pairs):
        share = float(s @ q) / float(y @ s)
        shares.append(share)
        q -= share * y
    if pairs:
        s, y = pairs[-1]
        q *= float(s @ y) / float(y @ y)
    for (s, y), share in zip(pairs, reversed(shares), strict=True):
        q += (share - float(y @ q) / float(y @ s)) * s
    return q

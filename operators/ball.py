"""L-BFGS in a ball: the inner loop of the hybrid where there are no bounds and no constraints."""

from collections import deque
from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from optim.space import Euclidean, Space

Vector = NDArray[np.float64]
SUFFICIENT = 1e-4


def minimize_in_ball(
    value_grad: Callable[[Vector], tuple[float, Vector]],
    centre: Vector,
    radius: float,
    steps: int,
    memory: int = 30,
    space: Space | None = None,
) -> tuple[Vector, float, int]:
    """Few steps of L-BFGS from the centre, each trial projected onto |x - centre| <= radius in the norm of `space`.

    Returns:
        the best point, its value, and how often value_grad was called.
    """
    space = space or Euclidean()
    x = centre.copy()
    f, g = value_grad(x)
    calls, pairs = 1, deque[tuple[Vector, Vector]](maxlen=memory)
    for _ in range(steps if np.isfinite(f) else 0):
        step = -_inverse_hessian(g, pairs, space)
        if not step @ g < 0:
            pairs.clear()
            step = -space.riesz(g)
        if not pairs:
            step *= min(1.0, 0.25 * radius / max(_norm(space, step), 1e-300))
        for t in 0.5 ** np.arange(12):
            y = _into_ball(x + t * step, centre, radius, space)
            f_y, g_y = value_grad(y)
            calls += 1
            if f_y < f and f_y <= f + SUFFICIENT * float(g @ (y - x)):
                break
        else:
            return x, f, calls
        change, bend = y - x, g_y - g
        if change @ bend > 1e-12 * np.linalg.norm(change) * np.linalg.norm(bend):
            pairs.append((change, bend))
        small = f - f_y <= 1e-9 * max(abs(f), 1e-300)
        x, f, g = y, f_y, g_y
        if small:
            break
    return x, f, calls


def _norm(space: Space, step: Vector) -> float:
    return float(max(0.0, space.inner(step, step))) ** 0.5


def _into_ball(y: Vector, centre: Vector, radius: float, space: Space) -> Vector:
    away = y - centre
    distance = _norm(space, away)
    return y if distance <= radius else centre + away * (radius / distance)


def _inverse_hessian(g: Vector, pairs: deque[tuple[Vector, Vector]], space: Space) -> Vector:
    """Two-loop recursion (Nocedal 1980); the first guess is the inner product of the space."""
    q, shares = g.copy(), []
    for s, y in reversed(pairs):
        share = float(s @ q) / float(y @ s)
        shares.append(share)
        q -= share * y
    q = np.array(space.riesz(q))
    if pairs:
        s, y = pairs[-1]
        q *= float(s @ y) / float(y @ space.riesz(y))
    for (s, y), share in zip(pairs, reversed(shares), strict=True):
        q += (share - float(y @ q) / float(y @ s)) * s
    return q

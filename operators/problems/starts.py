"""Where the runs of a family begin: smooth random designs that are feasible."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

Vector = NDArray[np.float64]
WAVES, LEAST, MOST = 12, 0.02, 0.98


def waves(problem: Any, number: int, mean: float, amplitude: float, points: Vector | None = None) -> Vector:
    """Waves over the box about a mean, x : (n,), scaled down until every constraint holds.

    Args:
        problem: with `constraints` that hold near x = 0, and `points` where none are given.
        number: the same number gives the same waves. amplitude: half of the largest difference from the mean.
        points: (n, 2), where the numbers of the design sit.
    """
    given = np.asarray(problem.points if points is None else points, float)
    low, high = given.min(axis=0), given.max(axis=0)
    rng, where = np.random.default_rng([8, number]), (given - low) / (high - low).max()
    x = np.zeros(len(given))
    for _ in range(WAVES):
        x += rng.standard_normal() * np.cos(2 * np.pi * (where @ rng.uniform(-2, 2, 2) + rng.uniform()))
    x = np.clip(mean + amplitude * x / np.abs(x).max() * 2, LEAST, MOST)
    for _ in range(50):
        above = max((float(np.max(g.value(x))) for g in problem.constraints), default=0.0)
        if above <= 0:
            break
        x = x / (1 + above) * (1 - 1e-9)
    return x

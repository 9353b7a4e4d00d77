"""The gradient protocol: observed orders of the three Taylor remainders, symmetry, and no trace left behind."""

import numpy as np
from numpy.typing import NDArray

from pde.fem.reduced import Reduced
from pde.functional import taylor_test

Vector = NDArray[np.float64]
LEAST = (0.9, 1.95, 2.95)


def check(
    J: Reduced,
    x: Vector,
    directions: dict[str, Vector],
    *,
    quadratic: bool = False,
    first_step: float = 1e-2,
    accuracy: float = 1e-13,
) -> None:
    """Assert the protocol at x.

    Args:
        directions: by name. quadratic: J is exactly quadratic, so the third remainder is rounding.
        first_step: halved three times. accuracy: of J, relative; remainders below it say nothing.
    """
    f, before = J.value_grad(x)
    steps = [first_step / 2**k for k in range(4)]
    for name, h in directions.items():
        test = taylor_test(J, x, h, order=2, steps=steps, accuracy=accuracy, show=False)
        for order, least in enumerate(LEAST):
            sound = test.residuals[order, 1:] > test.noise
            if order == 2 and quadratic:
                assert not sound.any(), f"{name}: J is quadratic, its third remainder should be rounding\n{test}"
                continue
            assert sound[0], f"{name}: the steps are too short to show order {order}\n{test}"
            assert test.rates[order][sound].min() > least, f"{name}, order {order}\n{test}"
        slope = (J.value(x + 1e-5 * h) - J.value(x - 1e-5 * h)) / 2e-5
        scale = max(abs(float(before @ h)), 1e-10 * abs(f) / 1e-5 / 1e-7)
        assert abs(slope - float(before @ h)) <= 1e-7 * scale, f"{name}: {slope} against {before @ h}"
    again = J.value_grad(x)
    assert again[0] == f
    assert np.array_equal(again[1], before)
    a, b = list(directions.values())[:2]
    Ha, Hb = J.hvp(x, a), J.hvp(x, b)
    size = np.linalg.norm(Ha) * np.linalg.norm(b) + np.linalg.norm(Hb) * np.linalg.norm(a)
    assert abs(Ha @ b - Hb @ a) <= 1e-10 * size
    assert np.array_equal(J.value_grad(x)[1], before)


def three(points: Vector, scale: float = 1.0, inactive: NDArray[np.bool_] | None = None) -> dict[str, Vector]:
    """A smooth, a random and a partly supported direction.

    Args:
        points: (n, d) where each number of the control sits. inactive: (n,) off the bounds; None: two thirds of them.
    """
    n = len(points)
    noise = np.random.default_rng(5).standard_normal(n)
    inactive = np.arange(n) % 3 > 0 if inactive is None else inactive
    smooth = np.cos(2 * points[:, 0] + 0.3) + points[:, -1] ** 2
    return {"smooth": scale * smooth, "random": scale * noise, "inactive": scale * np.where(inactive, noise[::-1], 0.0)}

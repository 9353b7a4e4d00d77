"""The sample pictures of the barycenter page, drawn from their equations. `python assets/images/make_images.py`

White is mass. Every pixel is the mean over 8 x 8 points of it, so that edges are smooth and the files are the same on
every machine.
"""

from collections.abc import Callable
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from PIL import Image

SIZE, FINER = 256, 8
Points = NDArray[np.float64]
Shape = Callable[[Points, Points], NDArray[np.bool_]]


def ring(x: Points, y: Points) -> NDArray[np.bool_]:
    r = np.hypot(x, y)
    return (r > 0.56) & (r < 0.74)


def cross(x: Points, y: Points) -> NDArray[np.bool_]:
    arm, reach = 0.15, 0.76
    return ((abs(x) < arm) & (abs(y) < reach)) | ((abs(y) < arm) & (abs(x) < reach))


def star(x: Points, y: Points) -> NDArray[np.bool_]:
    """Five points: within a wedge of 36 degrees the border is one straight line from an outer to an inner corner."""
    outer, inner, wedge = 0.82, 0.34, np.pi / 5
    angle = np.arctan2(x, y) % (2 * wedge)
    angle = np.minimum(angle, 2 * wedge - angle)
    u, v = np.hypot(x, y) * np.cos(angle), np.hypot(x, y) * np.sin(angle)
    corner = (inner * np.cos(wedge), inner * np.sin(wedge))
    return (u - outer) * corner[1] - v * (corner[0] - outer) < 0


def two_discs(x: Points, y: Points) -> NDArray[np.bool_]:
    return (np.hypot(x + 0.46, y + 0.3) < 0.3) | (np.hypot(x - 0.46, y - 0.3) < 0.3)


def frame(x: Points, y: Points) -> NDArray[np.bool_]:
    side = np.maximum(abs(x), abs(y))
    return (side > 0.5) & (side < 0.68)


def crescent(x: Points, y: Points) -> NDArray[np.bool_]:
    return (np.hypot(x, y) < 0.76) & (np.hypot(x - 0.34, y - 0.16) > 0.62)


SHAPES: dict[str, Shape] = {
    "ring": ring,
    "star": star,
    "two-discs": two_discs,
    "cross": cross,
    "frame": frame,
    "crescent": crescent,
}


def picture(shape: Shape) -> Image.Image:
    """A shape of [-1, 1]^2 as 256 x 256 grey pixels, rows from the top."""
    at = np.linspace(-1, 1, 2 * SIZE * FINER + 1)[1::2]
    inside = shape(at[None, :], -at[:, None]).astype(np.float64)
    mean = inside.reshape(SIZE, FINER, SIZE, FINER).mean(axis=(1, 3))
    return Image.fromarray(np.rint(255 * mean).astype(np.uint8))


if __name__ == "__main__":
    for name, drawn in SHAPES.items():
        picture(drawn).save(Path(__file__).with_name(f"{name}.png"), optimize=True)

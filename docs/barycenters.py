"""The picture of docs/barycenters.md: 25 mixtures of four shapes, bilinear weights. `python docs/barycenters.py`

Every tile is a barycenter on 192 x 192 cells, started from the potentials of its neighbour; about half a minute.
"""

import argparse
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from PIL import Image

from transport import Settings, barycenters
from transport.images import smooth, to_pixels

HERE = Path(__file__).parent
TILES, GAP = 5, 6


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--size", type=int, default=192)
    parser.add_argument("--out", type=Path, default=HERE / "images" / "barycenters.png")
    options = parser.parse_args()
    corners = shapes(options.size)
    places = [(r, c if r % 2 == 0 else TILES - 1 - c) for r in range(TILES) for c in range(TILES)]  # a meander
    weights = [bilinear(r / (TILES - 1), c / (TILES - 1)) for r, c in places]
    peak = float(np.median(corners.max(axis=(1, 2))))
    pitch = options.size + GAP
    canvas = np.full((TILES * pitch - GAP, TILES * pitch - GAP), 255, np.uint8)
    found = barycenters(corners, weights, settings=Settings((16, 40, 80)), primal_iterations=1)
    for (r, c), result in zip(places, found, strict=True):
        tile = to_pixels(smooth(result.density, 0.8), peak=peak, invert=True)
        canvas[r * pitch : r * pitch + options.size, c * pitch : c * pitch + options.size] = tile
    options.out.parent.mkdir(parents=True, exist_ok=True)
    Image.fromarray(canvas).save(options.out, optimize=True)


def bilinear(down: float, right: float) -> list[float]:
    """Weights of the upper left, upper right, lower left and lower right shape."""
    return [(1 - down) * (1 - right), (1 - down) * right, down * (1 - right), down * right]


def shapes(n: int) -> NDArray[np.float64]:
    """A gear, a ring, a cross and two disks: (4, n, n), three points per cell and axis."""
    x, y = np.meshgrid(*[(np.arange(3 * n) + 0.5) / (3 * n) - 0.5] * 2, indexing="ij")
    r, angle = np.hypot(x, y), np.arctan2(y, x)
    gear = (r < 0.28 + 0.06 * np.sign(np.cos(8 * angle))) & (r > 0.09)
    ring = (r < 0.36) & (r > 0.24)
    cross = (np.minimum(np.abs(x), np.abs(y)) < 0.08) & (np.maximum(np.abs(x), np.abs(y)) < 0.36)
    disks = (np.hypot(x - 0.2, y) < 0.14) | (np.hypot(x + 0.2, y) < 0.14)
    fine = np.stack([gear, ring, cross, disks]).astype(np.float64)
    cells = fine.reshape(4, n, 3, n, 3).mean(axis=(2, 4))
    return cells / cells.mean(axis=(1, 2), keepdims=True)


if __name__ == "__main__":
    main()

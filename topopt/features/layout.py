"""Where features start: squares on a grid as voids, crossed bars as solids."""

import numpy as np
from numpy.typing import NDArray

from topopt.features.errors import FeatureError
from topopt.features.plate import Plate
from topopt.features.shapes import Capsule, Quadrilateral, RoundedPolygon, square

Field = NDArray[np.float64]

FILL = 0.35
NEAR_FULL = 0.5  # a cell counts when so much of it is material


def squares(plate: Plate, nx: int, ny: int, fill: float = FILL, fraction: float = 0.25) -> tuple[Quadrilateral, ...]:
    """One square in the middle of each cell of an nx x ny grid over the domain; cells outside of it stay empty.

    Args:
        fill: share of its cell that a square takes. fraction: tangent length over edge.

    Raises:
        FeatureError: no cell lies within the domain.
    """
    centres, cell = _cells(plate, nx, ny)
    side = float(np.sqrt(fill * cell[0] * cell[1]))
    return tuple(square((float(x), float(y)), side, fraction) for x, y in centres)


def polygons(plate: Plate, nx: int, ny: int, sides: int = 6, fill: float = FILL) -> tuple[RoundedPolygon, ...]:
    """As `squares`, with regular polygons of any number of sides."""
    centres, cell = _cells(plate, nx, ny)
    radius = np.sqrt(fill * cell[0] * cell[1] / (0.5 * sides * np.sin(2 * np.pi / sides)))
    angle = 2 * np.pi * (np.arange(sides) + 0.5) / sides - 0.5 * np.pi
    ring = radius * np.stack([np.cos(angle), np.sin(angle)], 1)
    return tuple(RoundedPolygon(tuple(map(tuple, (centre + ring).tolist()))) for centre in centres)


def crossed_bars(plate: Plate, nx: int, ny: int, radius: float | None = None) -> tuple[Capsule, ...]:
    """Two bars along the diagonals of each cell of an nx x ny grid over the domain.

    Args:
        radius: mm; default a tenth of the cell's shorter side.
    """
    centres, cell = _cells(plate, nx, ny)
    radius = 0.1 * float(cell.min()) if radius is None else radius
    bars = []
    for x, y in centres:
        for sign in (1, -1):
            dx, dy = 0.5 * cell[0], 0.5 * sign * cell[1]
            bars.append(Capsule((float(x - dx), float(y - dy)), (float(x + dx), float(y + dy)), radius))
    return tuple(bars)


def _cells(plate: Plate, nx: int, ny: int) -> tuple[Field, Field]:
    """Centres (k, 2) of the cells that lie in the domain, and the size (2,) of a cell."""
    if nx < 1 or ny < 1:
        raise FeatureError(f"the start grid is {nx} x {ny}: it needs at least one cell each way")
    low, high = plate.bounds
    cell = (high - low) / [nx, ny]
    place = np.minimum(((plate.points - low) / cell).astype(int), [nx - 1, ny - 1])
    filled = np.bincount(place[:, 0] * ny + place[:, 1], plate.areas, nx * ny).reshape(nx, ny)
    inside = np.argwhere(filled >= NEAR_FULL * cell[0] * cell[1])
    if not len(inside):
        raise FeatureError(f"no cell of the start grid {nx} x {ny} lies within the domain: take a finer one")
    return low + (inside + 0.5) * cell, cell

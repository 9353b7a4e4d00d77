"""The border of a set of pixels as an exact region: straight sides, without the corners that lie on a side."""

import numpy as np
from numpy.typing import ArrayLike, NDArray

from pde.grid.grid import Grid
from topopt.cad.region import Region
from topopt.cad.wires import Wire, polygon
from topopt.errors import ExportError

Corner = tuple[int, int]


def region_of_pixels(filled: ArrayLike, grid: Grid) -> Region:
    """The body that the filled pixels form.

    Args:
        filled: (nx, ny) bool. grid: two-dimensional, mm.

    Raises:
        ExportError: no pixel is filled, or they form several bodies; those that meet in a corner only are two.
    """
    mask = np.asarray(filled, bool)
    if grid.dim != 2 or mask.shape != grid.shape:
        raise ExportError(f"filled {mask.shape} must have the shape {grid.shape} of a 2-D grid")
    wires = [_wire(loop, grid) for loop in _loops(mask)]
    outer = [wire for wire in wires if wire.ccw]
    if len(outer) != 1:
        raise ExportError(f"the pixels of the domain form {len(outer)} bodies: give one connected domain")
    return Region(outer[0], tuple(wire for wire in wires if not wire.ccw))


def _loops(mask: NDArray[np.bool_]) -> list[list[Corner]]:
    """Closed ways along the sides between full and empty, material to the left."""
    ahead = _sides(mask)
    loops = []
    while ahead:
        start = at = min(ahead)
        way, loop = (0, 0), [start]
        while True:
            ends = ahead[at]
            # Where two ways cross, the left turn stays with the same pixel.
            end = max(ends, key=lambda e: way[0] * (e[1] - at[1]) - way[1] * (e[0] - at[0]))
            ends.remove(end)
            if not ends:
                del ahead[at]
            way, at = (end[0] - at[0], end[1] - at[1]), end
            if at == start:
                break
            loop.append(at)
        loops.append(loop)
    return loops


def _sides(mask: NDArray[np.bool_]) -> dict[Corner, list[Corner]]:
    """From each corner to those that a side leads to."""
    full, ahead = np.pad(mask, 1), {}
    sides = (  # the neighbour across a side, and where the side starts and ends, seen from the pixel's lower corner
        ((0, -1), (0, 0), (1, 0)),
        ((1, 0), (1, 0), (1, 1)),
        ((0, 1), (1, 1), (0, 1)),
        ((-1, 0), (0, 1), (0, 0)),
    )
    nx, ny = mask.shape
    for (di, dj), (si, sj), (ei, ej) in sides:
        open_ = mask & ~full[1 + di : 1 + di + nx, 1 + dj : 1 + dj + ny]
        for i, j in np.argwhere(open_).tolist():
            ahead.setdefault((i + si, j + sj), []).append((i + ei, j + ej))
    return ahead


def _wire(loop: list[Corner], grid: Grid) -> Wire:
    points = np.array(loop)
    before, after = points - np.roll(points, 1, 0), np.roll(points, -1, 0) - points
    turns = before[:, 0] * after[:, 1] != before[:, 1] * after[:, 0]
    at = np.asarray(grid.origin) + points[turns] * grid.steps
    return polygon([(float(x), float(y)) for x, y in at])

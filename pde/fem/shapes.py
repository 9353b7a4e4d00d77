"""Meshes of simple shapes, with the names of their sides. Positions and sizes in the caller's units.

They are made of triangles (tetrahedra in the cube); double n, and the cells are half as large. Nothing is needed but
arithmetic. All take the communicator as their last argument, all processes by default.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from pde.fem.dolfinx_import import load
from pde.fem.errors import FemError
from pde.fem.meshed import Meshed, mesh_of, tagged_boundary

Points = NDArray[np.float64]
Cells = NDArray[np.int64]


def square(n: int = 16, width: float = 1.0, height: float = 1.0, comm: Any = None) -> Meshed:
    """A rectangle of n squares along its height, each cut in two. Sides: left, right, bottom, top."""
    fe = load()
    along = max(1, round(_count(n) * width / height))
    corners = [[0.0, 0.0], [_size(width, "width"), _size(height, "height")]]
    mesh = fe.mesh.create_rectangle(comm or fe.MPI.COMM_WORLD, corners, [along, n])
    return tagged_boundary(mesh, _sides(width, height))


def cube(n: int = 8, width: float = 1.0, comm: Any = None) -> Meshed:
    """A cube of n^3 small ones, each cut in six. Sides: left, right (x), front, back (y), bottom, top (z)."""
    fe = load()
    corners = [[0.0] * 3, [_size(width, "width")] * 3]
    mesh = fe.mesh.create_box(comm or fe.MPI.COMM_WORLD, corners, [_count(n)] * 3)
    names = ("left", "right", "front", "back", "bottom", "top")
    sides = {name: _flat(axis // 2, width * (axis % 2), width) for axis, name in enumerate(names)}
    return tagged_boundary(mesh, sides)


def disc(n: int = 8, radius: float = 1.0, comm: Any = None) -> Meshed:
    """A disc about the origin of n rings; ring k has 6 k vertices, on its circle. Side: rim."""
    _count(n)
    rings = [np.zeros((1, 2))]
    for k in range(1, n + 1):
        angle = 2 * np.pi * np.arange(6 * k) / (6 * k)
        rings.append(k / n * _size(radius, "radius") * np.column_stack([np.cos(angle), np.sin(angle)]))
    return tagged_boundary(mesh_of(np.concatenate(rings), _ring_cells(n), comm), {"rim": _everywhere})


def corner(n: int = 8, width: float = 2.0, comm: Any = None) -> Meshed:
    """An L: a square about the origin without its quarter x > 0, y < 0; n squares along each leg's half. Side: rim."""
    _count(n)
    x = _size(width, "width") * (np.arange(2 * n + 1) / (2 * n) - 0.5)
    points, cells = _grid(x, x)
    middle = points[cells].mean(axis=1)
    points, cells = _used(points, cells[~((middle[:, 0] > 0) & (middle[:, 1] < 0))])
    return tagged_boundary(mesh_of(points, cells, comm), {"rim": _everywhere})


def channel(
    n: int = 16, length: float = 1.0, height: float = 1.0, radius: float = 0.126157, at: float = 0.5, comm: Any = None
) -> Meshed:
    """A channel with a round obstacle halfway between its walls.

    Args:
        n: cells along each wall of the square around the obstacle. at: x of the obstacle's centre.

    Returns:
        Sides: obstacle, left, right, bottom, top.

    Raises:
        FemError: the square around the obstacle, as wide as the channel is high, does not fit.
    """
    _count(n)
    half = _size(height, "height") / 2
    if not (0 < radius < half and half <= at * (1 + 1e-12) and half <= (length - at) * (1 + 1e-12)):
        raise FemError(
            "the obstacle needs a radius below half the height and half the height of room on both sides: change "
            "radius, at or length"
        )
    points, cells = _around_circle(n, radius, half)
    blocks = [(points + np.array([at, half]), cells)]
    y = 2 * half * np.arange(n + 1) / n
    for start, stop in ((0.0, at - half), (at + half, length)):
        if stop - start > 1e-9 * height:
            x = np.linspace(start, stop, max(1, round((stop - start) * n / height)) + 1)
            blocks.append(_grid(x, y))
    points, cells = _joined(blocks)
    wall = _sides(length, height)
    sides = {"obstacle": lambda x: np.hypot(x[0] - at, x[1] - half) < 1.01 * radius, **wall}
    return tagged_boundary(mesh_of(points, cells, comm), sides)


def _ring_cells(n: int) -> Cells:
    """Triangles between consecutive rings: in each sixth, k outward ones and k - 1 inward ones."""
    cells = []
    first = [0, *(1 + 3 * k * (k - 1) for k in range(1, n + 1))]  # vertex that ring k begins with
    for k in range(1, n + 1):
        for sixth in range(6):
            for j in range(k):
                outer = first[k] + (sixth * k + j) % (6 * k)
                after = first[k] + (sixth * k + j + 1) % (6 * k)
                inner = first[k - 1] + ((sixth * (k - 1) + j) % (6 * (k - 1)) if k > 1 else 0)
                cells.append((inner, outer, after))
                if j < k - 1:
                    beside = first[k - 1] + (sixth * (k - 1) + j + 1) % (6 * (k - 1))
                    cells.append((inner, after, beside))
    return np.array(cells, np.int64)


def _around_circle(n: int, radius: float, half: float) -> tuple[Points, Cells]:
    """The square |x|, |y| < half without a disc: rays from the circle to the square, cells growing outwards."""
    side = half * (2 * np.arange(n) / n - 1)
    full = np.full(n, half)
    square = np.concatenate([np.column_stack(s) for s in ((side, -full), (full, side), (-side, full), (-full, -side))])
    angle = np.arctan2(square[:, 1], square[:, 0])
    circle = radius * np.column_stack([np.cos(angle), np.sin(angle)])
    layers = max(2, round(n / 2))
    growth = ((half / radius) ** (np.arange(layers + 1) / layers) - 1) / (half / radius - 1)
    points = np.concatenate([circle + t * (square - circle) for t in growth])
    m, cells = 4 * n, []
    for layer in range(layers):
        for i in range(m):
            a, b = layer * m + i, layer * m + (i + 1) % m
            cells.append((a, b, b + m, a + m))
    return points, _halved(points, np.array(cells, np.int64))


def _grid(x: Points, y: Points) -> tuple[Points, Cells]:
    points = np.stack(np.meshgrid(x, y, indexing="ij"), axis=-1).reshape(-1, 2)
    i, j = np.meshgrid(np.arange(len(x) - 1), np.arange(len(y) - 1), indexing="ij")
    a = (i * len(y) + j).ravel()
    quadrilaterals = np.column_stack([a, a + len(y), a + len(y) + 1, a + 1])
    return points, _halved(points, quadrilaterals)


def _halved(points: Points, cells: Cells) -> Cells:
    """Quadrilaterals (m, 4), anticlockwise, cut along their shorter diagonals (2 m, 3)."""
    a, b, c, d = np.moveaxis(points[cells], 1, 0)
    one = np.linalg.norm(a - c, axis=1) <= np.linalg.norm(b - d, axis=1) * (1 + 1e-12)
    first = np.where(one[:, None], cells[:, [0, 1, 2]], cells[:, [0, 1, 3]])
    second = np.where(one[:, None], cells[:, [0, 2, 3]], cells[:, [1, 2, 3]])
    return np.concatenate([first, second])


def _joined(blocks: list[tuple[Points, Cells]]) -> tuple[Points, Cells]:
    """Blocks put together, vertices at the same place made one."""
    points = np.concatenate([block[0] for block in blocks])
    starts = np.cumsum([0, *(len(block[0]) for block in blocks)])
    cells = np.concatenate([block[1] + start for block, start in zip(blocks, starts[:-1], strict=True)])
    grain = 1e-9 * np.ptp(points, axis=0).max()
    _, kept, number = np.unique(np.round(points / grain), axis=0, return_index=True, return_inverse=True)
    return points[kept], number.ravel()[cells]


def _used(points: Points, cells: Cells) -> tuple[Points, Cells]:
    kept, number = np.unique(cells, return_inverse=True)
    return points[kept], number.reshape(cells.shape)


def _sides(width: float, height: float) -> dict[str, Any]:
    return {
        "left": _flat(0, 0.0, width),
        "right": _flat(0, width, width),
        "bottom": _flat(1, 0.0, height),
        "top": _flat(1, height, height),
    }


def _flat(axis: int, at: float, size: float) -> Any:
    return lambda x: np.abs(x[axis] - at) < 1e-9 * size


def _everywhere(x: Any) -> Any:
    return np.full(x.shape[1], True)


def _count(n: int) -> int:
    if not isinstance(n, int) or n < 1:
        raise FemError(f"n is {n!r}: give the number of cells along a side, at least 1")
    return n


def _size(value: float, name: str) -> float:
    if not value > 0:
        raise FemError(f"{name} is {value!r}: give a positive length")
    return float(value)

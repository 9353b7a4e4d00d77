"""The inversion seen at points without an order: 169 of its 625 nodes, drawn at random.

Designs, states and references are known there only. A point network takes them as they are. FNO needs a grid: values
at the points become values at 13 x 13 nodes and come back, both by interpolation. From the points to the nodes of the
solver it goes in one way for all: thin-plate splines through the points and the rim, where the pressure is zero.
"""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from scipy.interpolate import RBFInterpolator, make_interp_spline
from torch import Tensor

from operators.pairs import square_turns
from operators.recipes.inversion import SquareView, square
from operators.settings import Settings

Matrix = NDArray[np.float64]
SIDE = 13  # of the grid of FNO


@dataclass(frozen=True)
class GriddedView(SquareView):
    """Args: gridded: (G, M), from values at the points to values at the nodes of the grid."""

    gridded: Tensor | None = None

    def down(self, state: Tensor) -> Tensor:
        assert self.gridded is not None
        return (state[:, self.nodes] @ self.gridded.T)[..., None]

    def to(self, place: Any) -> "GriddedView":
        assert self.gridded is not None
        moved = super().to(place)
        return replace(moved, gridded=self.gridded.to(place))  # pyright: ignore[reportReturnType]


def drawn(count: int = SIDE * SIDE, seed: int = 11) -> NDArray[np.intp]:
    """Numbers of the nodes, rising."""
    return np.sort(np.random.default_rng(seed).choice(len(square().points), count, replace=False))


def scattered() -> SquareView:
    """For point networks."""
    there, nodes = square(), drawn()
    free = np.isin(nodes, there.inner).astype(float)
    rest = np.concatenate([there.points[nodes], free[:, None]], axis=1)
    return SquareView(
        _single(there.prior[nodes]),
        _single(rest),
        torch.as_tensor(nodes),
        _single(_prolonged(nodes)),
        torch.as_tensor(square_turns(there.n)),
    )


def gridded() -> GriddedView:
    """For networks on grids."""
    there, nodes = square(), drawn()
    points, axis = there.points[nodes], np.linspace(0, 1, SIDE)
    grid = np.stack(np.meshgrid(axis, axis, indexing="ij"), axis=-1).reshape(-1, 2)
    free = ((grid > 0) & (grid < 1)).all(axis=1).astype(float)
    onto = RBFInterpolator(points, np.eye(len(points)))(grid)
    x, y = (make_interp_spline(axis, np.eye(SIDE), k=3)(points[:, d]) for d in (0, 1))
    back = np.einsum("ki,kj->kij", x, y).reshape(len(points), -1)
    return GriddedView(
        _single(onto @ there.prior[nodes]),
        _single(np.concatenate([grid, free[:, None]], axis=1)),
        torch.as_tensor(nodes),
        _single(_prolonged(nodes) @ back),
        torch.as_tensor(square_turns(there.n)),
        _single(onto),
    )


def view(settings: Settings) -> SquareView:
    return scattered() if settings.grid is None else gridded()


def _prolonged(nodes: NDArray[np.intp]) -> Matrix:
    """(s, M), zero on the rim."""
    there = square()
    rim = np.setdiff1d(np.arange(len(there.points)), there.inner)
    seen = np.setdiff1d(nodes, rim)
    known = np.concatenate([seen, rim])
    values = np.zeros((len(known), len(nodes)))
    values[np.arange(len(seen)), np.searchsorted(nodes, seen)] = 1.0
    matrix = RBFInterpolator(there.points[known], values)(there.points)
    matrix[rim] = 0.0
    return matrix


def _single(values: Matrix) -> Tensor:
    return torch.as_tensor(np.ascontiguousarray(values), dtype=torch.float32)

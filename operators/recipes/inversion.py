"""The inversion family (`pde.problems.inversion`): log-permeability of a square from noisy pressures.

The operator sees m = T z at the nodes, with their coordinates and a mask of the free ones. By default it works on every
second node, 13 x 13 of 25 x 25: the design is restricted by taking its values there, the change of the state is
prolonged by cubic splines, and the solver stays as it is.
"""

from dataclasses import dataclass, field, replace
from functools import cache
from typing import Any

import numpy as np
import torch
from scipy.interpolate import make_interp_spline
from torch import Tensor

from operators.errors import OperatorError
from operators.pairs import square_turns
from operators.recipes import Recipe
from operators.recipes.sizes import small
from operators.settings import Settings
from operators.training import TrainingSettings, Weights
from operators.trajectories import Member
from pde.problems.inversion import Inversion, Square

CELLS, COARSENING = 24, 2


@cache
def square(cells: int = CELLS) -> Square:
    return Square.of(cells)


def member(number: int) -> Member:
    """Number 0, 1, ... of the family: own truth, own data, own start."""
    problem, start = Inversion.member(square(), number)
    return Member(problem, start, {"data": problem.data, "sigma": np.array([problem.sigma])})


@dataclass(frozen=True)
class SquareView:
    """Args: prior: (M, n), T at the points of the operator. rest: (M, 3), coordinates and mask. nodes: (M,).
    prolong: (s, M), or None on the points of the solver. turns: (8, s)."""

    prior: Tensor
    rest: Tensor
    nodes: Tensor
    prolong: Tensor | None
    turns: Tensor | None = field(default=None, repr=False)

    @classmethod
    def of(cls, square: Square, coarsening: int = COARSENING) -> "SquareView":
        """Raises: OperatorError, the cells are no multiple of the coarsening."""
        n = square.n
        if n % coarsening:
            raise OperatorError(f"{n} cells cannot be coarsened by {coarsening}: take a divisor")
        number = np.arange((n + 1) ** 2).reshape(n + 1, n + 1)
        nodes = number[::coarsening, ::coarsening].ravel()
        free = np.isin(nodes, square.inner).astype(float)
        rest = np.concatenate([square.points[nodes], free[:, None]], axis=1)
        up = None
        if coarsening > 1:
            along = interpolation(n // coarsening, coarsening)
            up = torch.as_tensor(np.kron(along, along), dtype=torch.float32)
        return cls(
            torch.as_tensor(square.prior[nodes], dtype=torch.float32),
            torch.as_tensor(rest, dtype=torch.float32),
            torch.as_tensor(nodes),
            up,
            torch.as_tensor(square_turns(n)),
        )

    def features(self, design: Tensor) -> Tensor:
        """(B, n) -> (B, M, 4): x, y, mask, m."""
        m = design @ self.prior.T
        return torch.cat([self.rest.expand(len(design), -1, -1), m[..., None]], dim=-1)

    def down(self, state: Tensor) -> Tensor:
        return state[:, self.nodes, None]

    def up(self, values: Tensor) -> Tensor:
        # Pressures on the rim are known.
        flat = values[..., 0] * self.rest[:, 2]
        return flat if self.prolong is None else flat @ self.prolong.T

    def objective(self, state: Tensor, design: Tensor, known: dict[str, Tensor]) -> Tensor:
        return 0.5 * (((state - known["data"]) / known["sigma"]) ** 2).sum(dim=1)

    def to(self, place: Any) -> "SquareView":
        parts = {name: getattr(self, name).to(place) for name in ("prior", "rest")}
        if self.prolong is not None:
            parts["prolong"] = self.prolong.to(place)
        if not isinstance(place, torch.dtype):
            parts |= {"nodes": self.nodes.to(place), "turns": None if self.turns is None else self.turns.to(place)}
        return replace(self, **parts)


def interpolation(cells: int, factor: int) -> np.ndarray:
    """Cubic spline from the nodes of `cells` to those of `factor` times as many, along one axis.

    A line between the nodes would leave 0.5 % of the state undescribed in this family, the spline leaves 0.1 %.
    """
    coarse, fine = np.arange(cells + 1.0), np.arange(cells * factor + 1) / factor
    return make_interp_spline(coarse, np.eye(cells + 1), k=3)(fine)


def view(coarsening: int = COARSENING) -> SquareView:
    return SquareView.of(square(), coarsening)


def settings(kind: str = "fno", output: str = "increment", coarsening: int = COARSENING) -> Settings:
    """ "fno" and the point networks have 91,000 to 96,000 real parameters."""
    side = CELLS // coarsening + 1
    return small(kind, output, inputs=4, outputs=1, grid=(side, side), frequencies=4)


RECIPE = Recipe(
    name="inversion",
    title="log-permeability of a square from noisy pressures",
    member=member,
    view=view,
    settings=settings,
    kept=(0, 1, 2),
    training=TrainingSettings(steps=1300, validate_every=50, weights=Weights(state=5.0, sensitivity=0.5)),
    record={"cap": 5.0},
    keep=16,
    runs=range(100),
    unseen=range(100, 120),
    probe=5.0,
)

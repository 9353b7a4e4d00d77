"""How an operator sees a problem on a rectangle: at the nodes of a regular grid, in `ij` order.

    features   x, y, marks, design there        down   the state's values at the nodes
    up         values at the nodes -> every number of the state, by splines between the nodes

The state may be of several elements, such as quadratic velocities and linear pressures; each component says where its
numbers sit. Errors are relative per component, and a velocity across a channel may vanish, so two components can be
seen along axes turned by 45 degrees: then neither is small.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
import torch
from numpy.typing import NDArray
from scipy.interpolate import make_interp_spline
from torch import Tensor

from operators.errors import OperatorError
from operators.problems.tensors import Component
from operators.recipes.objectives import moved, single

Vector = NDArray[np.float64]


@dataclass(frozen=True)
class Rectangle:
    """A grid of (nodes along x, nodes along y) over a box from low to high."""

    low: tuple[float, float]
    high: tuple[float, float]
    nodes: tuple[int, int]

    @property
    def axes(self) -> tuple[Vector, Vector]:
        x, y = (np.linspace(*ends) for ends in zip(self.low, self.high, self.nodes, strict=True))
        return x, y

    @property
    def points(self) -> Vector:
        """(M, 2), in `ij` order."""
        return np.stack(np.meshgrid(*self.axes, indexing="ij"), axis=-1).reshape(-1, 2)

    def unit(self) -> Vector:
        """(M, 2): the points, the longer side being one."""
        size = max(high - low for low, high in zip(self.low, self.high, strict=True))
        return (self.points - np.array(self.low)) / size

    def at(self, points: Vector) -> NDArray[np.intp]:
        """(M,): which of the points : (k, 2) sits at each node.

        Raises:
            OperatorError: at some node there is none.
        """
        from scipy.spatial import KDTree

        away, which = KDTree(points).query(self.points)
        if np.max(away) > 1e-6 * (self.high[0] - self.low[0]):
            raise OperatorError("the grid has nodes where the state has none: take a divisor of the mesh")
        return np.asarray(which, np.intp)

    def mean(self, points: Vector) -> Vector:
        """(M, k): means about the nodes of values at points : (k, 2); weights fall to zero at the next nodes."""
        hats = []
        for d, axis in enumerate(self.axes):
            hats.append(np.maximum(0, 1 - np.abs(axis[:, None] - points[:, d]) / (axis[1] - axis[0])))
        weights = np.einsum("ik,jk->ijk", *hats).reshape(-1, len(points))
        return weights / weights.sum(axis=1, keepdims=True)

    def spline(self, points: Vector) -> Vector:
        """(k, M): values at points : (k, 2) from those at the nodes, cubic along both axes."""
        x, y = (make_interp_spline(axis, np.eye(len(axis)), k=3)(points[:, d]) for d, axis in enumerate(self.axes))
        return np.einsum("ki,kj->kij", x, y).reshape(len(points), -1)


@dataclass(frozen=True)
class RectangleView:
    """Args:
    field: (m, n), from the design to the field that the equation sees, such as a filter; None: the same.
    means: (M, m), values of the field at the nodes. rest: (M, r), coordinates and marks.
    nodes: (c, M), numbers of the state at the nodes. prolong: per component (k, M), zero rows at fixed values.
    order: (s,), where each number of the state is among the components' one after the other.
    turned: (c, c), orthogonal; the operator's values are the components times it.
    powers: of the field, each a feature, such as the modulus of SIMP besides the density.
    J: (state, design, known) -> (B,), the part of the objective that depends on the state; with a method `to`.
    """

    field: Tensor | None
    means: Tensor
    rest: Tensor
    nodes: Tensor
    prolong: tuple[Tensor, ...]
    order: Tensor
    turned: Tensor
    J: Any
    powers: tuple[float, ...] = (1.0,)
    turns: Tensor | None = None

    @classmethod
    def of(
        cls,
        grid: Rectangle,
        means: Vector,
        components: Sequence[Component],
        J: Any,
        field: Any = None,
        marks: Vector | None = None,
        turned: Sequence[int] = (),
        powers: tuple[float, ...] = (1.0,),
    ) -> Self:
        """Args: turned: two components that are seen along axes turned by 45 degrees.

        Raises:
            OperatorError: a node without a value; numbers of the state that belong to no component.
        """
        numbers = np.concatenate([part.numbers for part in components])
        if not np.array_equal(np.sort(numbers), np.arange(len(numbers))):
            raise OperatorError("the components are not the whole state")
        rest = grid.unit() if marks is None else np.concatenate([grid.unit(), marks], axis=1)
        turn = np.eye(len(components))
        if turned:
            turn[np.ix_(turned, turned)] = np.array([[1, 1], [1, -1]]) / 2**0.5
        return cls(
            None if field is None else single(field),
            single(means),
            single(rest),
            torch.as_tensor(np.stack([part.numbers[grid.at(part.points)] for part in components])),
            tuple(single(grid.spline(part.points) * part.free[:, None]) for part in components),
            torch.as_tensor(np.argsort(numbers)),
            single(turn),
            J,
            powers,
        )

    def features(self, design: Tensor) -> Tensor:
        """(B, n) -> (B, M, r + powers)"""
        field = design if self.field is None else design @ self.field.T
        there = [field if power == 1 else field.clamp(min=0) ** power for power in self.powers]
        values = torch.stack([part @ self.means.T for part in there], dim=-1)
        return torch.cat([self.rest.expand(len(design), -1, -1), values], dim=-1)

    def down(self, state: Tensor) -> Tensor:
        return state[:, self.nodes].transpose(1, 2) @ self.turned

    def up(self, values: Tensor) -> Tensor:
        parts = (values @ self.turned.T).unbind(dim=-1)
        whole = [part @ up.T for part, up in zip(parts, self.prolong, strict=True)]
        return torch.cat(whole, dim=1)[:, self.order]

    def objective(self, state: Tensor, design: Tensor, known: dict[str, Tensor]) -> Tensor:
        return self.J(state, design, known)

    def to(self, place: Any) -> Self:
        return moved(self, place)


@dataclass(frozen=True)
class ElasticView(RectangleView):
    """Of an elastic body under a load, J = f . u: errors are in the product of energy, where void counts for nothing.

    Args: energy: (state, design) -> u . K(x) u : (B,).
    """

    energy: Any = None

    def error(self, state: Tensor, true: Tensor, design: Tensor, known: dict[str, Tensor]) -> Tensor:
        """(B,): the sine of the angle between the states and the relative error of J, together.

        At the solved state f . v = u . K v, so that the cosine takes no product of the two. The training asks for this.
        """
        right, work = self.J(true, design, known), self.J(state, design, known)
        sine = 1 - work**2 / (right * self.energy(state, design))
        return (sine.clamp(min=0) + (1 - work / right) ** 2 + 1e-12).sqrt()

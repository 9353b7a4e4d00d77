"""A plate on the grid engine: pixels instead of triangles, for every two-dimensional `topopt.problem.Problem`."""

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from topopt.features.errors import FeatureError
from topopt.features.plate import SOFT, Response
from topopt.interpolation import SIMP
from topopt.problem import Problem, check
from topopt.responses.compliance import Compliance

Field = NDArray[np.float64]


@dataclass(frozen=True)
class PixelPlate:
    """Supports, loads, load cases, keep and void regions are those of the problem.

    Raises:
        DesignError: the problem cannot be right, or has three dimensions.
    """

    problem: Problem
    interpolation: SIMP = SOFT
    tolerance: float = 1e-8

    def __post_init__(self) -> None:
        if self.problem.grid.dim != 2:
            raise FeatureError("features are planar, this grid has three dimensions: take a plate and extrude it")
        check(self.problem)

    @cached_property
    def filled(self) -> NDArray[np.bool_]:
        """Pixels that hold some of the body, (nx, ny)."""
        return self.problem.filled > 0

    @property
    def points(self) -> Field:
        return self._centres

    @cached_property
    def _centres(self) -> Field:
        return self.problem.grid.centers()[self.filled]

    @property
    def areas(self) -> Field:
        return self.problem.filled[self.filled] * self.problem.grid.element_volume

    @property
    def h(self) -> float:
        return float(np.sqrt(self.problem.grid.element_volume))

    @property
    def thickness(self) -> float:
        return self.problem.thickness  # the modulus of the problem carries it: the grid engine's plates are 1 mm thick

    @property
    def bounds(self) -> Field:
        half = 0.5 * self.problem.grid.steps
        return np.stack([self.points.min(0) - half, self.points.max(0) + half])

    @property
    def border(self) -> Field:
        """(k, 2, 2) sides of pixels that have a neighbour on one side only."""
        full = np.pad(self.filled, 1)
        x, y = self.problem.grid.node_axes()
        upright = [((x[i], y[j]), (x[i], y[j + 1])) for i, j in np.argwhere(full[:-1, 1:-1] != full[1:, 1:-1])]
        level = [((x[i], y[j]), (x[i + 1], y[j])) for i, j in np.argwhere(full[1:-1, :-1] != full[1:-1, 1:])]
        return np.array(upright + level, float)

    @property
    def keep(self) -> NDArray[np.bool_]:
        """(m,) which of the points lie in pixels that stay solid."""
        return self.problem.kept[self.filled]

    @cached_property
    def _compliance(self) -> Compliance:
        return Compliance(self.problem, self.interpolation)

    def response(self, rho: Field) -> Response:
        """rho : (m,) of the filled pixels."""
        full = np.zeros(self.filled.shape)
        full[self.filled] = rho
        look = self._compliance(full, None, self.tolerance)
        return Response(look.compliance, look.gradient[self.filled], look.u)

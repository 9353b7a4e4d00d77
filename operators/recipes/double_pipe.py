"""The double-pipe family (`pde.problems.double_pipe`, B5b): channels for two inflows and two outflows.

Members differ in their start and in the share that may be fluid; both enter the state by the density alone. The
operator sees the density at the vertices, 21 x 21, and answers with velocity and pressure there. Velocities are
quadratic: their changes at the midpoints of edges are splines of those at the vertices.

It learns from errors of states alone. On admissible velocities the dissipation is nearly stationary at the solved one,
so that the part of the gradient that comes through the state is a fifth of the whole. A sensitivity loss made that
part better and the hybrid worse: it ended in other optima more often.
"""

from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np

from operators.hybrid_settings import HybridSettings
from operators.losses import Weights
from operators.problems.fem import FemProblem
from operators.problems.starts import waves
from operators.problems.tensors import component, quadrature
from operators.recipes import Recipe
from operators.recipes.objectives import Dissipation
from operators.recipes.rectangle import Rectangle, RectangleView
from operators.recipes.sizes import small
from operators.settings import Settings
from operators.training import TrainingSettings
from operators.trajectories import Member
from pde.problems.double_pipe import HEIGHT, LENGTH, OPEN, SOLID

N, Q = 20, 0.1


def problem(volume: float = 1 / 3, n: int = N) -> FemProblem:
    from pde.problems.double_pipe import pose

    return FemProblem(pose(n=n, volume=volume, q=Q, first_iterations=0))


def member(number: int, n: int = N) -> Member:
    """Number 0, 1, ... of the family: own volume and start."""
    rng = np.random.default_rng([85, number])
    volume = float(rng.uniform(0.28, 0.4))
    given: Any = problem(volume, n)
    return Member(given, waves(given, 1000 + number, volume, 0.1))


def grid(n: int = N) -> Rectangle:
    return Rectangle((0.0, 0.0), (LENGTH, HEIGHT), (n + 1, n + 1))


@dataclass(frozen=True)
class InversePermeability:
    """alpha(rho) of the problem, for numbers and tensors."""

    q: float

    def __call__(self, rho: Any) -> Any:
        return SOLID + (OPEN - SOLID) * rho * (1 + self.q) / (rho + self.q)


@cache
def view(n: int = N) -> RectangleView:
    """Raises: FemUnavailable, DOLFINx is not installed."""
    given, there = problem(n=n), grid(n)
    velocity = [component(given, 0, 0), component(given, 0, 1)]
    points = quadrature(given, 4, lambda w: (w[0], w[1]))
    H = given.objective_bend(np.zeros(given.states), np.ones(given.n))
    J = Dissipation.of(H, OPEN, points.field, points.state, points.weights, InversePermeability(Q))
    at = np.eye(given.n)[there.at(given.points)]
    return RectangleView.of(there, at, [*velocity, component(given, 1)], J, turned=(0, 1))


def settings(kind: str = "fno", output: str = "increment", n: int = N) -> Settings:
    return small(kind, output, inputs=3, outputs=3, grid=grid(n).nodes, width=20, blocks=4, modes=12)


RECIPE = Recipe(
    name="double_pipe",
    title="channels for two inflows and two outflows",
    member=member,
    view=view,
    settings=settings,
    kept=(0, 1),
    training=TrainingSettings(
        steps=1000,
        rate=4e-3,
        reach=16,
        validate_every=100,
        augment=False,
        weights=Weights(state=5.0),
    ),
    record={"cap": float("inf")},
    keep=16,
    runs=range(100),
    unseen=range(100, 120),
    probe=0.1,
    hybrid=HybridSettings(radius=0.5 * (LENGTH * HEIGHT) ** 0.5, inner_steps=30, resolution=1e-6),
)

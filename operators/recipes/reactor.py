"""The micro-reactor family (`pde.problems.reactor`, B7): where the catalyst should be, if it costs something.

    min  -yield(theta) + price mean(1 - x)        0 <= x <= 1,   theta the filtered design

Members differ in their start and in the price of catalyst; the flow and the reaction do not know the price, so that
the state is one function of the design, while optima differ. Price 0 is the shipped problem.

The operator sees the filtered design at the vertices, 25 x 13, and answers with velocity, pressure and concentration
there. Velocities are quadratic: their changes at the midpoints of edges are splines of those at the vertices.
"""

from functools import cache
from typing import Any

import numpy as np

from operators.hybrid_settings import HybridSettings
from operators.losses import Weights
from operators.problems.priced import PricedFem, evenly
from operators.problems.starts import waves
from operators.problems.tensors import bilinear_objective, component, filter_matrix
from operators.recipes import Recipe
from operators.recipes.objectives import Bilinear
from operators.recipes.rectangle import Rectangle, RectangleView
from operators.recipes.sizes import small
from operators.settings import Settings
from operators.training import TrainingSettings
from operators.trajectories import Member

N, WIDTH, DEAREST = 24, 0.5, 0.2


def problem(price: float = 0.0, n: int = N) -> PricedFem:
    """price: of catalyst all over the channel, in units of the yield; the start and the state do not depend on it."""
    from pde.problems import pose

    posed = pose("reactor", n=n, width=WIDTH)
    given = PricedFem(posed, np.zeros(posed.J.n))
    given.price = -price * evenly(given)  # mean(1 - x) less its constant
    return given


def member(number: int, n: int = N) -> Member:
    """Number 0, 1, ... of the family: own start, own price."""
    rng = np.random.default_rng([87, number])
    given: Any = problem(float(rng.uniform(0, DEAREST)), n)
    start = waves(given, 1000 + number, float(rng.uniform(0.3, 0.7)), 0.25)
    return Member(given, start)


def grid(n: int = N) -> Rectangle:
    return Rectangle((0.0, 0.0), (1.0, WIDTH), (n + 1, max(2, round(n * WIDTH)) + 1))


@cache
def view(n: int = N) -> RectangleView:
    """Raises: FemUnavailable, DOLFINx is not installed."""
    given, there = problem(n=n), grid(n)
    velocity = [component(given, 0, 0), component(given, 0, 1)]
    whole = filter_matrix(given)
    A, b = bilinear_objective(given)
    J = Bilinear.of((A.T @ whole).T, b)
    parts = [*velocity, component(given, 1), component(given, 2)]
    at = np.eye(given.n)[there.at(given.points)]
    return RectangleView.of(there, at, parts, J, field=whole, turned=(0, 1))


def settings(kind: str = "fno", output: str = "increment", n: int = N) -> Settings:
    """About 95,000 real parameters."""
    return small(kind, output, inputs=3, outputs=4, grid=grid(n).nodes, frequencies=4)


RECIPE = Recipe(
    name="reactor",
    title="catalyst in a micro-reactor",
    member=member,
    view=view,
    settings=settings,
    kept=(0, 1),
    training=TrainingSettings(
        steps=500, reach=16, validate_every=100, augment=False, weights=Weights(state=5.0, sensitivity=0.5)
    ),
    record={"cap": 5.0},
    keep=16,
    runs=range(60),
    unseen=range(100, 120),
    probe=0.1,
    hybrid=HybridSettings(radius=0.35, inner_steps=30, resolution=1e-6),
)

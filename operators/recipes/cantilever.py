"""The cantilever family (`pde.problems.cantilever`, B4b): the stiffest one with a given amount of material.

Members differ in their start, in their volume, and in the tenth of the right edge that is loaded, of the lower five.
The state of the reference tells the operator where the load is.

The operator works on every second node, 31 x 16 of 61 x 31. It sees means of the density and of its third power, the
modulus, about these nodes, and answers with the displacement there, of which the change is prolonged by splines.
"""

from dataclasses import replace
from functools import cache
from typing import Any

import numpy as np
from scipy.sparse import diags_array, vstack

from operators.hybrid_settings import HybridSettings
from operators.losses import Weights
from operators.problems.fem import FemProblem
from operators.problems.starts import waves
from operators.problems.tensors import component, quadrature
from operators.recipes import Recipe
from operators.recipes.objectives import Energy, Simp, Work
from operators.recipes.rectangle import ElasticView, Rectangle
from operators.recipes.sizes import small
from operators.settings import Settings
from operators.training import TrainingSettings
from operators.trajectories import Member
from pde.problems.cantilever import NU, E

N, COARSENING, LOADS, POWER = 30, 2, 5, 3.0


def problem(volume: float = 0.5, tenth: int = 1, n: int = N) -> FemProblem:
    from pde.problems import pose

    return FemProblem(pose("cantilever", n=n, volume=volume, tenth=tenth))


def member(number: int, n: int = N) -> Member:
    """Number 0, 1, ... of the family: own volume, load and start."""
    rng = np.random.default_rng([84, number])
    volume = float(rng.uniform(0.35, 0.65))
    given: Any = problem(volume, int(rng.integers(1, LOADS + 1)), n)
    start = waves(given, 1000 + number, volume, 0.15)
    return Member(given, start, {"load": given.objective_slope(np.zeros(given.states), start)})


def grid(n: int = N, coarsening: int = COARSENING) -> Rectangle:
    return Rectangle((0.0, 0.0), (60.0, 30.0), (2 * n // coarsening + 1, n // coarsening + 1))


@cache
def view(n: int = N, coarsening: int = COARSENING) -> ElasticView:
    """Raises: FemUnavailable, DOLFINx is not installed. OperatorError, n is no multiple of the coarsening."""
    given, there = problem(n=n), grid(n, coarsening)
    parts = [component(given, 0), component(given, 1)]
    points = quadrature(given, 3, strains)
    rows = vstack([diags_array(np.sqrt(points.weights)) @ part for part in points.state])
    seen = ElasticView.of(there, there.mean(given.points), parts, Work(), powers=(1.0, POWER))
    return replace(seen, energy=Energy.of(rows, points.field, Simp(1e-3 * E, E, POWER)))


def strains(u: Any) -> list[Any]:
    """Of plane stress, so that at unit modulus the sum of their squares is sigma : eps."""
    from pde.fem.dolfinx_import import load

    ufl = load().ufl
    e = ufl.sym(ufl.grad(u))
    shear = [(1 - NU) ** 0.5 * part for part in (e[0, 0], e[1, 1], 2**0.5 * e[0, 1])]
    return [part / (1 - NU**2) ** 0.5 for part in (*shear, NU**0.5 * ufl.tr(e))]


def settings(kind: str = "fno", output: str = "increment", n: int = N, coarsening: int = COARSENING) -> Settings:
    homogeneous, nodes = output == "increment", grid(n, coarsening).nodes
    return small(kind, output, inputs=4, outputs=2, grid=nodes, width=20, blocks=4, modes=12, homogeneous=homogeneous)


RECIPE = Recipe(
    name="cantilever",
    title="the stiffest cantilever with a given volume",
    member=member,
    view=view,
    settings=settings,
    kept=(0, 1),
    training=TrainingSettings(
        steps=1500, reach=16, validate_every=100, augment=False, weights=Weights(state=2.0, sensitivity=1.0)
    ),
    record={"cap": float("inf")},
    keep=16,
    runs=range(100),
    unseen=range(100, 120),
    probe=1.0,
    hybrid=HybridSettings(radius=0.5 * (60 * 30) ** 0.5, inner_steps=30, resolution=1e-6),
)

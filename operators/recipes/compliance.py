"""The pixel family (`operators.problems.compliance`): the stiffest cantilever of 32 x 16 filtered pixels.

Members differ in their start, in their volume, and in the height at which the load pulls. The state of the reference
tells the operator where that is. It sees means of the filtered density and of its third power, the modulus, at the
nodes, and answers with the displacement there.
"""

from dataclasses import replace
from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array, vstack

from operators.hybrid_settings import HybridSettings
from operators.losses import Weights
from operators.problems.compliance import E_MIN, Compliance, cantilever
from operators.problems.starts import waves
from operators.problems.tensors import Component
from operators.recipes import Recipe
from operators.recipes.objectives import Energy, Simp, Work
from operators.recipes.rectangle import ElasticView, Rectangle
from operators.recipes.sizes import small
from operators.settings import Settings
from operators.training import TrainingSettings
from operators.trajectories import Member

SHAPE = (32, 16)
Vector = NDArray[np.float64]


def member(number: int) -> Member:
    """Number 0, 1, ... of the family: own volume, load and start."""
    rng = np.random.default_rng([83, number])
    volume, where = float(rng.uniform(0.35, 0.55)), float(rng.uniform(0.42, 0.58))
    given = cantilever(SHAPE, volume, where)
    return Member(given, waves(given, 1000 + number, volume, 0.15, centres()), {"load": given.load})


def grid() -> Rectangle:
    return Rectangle((0.0, 0.0), (float(SHAPE[0]), float(SHAPE[1])), (SHAPE[0] + 1, SHAPE[1] + 1))


def centres() -> Vector:
    """(elements, 2)"""
    axes = (np.arange(float(n)) + 0.5 for n in SHAPE)
    return np.asarray(np.stack(np.meshgrid(*axes, indexing="ij"), axis=-1).reshape(-1, 2), float)


@cache
def view() -> ElasticView:
    given, there = cantilever(SHAPE), grid()
    parts = [displacement(given, axis) for axis in (0, 1)]
    seen = ElasticView.of(
        there, there.mean(centres()), parts, Work(), given.filter.toarray(), powers=(1.0, given.power)
    )
    return replace(seen, energy=Energy.of(strains(given), given.filter, Simp(E_MIN, 1.0, given.power)))


def strains(given: Compliance) -> Any:
    """(r elements, s), sparse: S with u . K u = sum_e E_e |S_e u|^2: the roots of the element matrix."""
    values, modes = np.linalg.eigh(given.system.element_matrix)
    roots = (modes * np.sqrt(np.maximum(values, 0))).T[values > 1e-12 * values.max()]
    dofs = given.element_dofs
    rows = np.broadcast_to(np.arange(len(dofs))[:, None], dofs.shape).ravel()
    shape = (len(dofs), given.load.size)
    return vstack([csr_array((np.tile(root, len(dofs)), (rows, dofs.ravel())), shape) for root in roots])


def displacement(given: Compliance, axis: int) -> Component:
    numbers = np.arange(0, given.load.size, 2) + axis
    return Component(numbers, grid().points, ~given.system.fixed.reshape(-1, 2)[:, axis])


def settings(kind: str = "fno", output: str = "increment") -> Settings:
    homogeneous, nodes = output == "increment", grid().nodes
    return small(kind, output, inputs=4, outputs=2, grid=nodes, width=20, blocks=4, modes=12, homogeneous=homogeneous)


RECIPE = Recipe(
    name="compliance",
    title="the stiffest cantilever of pixels",
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
    hybrid=HybridSettings(radius=0.5 * (SHAPE[0] * SHAPE[1]) ** 0.5, inner_steps=30, resolution=1e-6),
)

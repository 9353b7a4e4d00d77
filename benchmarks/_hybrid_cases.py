"""Families of problems for `benchmarks.hybrid`: members with unseen starts, and surrogates from a few solver-only runs.

inversion    B3   log-permeability from noisy pressures, 24 x 24; each member has its own truth, data and start
cantilever   B4b  stiffness of 60 x 30 squares, bounds and a volume constraint; members differ in their start
reactor      B7   yield of a channel, bounds; members differ in their start
compliance        stiffness of 32 x 16 filtered pixels; each member has its own load, volume and start. Without gates

The first surrogate of a problem, which the gates are about, is a reduced basis of the kind that the equation allows:
it learns from the same few runs as the mean Jacobian, without the tangent solves of that, and needs no training.
"""

import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from operators.hybrid import HybridSettings, hybrid
from operators.problems.starts import waves
from operators.surrogates import Surrogate
from operators.surrogates.frozen import MeanJacobian

Vector = NDArray[np.float64]


@dataclass(frozen=True)
class Trained:
    """A surrogate for any member: make(problem), and the solves and seconds that it cost before the first of them;
    resolution: see `HybridSettings`."""

    name: str
    make: Callable[[Any], Surrogate]
    solves: int
    seconds: float
    resolution: float = 1e-9


@dataclass(frozen=True)
class Case:
    """Attributes:
    member: number -> problem and start. train: -> surrogates, the one that the gates are about first.
    radius: first radius of the hybrid. allowed: gap to the reference that counts as reached.
    reference_solves: forward solves of the reference. most_forward: of the hybrids. inner_steps: of their inner runs.
    """

    name: str
    member: Callable[[int], tuple[Any, Vector]]
    train: Callable[[], list[Trained]]
    radius: float
    allowed: float
    reference_solves: int
    most_forward: int
    inner_steps: int


class Recording:
    """A problem whose solved designs and states are kept, in order."""

    def __init__(self, problem: Any) -> None:
        self._problem, self.designs, self.states = problem, [], []

    def __getattr__(self, name: str) -> Any:
        return getattr(self._problem, name)

    def solve(self, x: Vector) -> Vector:
        u = self._problem.solve(x)
        self.designs.append(np.array(x))
        self.states.append(u)
        return u


@dataclass
class Runs:
    """What solver-only runs left behind: designs and states of a few iterates of each, and their last designs."""

    problems: list[Any]
    designs: list[Vector]
    states: list[Vector]
    ends: list[tuple[Any, Vector, Vector]]
    solves: int
    seconds: float


def record(members: Iterator[tuple[Any, Vector]], most_forward: int, keep: int) -> Runs:
    """Solver-only runs; of each the first `keep` / 2 designs and as many spread over the rest."""
    began, runs = time.perf_counter(), Runs([], [], [], [], 0, 0.0)
    for problem, x0 in members:
        seen: Any = Recording(problem)
        result = hybrid(seen, x0, None, HybridSettings("solver_only", most_forward=most_forward))
        last = len(seen.states) - 1
        picked = np.unique([*range(keep // 2), *np.linspace(keep // 2, last, keep - keep // 2).astype(int)])
        runs.designs += [seen.designs[k] for k in picked if k <= last]
        runs.states += [seen.states[k] for k in picked if k <= last]
        end = next(k for k, x in enumerate(seen.designs) if np.array_equal(x, result.x))
        runs.ends.append((problem, seen.designs[end], seen.states[end]))
        runs.problems.append(problem)
        runs.solves += result.spent.solves
    runs.seconds = time.perf_counter() - began
    return runs


def mean_jacobian(runs: Runs, jacobian: Callable[[Any, Vector, Vector], Vector], most: int) -> Trained:
    """The mean of du/dx at the last designs; each costs as many tangent solves as there are variables."""
    began = time.perf_counter()
    mean = MeanJacobian.of(jacobian(*end) for end in runs.ends[:most])
    tangents = min(most, len(runs.ends)) * len(runs.ends[0][1])
    return Trained(mean.name, lambda problem: mean, runs.solves + tangents, runs.seconds + time.perf_counter() - began)


# -- B3 ---------------------------------------------------------------------------------------------------------------


def inversion(quick: bool) -> Case:
    from operators.surrogates.galerkin import PodGalerkin
    from pde.problems.inversion import Inversion, Square

    square = Square.of(12 if quick else 24)
    ranks = (20, 10) if quick else (40, 20)

    def jacobian(problem: Any, x: Vector, u: Vector) -> Vector:
        return np.stack([problem.tangent(x, u, e) for e in np.eye(problem.n)], axis=1)

    def train() -> list[Trained]:
        members = (Inversion.member(square, number) for number in range(200, 208 if quick else 230))
        runs = record(members, 60, 16)
        reduced = [pod(PodGalerkin, runs, rank) for rank in ranks]
        return [*reduced, mean_jacobian(runs, jacobian, 4 if quick else 30), *([] if quick else neural("inversion"))]

    return Case("inversion", lambda k: Inversion.member(square, 100 + k), train, 30.0, 0.005, 300, 40, 50)


def neural(name: str) -> list[Trained]:
    """The operator that ships for a family, where there is one. It cost its runs and its training."""
    from operators.models import card, load
    from operators.recipes import WEIGHTS, find
    from operators.surrogates.neural import Viewed

    path = WEIGHTS / f"{name}.safetensors"
    if not path.exists():
        return []
    recipe = find(name)
    found = Viewed(load(path), recipe.view(), "neural operator")
    solves, seconds = priced(recipe)
    return [Trained(found.name, lambda problem: found, solves, seconds + card(path).get("cpu_seconds", 0.0), 1e-6)]


def priced(recipe: Any, tried: int = 2) -> tuple[int, float]:
    """Solves and seconds of a recipe's runs, by the first few of them."""
    from operators.trajectories import record as recorded

    began, solves = time.perf_counter(), 0
    for number in recipe.runs[:tried]:
        spent = recorded(recipe.member(number), number, **recipe.record).about["solves"]
        solves += spent["forward"] + spent["adjoint"] + spent["tangent"]
    share = len(recipe.runs) / tried
    return round(solves * share), (time.perf_counter() - began) * share


def pod(kind: Any, runs: Runs, rank: int, **more: Any) -> Trained:
    """A reduced basis of the runs' states, on the problem that it is made for."""
    base = kind.of(runs.problems[0], np.array(runs.states), rank, **more)
    fresh = {"learnt": []} if more.get("learns", hasattr(base, "learnt")) else {}
    return Trained(base.name, lambda problem: replace(base, problem=problem, **fresh), runs.solves, runs.seconds)


# -- B4b and B7 -------------------------------------------------------------------------------------------------------


def cantilever(quick: bool) -> Case:
    from operators.problems.fem import FemProblem
    from pde import problems

    n = 10 if quick else 30
    posed = {volume: problems.pose("cantilever", n=n, volume=volume) for volume in (0.5, 0.4, 0.6)}

    def member(k: int, volume: float = 0.5) -> tuple[Any, Vector]:
        problem = FemProblem(posed[volume])
        return problem, waves(problem, k, volume, 0.15)

    def train() -> list[Trained]:
        runs = record((member(200 + k, (0.4, 0.5, 0.6)[k % 3]) for k in range(6)), 30, 8)
        found = [smoothed(runs, 20 if quick else 30), *fem_surrogates(runs, 20 if quick else 30)]
        return [*found, *([] if quick else neural("cantilever"))]

    side = float(FemProblem(posed[0.5]).space.inner(*np.ones((2, posed[0.5].J.n)))) ** 0.5
    return Case("cantilever", member, train, 0.5 * side, 0.01, 40 if quick else 60, 40, 30)


def reactor(quick: bool) -> Case:
    from operators.problems.fem import FemProblem
    from pde import problems

    posed = problems.pose("reactor", n=12 if quick else 24)

    def member(k: int) -> tuple[Any, Vector]:
        problem = FemProblem(posed)
        return problem, waves(problem, k, 0.5, 0.25)

    def train() -> list[Trained]:
        runs = record((member(200 + k) for k in range(6)), 40, 10)
        return [*fem_surrogates(runs, 15 if quick else 30), *([] if quick else neural("reactor"))]

    side = float(FemProblem(posed).space.inner(*np.ones((2, posed.J.n)))) ** 0.5
    return Case("reactor", member, train, 0.5 * side, 0.01, 60 if quick else 100, 40, 30)


def compliance(quick: bool) -> Case:
    from operators.recipes import find

    family = find("compliance")

    def made(number: int) -> tuple[Any, Vector]:
        one = family.member(number)
        return one.problem, one.start

    def train() -> list[Trained]:
        runs = record((made(k) for k in range(6 if quick else 12)), 30, 8)
        return [smoothed(runs, 20 if quick else 40), *([] if quick else neural("compliance"))]

    return Case("compliance", lambda k: made(family.unseen[k]), train, family.hybrid.radius, 0.01, 60, 40, 30)


def smoothed(runs: Runs, rank: int) -> Trained:
    """A reduced basis that learns, with a sweep over what it leaves."""
    from operators.surrogates.reduced_basis import ReducedBasis
    from operators.surrogates.smoothed import SmoothedBasis

    base = ReducedBasis.of(runs.problems[0], np.array(runs.states), rank)

    def make(problem: Any) -> SmoothedBasis:
        return SmoothedBasis(problem, replace(base, problem=problem, learnt=[]))

    return Trained(make(runs.problems[0]).name, make, runs.solves, runs.seconds)


def fem_surrogates(runs: Runs, rank: int) -> list[Trained]:
    """A reduced basis that learns on the way, the same without, and the mean Jacobian."""
    from operators.surrogates.reduced_basis import ReducedBasis

    bases = [pod(ReducedBasis, runs, rank), pod(ReducedBasis, runs, rank, learns=False)]
    return [*bases, mean_jacobian(runs, lambda problem, x, u: problem.jacobian(x, u), 6)]


CASES: dict[str, Callable[[bool], Case]] = {
    "inversion": inversion,
    "cantilever": cantilever,
    "reactor": reactor,
    "compliance": compliance,
}

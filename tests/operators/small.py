"""A small inversion family with a few short runs, for tests of what comes after the data."""

from functools import cache

import numpy as np

from operators.models import Operator, build
from operators.recipes.inversion import SquareView
from operators.samples import Samples, samples
from operators.settings import Settings
from operators.trajectories import Member, Run, record
from optim.result import Stop
from pde.problems.inversion import Inversion, Square

CELLS = 8
SQUARE = Square.of(CELLS)


def member(number: int) -> Member:
    problem, start = Inversion.member(SQUARE, number)
    return Member(problem, start, {"data": problem.data, "sigma": np.array([problem.sigma])})


@cache
def runs(first: int, last: int) -> tuple[Run, ...]:
    return tuple(record(member(number), number, stop=Stop(max_iter=7)) for number in range(first, last))


def data() -> tuple[Samples, Samples]:
    """Six runs to learn from, two to judge by."""
    return samples(runs(0, 6)), samples(runs(6, 8))


def view(coarsening: int = 2) -> SquareView:
    return SquareView.of(SQUARE, coarsening)


def operator(output: str = "increment", seed: int = 0) -> Operator:
    sizes = Settings(
        "virtual_fourier",
        4,
        1,
        output=output,  # pyright: ignore[reportArgumentType]
        width=16,
        blocks=2,
        modes=3,
        heads=2,
        sensors=8,
        hidden=1,
        reference_dropout=0.0,
    )
    return build(sizes, (0, 1, 2), seed)

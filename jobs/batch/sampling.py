"""The points of a sweep: every combination, side by side, at random, or a Latin hypercube.

Latin hypercube: each of n points has its own n-th of every axis, in an order of its own per axis (McKay, Beckman and
Conover, 1979). The generator belongs to the sweep; the same seed gives the same points on every machine.
"""

import itertools
import random
from collections.abc import Sequence
from typing import Any, Literal

from jobs.batch.axes import Axis
from jobs.errors import JobError

Sampling = Literal["grid", "zip", "latin_hypercube", "random"]
Point = dict[str, Any]

MOST = 100_000


def points(axes: Sequence[Axis], sampling: Sampling = "grid", samples: int | None = None, seed: int = 0) -> list[Point]:
    """Values by key, in a fixed order.

    Args:
        samples: how many points, for "latin_hypercube" and "random".

    Raises:
        JobError: no axes, lists of different lengths side by side, a continuum in a grid, or no number of samples.
    """
    if not axes:
        raise JobError("sweep: nothing varies; give an axis such as optimize.volume_fraction=0.2,0.3,0.4")
    if sampling in ("latin_hypercube", "random"):
        if samples is None or not 1 <= samples <= MOST:
            raise JobError(f"sweep: {sampling} needs a number of samples between 1 and {MOST:,}: --samples 20")
        generator = random.Random(seed)
        draw = _latin_hypercube if sampling == "latin_hypercube" else _random
        places = draw(len(axes), samples, generator)
        return [{axis.key: axis.at(u) for axis, u in zip(axes, row, strict=True)} for row in places]
    if samples is not None:
        raise JobError("sweep: a number of samples goes with --sampling latin_hypercube or random")
    for axis in axes:
        if axis.values is None:
            raise JobError(
                f"sweep: {axis.key} is a continuum; add --sampling latin_hypercube --samples 20, or list values"
            )
    values = [axis.values or () for axis in axes]
    if sampling == "zip":
        if len({len(v) for v in values}) > 1:
            lengths = ", ".join(f"{axis.key} has {len(v)}" for axis, v in zip(axes, values, strict=True))
            raise JobError(f"sweep: side by side, all entries need as many values: {lengths}")
        rows = list(zip(*values, strict=True))
    else:
        count = 1
        for v in values:
            count *= len(v)
        if count > MOST:
            raise JobError(f"sweep: {count:,} combinations are too many; take fewer values, or sample")
        rows = list(itertools.product(*values))
    return [{axis.key: value for axis, value in zip(axes, row, strict=True)} for row in rows]


def _latin_hypercube(dimension: int, samples: int, generator: random.Random) -> list[tuple[float, ...]]:
    columns = []
    for _ in range(dimension):
        ranks = sorted(range(samples), key=[generator.random() for _ in range(samples)].__getitem__)
        columns.append([(rank + generator.random()) / samples for rank in ranks])
    return list(zip(*columns, strict=True))


def _random(dimension: int, samples: int, generator: random.Random) -> list[tuple[float, ...]]:
    return [tuple(generator.random() for _ in range(dimension)) for _ in range(samples)]

"""Several starts for one problem, of which the best is kept.

The problem is not convex, so starts that differ a little may end in different designs. The first start is the layout as
it was given; in the others every feature is shifted at random. The best is the one with the smallest thresholded
compliance at the goal volume; a design that breaks a rule of validity is taken only if all of them do.

A series is `start / step / finish` as a single run is, and its states are plain data too.
"""

import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from topopt.features.backend import Backend
from topopt.features.bridges import moved
from topopt.features.design import FeatureDesign
from topopt.features.errors import FeatureError
from topopt.features.finish import Result
from topopt.features.problem import FeatureProblem, Settings
from topopt.features.shapes import Shape
from topopt.features.state import ARRAYS, Info, State

Field = NDArray[np.float64]

SHIFT = 0.17  # of the size of a feature: a tenth of its cell, where a feature fills 35 % of that


@dataclass(frozen=True)
class Series:
    """states: one of each start begun so far, the last one at work. starts: how many there will be."""

    states: tuple[State, ...]
    starts: int

    @property
    def current(self) -> State:
        return self.states[-1]

    @property
    def iteration(self) -> int:
        """Of all starts together."""
        return sum(state.iteration for state in self.states)

    @property
    def done(self) -> bool:
        return len(self.states) == self.starts and self.current.done

    def save(self, path: Path) -> None:
        """Write as .npz; `path` is complete or unchanged when this returns."""
        arrays = {f"{k}.{name}": getattr(s, name) for k, s in enumerate(self.states) for name in ARRAYS}
        keys = ("iteration", "first", "target", "shift", "done")
        rows = [
            {k: getattr(s, k) for k in keys} | {"history": [asdict(info) for info in s.history]} for s in self.states
        ]
        temporary = path.with_name(path.name + ".part")
        try:
            with temporary.open("wb") as file:
                note = np.array(json.dumps({"starts": self.starts, "states": rows}))
                np.savez(file, allow_pickle=False, numbers=note, **arrays)
            temporary.replace(path)
        finally:
            temporary.unlink(missing_ok=True)

    @classmethod
    def load(cls, path: Path) -> "Series":
        """Raises: FeatureError, if the file is not a saved series."""
        try:
            with np.load(path, allow_pickle=False) as data:
                note, states = json.loads(str(data["numbers"])), []
                for k, row in enumerate(note["states"]):
                    history = tuple(Info(**info) for info in row.pop("history"))
                    states.append(State(**{name: data[f"{k}.{name}"] for name in ARRAYS}, history=history, **row))
                return cls(tuple(states), note["starts"])
        except (KeyError, TypeError, ValueError, OSError) as reason:
            raise FeatureError(f"{path.name} is not a saved feature design: start afresh") from reason


class Restarts:
    """The method, bound to one problem and several starts.

    Args:
        backend: as for `FeatureDesign`. starts: at least one. seed: of the shifts.

    Raises:
        FeatureError: no start at all.
    """

    def __init__(
        self,
        problem: FeatureProblem,
        settings: Settings,
        backend: Backend | None = None,
        starts: int = 1,
        seed: int = 0,
    ) -> None:
        if starts < 1:
            raise FeatureError(f"restarts is {starts}: at least one start is needed")
        layouts = [jittered(problem.start, k, seed) for k in range(starts)]
        self.designs = [FeatureDesign(replace(problem, start=layout), settings, backend) for layout in layouts]

    def start(self) -> Series:
        """The first state of the first start."""
        return Series((self.designs[0].start(),), len(self.designs))

    def step(self, series: Series) -> tuple[Series, Info]:
        """One iteration of the start at work, or the first one of the next."""
        if series.current.done:
            series = replace(series, states=(*series.states, self.designs[len(series.states)].start()))
        state, info = self.designs[len(series.states) - 1].step(series.current)
        return replace(series, states=(*series.states[:-1], state)), info

    def finish(self, series: Series) -> tuple[Result, ...]:
        """Every start that was begun, cleaned up and brought to the goal volume; the best one first."""
        results = [design.finish(state) for design, state in zip(self.designs, series.states, strict=False)]
        return tuple(sorted(results, key=lambda result: (bool(result.invalid), result.thresholded)))


def jittered(shapes: Sequence[Shape], number: int, seed: int = 0) -> tuple[Shape, ...]:
    """The features of start `number`: as they are for 0, else each shifted by up to `SHIFT` of its size, mm."""
    if number == 0:
        return tuple(shapes)
    draw = np.random.default_rng([seed, number])
    return tuple(moved(shape, SHIFT * np.ptp(shape.bounds, axis=0) * draw.uniform(-1, 1, 2)) for shape in shapes)

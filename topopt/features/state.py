"""Where a feature design is: plain data, saved and loaded bit for bit."""

import json
from dataclasses import asdict, dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from topopt.features.errors import FeatureError

Field = NDArray[np.float64]

ARRAYS = ("x", "before", "before_that", "low", "upp", "lam")


@dataclass(frozen=True)
class Info:
    """One iteration, at the variables it started from.

    Attributes:
        compliance: of the smooth field, N mm. volume, thresholded: fractions, of that field and of its half level.
        target: what the volume was asked to be. sharpness: k h. grey: mean of 4 rho (1 - rho).
        change: largest change of a variable, in element sizes. seconds: on the clock.
    """

    iteration: int
    compliance: float
    volume: float
    thresholded: float
    target: float
    sharpness: float
    grey: float
    change: float
    seconds: float


@dataclass(frozen=True)
class State:
    """x, the two iterates before, MMA's asymptotes, all (n,), its multiplier (1,), and the schedule.

    Attributes:
        first: compliance of the first look, 0 before it. target: volume target, 0 before the first.
        shift: how much less the smooth field shows than the outline has.
    """

    x: Field
    before: Field
    before_that: Field
    low: Field
    upp: Field
    lam: Field
    iteration: int = 0
    first: float = 0.0
    target: float = 0.0
    shift: float = 0.0
    done: bool = False
    history: tuple[Info, ...] = ()

    def save(self, path: Path) -> None:
        """Write as .npz; `path` is complete or unchanged when this returns."""
        numbers = {k: getattr(self, k) for k in ("iteration", "first", "target", "shift", "done")}
        numbers["history"] = [asdict(info) for info in self.history]
        temporary = path.with_name(path.name + ".part")
        try:
            with temporary.open("wb") as file:
                arrays = {name: getattr(self, name) for name in ARRAYS}
                np.savez(file, allow_pickle=False, numbers=np.array(json.dumps(numbers)), **arrays)
            temporary.replace(path)
        finally:
            temporary.unlink(missing_ok=True)

    @classmethod
    def load(cls, path: Path) -> "State":
        """Raises: FeatureError, if the file is not a saved state."""
        try:
            with np.load(path, allow_pickle=False) as data:
                numbers = json.loads(str(data["numbers"]))
                history = tuple(Info(**row) for row in numbers.pop("history"))
                return cls(**{name: data[name] for name in ARRAYS}, history=history, **numbers)
        except (KeyError, TypeError, ValueError, OSError) as reason:
            raise FeatureError(f"{path.name} is not a saved feature design: start afresh") from reason

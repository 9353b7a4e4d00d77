"""Jobs as an order sees them: when they came, how long they are, and how long somebody thinks they are."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from optim.scheduling.errors import SchedulingError

Array = NDArray[np.float64]


@dataclass(frozen=True)
class Trace:
    """Jobs of a past or imagined day, sorted by release.

    Attributes:
        release: (n,) seconds. size: (n,) seconds of work on a reference machine. predicted: (n,) the same as guessed
            beforehand; the sizes themselves where nothing else is given.
    """

    release: Array
    size: Array
    predicted: Array

    def __init__(self, release: ArrayLike, size: ArrayLike, predicted: ArrayLike | None = None) -> None:
        """Raises: SchedulingError, when lengths differ, a number is not finite, or a size is not positive."""
        columns = [np.asarray(c, dtype=float) for c in (release, size, size if predicted is None else predicted)]
        if columns[0].ndim != 1 or any(c.shape != columns[0].shape for c in columns):
            raise SchedulingError("release, size and predicted must be lists of the same length")
        if not all(np.isfinite(c).all() for c in columns) or any((c <= 0).any() for c in columns[1:]):
            raise SchedulingError("release times must be finite, and sizes finite and above 0: leave such jobs out")
        order = np.argsort(columns[0], kind="stable")
        for name, column in zip(("release", "size", "predicted"), columns, strict=True):
            object.__setattr__(self, name, column[order])

    @property
    def count(self) -> int:
        return len(self.release)

    @property
    def ratio(self) -> float:
        """P: the largest size over the smallest."""
        return float(self.size.max() / self.size.min())

    @property
    def misprediction(self) -> float:
        """eta: the worst factor between a size and its prediction."""
        return float(np.maximum(self.size / self.predicted, self.predicted / self.size).max())


@dataclass(frozen=True)
class Waiting:
    """Released, unfinished jobs at one moment, as far as a scheduler can know them.

    Attributes:
        release, predicted, served: (n,) seconds; predicted is already doubled where a job outran it.
        seen_smallest, seen_largest: of all sizes completed and all predictions made so far.
    """

    release: Array
    predicted: Array
    served: Array
    seen_smallest: float
    seen_largest: float

    @property
    def remaining(self) -> Array:
        """Predicted work that is left."""
        return np.maximum(self.predicted - self.served, 0.0)

"""Orders of waiting jobs: who runs next, if work may be interrupted at checkpoints.

The rules for predicted sizes are after "Competitive Fair Scheduling with Predictions" (ICLR 2025), our formulation.
First-come-first-served and shortest-first are here to compare with.
"""

import math
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from optim.scheduling.trace import Waiting

Array = NDArray[np.float64]


class Order(Protocol):
    """A rule that ranks waiting jobs."""

    def priority(self, jobs: Waiting, now: float) -> Array:
        """(n,) larger runs first; ties go to the earlier release."""
        ...

    def crossing(self, jobs: Waiting, running: int, now: float) -> float:
        """The next moment at which somebody overtakes `running` though nothing arrives or ends; infinite if never."""
        ...


@dataclass(frozen=True)
class Fifo:
    """First come, first served. Loses when a long job comes just before many short ones."""

    def priority(self, jobs: Waiting, now: float) -> Array:
        return -jobs.release

    def crossing(self, jobs: Waiting, running: int, now: float) -> float:
        return math.inf


@dataclass(frozen=True)
class ShortestRemaining:
    """Shortest (predicted) remaining work first. Best on average; but a long job can starve."""

    def priority(self, jobs: Waiting, now: float) -> Array:
        return -jobs.remaining

    def crossing(self, jobs: Waiting, running: int, now: float) -> float:
        return math.inf


@dataclass(frozen=True)
class RelaxedGreedy:
    """The job with the largest age over relaxed size runs.

    Relaxed size: D_j = m P^x if p_j <= m P^x, else m P, with m the smallest predicted size and P the ratio of the
    largest to it. Rounding loses at most P^x on small and P^(1-x) on large jobs; x = 1/2 gives sqrt(P) on both.

    Attributes:
        x: in [0, 1/2]. smallest, largest: sizes known beforehand; None: as seen so far (the adaptive rule).
    """

    x: float = 0.5
    smallest: float | None = None
    largest: float | None = None

    def priority(self, jobs: Waiting, now: float) -> Array:
        return (now - jobs.release) / self._relaxed(jobs)

    def crossing(self, jobs: Waiting, running: int, now: float) -> float:
        relaxed = self._relaxed(jobs)
        # Ages are lines of slope 1 / D: only a steeper one can overtake.
        steeper = relaxed < relaxed[running]
        if not steeper.any():
            return math.inf
        own, others = 1 / relaxed[running], 1 / relaxed[steeper]
        meet = (others * jobs.release[steeper] - own * jobs.release[running]) / (others - own)
        later = meet[meet > now]
        # A hair after they meet, so that the steeper one is ahead however the quotients round.
        return float(later.min()) + 1e-11 * max(abs(now), 1.0) if later.size else math.inf

    def _relaxed(self, jobs: Waiting) -> Array:
        smallest = jobs.seen_smallest if self.smallest is None else self.smallest
        largest = max(jobs.seen_largest if self.largest is None else self.largest, smallest)
        step = smallest * (largest / smallest) ** self.x
        return np.where(jobs.predicted <= step, step, largest)


@dataclass(frozen=True)
class GuessEdf:
    """Earliest deadline first, with deadlines from a guess of the stretch that is still possible.

    S is the smallest number such that all waiting jobs can end by r_j + S p_j. The deadlines are
    r_j + P^slack S p_j, with P the ratio of sizes seen so far.

    Attributes:
        slack: 1/2 is the factor of the classical argument for exact sizes, which bounds the worst case by sqrt(P);
            0 trusts the guess as it is, and was the best by far on random jobs (docs/decisions.md).
    """

    slack: float = 0.0

    def priority(self, jobs: Waiting, now: float) -> Array:
        ratio = max(jobs.seen_largest / jobs.seen_smallest, 1.0)
        return -(jobs.release + ratio**self.slack * possible_stretch(jobs, now) * jobs.predicted)

    def crossing(self, jobs: Waiting, running: int, now: float) -> float:
        return math.inf


def possible_stretch(jobs: Waiting, now: float) -> float:
    """Smallest S with which the waiting jobs, all released, can each end by release + S predicted.

    Newton's method from above on a piecewise linear function: the order of deadlines at S, taken just below S, is a
    schedule, and the stretch that it needs is the next S. It ends exactly, after a few rounds.
    """
    stretch = math.inf
    order = np.argsort(jobs.release, kind="stable")
    while True:
        ends = now + np.cumsum(jobs.remaining[order])
        needed = float(((ends - jobs.release[order]) / jobs.predicted[order]).max())
        if not needed < stretch * (1 - 1e-13):
            return min(needed, stretch)
        stretch = needed
        # Just below S, of two equal deadlines that of the longer job comes first.
        order = np.lexsort((-jobs.predicted, jobs.release + stretch * jobs.predicted))


ORDERS: dict[str, Order] = {
    "guess_edf": GuessEdf(),
    "guess_edf_sqrt": GuessEdf(slack=0.5),
    "rg": RelaxedGreedy(),
    "rg_x": RelaxedGreedy(x=0.25),
    "srpt": ShortestRemaining(),
    "fifo": Fifo(),
}

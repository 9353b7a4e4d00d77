"""Whether a job at work should save itself and step back for one that waits.

Only where the one that waits is more urgent by a quarter, and where the other has five times as much left to do as
stopping and starting it again costs: then little is lost, and nobody is interrupted to and fro.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Protocol

from jobs.batch.order import QueuedJob, RunningJob

MARGIN = 1.25
WORTH = 5.0  # times the cost of a switch


class Urgency(Protocol):
    """Orders that can compare jobs at work with jobs that wait."""

    def urgency(self, jobs: Sequence[QueuedJob | RunningJob], now: float) -> list[float]:
        """Positive; twice as urgent is twice as much."""
        ...


@dataclass(frozen=True)
class Exchange:
    """challenger: id of the job that waits. victim: the one that should step back for it."""

    challenger: str
    victim: RunningJob


def exchange(
    rule: Urgency,
    queued: Sequence[QueuedJob],
    running: Sequence[RunningJob],
    may_stop: Sequence[RunningJob],
    switch_cost: Callable[[RunningJob], float],
    fits: Callable[[QueuedJob, RunningJob], bool],
    now: float,
) -> Exchange | None:
    """The most urgent job that waits, and the least urgent one at work that should step back for it, if any should.

    Priorities stand above urgency: nobody steps back for a job of lower priority, and for one of higher priority
    whatever the urgency.

    Args:
        may_stop: those of `running` that can be asked to. fits: whether the one would fit where the other was.
    """
    if not queued or not (worth := [r for r in may_stop if r.left(now) > WORTH * switch_cost(r)]):
        return None
    everybody = [*queued, *running]
    urgent = dict(zip((job.id for job in everybody), rule.urgency(everybody, now), strict=True))
    challenger = max(queued, key=lambda job: (job.priority, urgent[job.id], -job.released_at))
    for victim in sorted(worth, key=lambda job: (job.priority, urgent[job.id])):
        above = (challenger.priority, urgent[challenger.id]) > (victim.priority, MARGIN * urgent[victim.id])
        if above and fits(challenger, victim):
            return Exchange(challenger.id, victim)
    return None

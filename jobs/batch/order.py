"""Which waiting job goes next: where the batch layer meets the rules of `optim.scheduling`.

An order looks at what waits, what runs, what the workers hold ready, and the time; it returns the waiting jobs, most
urgent first. The scheduler starts as many of them as fit. Priorities stand above every order.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from jobs.errors import JobError


@dataclass(frozen=True)
class QueuedJob:
    """A job that waits. Times in Unix seconds, durations in seconds.

    Attributes:
        predicted: run time, median of the prediction; `high` is exceeded once in ten times. known: False where the
            kind of job has never been seen.
        class_key: jobs of one class share something that is expensive to load, such as a mesh or a model.
        served: seconds that it has run already, before it was interrupted.
    """

    id: str
    released_at: float
    predicted: float
    high: float
    known: bool = False
    class_key: str = ""
    cpus: int = 1
    gpus: float = 0.0
    priority: int = 0
    served: float = 0.0

    def work(self, now: float) -> float:
        """Seconds that it has run."""
        return self.served


@dataclass(frozen=True)
class RunningJob:
    """A job at work. predicted: for the whole of it; grows when it is overrun. served: seconds before this attempt."""

    id: str
    released_at: float
    started_at: float
    predicted: float
    worker: str
    class_key: str = ""
    cpus: int = 1
    priority: int = 0
    served: float = 0.0

    def work(self, now: float) -> float:
        """Seconds that it has run, in all its attempts."""
        return self.served + now - self.started_at

    def left(self, now: float) -> float:
        """Predicted seconds until it ends."""
        return max(self.predicted - self.work(now), 0.0)


@dataclass(frozen=True)
class WorkerView:
    """A place for one job at a time. resident: classes that it holds ready, the longest unused first; of `slots`."""

    id: str
    resident: tuple[str, ...] = ()
    slots: int = 1


Order = Callable[[Sequence[QueuedJob], Sequence[RunningJob], Sequence[WorkerView], float], Sequence[QueuedJob]]


def fifo(
    queued: Sequence[QueuedJob], running: Sequence[RunningJob], workers: Sequence[WorkerView], now: float
) -> list[QueuedJob]:
    """First come, first served."""
    return sorted(queued, key=lambda job: (job.released_at, job.id))


def shortest_first(
    queued: Sequence[QueuedJob], running: Sequence[RunningJob], workers: Sequence[WorkerView], now: float
) -> list[QueuedJob]:
    """The shortest predicted run time first. Long jobs may wait for as long as short ones keep coming."""
    return sorted(queued, key=lambda job: (job.predicted, job.released_at, job.id))


@dataclass(frozen=True)
class StretchOrder:
    """An order that keeps the largest stretch small, by a rule of `optim.scheduling`.

    Sizes below `SHORTEST` count as that: what the layer itself costs must not make a job look a thousand times smaller
    than another.
    """

    rule: str

    def __call__(
        self, queued: Sequence[QueuedJob], running: Sequence[RunningJob], workers: Sequence[WorkerView], now: float
    ) -> list[QueuedJob]:
        if len(queued) < 2:
            return list(queued)
        urgency = self._priority(queued, running, now)
        places = sorted(range(len(queued)), key=lambda k: (-urgency[k], queued[k].released_at, queued[k].id))
        return [queued[k] for k in places]

    def urgency(self, jobs: Sequence[QueuedJob | RunningJob], now: float) -> list[float]:
        """How urgent each is, jobs at work among them; positive, so that quotients have a meaning: age over relaxed
        size, or one over the seconds until the deadline."""
        priority = self._priority(jobs, (), now)
        if self.rule != "guess_edf":
            return priority
        since = now - min(job.released_at for job in jobs)
        return [1 / max(-deadline - since, 1e-6) for deadline in priority]

    def _priority(
        self, jobs: Sequence[QueuedJob | RunningJob], running: Sequence[RunningJob], now: float
    ) -> list[float]:
        import numpy as np

        from optim.scheduling import ORDERS as RULES
        from optim.scheduling import Waiting

        first = min(job.released_at for job in jobs)
        release = np.array([job.released_at - first for job in jobs])
        sizes = np.array([max(job.predicted, SHORTEST) for job in jobs])
        served = np.array([job.work(now) for job in jobs])
        seen = [*sizes, *(max(job.predicted, SHORTEST) for job in running)]
        waiting = Waiting(release, sizes, served, float(min(seen)), float(max(seen)))
        return RULES[self.rule].priority(waiting, max(now - first, 0.0)).tolist()


SHORTEST = 5.0  # seconds

ORDERS: dict[str, Order] = {
    "guess_edf": StretchOrder("guess_edf"),
    "rg": StretchOrder("rg"),
    "rg_x": StretchOrder("rg_x"),
    "shortest": shortest_first,
    "fifo": fifo,
}


def order_named(name: str) -> Order:
    """Raises: JobError, naming the orders that there are."""
    if name not in ORDERS:
        raise JobError(f"order: there is no order {name!r}; choose one of {', '.join(ORDERS)}")
    return ORDERS[name]


def ranked(
    order: Order, queued: Sequence[QueuedJob], running: Sequence[RunningJob], workers: Sequence[WorkerView], now: float
) -> list[QueuedJob]:
    """By priority, and by the order among equals."""
    return sorted(order(queued, running, workers, now), key=lambda job: -job.priority)  # stable

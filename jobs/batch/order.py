"""Which waiting job goes next, and to which worker. The one place where the batch layer meets the scheduling rules.

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


@dataclass(frozen=True)
class RunningJob:
    """A job at work; predicted is for the whole of it and grows when it is overrun."""

    id: str
    released_at: float
    started_at: float
    predicted: float
    worker: str
    class_key: str = ""
    cpus: int = 1


@dataclass(frozen=True)
class WorkerView:
    """A place that can take a job now. resident: classes that it holds ready."""

    id: str
    resident: tuple[str, ...] = ()


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


def by_stretch(rule: str) -> Order:
    """An order that keeps the largest stretch small, by a rule of `optim.scheduling`.

    Sizes below `SHORTEST` count as that: what the layer itself costs must not make a job look a thousand times smaller
    than another. Jobs are not interrupted for each other; the rule is asked whenever a worker is free.
    """

    def order(
        queued: Sequence[QueuedJob], running: Sequence[RunningJob], workers: Sequence[WorkerView], now: float
    ) -> list[QueuedJob]:
        import numpy as np

        from optim.scheduling import ORDERS as RULES
        from optim.scheduling import Waiting

        if len(queued) < 2:
            return list(queued)
        first = min(job.released_at for job in queued)
        release = np.array([job.released_at - first for job in queued])
        sizes = np.array([max(job.predicted, SHORTEST) for job in queued])
        seen = [*sizes, *(max(job.predicted, SHORTEST) for job in running)]
        waiting = Waiting(release, sizes, np.zeros(len(queued)), float(min(seen)), float(max(seen)))
        urgency = RULES[rule].priority(waiting, max(now - first, 0.0))
        places = sorted(range(len(queued)), key=lambda k: (-urgency[k], queued[k].released_at, queued[k].id))
        return [queued[k] for k in places]

    return order


SHORTEST = 5.0  # seconds

ORDERS: dict[str, Order] = {
    "guess_edf": by_stretch("guess_edf"),
    "rg": by_stretch("rg"),
    "rg_x": by_stretch("rg_x"),
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


def place(job: QueuedJob, workers: Sequence[WorkerView]) -> WorkerView:
    """The free worker that suits a job best: one that holds its class, else one that holds nothing."""

    def suits(worker: WorkerView) -> tuple[int, int]:
        return int(bool(job.class_key) and job.class_key in worker.resident), -len(worker.resident)

    return max(workers, key=suits)

"""Which worker a job goes to: `optim.scheduling.resident` on the workers that are free and those that soon will be."""

from collections.abc import Sequence
from dataclasses import dataclass

from jobs.batch.classes import UNKNOWN_LOAD
from jobs.batch.order import QueuedJob, WorkerView


@dataclass(frozen=True)
class Busy:
    """A worker that is at work and stays when it is done. free_in: predicted seconds until then, and for all jobs that
    wait for it already."""

    view: WorkerView
    free_in: float


def place(
    job: QueuedJob,
    free: Sequence[WorkerView],
    busy: Sequence[Busy] = (),
    *,
    load_cost: float = UNKNOWN_LOAD,
    shares: bool = True,
) -> WorkerView | Busy:
    """The free worker that suits a job best; or the busy one that holds its class, if it should wait for that.

    A job that has no class, or a process for itself, goes where the least is lost.

    Args:
        load_cost: seconds that it takes longer where its class is cold. shares: its process may do others, too.
    """
    from optim.scheduling.resident import Machine, choose, worth_waiting

    if not job.class_key or not shares:
        return min(free, key=lambda worker: len(worker.resident))
    machines = [Machine(0.0, worker.resident, worker.slots) for worker in free]
    soon = [b for b in busy if worth_waiting(b.free_in, load_cost)]
    later = [Machine(b.free_in, b.view.resident, b.view.slots) for b in soon]
    chosen = choose(job.class_key, job.predicted, load_cost, [*machines, *later]).machine
    return [*free, *soon][chosen]

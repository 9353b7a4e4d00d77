"""Which worker a job goes to: `optim.scheduling.resident` on the workers that are free and those that soon will be."""

from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from jobs.batch.classes import UNKNOWN_LOAD, LoadCosts
from jobs.batch.order import QueuedJob, WorkerView
from jobs.batch.quotas import Quotas

TINY = 5.0  # seconds below which a job may use a process that has done others
SHORT = 30.0  # the same for jobs with a class, which may find there what they would have to load


@dataclass(frozen=True)
class Busy:
    """A worker that is at work and stays when it is done. free_in: predicted seconds until then, and for all jobs that
    wait for it already."""

    view: WorkerView
    free_in: float


def shares(job: QueuedJob) -> bool:
    """Whether it may use a process that has done others."""
    return job.known and job.high < (SHORT if job.class_key else TINY)


def place(
    job: QueuedJob,
    free: Sequence[WorkerView],
    busy: Sequence[Busy] = (),
    *,
    load_cost: float = UNKNOWN_LOAD,
    shares: bool = True,
    overrun: Callable[[str], Mapping[Hashable, float]] = lambda worker: {},
) -> WorkerView | Busy:
    """The free worker that suits a job best; or the busy one that holds its class, if it should wait for that.

    A job that has no class, or a process for itself, goes where the least is lost.

    Args:
        load_cost: seconds that it takes longer where its class is cold. shares: its process may do others, too.
        overrun: worker -> seconds beyond its quota by class (`jobs.batch.quotas`).
    """
    from optim.scheduling.resident import Machine, choose, worth_waiting

    if not job.class_key or not shares:
        return min(free, key=lambda worker: len(worker.resident))
    soon = [b for b in busy if worth_waiting(b.free_in, load_cost)]
    machines = [
        Machine(free_in, view.resident, view.slots, overrun=overrun(view.id))
        for view, free_in in [*((view, 0.0) for view in free), *((b.view, b.free_in) for b in soon)]
    ]
    chosen = choose(job.class_key, job.predicted, load_cost, machines).machine
    return [*free, *soon][chosen]


@dataclass
class Placement:
    """Places job after job.

    Attributes:
        load_costs: seconds by class, as learned. quotas: the plan in force.
        held_since: jobs that wait for a warm worker.
    """

    load_costs: LoadCosts
    quotas: Quotas = field(default_factory=Quotas)
    held_since: dict[str, float] = field(default_factory=dict)

    def plan(self, waiting: Iterable[QueuedJob], workers: Sequence[str], slots: int, now: float) -> None:
        """Bring the quotas up to date."""
        sharing = [job for job in waiting if job.class_key and shares(job)]
        if slots:
            self.quotas.renew(sharing, workers, slots, self.load_costs, now)

    def find(
        self,
        job: QueuedJob,
        free: Sequence[WorkerView],
        staying: Callable[[], Sequence[WorkerView]],
        left: Mapping[str, float],
        backlog: dict[str, float],
        now: float,
    ) -> WorkerView | None:
        """A worker for a job; None while it is worth to wait for a warm one, no longer than loading anew would take.

        Args:
            staying: busy workers that will take more. left: predicted seconds until each busy worker is free.
            backlog: seconds of work that waits for a busy worker; this adds to it.
        """
        if not job.class_key or not shares(job):
            worker = place(job, free, shares=False)
        else:
            cost = self.load_costs(job.class_key)
            patient = now - self.held_since.setdefault(job.id, now) <= cost
            views = staying() if patient and left else []
            busy = [Busy(v, left[v.id] + backlog.get(v.id, 0.0)) for v in views if v.id in left]
            worker = place(job, free, busy, load_cost=cost, overrun=lambda id: self.quotas.overrun(id, job))
        if isinstance(worker, Busy):
            backlog[worker.view.id] = backlog.get(worker.view.id, 0.0) + job.predicted
            return None
        self.held_since.pop(job.id, None)
        if job.class_key and shares(job):
            self.quotas.count(worker.id, job)
        return worker

"""How much of each class of jobs each worker should do: `optim.scheduling.slots` on the work that waits.

The plan spreads every class over as few workers as finish in time, so that it is loaded as seldom as that allows. It is
a preference, not a rule: a worker beyond its quota of a class looks busier than it is (`optim.scheduling.resident`).
"""

from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from jobs.batch.order import QueuedJob

RENEW_EVERY = 300.0  # seconds
SURPRISE = 0.25  # part of the planned work by which classes may differ from the plan


@dataclass
class Quotas:
    """The plan in force.

    Attributes:
        quota, done: seconds by (worker, class), as planned and as sent since. planned: seconds by class.
    """

    quota: dict[tuple[str, str], float] = field(default_factory=dict)
    done: dict[tuple[str, str], float] = field(default_factory=dict)
    planned: dict[str, float] = field(default_factory=dict)
    made_at: float = float("-inf")

    def renew(
        self,
        waiting: Iterable[QueuedJob],
        workers: Sequence[str],
        slots: int,
        load_costs: Callable[[str], float],
        now: float,
    ) -> bool:
        """Plan again, if the plan is old or the work is not what it was made for. -> whether that was done

        Without a plan (classes that do not fit into all slots together, or none at all) nobody has a quota.

        Args:
            waiting: jobs that may share a process, each with a class. slots: classes that a worker holds.
        """
        from optim.scheduling import SchedulingError, plan_classes

        left: dict[str, float] = {}
        largest = 0.0
        for job in waiting:
            left[job.class_key] = left.get(job.class_key, 0.0) + max(job.predicted, 1e-3)
            largest = max(largest, job.predicted)
        if now - self.made_at < RENEW_EVERY and not self._surprised(left):
            return False
        self.quota, self.done, self.planned, self.made_at = {}, {}, left, now
        if not left:
            return True
        volumes: dict[Hashable, float] = {**left}
        try:
            plan = plan_classes(volumes, len(workers), slots, largest, {name: load_costs(name) for name in left})
        except SchedulingError:
            return True
        for name, pieces in plan.pieces.items():
            for piece in pieces:
                key = workers[piece.machine], str(name)
                self.quota[key] = self.quota.get(key, 0.0) + piece.quota
        return True

    def overrun(self, worker: str, job: QueuedJob) -> Mapping[Hashable, float]:
        """Seconds by which a worker would be over its quota of the job's class with that job; empty without a plan."""
        key = worker, job.class_key
        if not any(name == job.class_key for _, name in self.quota):
            return {}
        over = self.done.get(key, 0.0) + job.predicted - self.quota.get(key, 0.0)
        return {job.class_key: max(0.0, over)}

    def count(self, worker: str, job: QueuedJob) -> None:
        """A job went to a worker."""
        key = worker, job.class_key
        self.done[key] = self.done.get(key, 0.0) + max(job.predicted, 1e-3)

    def _surprised(self, left: Mapping[str, float]) -> bool:
        """Whether the sum over classes of |actual - planned| is above a quarter of all that was planned (our rule)."""
        actual = dict(left)
        for (_, name), seconds in self.done.items():
            actual[name] = actual.get(name, 0.0) + seconds
        names = {*actual, *self.planned}
        off = sum(abs(actual.get(name, 0.0) - self.planned.get(name, 0.0)) for name in names)
        return off > SURPRISE * sum(self.planned.values())

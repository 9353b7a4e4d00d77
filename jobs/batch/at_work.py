"""An attempt that is under way, as the scheduler keeps it."""

from dataclasses import dataclass

from jobs.batch.assignment import Assignment
from jobs.batch.order import RunningJob


@dataclass
class AtWork:
    """One attempt.

    Attributes:
        worker: where. began, lease_until, asked_at: seconds since the epoch. kill_at: the same, once it was asked.
        wall: seconds that it may take. predicted: seconds of all its attempts together. served: of the earlier ones.
        beat: its last sign of life. cpu: seconds of processor time when that was last looked at.
        wanted: why it was asked to end: "cancel", "wall", "drain", "preempt". by_age: the fair share started it.
    """

    assignment: Assignment
    worker: str
    began: float
    lease_until: float
    wall: float | None
    released_at: float
    predicted: float
    beat: float = 0.0
    cpu: float = 0.0
    wanted: str = ""
    kill_at: float | None = None
    priority: int = 0
    served: float = 0.0
    by_age: bool = False
    asked_at: float = 0.0

    def seen(self, now: float) -> RunningJob:
        """As an order looks at it."""
        predicted, elapsed = max(self.predicted, 1e-3), self.served + now - self.began
        while predicted < elapsed:  # never "almost done" for ever
            predicted *= 2
        a = self.assignment
        times = (a.id, self.released_at, self.began, predicted)
        return RunningJob(*times, self.worker, a.class_key, a.cpus, self.priority, self.served)

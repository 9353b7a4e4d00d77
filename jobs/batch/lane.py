"""The fair share: a small part of all turns goes by age alone, so that no job starves, whatever was predicted.

Round robin: a turn goes to whoever has waited longest since it was last served. What it starts is not interrupted.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from jobs.batch.order import QueuedJob
from jobs.errors import JobError


@dataclass
class Lane:
    """Counts turns.

    Args:
        share: of the turns that go by age, 0.1 for one in ten; 0 for none.

    Raises:
        JobError: share is outside [0, 1].
    """

    share: float = 0.1
    credit: float = 0.0

    def __post_init__(self) -> None:
        if not 0 <= self.share <= 1:
            raise JobError(f"fair_share is {self.share:g}: give a part between 0 and 1, such as 0.1")

    @property
    def due(self) -> bool:
        """Whether the next turn goes by age."""
        return self.share > 0 and self.credit + self.share >= 1 - 1e-9

    def count(self, by_age: bool) -> None:
        """A job was started. A turn by age that nobody could take is kept, but not two of them."""
        self.credit = min(self.credit + self.share - by_age, 1.0)

    def in_turn(self, line: Sequence[QueuedJob], since: Mapping[str, float]) -> Iterator[tuple[QueuedJob, bool]]:
        """The jobs of a ranked line, and whether each goes by age; whenever that is due, the oldest one comes first.

        Priorities stand above age, too.

        Args:
            since: when a job was last served, where that was after its release.
        """
        left, tried = dict.fromkeys(job.id for job in line), False
        jobs = {job.id: job for job in line}
        while left:
            by_age = self.due and not tried
            if by_age:
                tried = True  # where it does not fit, the others go by their order
                top = jobs[next(iter(left))].priority
                equals = (id for id in left if jobs[id].priority == top)
                id = min(equals, key=lambda id: (since.get(id, jobs[id].released_at), id))
            else:
                id = next(iter(left))
            del left[id]
            yield jobs[id], by_age

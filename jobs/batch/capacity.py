"""What there is for jobs in all, and whether one more fits."""

from collections.abc import Iterable
from dataclasses import dataclass

from jobs.batch.assignment import Assignment
from jobs.batch.request import Request

ROUNDING = 1.001  # equal shares of memory may add up to a hair more than the whole


@dataclass(frozen=True)
class Capacity:
    """What there is in all.

    Attributes:
        memory_mb: for jobs. share_mb: for one that does not say what it needs. slots: jobs at the same time.
    """

    cpus: int
    gpus: float
    memory_mb: float
    share_mb: float
    slots: int

    def granted_mb(self, request: Request) -> float:
        """Memory that a job gets."""
        return request.memory * 1e3 if request.memory else self.share_mb

    def has_room(self, request: Request, at_work: Iterable[Assignment]) -> bool:
        """Whether one more fits beside those."""
        others = list(at_work)
        return (
            sum(a.cpus for a in others) + request.cpus <= self.cpus
            and sum(a.gpus for a in others) + request.gpus <= self.gpus + 1e-9
            and sum(a.memory_mb or 0 for a in others) + self.granted_mb(request) <= self.memory_mb * ROUNDING
        )

    def lacks(self, request: Request) -> str:
        """Why a job could never run here, with the numbers; "" if it could."""
        memory = self.granted_mb(request)
        asked = [
            f"{request.cpus} of {self.cpus} cores" if request.cpus > self.cpus else "",
            f"{request.gpus:g} of {self.gpus:g} GPUs" if request.gpus > self.gpus else "",
            f"{memory / 1e3:.1f} of {self.memory_mb / 1e3:.1f} GB" if memory > self.memory_mb * ROUNDING else "",
        ]
        if not any(asked):
            return ""
        return f"it asks for {', '.join(filter(None, asked))}: ask for less, or run it on a larger machine"

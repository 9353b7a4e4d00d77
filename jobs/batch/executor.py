"""What the scheduler needs from whatever runs attempts: this machine's processes, or Ray."""

from dataclasses import dataclass
from typing import Protocol

from jobs.batch.assignment import Assignment
from jobs.batch.capacity import Capacity
from jobs.batch.order import WorkerView
from jobs.batch.retry import Outcome


@dataclass(frozen=True)
class Ended:
    """An attempt that is over. outcome: None when the worker died without a word; then `lost` says how."""

    id: str
    n: int
    outcome: Outcome | None
    lost: str = ""
    exit_code: int | None = None


class Executor(Protocol):
    """Runs attempts."""

    capacity: Capacity

    def places(self) -> list[str]:
        """All places by name, free or not."""
        ...

    def free(self) -> list[WorkerView]:
        """Places that can take an attempt now."""
        ...

    def staying(self) -> list[WorkerView]:
        """Places that are busy, and whose process takes another attempt when it is done."""
        ...

    def start(self, assignment: Assignment, worker: str, tiny: bool) -> None:
        """Let a worker begin. tiny: the process may be one that has done other jobs before."""
        ...

    def wait(self, seconds: float) -> list[Ended]:
        """Attempts that ended, after at most so long."""
        ...

    def kill(self, key: tuple[str, int]) -> None:
        """End an attempt and everything that it started; `wait` will report it."""
        ...

    def cpu_seconds(self, key: tuple[str, int]) -> float | None:
        """Processor time that the attempt has used, None where that is not known."""
        ...

    @property
    def mark(self) -> str:
        """What all its processes are marked with (`jobs.batch.marked`)."""
        ...

    def close(self) -> None:
        """End every worker."""
        ...

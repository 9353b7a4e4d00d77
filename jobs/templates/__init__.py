"""One file per kind of job: `setup / step / finish` around a workshop of the house, and states that save themselves."""

from pathlib import Path
from typing import Any, Protocol


class State(Protocol):
    """Where a run is: plain data that is saved and loaded bit for bit."""

    @property
    def iteration(self) -> int: ...

    @property
    def done(self) -> bool: ...

    def save(self, path: Path) -> None: ...


class Template(Protocol):
    """What the runner needs from a kind of job."""

    def setup(self) -> Any:
        """Read and check everything; -> the first state."""
        ...

    def load(self, path: Path) -> Any:
        """A state that was saved; called after `setup`."""
        ...

    def step(self, state: Any) -> tuple[Any, dict[str, Any]]:
        """One step of a few seconds at most; -> the next state and a line for progress.jsonl."""
        ...

    def describe(self, row: dict[str, Any]) -> str:
        """That line for a person."""
        ...

    def preview(self, state: Any, path: Path) -> None:
        """The shape so far as GLB, where there is one."""
        ...

    def finish(self, state: Any) -> dict[str, Any]:
        """What goes into result.json."""
        ...

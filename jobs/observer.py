"""Who watches a run: the runner tells, the observer shows."""

from typing import Any, Protocol


class Observer(Protocol):
    """What a run tells while it goes on."""

    def phase(self, name: str, message: str) -> None:
        """A new part of the work begins."""
        ...

    def iteration(self, row: dict[str, Any], text: str) -> None:
        """One line of progress.jsonl, and the same for a person."""
        ...


class Log:
    """Plain lines, for workers whose output goes to log.txt."""

    def phase(self, name: str, message: str) -> None:
        print(f"{name}: {message}", flush=True)

    def iteration(self, row: dict[str, Any], text: str) -> None:
        print(f"  {row['iteration']:4d}  {text}", flush=True)

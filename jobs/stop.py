"""Asking a run to stop: Ctrl-C, SIGTERM, or a file named `stop` in its folder. It finishes its iteration and saves."""

import signal
from pathlib import Path
from types import FrameType


class StopRequest:
    """While it is entered, a first SIGINT or SIGTERM is noted, a second one interrupts at once."""

    def __init__(self, folder: Path) -> None:
        self.file = folder / "stop"
        self.noted = False

    def __enter__(self) -> "StopRequest":
        self.file.unlink(missing_ok=True)
        self.previous = {s: signal.signal(s, self._note) for s in (signal.SIGINT, signal.SIGTERM)}
        return self

    def __exit__(self, *_: object) -> None:
        for number, handler in self.previous.items():
            signal.signal(number, handler)
        self.file.unlink(missing_ok=True)

    @property
    def wanted(self) -> bool:
        return self.noted or self.file.exists()

    def _note(self, number: int, frame: FrameType | None) -> None:
        if self.noted:
            raise KeyboardInterrupt
        self.noted = True

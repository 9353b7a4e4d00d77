"""A thread beside the job: signs of life, the end that was asked for, and the limits on memory and log."""

import contextlib
import os
import threading
import time
from pathlib import Path

import psutil

from jobs.batch.assignment import BEAT_EVERY, GRACE, Assignment
from jobs.batch.retry import Outcome

TICK = 0.1  # seconds
TOLERANCE = 1.2  # of the memory that was asked for
TAIL = 65_536  # bytes of a flooded log's end that are kept
OUT_OF_MEMORY = 137  # exit code


class Vigil(threading.Thread):
    """Watches over one attempt while it is entered."""

    def __init__(self, assignment: Assignment) -> None:
        super().__init__(daemon=True, name="vigil")
        self.assignment, self.contact = assignment, assignment.contact
        self.log = LogLimit(self.contact.folder / "log.txt", assignment.log_limit)
        self.over, self.process, self.peak = threading.Event(), psutil.Process(), 0.0
        self.end_since: float | None = None

    def __enter__(self) -> "Vigil":
        self.contact.beat(self.assignment.n, 0.0)
        self.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.over.set()
        self.join()
        with contextlib.suppress(OSError):
            (self.contact.folder / "stop").unlink(missing_ok=True)
        self.log.finish()

    def end(self) -> None:
        """From now on the job is asked to stop."""
        self.end_since = self.end_since or time.monotonic()

    def run(self) -> None:
        weighed = beaten = time.monotonic()
        while not self.over.wait(TICK):
            now = time.monotonic()
            orphan = os.getppid() != self.assignment.parent
            if orphan or self.contact.asked_to_end():
                self.end()
            if self.end_since is not None:
                # Again and again: the runner takes the file away when it begins.
                with contextlib.suppress(OSError):
                    (self.contact.folder / "stop").touch()
                if orphan and now - self.end_since > GRACE:
                    os._exit(75)
            self.log.check()
            if now - weighed > 0.5:
                weighed = now
                self._weigh()
            if now - beaten > BEAT_EVERY:
                beaten = now
                with contextlib.suppress(OSError):  # a full disk is the job's to report
                    self.contact.beat(self.assignment.n, self.peak)

    def _weigh(self) -> None:
        held = 0.0
        with contextlib.suppress(psutil.Error):
            for process in [self.process, *self.process.children(recursive=True)]:
                with contextlib.suppress(psutil.Error):
                    held += process.memory_info().rss / 1e6
        self.peak = max(self.peak, held)
        limit = self.assignment.memory_mb
        if limit is not None and held > TOLERANCE * limit:
            message = f"it held {held:.0f} MB where {limit:.0f} MB were granted (--memory grants more)"
            with contextlib.suppress(OSError):
                self.contact.conclude(self.assignment.n, Outcome("memory", message, peak_rss=self.peak))
            os._exit(OUT_OF_MEMORY)


class LogLimit:
    """Keeps the beginning and the end of a log that grows too long.

    The writers append, so the file can be cut under them: what they write next lands at its new end.
    """

    def __init__(self, path: Path, limit: int) -> None:
        self.path, self.limit, self.dropped, self.tail = path, limit, 0, b""

    def check(self) -> None:
        with contextlib.suppress(OSError):
            if self.path.stat().st_size > self.limit + TAIL:
                self._cut()

    def finish(self) -> None:
        """Say what is missing, and add the end."""
        self.check()
        if not self.dropped:
            return
        with contextlib.suppress(OSError):
            self._cut()
            missing = max(0, self.dropped - len(self.tail))
            with self.path.open("ab") as file:
                file.write(f"\n... {missing:,} bytes of the log were left out ...\n".encode() + self.tail)

    def _cut(self) -> None:
        size = self.path.stat().st_size
        with self.path.open("r+b") as file:
            file.seek(max(self.limit, size - TAIL))
            self.tail = (self.tail + file.read(TAIL))[-TAIL:]
            file.truncate(self.limit)
        self.dropped += max(0, size - self.limit)

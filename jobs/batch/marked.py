"""End every process that a worker started, wherever it went: session, group and parent may change, the mark stays."""

import contextlib
import os
import signal
import time
from pathlib import Path

from jobs.batch.assignment import BATCH, MARK


def marked(mark: str) -> list[int]:
    """Process ids whose environment carries the mark, of a worker or of a scheduler (Linux; elsewhere none)."""
    if not mark or not Path("/proc/self/environ").exists():
        return []
    wanted, found = {f"{name}={mark}".encode() for name in (MARK, BATCH)}, []
    for entry in os.scandir("/proc"):
        if entry.name.isdigit():
            with contextlib.suppress(OSError), open(f"/proc/{entry.name}/environ", "rb") as file:  # noqa: PTH123
                if not wanted.isdisjoint(file.read().split(b"\0")):
                    found.append(int(entry.name))
    return found


def end_marked(mark: str, spare: int = 0, patience: float = 2.0) -> int:
    """Kill them all, and those that they start meanwhile; -> how many there were."""
    until, ended = time.monotonic() + patience, set()
    while pids := [pid for pid in marked(mark) if pid != spare]:
        for pid in pids:
            with contextlib.suppress(OSError):
                os.kill(pid, signal.SIGKILL)
            ended.add(pid)
        if time.monotonic() > until:
            break
        time.sleep(0.01)
    return len(ended)

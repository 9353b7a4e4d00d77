"""Read the log of a job, also while it is being written."""

import time
from collections.abc import Iterator
from pathlib import Path

from jobs.batch.store import FINAL, Store


def last_lines(path: Path, lines: int = 0) -> str:
    """The log, or its last lines; "" where there is none yet."""
    try:
        text = path.read_text(encoding="utf-8", errors="replace")
    except FileNotFoundError:
        return ""
    return text if lines <= 0 else "".join(text.splitlines(keepends=True)[-lines:])


def follow_log(store: Store, id: str, path: Path, lines: int = 0, pause: float = 0.3) -> Iterator[str]:
    """What is there, and what comes, until the job is in a final state."""
    first = last_lines(path, lines)
    yield first
    at = path.stat().st_size if path.is_file() else 0
    while True:
        over = store.job(id)["state"] in FINAL
        size = path.stat().st_size if path.is_file() else 0
        at = 0 if size < at else at  # begun anew, or cut
        if size > at:
            with path.open("rb") as file:
                file.seek(at)
                data = file.read()
            at += len(data)
            yield data.decode("utf-8", errors="replace")
        elif over:
            return
        time.sleep(pause)

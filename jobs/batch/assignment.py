"""What a scheduler hands to a worker, and the files by which the two keep in touch.

They lie in `batch/` of the run folder, wherever the worker runs, as long as both see the folder:

    lock           held by the worker from its first look to its last word: one at a time
    beat           rewritten every few seconds: pid, attempt, memory
    end            made by the scheduler: save and stop
    outcome.json   the worker's last word
    log-N.txt      logs of earlier attempts that began anew
"""

import json
import os
import tempfile
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from jobs.batch.retry import Outcome

BEAT_EVERY = 5.0  # seconds
LEASE = 30.0  # seconds without a sign of life
GRACE = 20.0  # seconds between "save and stop" and the end
LOG_LIMIT = 10_000_000  # bytes

MARK = "FORMGRAD_WORKER"
"""Environment variable that everything carries that a worker starts, so that none of it outlives the worker."""
BATCH = "FORMGRAD_BATCH"
"""The same for all that one scheduler started, so that none of it outlives the scheduler."""


@dataclass(frozen=True)
class Assignment:
    """One attempt.

    Attributes:
        id, n: job and number of the attempt. root, folder: batch folder, and run folder in it.
        spec: the job, files relative to the root. settings: `damped` asks for milder numerical settings.
        memory_mb: what it may hold before it is ended; a fifth more is tolerated. cores: where it may run, [] anywhere.
        class_key, slots: what the job shares with others, and how many such classes the process may hold ready.
        parent: the process that hands it out; when it is gone, the job saves itself and stops.
    """

    id: str
    n: int
    root: str
    folder: str
    spec: dict[str, Any]
    cpus: int = 1
    gpus: float = 0.0
    nice: int = 0
    memory_mb: float | None = None
    cores: list[int] = field(default_factory=list)
    settings: dict[str, Any] = field(default_factory=dict)
    log_limit: int = LOG_LIMIT
    class_key: str = ""
    slots: int = 1
    parent: int = 0

    @property
    def key(self) -> tuple[str, int]:
        return self.id, self.n

    @property
    def contact(self) -> "Contact":
        return Contact(Path(self.root) / self.folder)

    @property
    def scratch(self) -> Path:
        """The attempt's own folder for temporary files; removed by whoever sees its end."""
        return Path(tempfile.gettempdir()) / f"formgrad-{self.id[:12]}-{self.n}"

    def to_json(self) -> str:
        return json.dumps(asdict(self))

    @classmethod
    def from_json(cls, text: str | bytes) -> "Assignment":
        return cls(**json.loads(text))


class Contact:
    """The files between a scheduler and a worker.

    Args:
        folder: the run folder.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.place = folder / "batch"

    lock = property(lambda self: self.place / "lock")

    def ask_to_end(self) -> None:
        """Ask the worker to finish its step, save, and stop."""
        self.place.mkdir(parents=True, exist_ok=True)
        (self.place / "end").touch()

    def asked_to_end(self) -> bool:
        return (self.place / "end").exists()

    def begin(self) -> None:
        """A new attempt: nothing is asked yet and nothing is known."""
        for name in ("end", "outcome.json", "beat"):
            (self.place / name).unlink(missing_ok=True)

    def beat(self, n: int, rss_mb: float) -> None:
        self._write("beat", {"n": n, "pid": os.getpid(), "rss_mb": round(rss_mb, 1)})

    def last_beat(self) -> tuple[float, Mapping[str, Any]] | None:
        """When the last sign of life was (Unix seconds), and what it said."""
        try:
            path = self.place / "beat"
            return path.stat().st_mtime, json.loads(path.read_text())
        except (OSError, ValueError):
            return None

    def conclude(self, n: int, outcome: Outcome) -> None:
        self._write("outcome.json", {"n": n, **asdict(outcome)})

    def outcome(self, n: int) -> Outcome | None:
        """The last word of attempt n, if it came to one."""
        try:
            data = json.loads((self.place / "outcome.json").read_text())
        except (OSError, ValueError):
            return None
        return Outcome(**data) if data.pop("n") == n else None

    def _write(self, name: str, data: Mapping[str, Any]) -> None:
        half = self.place / f"{name}.part"
        half.write_text(json.dumps(data))
        half.replace(self.place / name)

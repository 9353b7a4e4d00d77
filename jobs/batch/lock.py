"""Who may write to a batch folder: one process at a time, which says who it is.

The right to write is a lock on `batch.lock`, which the kernel takes back when its owner dies. `batch.owner` says who
holds it, on which host, and is touched every few seconds: where the folder is shared by hosts whose locks do not reach
each other, an owner elsewhere counts as gone once its last sign of life is older than a minute.
"""

import fcntl
import json
import os
import socket
import time
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import IO

from jobs.errors import RunFolderError
from jobs.store import readable_errors

STALE_AFTER = 60.0  # seconds


@dataclass(frozen=True)
class Owner:
    """Who writes. role: "scheduler", or the command that writes for a moment."""

    pid: int
    host: str
    role: str
    beat: float


class WriteLock:
    """The right to write, held from `acquire` to `release` or the end of the process.

    Args:
        root: the batch folder; it is made if it is missing.
        role: what the owner does, for the one who is refused.
    """

    def __init__(self, root: Path, role: str) -> None:
        self.root, self.role = root, role
        self.file: IO[bytes] | None = None

    def acquire(self) -> bool:
        """Take it if it is free. -> whether it was

        Raises:
            RunFolderError: the folder cannot be written.
        """
        with readable_errors(self.root):
            self.root.mkdir(parents=True, exist_ok=True)
            file = (self.root / "batch.lock").open("ab")
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            file.close()
            return False
        owner = read_owner(self.root)
        if owner and owner.host != socket.gethostname() and time.time() - owner.beat < STALE_AFTER:
            file.close()
            return False
        self.file = file
        self.beat()
        return True

    def demand(self) -> None:
        """Take it.

        Raises:
            RunFolderError: another process has it; the message says which one and where.
        """
        if not self.acquire():
            raise RunFolderError(taken(self.root))

    def beat(self) -> None:
        """A sign of life."""
        owner = Owner(os.getpid(), socket.gethostname(), self.role, time.time())
        half = self.root / f"batch.owner.{os.getpid()}.part"
        with readable_errors(self.root):
            half.write_text(json.dumps(asdict(owner)))
            half.replace(self.root / "batch.owner")

    def release(self) -> None:
        if self.file:
            (self.root / "batch.owner").unlink(missing_ok=True)
            self.file.close()
            self.file = None


def read_owner(root: Path) -> Owner | None:
    """Who wrote last, if it did not say goodbye."""
    try:
        return Owner(**json.loads((root / "batch.owner").read_text()))
    except (OSError, ValueError, TypeError):
        return None


def scheduler_alive(root: Path) -> bool:
    """Whether a scheduler works on this folder now. Only looks: the folder may be read-only."""
    owner = read_owner(root)
    if owner is None or owner.role != "scheduler":
        return False
    if owner.host != socket.gethostname():
        return time.time() - owner.beat < STALE_AFTER
    try:
        with (root / "batch.lock").open("rb") as file:
            fcntl.flock(file, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    except OSError:
        return False
    return False


def taken(root: Path) -> str:
    """Why a second scheduler is refused."""
    owner = read_owner(root)
    if owner is None:
        return f"{root} is being written by another process: wait for it, or choose another --root"
    age = max(0.0, time.time() - owner.beat)
    return (
        f"{root} already has a {owner.role}: process {owner.pid} on {owner.host}, last seen {age:.0f} s ago; "
        "wait for it, stop it, or choose another --root"
    )

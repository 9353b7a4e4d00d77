"""The run folder: everything that is known about one run, on disk, so that nothing lives only in memory.

    config.yaml       the resolved job          progress.jsonl   one line per iteration
    input/            the files that it names
    status.json       where it is               log.txt          what it said
    env.json          versions, machine         ckpt/            checkpoints, the last two, each with its checksum
    preview.glb       the shape so far          artifacts/       files handed over, the report among them
    looks/            pictures of the page      beside.json      the run that it is compared with
    result.json       written last: its presence says that the run succeeded

Files are replaced whole (temporary name, then rename), so that a reader or a killed process never sees half of one.
"""

import contextlib
import errno
import hashlib
import json
import os
import shutil
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, Literal

from jobs.errors import RunFolderError

RunState = Literal["queued", "running", "stopped", "failed", "succeeded"]


class Run:
    """One run folder.

    Args:
        folder: an existing run folder; `Run.create` makes one.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = Path(folder)

    @classmethod
    def create(cls, folder: Path, overwrite: bool = False) -> "Run":
        """Make the folder, or take an empty one.

        Raises:
            RunFolderError: not writable, or holding another run (or anything else) without `overwrite`.
        """
        run = cls(folder)
        if run.folder.exists() and not run.folder.is_dir():
            raise RunFolderError(f"{folder} is a file: choose another --out")
        occupied = run.folder.is_dir() and any(run.folder.iterdir())
        if occupied and not run.is_run:
            raise RunFolderError(f"{folder} is not empty and holds no run: choose another --out")
        if occupied and not overwrite:
            raise RunFolderError(
                f"{folder} already holds a run: choose another --out, continue it with `formgrad resume {folder}`, "
                "or say --overwrite"
            )
        if occupied and run.alive:
            raise RunFolderError(f"{folder} is still being worked on by process {run.status()['pid']}: stop it first")
        with readable_errors(folder):
            if occupied:
                run._clear()
            for place in (run.folder, run.checkpoints, run.artifacts):
                place.mkdir(parents=True, exist_ok=True)
            probe = run.folder / ".probe"
            probe.write_bytes(b"0" * 65536)
            probe.unlink()
        return run

    checkpoints = property(lambda self: self.folder / "ckpt")
    artifacts = property(lambda self: self.folder / "artifacts")
    config = property(lambda self: self.folder / "config.yaml")
    inputs = property(lambda self: self.folder / "input")
    log = property(lambda self: self.folder / "log.txt")
    preview = property(lambda self: self.folder / "preview.glb")

    @property
    def is_run(self) -> bool:
        return self.config.is_file() or (self.folder / "status.json").is_file()

    # -- status -------------------------------------------------------------------------------------------------------

    def status(self) -> dict[str, Any]:
        """`state`, `phase`, `message`, `pid`, `updated` (Unix seconds); state "failed" if its process is gone."""
        status = self._read_json("status.json") or {"state": "queued", "phase": "", "message": "", "pid": 0}
        pid = status["pid"] or self._worker()
        if status["state"] in ("queued", "running") and pid and not process_exists(pid):
            status |= {"state": "failed", "message": "the process ended without a word; `formgrad resume` continues it"}
        return status

    def set_status(self, state: RunState, phase: str = "", message: str = "", pid: int | None = None) -> None:
        pid = os.getpid() if pid is None else pid
        self.write_json(
            "status.json", {"state": state, "phase": phase, "message": message, "pid": pid, "updated": time.time()}
        )

    @property
    def alive(self) -> bool:
        status = self._read_json("status.json")
        if not status or status["state"] not in ("queued", "running"):
            return False
        pid = status["pid"] or self._worker()
        return pid != os.getpid() and process_exists(pid)

    def _worker(self) -> int:
        """Process id that `launch.spawn` noted, 0 if none."""
        try:
            return int((self.folder / "worker.pid").read_text())
        except (FileNotFoundError, ValueError):
            return 0

    def request_stop(self) -> None:
        """Ask whoever runs it to finish the iteration and save."""
        with readable_errors(self.folder):
            (self.folder / "stop").touch()

    # -- progress and results -----------------------------------------------------------------------------------------

    def append_progress(self, row: dict[str, Any]) -> None:
        with readable_errors(self.folder), (self.folder / "progress.jsonl").open("a", encoding="utf-8") as file:
            file.write(json.dumps(row) + "\n")

    def progress(self) -> list[dict[str, Any]]:
        """One dict per iteration; a last line that is still being written is left out."""
        try:
            lines = (self.folder / "progress.jsonl").read_text(encoding="utf-8").splitlines()
        except FileNotFoundError:
            return []
        rows = []
        for line in lines:
            with contextlib.suppress(json.JSONDecodeError):
                rows.append(json.loads(line))
        return rows

    def truncate_progress(self, iterations: int) -> None:
        """Forget what happened after a checkpoint, before it happens again."""
        kept = [json.dumps(row) + "\n" for row in self.progress() if row.get("iteration", 0) <= iterations]
        self.write_text("progress.jsonl", "".join(kept))

    def result(self) -> dict[str, Any] | None:
        return self._read_json("result.json")

    # -- checkpoints --------------------------------------------------------------------------------------------------

    def save_checkpoint(self, step: int, save: Callable[[Path], None], keep: int = 2) -> Path:
        """Let `save(path)` write a checkpoint, note its checksum, and drop all but the last `keep`."""
        path = self.checkpoints / f"step-{step:06d}.npz"
        with readable_errors(self.folder):
            save(path)
            _write_whole(path.with_suffix(".sha256"), _checksum(path).encode())
            for old in sorted(self.checkpoints.glob("step-*.npz"))[:-keep]:
                old.unlink()
                old.with_suffix(".sha256").unlink(missing_ok=True)
        return path

    def latest_checkpoint(self) -> Path | None:
        """The newest one whose checksum is right."""
        for path in sorted(self.checkpoints.glob("step-*.npz"), reverse=True):
            note = path.with_suffix(".sha256")
            if note.is_file() and note.read_text() == _checksum(path):
                return path
        return None

    # -- files --------------------------------------------------------------------------------------------------------

    def write_json(self, name: str, data: Any) -> None:
        self.write_text(name, json.dumps(data, indent=1, allow_nan=False) + "\n")

    def write_text(self, name: str, text: str) -> None:
        with readable_errors(self.folder):
            _write_whole(self.folder / name, text.encode())

    def _read_json(self, name: str) -> dict[str, Any] | None:
        try:
            return json.loads((self.folder / name).read_text(encoding="utf-8"))
        except (FileNotFoundError, json.JSONDecodeError):
            return None

    def _places(self) -> list[Path]:
        return [self.inputs, self.checkpoints, self.artifacts, self.folder / "looks"]

    def _clear(self) -> None:
        own = [
            "result.json",
            "status.json",
            "progress.jsonl",
            "config.yaml",
            "env.json",
            "log.txt",
            "preview.glb",
            "worker.pid",
            "beside.json",
        ]
        filed = [path for place in self._places() for path in place.glob("*")]
        for path in [self.folder / name for name in own] + filed:
            if path.is_dir() and not path.is_symlink():
                shutil.rmtree(path)
            else:
                path.unlink(missing_ok=True)


@contextlib.contextmanager
def readable_errors(folder: Path) -> Iterator[None]:
    """Turn what the file system says into one sentence with a remedy."""
    try:
        yield
    except OSError as error:
        if error.errno in (errno.ENOSPC, errno.EDQUOT):
            raise RunFolderError(
                f"the disk that holds {folder} is full: free some space, then resume the run"
            ) from error
        if error.errno in (errno.EACCES, errno.EPERM, errno.EROFS):
            raise RunFolderError(f"cannot write to {folder}: choose another --out or change its permissions") from error
        raise RunFolderError(f"cannot use {folder}: {error.strerror}; choose another --out") from error


def process_exists(pid: int) -> bool:
    if pid <= 0:
        return False
    try:
        state = Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0]
    except (FileNotFoundError, ProcessLookupError, IndexError):
        if Path("/proc/self").exists():
            return False
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, 0)
            return True
        return False
    return state != "Z"


def _write_whole(path: Path, data: bytes) -> None:
    temporary = path.with_name(path.name + ".part")
    try:
        with temporary.open("wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        temporary.replace(path)
    except OSError:
        with contextlib.suppress(OSError):
            temporary.unlink()
        raise


def _checksum(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()

"""Which jobs are the same job: those whose resolved configuration and whose input files have the same bytes.

The name does not count, and neither do the places of files: a file is known by what it holds. Files are kept under
`inputs/HASH/NAME` of the batch folder from the moment of submission, so that a job that waits does not change.
"""

import hashlib
import json
import shutil
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from jobs.errors import JobError
from jobs.job import Job
from jobs.store import readable_errors

ID_LENGTH = 20


@dataclass(frozen=True)
class Identified:
    """A job that is ready to be queued.

    Attributes:
        id: hexadecimal, the first part of the SHA-256 of what the job is.
        spec: the resolved configuration with files as `inputs/HASH/NAME`, relative to the batch folder.
        input_bytes: of the files that it names.
    """

    id: str
    name: str
    kind: str
    spec: dict[str, Any]
    input_bytes: float = 0.0


class Inputs:
    """The files of jobs, kept once each.

    Args:
        root: the batch folder.
    """

    def __init__(self, root: Path) -> None:
        self.root = root
        self._known: dict[Path, str] = {}

    def identify(self, job: Job, *, keep: bool = True) -> Identified:
        """Name the job by its content; with `keep`, its files are copied into the batch folder first.

        Raises:
            JobError: a file is missing. RunFolderError: the batch folder cannot be written.
        """
        digests = {file: self._digest(file) for file in job.files()}
        content = job.with_files({file: Path(f"sha256-{digest}") for file, digest in digests.items()})
        plain = {key: value for key, value in content.model_dump(mode="json").items() if key != "name"}
        kept = {file: Path("inputs") / digest[:16] / file.name for file, digest in digests.items()}
        if keep:
            for file, place in kept.items():
                self._keep(file, self.root / place)
        text = json.dumps(plain, sort_keys=True, separators=(",", ":"), allow_nan=True)
        spec = job.with_files(kept).model_dump(mode="json")
        id = hashlib.sha256(text.encode()).hexdigest()[:ID_LENGTH]
        size = sum(file.stat().st_size for file in digests if file.is_file())
        return Identified(id, job.name, job.kind(), spec, float(size))

    def _digest(self, file: Path) -> str:
        if file not in self._known:
            if not file.exists():
                raise JobError(f"{file} does not exist: check the path (it is relative to the job file)")
            with readable_errors(file):
                self._known[file] = folder_digest(file) if file.is_dir() else file_digest(file)
        return self._known[file]

    def _keep(self, file: Path, place: Path) -> None:
        if place.exists():
            return
        with readable_errors(self.root):
            place.parent.mkdir(parents=True, exist_ok=True)
            half = place.with_name(place.name + ".part")
            if file.is_dir():
                shutil.rmtree(half, ignore_errors=True)
                shutil.copytree(file, half, ignore=shutil.ignore_patterns("input", "batch", "*.part"))
            else:
                shutil.copyfile(file, half)
            half.rename(place)


def file_digest(file: Path) -> str:
    """SHA-256 of a file, hexadecimal."""
    with file.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()


def folder_digest(folder: Path) -> str:
    """SHA-256 over the names and contents of the files that a job takes from a run folder."""
    whole = hashlib.sha256()
    for file in sorted(folder.rglob("*")):
        inner = file.relative_to(folder)
        if file.is_file() and inner.parts[0] not in ("input", "batch") and file.suffix != ".part":
            whole.update(f"{inner.as_posix()}\0{file_digest(file)}\n".encode())
    return whole.hexdigest()

"""Start a run in a process of its own that outlives whoever started it."""

import os
import re
import shutil
import subprocess
import sys
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from jobs.errors import JobError
from jobs.spec import StructureJob, dump_job, parse_job
from jobs.store import Run, readable_errors


def start(job: StructureJob | Mapping[str, Any], root: Path) -> Run:
    """Make a run folder under `root` and let a worker process run the job.

    Raises:
        JobError: the job cannot be right. RunFolderError: the folder cannot be written.
    """
    job = job if isinstance(job, StructureJob) else parse_job(job)
    run = Run.create(new_folder(root, job.name))
    adopt(job, run)
    run.set_status("queued", "start", "waiting for a worker", pid=0)
    spawn(run)
    return run


def adopt(job: StructureJob, run: Run) -> StructureJob:
    """Copy the files that a job names into the run folder and write its config.yaml there, so that the folder can be
    moved and resumed without what it was made from. -> the job with its files in their new place

    Raises:
        JobError: a file is missing. RunFolderError: the folder cannot be written.
    """
    if job.body is None:
        dump_job(job, run.config)
        return job
    source, names = job.body.file.parent, {}
    with readable_errors(run.folder):
        run.inputs.mkdir(exist_ok=True)
        for file in [job.body.file, *(source / name for name in _region_files(job))]:
            if not file.is_file():
                raise JobError(f"{file} does not exist: check the path (it is relative to the job file)")
            if file not in names:
                names[file] = file.name if file.name not in names.values() else f"{len(names)}-{file.name}"
                shutil.copyfile(file, run.inputs / names[file])
    regions = {key: [_renamed(spec, source, names) for spec in getattr(job, key)] for key in ("keep", "keep_out")}
    kept = job.model_copy(update=regions)

    def with_body(file: Path) -> StructureJob:
        assert job.body
        return kept.model_copy(update={"body": job.body.model_copy(update={"file": file})})

    dump_job(with_body(Path(run.inputs.name) / names[job.body.file]), run.config)
    return with_body(run.inputs / names[job.body.file])


def _region_files(job: StructureJob) -> list[str]:
    return [spec["body"] for spec in (*job.keep, *job.keep_out) if isinstance(spec.get("body"), str)]


def _renamed(spec: dict[str, Any], source: Path, names: Mapping[Path, str]) -> dict[str, Any]:
    return {**spec, "body": names[source / spec["body"]]} if isinstance(spec.get("body"), str) else spec


def spawn(run: Run) -> int:
    """Start `python -m jobs.worker FOLDER` detached; what it says goes to log.txt. -> process id"""
    with run.log.open("ab") as log:
        process = subprocess.Popen(
            [sys.executable, "-m", "jobs.worker", str(run.folder)],
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=log,
            start_new_session=True,
            env={**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))},
        )
    run.write_text("worker.pid", f"{process.pid}\n")
    return process.pid


def new_folder(root: Path, name: str) -> Path:
    """A folder that does not exist yet: name, date and time, and a number if that is not enough."""
    stem = re.sub(r"[^\w.+-]+", "-", name).strip("-.") or "run"
    stamp = time.strftime("%Y%m%d-%H%M%S")
    for number in range(1000):
        folder = root / (f"{stem}-{stamp}" + (f"-{number}" if number else ""))
        if not folder.exists():
            return folder
    raise AssertionError("a thousand runs in one second")

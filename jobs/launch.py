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
from jobs.spec import Job, dump_job, parse_job
from jobs.store import Run, readable_errors


def start(job: Job | Mapping[str, Any], root: Path) -> Run:
    """Make a run folder under `root` and let a worker process run the job.

    Raises:
        JobError: the job cannot be right. RunFolderError: the folder cannot be written.
    """
    job = parse_job(job) if isinstance(job, Mapping) else job
    _, run = prepare(job, new_folder(root, job.name))
    run.set_status("queued", "start", "waiting for a worker", pid=0)
    spawn(run)
    return run


def start_both(first: Job, second: Job, root: Path) -> tuple[Run, Run]:
    """Two jobs that are compared: one worker after the other, so that neither takes time from the other.

    Each run's `beside.json` names the other one.

    Raises:
        RunFolderError: a folder cannot be written. JobError: a file is missing.
    """
    runs = [prepare(job, new_folder(root, job.name))[1] for job in (first, second)]
    for run, other, place in zip(runs, reversed(runs), ("first", "second"), strict=True):
        run.write_json("beside.json", {"run": other.folder.name, "place": place})
        run.set_status("queued", "start", "waiting for a worker", pid=0)
    spawn(*runs)
    return runs[0], runs[1]


def prepare(job: Job, folder: Path, overwrite: bool = False) -> tuple[Job, Run]:
    """Make a run folder that holds everything the job needs, so that it can be moved and resumed without what it was
    made from. -> the job with its files in their new place, and the run

    Raises:
        JobError: a file is missing. RunFolderError: the folder is taken, or cannot be written.
    """
    for file in job.files():
        if not file.exists():
            raise JobError(f"{file} does not exist: check the path (it is relative to the job file)")
    run = Run.create(folder, overwrite)
    return _adopted(job, run), run


def _adopted(job: Job, run: Run) -> Job:
    names: dict[Path, str] = {}
    with readable_errors(run.folder):
        for file in job.files():
            if file in names:
                continue
            names[file] = file.name if file.name not in names.values() else f"{len(names)}-{file.name}"
            run.inputs.mkdir(exist_ok=True)
            if file.is_dir():  # another run, of which a job may take the design
                shutil.copytree(file, run.inputs / names[file], ignore=shutil.ignore_patterns("input", "*.part"))
            else:
                shutil.copyfile(file, run.inputs / names[file])
    dump_job(job.with_files({file: Path(run.inputs.name) / name for file, name in names.items()}), run.config)
    return job.with_files({file: run.inputs / name for file, name in names.items()})


def spawn(run: Run, *after: Run) -> int:
    """Start `python -m jobs.worker FOLDER ...` detached; what it says goes to log.txt. -> process id

    Args:
        after: runs that begin when this one has ended, each in a worker of its own.
    """
    with run.log.open("ab") as log:
        process = subprocess.Popen(
            [sys.executable, "-m", "jobs.worker", str(run.folder), *(str(later.folder) for later in after)],
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=log,
            start_new_session=True,
            env={**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))},
        )
    # A run that waits is lost with the worker that it waits for.
    for each in (run, *after):
        each.write_text("worker.pid", f"{process.pid}\n")
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

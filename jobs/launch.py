"""Start a run in a process of its own that outlives whoever started it."""

import os
import re
import subprocess
import sys
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from jobs.spec import StructureJob, dump_job, parse_job
from jobs.store import Run


def start(job: StructureJob | Mapping[str, Any], root: Path) -> Run:
    """Make a run folder under `root` and let a worker process run the job.

    Raises:
        JobError: the job cannot be right. RunFolderError: the folder cannot be written.
    """
    job = job if isinstance(job, StructureJob) else parse_job(job)
    run = Run.create(new_folder(root, job.name))
    dump_job(job, run.config)
    run.set_status("queued", "start", "waiting for a worker", pid=0)
    spawn(run)
    return run


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

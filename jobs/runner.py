"""Run a job in this process: steps, checkpoints, progress, stop requests, and the last word in status.json."""

import contextlib
import json
import os
import platform
import time
from importlib import metadata
from pathlib import Path
from typing import Any

from jobs.errors import JobError, RunFolderError
from jobs.kinds import KINDS
from jobs.observer import Observer
from jobs.spec import Job, load_job
from jobs.stop import StopRequest
from jobs.store import Run, readable_errors
from jobs.templates import State, Template
from jobs.user_errors import user_errors

PREVIEW_EVERY = 2  # seconds


def run_job(job: Job, run: Run, observer: Observer, *, resume: bool = False) -> dict[str, Any] | None:
    """Work until the result is written.

    Returns:
        what result.json holds, or None when a stop was asked for and the state was saved.

    Raises:
        one of `user_errors`; the run's status then says "failed" and why.
    """
    began, noting = time.monotonic(), _Noting(run, observer)
    template = KINDS[job.kind()].begin(job, run, noting)
    try:
        with StopRequest(run.folder) as stop:
            run.set_status("running", "read", "reading the job")
            _note_environment(run)
            state = template.setup()
            state = _restored(run, template, state) if resume else state
            state = _iterate(template, job, run, noting, state, stop)
            if stop.wanted:
                run.set_status("stopped", "optimise", f"stopped after iteration {state.iteration}; it can be resumed")
                return None
            result = {**template.finish(state), "seconds": round(time.monotonic() - began, 3)}
            run.write_json("result.json", result)
            run.set_status("succeeded", "done", KINDS[job.kind()].ready)
            return result
    except user_errors() as error:
        _last_word(run, str(error))
        raise
    except OSError as error:
        with readable_errors(run.folder):
            _last_word(run, str(error))
            raise
    except MemoryError as error:
        _last_word(run, "out of memory")
        raise JobError("the run needs more memory than there is: ask for fewer voxels or cells") from error
    except BaseException as error:
        _last_word(run, f"interrupted: {type(error).__name__}: {error}")
        raise


def _iterate(template: Template, job: Job, run: Run, observer: Observer, state: State, stop: StopRequest) -> State:
    shown = 0.0
    if not state.done:
        observer.phase("optimise", KINDS[job.kind()].working)
    while not state.done and not stop.wanted:
        state, row = template.step(state)
        run.append_progress(row)
        observer.iteration(row, template.describe(row))
        if state.done or state.iteration % job.save_every == 0 or stop.wanted:
            run.save_checkpoint(state.iteration, state.save)
        if state.done or time.monotonic() - shown > PREVIEW_EVERY:
            template.preview(state, run.preview)
            shown = time.monotonic()
    return state


def _restored(run: Run, template: Template, start: State) -> State:
    path = run.latest_checkpoint()
    state = start if path is None else template.load(path)
    run.truncate_progress(state.iteration)
    return state


def open_run(folder: Path) -> tuple[Job, Run]:
    """A run that can be resumed.

    Raises:
        RunFolderError: not a run, still at work, or finished.
    """
    run = Run(folder)
    if not run.config.is_file():
        raise RunFolderError(f"{folder} holds no run: give a folder that `formgrad run` made")
    if run.alive:
        raise RunFolderError(f"{folder} is still being worked on by process {run.status()['pid']}")
    if run.result() is not None:
        raise RunFolderError(f"{folder} is finished: see {run.folder / 'result.json'}")
    return load_job(run.config), run


def _last_word(run: Run, message: str) -> None:
    # Where the disk is full or gone, the exception that is on its way says so.
    with contextlib.suppress(RunFolderError, OSError):
        run.set_status("failed", run.status().get("phase", ""), message)


def _note_environment(run: Run) -> None:
    names = ["formgrad", "numpy", "scipy", "numba", "manifold3d", "dolfinx-solver-real", "pytetwild"]
    versions = {}
    for name in names:
        try:
            versions[name] = metadata.version(name)
        except metadata.PackageNotFoundError:
            versions[name] = None
    where = {"python": platform.python_version(), "system": platform.platform(), "cpus": os.cpu_count()}
    run.write_text("env.json", json.dumps({**where, "packages": versions}, indent=1) + "\n")


class _Noting:
    """Passes phases on and notes them in status.json."""

    def __init__(self, run: Run, observer: Observer) -> None:
        self.run, self.observer = run, observer

    def phase(self, name: str, message: str) -> None:
        self.run.set_status("running", name, message)
        self.observer.phase(name, message)

    def iteration(self, row: dict[str, Any], text: str) -> None:
        self.observer.iteration(row, text)

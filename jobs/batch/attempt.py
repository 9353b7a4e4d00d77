"""One attempt at a job, in the process that it has for itself: begin anew or go on, run, say how it ended."""

import contextlib
import fcntl
import hashlib
import os
import resource
import signal
import sys
import time
import traceback
from collections.abc import Iterator
from pathlib import Path
from types import FrameType
from typing import Any

from jobs.batch.assignment import Assignment, Contact
from jobs.batch.retry import Outcome
from jobs.batch.vigil import TOLERANCE, Vigil
from jobs.batch.warm import SLOTS
from jobs.errors import JobError, RunFolderError
from jobs.job import Job
from jobs.launch import prepare
from jobs.observer import Log
from jobs.runner import run_job
from jobs.spec import load_job, parse_job
from jobs.store import Run, readable_errors
from jobs.user_errors import user_errors
from pde.grid.errors import SolverError
from transport.errors import AscentError

NUMERICAL = (SolverError, AscentError, FloatingPointError)
LOCK_PATIENCE = 30.0  # seconds that an earlier worker of the same job may take to go


def run_attempt(assignment: Assignment) -> Outcome:
    """Work on the job until it ends, in whatever way; never raises what the job raised."""
    contact, run, began = assignment.contact, Run(assignment.contact.folder), time.monotonic()
    job: Job | None = None
    try:
        with readable_errors(contact.folder):
            contact.place.mkdir(parents=True, exist_ok=True)
        with readable_errors(contact.folder), _alone(contact):
            if run.result() is not None:  # an earlier worker finished after it had been given up
                return _concluded(assignment, Outcome("succeeded", iteration=_reached(run)))
            warm = SLOTS.enter(assignment.class_key, assignment.slots)
            with Vigil(assignment) as vigil, _asked_by_signal(vigil), _limited(assignment):
                try:
                    job, run, resume = _begin(assignment)
                    with _output_to(run.log), _scratch(assignment.scratch):
                        done = run_job(job, run, Log(), resume=resume)
                    outcome = Outcome("succeeded" if done else "stopped")
                except BaseException as error:
                    outcome = _classified(error, job)
                    _note_traceback(run.log)
            facts: dict[str, Any] = {"iteration": _reached(run), "peak_rss": round(max(vigil.peak, _peak_rss()), 1)}
            facts["seconds"] = round(time.monotonic() - began, 4)
            facts |= {"warm": warm if assignment.class_key else None, "resident": SLOTS.resident}
            return _concluded(assignment, Outcome(**{**vars(outcome), **facts}))
    except (OSError, *user_errors()) as error:
        return Outcome("error", _sentence(error), traceback_hash=_fingerprint(error))


def _begin(assignment: Assignment) -> tuple[Job, Run, bool]:
    """The job, its run folder, and whether to go on from a checkpoint."""
    folder = assignment.contact.folder
    run = Run(folder)
    # Nobody else is here, whatever the last status says; and it marks the folder as a run's own.
    run.set_status("queued", "start", f"attempt {assignment.n}", pid=0)
    (folder / "worker.pid").unlink(missing_ok=True)
    if run.latest_checkpoint() is not None and run.config.is_file() and not assignment.settings.get("damped"):
        return load_job(run.config), run, True
    _keep_log(run, assignment.n - 1)
    job = parse_job(assignment.spec, base=Path(assignment.root))
    damp = getattr(job, "damped", None)
    if assignment.settings.get("damped") and damp is not None:
        job = damp()
    return *prepare(job, folder, overwrite=True), False


def _classified(error: BaseException, job: Job | None) -> Outcome:
    kind, message = "error", _sentence(error)
    if isinstance(error, MemoryError) or isinstance(error.__cause__, MemoryError):
        kind = "memory"
    elif isinstance(error, NUMERICAL):
        kind = "numerical"
    elif isinstance(error, KeyboardInterrupt):
        kind = "stopped"
    elif isinstance(error, user_errors()) and not isinstance(error, RunFolderError):
        kind = "refused"
    can_damp = getattr(job, "damped", None) is not None
    return Outcome(kind, message, traceback_hash=_fingerprint(error), can_damp=can_damp)  # type: ignore[arg-type]


def _sentence(error: BaseException) -> str:
    words = " ".join(str(error).split())[:500]
    if isinstance(error, (*user_errors(), JobError)):
        return words
    return f"{type(error).__name__}: {words}" if words else type(error).__name__


def _fingerprint(error: BaseException) -> str:
    """The same for the same fault: kind of error and the lines it came through, not its words."""
    frames = traceback.extract_tb(error.__traceback__)
    places = [f"{Path(f.filename).name}:{f.name}:{f.lineno}" for f in frames]
    return hashlib.sha256("\n".join([type(error).__name__, *places]).encode()).hexdigest()[:16]


def _concluded(assignment: Assignment, outcome: Outcome) -> Outcome:
    with contextlib.suppress(OSError):  # on a full disk the pipe still carries it
        assignment.contact.conclude(assignment.n, outcome)
    return outcome


def _reached(run: Run) -> int | None:
    """Iteration of the newest valid checkpoint."""
    with contextlib.suppress(OSError):
        path = run.latest_checkpoint()
        return None if path is None else int(path.stem.removeprefix("step-"))
    return None


@contextlib.contextmanager
def _alone(contact: Contact) -> Iterator[None]:
    """Hold the run folder; an earlier worker that is on its way out is waited for."""
    with readable_errors(contact.folder):
        file = contact.lock.open("ab")
    until = time.monotonic() + LOCK_PATIENCE
    try:
        while True:
            try:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
                break
            except BlockingIOError:
                if time.monotonic() > until:
                    raise RunFolderError(f"{contact.folder} is still held by an earlier worker: end it") from None
                time.sleep(0.05)
        yield
    finally:
        file.close()


@contextlib.contextmanager
def _asked_by_signal(vigil: Vigil) -> Iterator[None]:
    """SIGTERM and SIGINT before and after the runner's own handling count as a request to end, too."""

    def note(number: int, frame: FrameType | None) -> None:
        vigil.end()

    before = {s: signal.signal(s, note) for s in (signal.SIGTERM, signal.SIGINT)}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


@contextlib.contextmanager
def _limited(assignment: Assignment) -> Iterator[None]:
    """Writable memory, cores and standing among other processes, as far as the system knows such limits."""
    before = resource.getrlimit(resource.RLIMIT_DATA)
    if assignment.memory_mb is not None:
        # Not the address space: libraries map far more of that than they use.
        most = _data_bytes() + int(TOLERANCE * assignment.memory_mb * 1e6)
        most = most if before[1] == resource.RLIM_INFINITY else min(most, before[1])
        resource.setrlimit(resource.RLIMIT_DATA, (most, before[1]))
    if assignment.cores and hasattr(os, "sched_setaffinity"):
        with contextlib.suppress(OSError):
            os.sched_setaffinity(0, assignment.cores)
    with contextlib.suppress(OSError):
        os.setpriority(os.PRIO_PROCESS, 0, max(assignment.nice, os.getpriority(os.PRIO_PROCESS, 0)))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_DATA, before)


def _data_bytes() -> int:
    with contextlib.suppress(OSError):
        for line in Path("/proc/self/status").read_text().splitlines():
            if line.startswith("VmData:"):
                return int(line.split()[1]) * 1024
    return 2**30


def _peak_rss() -> float:
    """Of this process so far, MB."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * (1e-6 if sys.platform == "darwin" else 1.024e-3)


@contextlib.contextmanager
def _output_to(log: Path) -> Iterator[None]:
    """What the job and its children say goes to its log."""
    sys.stdout.flush()
    sys.stderr.flush()
    with log.open("ab") as file:
        before = [os.dup(1), os.dup(2)]
        os.dup2(file.fileno(), 1)
        os.dup2(file.fileno(), 2)
    try:
        yield
    finally:
        for target, kept in zip((1, 2), before, strict=True):
            with contextlib.suppress(OSError, ValueError):
                (sys.stdout, sys.stderr)[target - 1].flush()
            os.dup2(kept, target)
            os.close(kept)


@contextlib.contextmanager
def _scratch(place: Path) -> Iterator[None]:
    """A folder of its own for temporary files."""
    import shutil
    import tempfile

    place.mkdir(parents=True, exist_ok=True)
    before, tempfile.tempdir = os.environ.get("TMPDIR"), str(place)
    os.environ["TMPDIR"] = str(place)
    try:
        yield
    finally:
        tempfile.tempdir = None
        os.environ.pop("TMPDIR")
        if before is not None:
            os.environ["TMPDIR"] = before
        shutil.rmtree(place, ignore_errors=True)


def _keep_log(run: Run, n: int) -> None:
    """The log of an attempt that begins anew stays, for whoever wants to know why."""
    if run.log.is_file() and run.log.stat().st_size:
        run.log.replace(run.folder / "batch" / f"log-{n}.txt")


def _note_traceback(log: Path) -> None:
    with contextlib.suppress(OSError), log.open("a", encoding="utf-8") as file:
        traceback.print_exc(file=file)

"""`python -m jobs.worker FOLDER [NEXT ...]`: run, or continue, the job of a run folder. Started by `jobs.launch`."""

import sys
from pathlib import Path

from jobs.launch import spawn
from jobs.observer import Log
from jobs.runner import open_run, run_job
from jobs.store import Run
from jobs.user_errors import user_errors

STOPPED = 75


def main(folder: str, *after: str) -> int:
    """Exit code 0 when done, 75 when stopped and saved, 2 when the job cannot be run.

    Runs that come after it are started once it has ended, unless it was stopped: then they are, too.
    """
    code = 1
    try:
        code = work(folder)
    finally:
        if after:
            _go_on([Run(Path(each)) for each in after], code)
    return code


def work(folder: str) -> int:
    """The same for one run."""
    try:
        job, run = open_run(Path(folder))
        resume = run.latest_checkpoint() is not None
        return 0 if run_job(job, run, Log(), resume=resume) else STOPPED
    except user_errors() as error:
        print(error, flush=True)
        return 2


def _go_on(after: list[Run], code: int) -> None:
    stopped = code == STOPPED or (after[0].folder / "stop").exists()
    if not stopped:
        spawn(*after)
        return
    for run in after:
        (run.folder / "stop").unlink(missing_ok=True)
        run.set_status("stopped", "start", "stopped before it began; it can be resumed")


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))

"""`python -m jobs.worker FOLDER`: run, or continue, the job of a run folder. Started by `jobs.launch`."""

import sys
from pathlib import Path

from jobs.observer import Log
from jobs.runner import open_run, run_job
from jobs.user_errors import user_errors


def main(folder: str) -> int:
    """Exit code 0 when done, 75 when stopped and saved, 2 when the job cannot be run."""
    try:
        job, run = open_run(Path(folder))
        resume = run.latest_checkpoint() is not None
        return 0 if run_job(job, run, Log(), resume=resume) else 75
    except user_errors() as error:
        print(error, flush=True)
        return 2


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))

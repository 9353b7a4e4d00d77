"""`python -m jobs.batch.worker`: does the attempts that it is handed, one line of JSON each, and answers with another.

A worker that is started for one job is handed one line. A worker for tiny jobs is handed some twenty, which saves it
the imports; what a job started beside itself is ended with the job.
"""

import faulthandler
import json
import os
import sys
from dataclasses import asdict

from jobs.batch.assignment import MARK, Assignment
from jobs.batch.marked import end_marked


def main() -> int:
    """Serve until the input ends. Exit code 0."""
    answers = os.fdopen(os.dup(1), "w", encoding="utf-8")  # not inherited: jobs cannot write into it
    os.dup2(2, 1)
    faulthandler.enable()
    from jobs.batch.attempt import run_attempt

    for line in sys.stdin.buffer:
        assignment = Assignment.from_json(line)
        if os.getppid() != assignment.parent:  # nobody is there to hear of it
            return 0
        outcome = run_attempt(assignment)
        end_marked(os.environ.get(MARK, ""), spare=os.getpid())
        try:
            print(json.dumps({"id": assignment.id, "n": assignment.n, **asdict(outcome)}), file=answers, flush=True)
        except BrokenPipeError:  # the scheduler is gone; outcome.json tells the next one
            return 0
    return 0


if __name__ == "__main__":
    sys.exit(main())

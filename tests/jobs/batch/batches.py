"""Small batches of probes, worked off by a scheduler in a process of its own or in this one."""

import atexit
import os
import subprocess
import sys
import tempfile
from functools import cache
from pathlib import Path

from jobs.batch.local import LocalExecutor
from jobs.batch.nursery import Nursery
from jobs.batch.queue import submit_sweep
from jobs.batch.scheduler import Scheduler
from jobs.batch.store import Store
from jobs.batch.sweep import make_sweep

ROOT = Path(__file__).parents[3]

SCHEDULER = """
import sys
from pathlib import Path
from jobs.batch.queue import work_off
work_off(Path(sys.argv[1]), workers=int(sys.argv[2]), executor=sys.argv[3])
"""


def queue_probes(root, *entries, base=None, **resources):
    """Queue a sweep of probes; -> ids in their order."""
    axes = dict(entry.split("=", 1) for entry in entries)
    asked = {"memory": "300MB", "nice": 0, **resources}
    data = {"base": {"job": "probe", **(base or {})}, "sweep": axes, "resources": asked}
    return submit_sweep(root, make_sweep(data)).ids


def run_probes(root, *entries, base=None, workers=2, **resources):
    """The same, worked off; -> rows of jobs."""
    ids = queue_probes(root, *entries, base=base, **resources)
    assert work_off(root, workers=workers)
    return jobs_of(root, ids)


@cache
def nursery():
    """One for all tests: starting it takes seconds."""
    shared = Nursery(Path(tempfile.mkdtemp(prefix="formgrad-test-")))
    atexit.register(shared.close)
    return shared


def work_off(root, workers=2, **options):
    """Be the scheduler until the queue is empty."""
    return Scheduler(root, LocalExecutor(root, workers, nursery=nursery()), **options).run()


def jobs_of(root, ids):
    with Store(root) as store:
        return [store.job(id) for id in ids]


def start_scheduler(root, workers=2, executor="local", **env):
    """A scheduler that can be killed."""
    return subprocess.Popen(
        [sys.executable, "-c", SCHEDULER, str(root), str(workers), executor],
        cwd=ROOT,
        env={**os.environ, "PYTHONPATH": str(ROOT), **env},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
    )

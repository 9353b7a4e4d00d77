"""After a scheduler was killed: what it left open is closed by what the run folders show.

Its workers notice that it is gone, save and stop; those that do not within a moment are ended by their mark. Then every
open attempt is settled as if its end had just been seen: a result that was finished counts, a checkpoint is gone on
from, and a lease that no worker ever took is given back.
"""

import time

from jobs.batch.executor import Ended
from jobs.batch.marked import end_marked, marked
from jobs.batch.settle import settle
from jobs.batch.store import Store

PATIENCE = 10.0  # seconds for the workers of a dead scheduler to save


def recover(store: Store) -> int:
    """Close what is open; -> how many attempts. Only for the holder of the write lock."""
    open_attempts = store.rows("SELECT job_id, n, worker FROM attempts WHERE ended IS NULL")
    marks = {row["worker"] for row in open_attempts if row["worker"]}
    until = time.monotonic() + PATIENCE
    while any(marked(mark) for mark in marks) and time.monotonic() < until:
        time.sleep(0.05)
    for mark in marks:
        end_marked(mark)
    for row in open_attempts:
        settle(store, Ended(row["job_id"], row["n"], None, "was lost with its scheduler"))
    store.run("UPDATE jobs SET state = 'queued' WHERE state IN ('leased', 'running')")
    store.run("DELETE FROM workers")
    return len(open_attempts)

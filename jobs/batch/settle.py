"""What an attempt's end means for its job: the worker's last word, or what the run folder shows where it had none."""

import json
import time

from jobs.batch.assignment import Contact
from jobs.batch.changes import EARLIER
from jobs.batch.executor import Ended
from jobs.batch.results import record_result
from jobs.batch.retry import Outcome, Past, judge
from jobs.batch.store import Row, Store, loads
from jobs.store import Run

NEARLY_ALL = 0.8
"""A worker that was killed while it held so much of its memory is taken to have been killed for that."""


def settle(store: Store, end: Ended, wanted: str = "") -> str:
    """Write down how an attempt ended and what follows. -> the job's new state

    Args:
        wanted: why it was asked to end, if it was ("cancel", "wall", "drain").
    """
    now, job = time.time(), store.rows("SELECT * FROM jobs WHERE id = ?", (end.id,))[0]
    run = Run(store.root / job["folder"])
    outcome = end.outcome or Contact(run.folder).outcome(end.n) or _without_a_word(end, store, run)
    if run.result() is not None:  # whoever wrote it: it is whole, and it is the job's
        outcome = Outcome(**{**vars(outcome), "ended": "succeeded"})
    elif outcome.ended == "succeeded":
        outcome = Outcome("error", "its result is gone", traceback_hash="no result")
    wanted = "cancel" if job["wanted"] == "cancel" else wanted
    request = loads(job["request_json"])
    past = _past(store, end)
    verdict = judge(outcome, past, wanted, request.get("attempts", 3))
    before = loads(_attempt(store, end)["settings_json"])
    settings = {} if verdict.final else {**before, **verdict.settings}
    with store.transaction():
        store.set_attempt(
            end.id,
            end.n,
            ended=now,
            exit_code=end.exit_code,
            reason=outcome.ended,
            traceback_hash=outcome.traceback_hash,
            checkpoint=outcome.iteration,
            counts=int(verdict.counts),
            settings_json=json.dumps(settings),
            lease_until=now,
            warm=None if outcome.warm is None else int(outcome.warm),
        )
        if outcome.peak_rss is not None:
            store.set_attempt(end.id, end.n, peak_rss=outcome.peak_rss)
        if verdict.state == "succeeded":
            record_result(store, end.id, run, now)
            if any(p.iteration is not None for p in past):  # its seconds are those of the last part only
                store.set_job(end.id, size_true=None)
        else:
            over = now if verdict.final else None
            store.set_job(end.id, state=verdict.state, message=verdict.message, wanted="", ended=over)
            store.event(now, end.id, outcome.ended, verdict.message)
            if verdict.final:
                _say_so(run, verdict.state, verdict.message)
    return verdict.state


def _without_a_word(end: Ended, store: Store, run: Run) -> Outcome:
    path = run.latest_checkpoint()
    reached = None if path is None else int(path.stem.removeprefix("step-"))
    beat = Contact(run.folder).last_beat()
    rss = beat[1].get("rss_mb") if beat and beat[1].get("n") == end.n else None
    code, message = end.exit_code, f"its worker {end.lost or 'was lost'}"
    if code in (None, -9, -15) or end.lost == "ended by the scheduler":
        asked = loads(store.rows("SELECT request_json FROM jobs WHERE id = ?", (end.id,))[0]["request_json"])
        limit = (asked.get("memory") or 0) * 1e3
        if code == -9 and rss and limit and rss > NEARLY_ALL * limit:
            return Outcome("memory", f"it was killed while it held {rss:.0f} MB", iteration=reached, peak_rss=rss)
        return Outcome("lost", message, iteration=reached, peak_rss=rss)
    return Outcome("error", message, traceback_hash=f"exit {code}", iteration=reached, peak_rss=rss)


def _past(store: Store, end: Ended) -> list[Past]:
    rows = store.rows(
        "SELECT reason, traceback_hash, checkpoint, counts FROM attempts "
        f"WHERE job_id = ? AND n < ? AND reason NOT LIKE '%{EARLIER}' ORDER BY n",
        (end.id, end.n),
    )
    return [Past(row["reason"], row["traceback_hash"], row["checkpoint"], bool(row["counts"])) for row in rows]


def _attempt(store: Store, end: Ended) -> Row:
    rows = store.rows("SELECT * FROM attempts WHERE job_id = ? AND n = ?", (end.id, end.n))
    return rows[0] if rows else {"settings_json": None}


def _say_so(run: Run, state: str, message: str) -> None:
    """The run folder shows the same as the queue."""
    if run.folder.is_dir():
        from jobs.errors import RunFolderError

        try:
            run.set_status("stopped" if state == "cancelled" else "failed", run.status().get("phase", ""), message)
        except RunFolderError:
            return  # full or read-only: the queue has it

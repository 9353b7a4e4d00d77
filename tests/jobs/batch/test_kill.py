"""Kill -9 of schedulers and workers at random moments: every job ends exactly once, and as if nothing had happened."""

import json
import random
import signal
import time

import psutil
import pytest
from batches import queue_probes, run_probes, start_scheduler

from jobs.batch.assignment import BATCH
from jobs.batch.store import Store
from jobs.store import Run


def _results(root):
    with Store(root) as store:
        rows = store.rows("SELECT id, state, result_json FROM jobs")
    assert {row["state"] for row in rows} == {"succeeded"}
    return {row["id"]: json.loads(row["result_json"])["x"] for row in rows}


def _storm(root, kills, seed):
    """Start a scheduler whenever there is none, and kill it or one of its children; -> kills that hit something."""
    chance, done, scheduler = random.Random(seed), 0, start_scheduler(root)
    until = time.monotonic() + 400
    while scheduler.poll() != 0:
        assert time.monotonic() < until, "the batch does not come to an end"
        if scheduler.poll() is not None:
            assert scheduler.returncode == -signal.SIGKILL, scheduler.stderr.read().decode()
            scheduler = start_scheduler(root)
        time.sleep(chance.uniform(0.05, 0.6))
        if done < kills:
            done += _kill_one(scheduler, chance)
    return done


def _kill_one(scheduler, chance):
    """The scheduler in about one of five cases, else its nursery or one of the workers that came from it."""
    try:
        children = psutil.Process(scheduler.pid).children(recursive=True)
        victim = scheduler.pid if chance.random() < 0.2 or not children else chance.choice(children).pid
        psutil.Process(victim).send_signal(signal.SIGKILL)
    except psutil.NoSuchProcess:
        return False
    if victim == scheduler.pid:
        scheduler.wait()
    return True


def _check(tmp_path, jobs, kills, steps):
    entries, base = (f"seed=range(1,{jobs})",), {"steps": steps, "seconds": 0.02}
    run_probes(tmp_path / "calm", *entries, base=base)
    queue_probes(tmp_path / "storm", *entries, base=base)
    done = _storm(tmp_path / "storm", kills, seed=7)
    assert _results(tmp_path / "storm") == _results(tmp_path / "calm")
    with Store(tmp_path / "storm") as store:
        assert store.counts() == {"succeeded": jobs}
        once = store.rows("SELECT job_id FROM attempts WHERE reason = 'succeeded' GROUP BY job_id HAVING count(*) = 1")
        assert len(once) == jobs
        assert store.rows("SELECT count(*) AS n FROM events WHERE kind = 'succeeded'")[0]["n"] == jobs
        assert not store.rows("SELECT 1 FROM attempts WHERE ended IS NULL")
        folders = [row["folder"] for row in store.rows("SELECT folder FROM jobs")]
        marks = {row["worker"] for row in store.rows("SELECT DISTINCT worker FROM attempts")}
    for folder in folders:
        run = Run(tmp_path / "storm" / folder)
        assert run.status()["state"] == "succeeded" and len(run.progress()) == steps
    assert not [p.pid for p in psutil.process_iter() if _mark(p) in marks], "something outlived its scheduler"
    return done


def _mark(process):
    try:
        return process.environ().get(BATCH)
    except psutil.Error:
        return None


def test_a_few_kills(tmp_path):
    assert _check(tmp_path, jobs=16, kills=6, steps=4) >= 4


@pytest.mark.slow
def test_fifty_kills_over_two_hundred_jobs(tmp_path):
    assert _check(tmp_path, jobs=200, kills=50, steps=6) >= 45

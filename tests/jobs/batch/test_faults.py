"""One bad job dies alone, and everything says so in one sentence."""

import json
import os
import socket
import subprocess
import sys
import time

import psutil
import pytest
from batches import ROOT, jobs_of, queue_probes, run_probes, start_scheduler, work_off

from jobs.batch.assignment import MARK
from jobs.batch.housekeeping import examine
from jobs.batch.inbox import change
from jobs.batch.lock import WriteLock, scheduler_alive
from jobs.batch.queue import cancel, retry
from jobs.batch.queue import work_off as work_off_anew
from jobs.batch.store import Store
from jobs.batch.vigil import TAIL, LogLimit
from jobs.errors import RunFolderError
from jobs.store import Run


def _wait(condition, seconds=60.0):
    until = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < until, "it did not happen in time"
        time.sleep(0.05)


def _attempts(root, id):
    with Store(root) as store:
        return store.attempts(id)


def test_one_bad_job_of_each_sort_never_stops_the_others(root):
    faults = ["none", "refuse", "error", "crash", "memory", "children", "none"]
    entries = [f"fault={','.join(faults)}", f"seed={','.join(str(k) for k in range(len(faults)))}"]
    from jobs.batch.queue import submit_sweep
    from jobs.batch.sweep import make_sweep

    data = {"base": {"job": "probe", "amount": 3000}, "sampling": "zip", "resources": {"memory": "300MB"}}
    ids = submit_sweep(root, make_sweep(data, entries)).ids
    assert work_off(root, workers=2)
    rows = dict(zip(["first", *faults[1:-1], "last"], jobs_of(root, ids), strict=True))
    assert {name: row["state"] for name, row in rows.items()} == {
        "first": "succeeded",
        "refuse": "failed",
        "error": "failed",
        "crash": "failed",
        "memory": "failed",
        "children": "succeeded",
        "last": "succeeded",
    }
    assert [a["reason"] for a in _attempts(root, rows["refuse"]["id"])] == ["refused"]
    assert "asked to be refused" in rows["refuse"]["message"]
    assert [a["reason"] for a in _attempts(root, rows["error"]["id"])] == ["error", "error"]
    assert "LookupError" in rows["error"]["message"] and "the same error twice" in rows["error"]["message"]
    assert "LookupError" in (root / rows["error"]["folder"] / "log.txt").read_text()
    assert "SIGABRT" in rows["crash"]["message"]
    assert [a["reason"] for a in _attempts(root, rows["memory"]["id"])] == ["memory", "memory"]
    again = _attempts(root, rows["memory"]["id"])[1]
    assert again["peak_rss"] < 1.3 * 1.5 * 300 + 150, "the limit holds, and is half as high again in the second attempt"
    assert not _sleepers(root), "children of a job must not outlive it"
    assert Run(root / rows["crash"]["folder"]).status()["state"] == "failed"


def _sleepers(root):
    """Processes that probes left behind."""
    found = []
    for process in psutil.process_iter():
        try:
            if MARK in process.environ() and "sleep(600)" in " ".join(process.cmdline()):
                found.append(process.pid)
        except psutil.Error:
            continue
    return found


def test_orphans_of_a_killed_worker_are_ended(root):
    (id,) = queue_probes(root, "seed=1", "fault=children,children", base={"steps": 2, "seconds": 0.3, "at": 1})[:1]
    scheduler = start_scheduler(root)
    try:
        _wait(lambda: len(_sleepers(root)) == 2)
        with Store(root) as store:
            _wait(lambda: (root / store.job(id)["folder"] / "batch" / "beat").is_file())
            beat = json.loads((root / store.job(id)["folder"] / "batch" / "beat").read_text())
        psutil.Process(beat["pid"]).kill()
        assert scheduler.wait(60) == 0
    finally:
        scheduler.kill()
    assert not _sleepers(root)
    assert [a["reason"] for a in _attempts(root, id)] == ["lost", "succeeded"]


def test_a_flood_of_log_is_cut_and_not_fatal(root):
    (row,) = run_probes(root, "seed=1", base={"fault": "log", "amount": 1000, "name": "flood"})
    assert row["state"] == "succeeded"
    log = (root / row["folder"] / "log.txt").read_bytes()
    assert 10_000_000 < len(log) < 10_000_000 + 2 * TAIL
    assert b"bytes of the log were left out" in log and log.startswith(b"optimise: counting")
    assert b"     1  x 0." in log[-100:], "the end is the log's own end"


def test_a_log_keeps_its_beginning_and_its_end(tmp_path):
    path = tmp_path / "log.txt"
    limit = LogLimit(path, 1000)
    with path.open("ab") as file:
        for k in range(5):
            file.write(b"%05d" % k * 40_000)
            file.flush()
            limit.check()
        file.write(b"the end")
    limit.finish()
    text = path.read_bytes()
    assert text[:1000] == b"00000" * 200 and text.endswith(b"the end")
    assert len(text) < 1000 + TAIL + 100
    short = LogLimit(tmp_path / "none.txt", 1000)
    short.finish()
    assert not short.path.exists()


def test_a_second_scheduler_is_refused_and_says_who_is_there(root):
    queue_probes(root, "seed=1", base={"steps": 200, "seconds": 0.1})
    scheduler = start_scheduler(root)
    try:
        _wait(lambda: scheduler_alive(root))
        with pytest.raises(RunFolderError, match=f"process {scheduler.pid} on {socket.gethostname()}"):
            work_off_anew(root)
        with pytest.raises(RunFolderError, match="last seen"):
            WriteLock(root, "scheduler").demand()
    finally:
        scheduler.kill()
        scheduler.wait()
    _wait(lambda: not scheduler_alive(root))
    with pytest.raises(RunFolderError):  # another host's owner counts until it has been silent for a minute
        (root / "batch.owner").write_text(
            json.dumps({"pid": 1, "host": "elsewhere", "role": "scheduler", "beat": time.time() - 50})
        )
        WriteLock(root, "scheduler").demand()
    (root / "batch.owner").write_text(
        json.dumps({"pid": 1, "host": "elsewhere", "role": "scheduler", "beat": time.time() - 70})
    )
    lock = WriteLock(root, "scheduler")
    lock.demand()
    lock.release()


def test_changes_reach_a_scheduler_that_is_at_work(root):
    first = queue_probes(root, "seed=1", base={"steps": 400, "seconds": 0.05})
    scheduler = start_scheduler(root)
    try:
        _wait(lambda: scheduler_alive(root))
        second = queue_probes(root, "seed=1,2", base={"steps": 2})
        _wait(lambda: jobs_of(root, first)[0]["state"] == "running")
        assert not list((root / "inbox").glob("*")), "a note is carried out and removed"
        cancel(root, first)
        assert scheduler.wait(60) == 0
    finally:
        scheduler.kill()
    assert [row["state"] for row in jobs_of(root, second)] == ["succeeded"] * 2
    assert jobs_of(root, first)[0]["state"] == "cancelled"
    assert Run(root / jobs_of(root, first)[0]["folder"]).latest_checkpoint() is not None


def test_stop_saves_and_resume_goes_on(root):
    ids = queue_probes(root, "seed=3", base={"steps": 60, "seconds": 0.05})
    scheduler = start_scheduler(root)
    _wait(lambda: len(Run(root / jobs_of(root, ids)[0]["folder"]).progress()) > 5)
    scheduler.terminate()
    assert scheduler.wait(60) == 0
    (row,) = jobs_of(root, ids)
    assert row["state"] == "checkpointed"
    reached = len(Run(root / row["folder"]).progress())
    assert 5 < reached < 60
    assert work_off(root, workers=1)
    (row,) = jobs_of(root, ids)
    assert row["state"] == "succeeded" and len(Run(root / row["folder"]).progress()) == 60
    first, second = _attempts(root, ids[0])
    assert (first["reason"], first["checkpoint"], second["reason"]) == ("stopped", reached, "succeeded")
    log = (root / row["folder"] / "log.txt").read_text()
    assert log.count("optimise: counting") == 2, "the second part goes on in the same log"
    (calm,) = run_probes(root.with_name("calm"), "seed=3", base={"steps": 60})
    assert json.loads(calm["result_json"])["x"] == json.loads(row["result_json"])["x"]


def test_wall_time_goes_on_while_there_is_progress(root):
    (long, stuck) = (
        queue_probes(root, "seed=1", base={"steps": 12, "seconds": 0.2}, wall=1.5),
        queue_probes(root, "seed=2", base={"fault": "hang", "at": 1}, wall=1.5),
    )
    from jobs.batch import scheduler

    before, scheduler.GRACE = scheduler.GRACE, 1.0
    try:
        assert work_off(root, workers=2)
    finally:
        scheduler.GRACE = before
    assert jobs_of(root, long)[0]["state"] == "succeeded" and len(_attempts(root, long[0])) > 1
    (row,) = jobs_of(root, stuck)
    assert row["state"] == "timed_out" and "more wall time" in row["message"]


def test_a_damaged_checkpoint_is_passed_over(root):
    ids = queue_probes(root, "seed=3", base={"steps": 60, "seconds": 0.05})
    scheduler = start_scheduler(root)
    _wait(lambda: len(Run(root / jobs_of(root, ids)[0]["folder"]).progress()) > 5)
    scheduler.terminate()
    assert scheduler.wait(60) == 0
    run = Run(root / jobs_of(root, ids)[0]["folder"])
    newest = run.latest_checkpoint()
    newest.write_bytes(b"[99, 60, 0]")
    assert run.latest_checkpoint() not in (None, newest)
    assert work_off(root, workers=1)
    (calm,) = run_probes(root.with_name("calm"), "seed=3", base={"steps": 60})
    assert json.loads(jobs_of(root, ids)[0]["result_json"])["x"] == json.loads(calm["result_json"])["x"]


def test_retry_and_cached(root):
    ids = queue_probes(root, "fault=error,none", "seed=1")
    assert work_off(root, workers=2)
    assert [row["state"] for row in jobs_of(root, ids)] == ["failed", "succeeded"]
    retry(root, ids)
    assert [row["state"] for row in jobs_of(root, ids)] == ["queued", "succeeded"]
    assert work_off(root, workers=2)
    assert len(_attempts(root, ids[0])) == 4 and len(_attempts(root, ids[1])) == 1
    retry(root, ids[1:], again=True)
    assert work_off(root, workers=2)
    assert [a["n"] for a in _attempts(root, ids[1])] == [1, 2]
    (root / "batch.sqlite").unlink()  # the queue is lost, the runs are not
    for name in ("batch.sqlite-wal", "batch.sqlite-shm"):
        (root / name).unlink(missing_ok=True)
    again = queue_probes(root, "fault=error,none", "seed=1")
    assert again == ids and [row["state"] for row in jobs_of(root, ids)] == ["queued", "succeeded"]


def test_more_than_there_is_fails_with_the_numbers(root):
    ids = queue_probes(root, "seed=1", cpus=4096) + queue_probes(root, "seed=2", memory="900TB")
    assert work_off(root, workers=1)
    first, second = jobs_of(root, ids)
    assert first["state"] == second["state"] == "failed"
    assert "4096 of" in first["message"] and "900000.0 of" in second["message"]


def test_threads_follow_the_request(root):
    cores = len(os.sched_getaffinity(0))
    rows = run_probes(root, "seed=1") + (run_probes(root, "seed=2", cpus=2) if cores > 1 else [])
    assert [json.loads(row["result_json"])["threads"] for row in rows] == [1, 2][: len(rows)]


def test_fail_fast_cancels_the_rest(root):
    ids = queue_probes(root, "seed=1,2,3,4", base={"fault": "refuse"})
    assert work_off(root, workers=1, fail_fast=True)
    states = [row["state"] for row in jobs_of(root, ids)]
    assert states[0] == "failed" and states.count("cancelled") == 3


needs_mount = pytest.mark.skipif(os.geteuid() != 0, reason="only root may mount a small or a read-only file system")


@pytest.fixture
def mounted(tmp_path):
    """`mounted(options)` mounts a tmpfs and gives its path; skipped where the system does not allow it."""
    places = []

    def mount(*options):
        place = tmp_path / f"mount{len(places)}"
        place.mkdir()
        done = subprocess.run(["mount", "-t", "tmpfs", *options, "tmpfs", str(place)], capture_output=True, text=True)
        if done.returncode:
            pytest.skip(f"mounting is not allowed here: {done.stderr.strip()}")
        places.append(place)
        return place

    yield mount
    for place in places:
        subprocess.run(["umount", "-l", str(place)], check=True)


@needs_mount
def test_a_full_disk_is_one_sentence_and_nothing_is_lost(mounted):
    root = mounted("-o", "size=4m") / "batch"
    ids = queue_probes(root, "seed=range(1,4)", base={"steps": 3})
    filler = root / "filler"
    with filler.open("wb", buffering=0) as file, pytest.raises(OSError, match="No space"):
        while True:
            file.write(b"x" * 4096)
    answer = _command(root, "resume", "--workers", "1")
    if answer.returncode == 0:
        pytest.fail("a full disk was not noticed")
    lines = [line for line in answer.stderr.splitlines() if line]
    if lines:  # the queue itself could not be written
        assert len(lines) == 1 and lines[0].startswith("formgrad: ") and "full" in lines[0]
    else:  # the queue could, the runs could not
        assert "full" in answer.stdout
    filler.unlink()
    answer = _command(root, "retry", "--failed", "--workers", "1")
    answer = _command(root, "resume", "--workers", "1")
    assert answer.returncode == 0, answer.stderr + answer.stdout
    assert [row["state"] for row in jobs_of(root, ids)] == ["succeeded"] * 4


@needs_mount
def test_a_read_only_folder_can_be_looked_at_and_refuses_to_work(mounted):
    place = mounted("-o", "size=20m")
    root = place / "batch"
    ids = queue_probes(root, "seed=1,2")
    subprocess.run(["mount", "-o", "remount,ro", str(place)], check=True)
    with Store(root) as store:
        assert store.counts() == {"queued": 2}
    for words in (["resume"], ["cancel", ids[0]]):
        answer = _command(root, *words)
        assert answer.returncode == 2
        assert len(answer.stderr.splitlines()) == 1 and "cannot write to" in answer.stderr
    assert any("cannot be written" in finding.what for finding in examine(root))


def _command(root, *words):
    code = "import sys; from jobs.commands.batch import app; app(sys.argv[1:])"
    return subprocess.run(
        [sys.executable, "-c", code, *words, "--root", str(root)],
        cwd=ROOT, env={**os.environ, "PYTHONPATH": str(ROOT)}, capture_output=True, text=True, timeout=120,
    )  # fmt: skip


def test_a_note_that_nobody_reads_is_taken_back(root, monkeypatch):
    import fcntl

    queue_probes(root, "seed=1")
    monkeypatch.setattr("jobs.batch.inbox.PATIENCE", 0.2)
    with (root / "batch.lock").open("ab") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        with pytest.raises(RunFolderError):
            change(root, {"do": "cancel", "ids": []})
    assert not list((root / "inbox").glob("*.json"))

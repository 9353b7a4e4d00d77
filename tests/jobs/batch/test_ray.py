"""The same queue on a local Ray: two workers, one of them killed; and what is refused."""

import importlib.util
import json
import os
import signal
import time

import psutil
import pytest
from batches import jobs_of, queue_probes, run_probes, start_scheduler

from jobs.batch.assignment import BATCH, Contact
from jobs.batch.cluster import require_protected
from jobs.batch.queue import make_executor
from jobs.batch.store import Store
from jobs.errors import JobError

needs_ray = pytest.mark.skipif(importlib.util.find_spec("ray") is None, reason="Ray is not installed (extra cluster)")


@needs_ray
@pytest.mark.slow
def test_two_workers_of_which_one_is_killed(root):
    entries, base = ("seed=range(1,6)",), {"steps": 12, "seconds": 0.1, "warm": "a"}
    ids = queue_probes(root, *entries, base=base)
    scheduler = start_scheduler(root, executor="ray")
    try:
        folders = [root / row["folder"] for row in jobs_of(root, ids)]
        victim = _somebody_at_work(folders)
        assert all(address.startswith("127.") for address in _listening(root)), "Ray listens on loopback only"
        os.kill(victim, signal.SIGKILL)
        assert scheduler.wait(180) == 0, scheduler.stderr.read().decode()
    finally:
        scheduler.kill()
    rows = jobs_of(root, ids)
    assert [row["state"] for row in rows] == ["succeeded"] * 6
    with Store(root) as store:
        reasons = [row["reason"] for row in store.rows("SELECT reason FROM attempts")]
        classed = store.rows("SELECT warm FROM attempts WHERE reason = 'succeeded'")
        (mark,) = {row["worker"] for row in store.rows("SELECT DISTINCT worker FROM attempts")}
    assert {row["warm"] for row in classed} <= {0, 1}, "each says whether it found its class warm"
    assert reasons.count("lost") == 1 and reasons.count("succeeded") == 6
    calm = run_probes(root.with_name("calm"), *entries, base=base)
    assert [_x(row) for row in rows] == [_x(row) for row in calm]
    assert not _marked(mark), "Ray goes with its scheduler"


def _somebody_at_work(folders):
    until = time.monotonic() + 180
    while time.monotonic() < until:
        for folder in folders:
            beat = Contact(folder).last_beat()
            if beat and not (folder / "result.json").exists():
                return beat[1]["pid"]
        time.sleep(0.02)
    raise AssertionError("no attempt began")


def _marked(mark):
    return [process for process in psutil.process_iter() if _batch(process) == mark]


def _batch(process):
    try:
        return process.environ().get(BATCH)
    except psutil.Error:
        return None


def _listening(root):
    with Store(root) as store:
        mark = store.rows("SELECT worker FROM attempts LIMIT 1")[0]["worker"]
    found = []
    for process in _marked(mark):
        try:
            found += [c.laddr.ip for c in process.net_connections("tcp") if c.status == psutil.CONN_LISTEN]
        except psutil.Error:
            continue
    assert found
    return [ip.removeprefix("::ffff:") for ip in found]


def _x(row):
    return json.loads(row["result_json"])["x"]


def test_what_is_refused(root, monkeypatch):
    monkeypatch.delenv("RAY_AUTH_MODE", raising=False)
    require_protected("127.0.0.1:6379")
    require_protected("localhost:6379")
    with pytest.raises(JobError, match="RAY_AUTH_MODE=token"):
        require_protected("192.0.2.7:6379")
    with pytest.raises(JobError, match="RAY_AUTH_MODE=token"):
        make_executor(root, "ray", address="192.0.2.7:6379")
    monkeypatch.setenv("RAY_AUTH_MODE", "token")
    require_protected("192.0.2.7:6379")
    with pytest.raises(JobError, match="only the Ray executor"):
        make_executor(root, "local", address="127.0.0.1:6379")
    with pytest.raises(JobError, match="at least one"):
        make_executor(root, "local", workers=0)


def test_without_ray_the_remedy_is_named(root, monkeypatch):
    import sys

    monkeypatch.setitem(sys.modules, "ray", None)
    with pytest.raises(JobError, match=r"formgrad\[cluster\]"):
        make_executor(root, "ray")

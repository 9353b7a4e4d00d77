"""Work in a process of its own: answers, reasons, crashes, limits."""

import sys
import time
from pathlib import Path

import numpy as np
import psutil
import pytest

from pde.child_process import ChildError, ChildTimeout, call

WORKER = """
import os, subprocess, sys, time
import numpy as np
from pde.child_process import serve

def work(given):
    what = str(given["what"])
    if what == "double":
        return {"twice": 2 * given["x"]}
    if what == "raise":
        raise ValueError("the ring is not round")
    if what == "crash":
        print("last words", flush=True)
        os.abort()
    if what == "grow":
        block = np.ones(int(4e8))
        time.sleep(20)
    if what == "family":
        child = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(60)"])
        print("child", child.pid, file=open(str(given["note"]), "w"), flush=True)
    while True:
        pass

if __name__ == "__main__":
    serve(work)
"""


@pytest.fixture
def worker(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    (tmp_path / "child_for_test.py").write_text(WORKER)
    monkeypatch.setattr(sys, "path", [*sys.path, str(tmp_path)])
    return "child_for_test"


def test_arrays_go_in_and_come_out(worker):
    x = np.random.default_rng(1).normal(size=(3, 4))
    answer = call(worker, {"what": "double", "x": x}, seconds=30)
    assert np.array_equal(answer["twice"], 2 * x)


def test_what_the_child_raises_is_told(worker):
    with pytest.raises(ChildError, match="the ring is not round") as reason:
        call(worker, {"what": "raise"}, seconds=30)
    assert reason.value.kind == "ValueError"


def test_a_crash_does_not_end_the_parent(worker):
    with pytest.raises(ChildError, match=r"exit code -6 .*last words"):
        call(worker, {"what": "crash"}, seconds=30)


def test_cpu_time_is_limited(worker):
    started = time.monotonic()
    with pytest.raises(ChildTimeout, match="CPU time"):
        call(worker, {"what": "spin"}, seconds=1)
    assert time.monotonic() - started < 12


def test_memory_is_limited(worker):
    with pytest.raises(ChildError, match=r"more than 0.5 GB"):
        call(worker, {"what": "grow"}, seconds=30, gigabytes=0.5)


def test_grandchildren_end_as_well(worker, tmp_path):
    note = tmp_path / "note"
    with pytest.raises(ChildTimeout):
        call(worker, {"what": "family", "note": str(note)}, seconds=1)
    number = int(note.read_text().split()[1])
    deadline = time.monotonic() + 5
    while psutil.pid_exists(number) and psutil.Process(number).status() != psutil.STATUS_ZOMBIE:
        assert time.monotonic() < deadline, "the grandchild runs on"
        time.sleep(0.05)


def test_objects_do_not_cross(worker):
    with pytest.raises(TypeError, match="plain arrays"):
        call(worker, {"what": np.array([{}])}, seconds=5)

"""Attempts as processes of this machine: a fresh one each, or one that does some twenty tiny jobs before it goes."""

import contextlib
import json
import math
import os
import selectors
import signal
import time
import uuid
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, Any

import psutil

from jobs.batch.assignment import Assignment
from jobs.batch.capacity import Capacity
from jobs.batch.executor import Ended
from jobs.batch.marked import end_marked
from jobs.batch.nursery import Nursery
from jobs.batch.order import WorkerView
from jobs.batch.retry import Outcome

JOBS_PER_PROCESS = 20
GROWTH = 1.2
"""A warm process that has grown by more than a fifth since it last loaded a class is replaced."""
SLOT_MEMORY = 2000.0  # MB that a job is taken to need when the number of workers is not given
LEAVE = 5.0  # seconds that a worker with nothing to do may take to go
HEADROOM = 0.8  # of the free memory, for all jobs together
CLASS_SLOTS = 2  # classes of jobs that a process holds ready

Key = tuple[str, int]


def local_capacity(workers: int | None = None) -> Capacity:
    """Cores that this process may use, and four fifths of the free memory, in as many shares as there are slots.

    workers: jobs at the same time; default, one per core, but no more than have two gigabytes each.
    """
    cores = len(_cores())
    memory = HEADROOM * psutil.virtual_memory().available / 1e6
    slots = workers or max(1, min(cores, int(memory // SLOT_MEMORY)))
    return Capacity(max(cores, slots), float(len(_devices())), memory, memory / slots, slots)


@dataclass
class _Process:
    """One worker process and what it does. pid: None until the nursery has said it."""

    mark: str
    stdin: IO[bytes]
    stdout: IO[bytes]
    shape: tuple[int, int]  # cores and niceness, which a process cannot change back
    pid: int | None = None
    done: int = 0
    loaded_rss: float | None = None
    line: bytes = b""


@dataclass
class _Slot:
    """A place for one job at a time."""

    id: str
    process: _Process | None = None
    assignment: Assignment | None = None
    resident: tuple[str, ...] = ()
    devices: tuple[tuple[str, float], ...] = ()
    killed: bool = False


@dataclass
class LocalExecutor:
    """This machine.

    Args:
        root: the batch folder; what workers say outside of jobs goes to its batch.log.
        workers: jobs at the same time, see `local_capacity`. pin: keep each job on cores of its own.
        nursery: where workers come from, if it is to be shared and left open; default, one of its own.
    """

    root: Path
    workers: int | None = None
    pin: bool = True
    nursery: Nursery | None = None
    capacity: Capacity = field(init=False)

    def __post_init__(self) -> None:
        self.capacity = local_capacity(self.workers)
        self.slots = {f"local-{k}": _Slot(f"local-{k}") for k in range(self.capacity.slots)}
        self.selector = selectors.DefaultSelector()
        self.leaving: list[tuple[_Process, float]] = []
        self.shared = self.nursery is not None
        self.source = self.nursery or Nursery(self.root)
        self.selector.register(self.source.socket, selectors.EVENT_READ)
        self.unclaimed, self.devices = _cores(), dict.fromkeys(_devices(), 1.0)

    # -- what the scheduler calls -------------------------------------------------------------------------------------

    def places(self) -> list[str]:
        return list(self.slots)

    def free(self) -> list[WorkerView]:
        return [_view(slot) for slot in self.slots.values() if slot.assignment is None]

    def staying(self) -> list[WorkerView]:
        return [
            _view(slot)
            for slot in self.slots.values()
            if slot.assignment and (process := slot.process)
            if not process.stdin.closed and process.done + 1 < JOBS_PER_PROCESS
        ]

    def start(self, assignment: Assignment, worker: str, tiny: bool) -> None:
        slot = self.slots[worker]
        cores = self._claim(assignment.cpus)
        own = {"cores": cores, "parent": self.source.process.pid, "slots": CLASS_SLOTS}
        assignment = Assignment(**{**vars(assignment), **own})
        shape = (assignment.cpus, assignment.nice)
        reusable = tiny and slot.process is not None and slot.process.shape == shape and assignment.gpus == 0
        if slot.process is not None and not reusable:
            self._retire(slot)
        if slot.process is None:
            slot.devices = self._claim_devices(assignment.gpus)
            slot.process = self._spawn(slot, assignment, shape)
        slot.assignment, slot.killed = assignment, False
        if assignment.class_key and tiny:  # until the worker says it
            others = [name for name in slot.resident if name != assignment.class_key]
            slot.resident = (*others, assignment.class_key)[-CLASS_SLOTS:]
        process = slot.process
        with contextlib.suppress(BrokenPipeError):  # it died while it waited; `wait` notices
            process.stdin.write(assignment.to_json().encode() + b"\n")
            process.stdin.flush()
            if not tiny:
                process.stdin.close()

    def wait(self, seconds: float) -> list[Ended]:
        ended = []
        for key, _ in self.selector.select(seconds):
            if isinstance(key.data, _Slot) and key.data.process is not None:
                ended += self._heard(key.data)
        ended += self._from_nursery()
        self._see_off()
        return ended

    def kill(self, key: Key) -> None:
        for slot in self._at_work(key):
            slot.killed = True
            assert slot.process
            _end(slot.process)

    def cpu_seconds(self, key: Key) -> float | None:
        for slot in self._at_work(key):
            if slot.process and slot.process.pid:
                with contextlib.suppress(psutil.Error):
                    process = psutil.Process(slot.process.pid)
                    return sum(sum(p.cpu_times()[:2]) for p in [process, *process.children(recursive=True)])
        return None

    @property
    def mark(self) -> str:
        return self.source.mark

    def close(self) -> None:
        for slot in self.slots.values():
            if slot.process is not None:
                if slot.assignment is not None:
                    _end(slot.process)
                self._retire(slot)
        self._see_off(patience=False)
        self.selector.close()
        if not self.shared:
            self.source.close()
            end_marked(self.source.mark)

    # -- processes ----------------------------------------------------------------------------------------------------

    def _spawn(self, slot: _Slot, assignment: Assignment, shape: tuple[int, int]) -> _Process:
        mark = uuid.uuid4().hex
        take, give = os.pipe()
        hear, say = os.pipe()
        env = worker_environment(assignment.cpus, [name for name, _ in slot.devices])
        # Where the nursery is gone, `wait` notices.
        with (self.root / "batch.log").open("ab") as log, contextlib.suppress(OSError):
            self.source.ask(mark, env, (take, say, log.fileno()), assignment.gpus > 0)
        os.close(take)
        os.close(say)
        os.set_blocking(hear, False)
        process = _Process(mark, os.fdopen(give, "wb"), os.fdopen(hear, "rb", buffering=0), shape)
        self.selector.register(process.stdout, selectors.EVENT_READ, slot)
        return process

    def _heard(self, slot: _Slot) -> list[Ended]:
        """Read what a worker said."""
        process = slot.process
        assert process
        data = process.stdout.read(65536)
        if data == b"":  # its end; the nursery will say how
            with contextlib.suppress(KeyError):
                self.selector.unregister(process.stdout)
        process.line += data or b""
        *lines, process.line = process.line.split(b"\n")
        return [self._answered(slot, json.loads(line)) for line in lines]

    def _from_nursery(self) -> list[Ended]:
        """Who has begun, and who has died."""
        news, ended = self.source.news(), []
        if news is None:
            return self._without_nursery()
        for item in news:
            if "mark" in item:
                for process in self._processes():
                    if process.mark == item["mark"]:
                        process.pid = item["pid"]
                continue
            for slot in self.slots.values():
                if slot.process and slot.process.pid == item["pid"]:
                    ended += self._died(slot, item["code"])
            self.leaving = [(p, until) for p, until in self.leaving if p.pid != item["pid"] or _end(p)]
        return ended

    def _without_nursery(self) -> list[Ended]:
        """It was killed: its children save what they have, and are given up; another one takes its place."""
        ended = []
        for slot in self.slots.values():
            if slot.process:
                ended += self._died(slot, None)
        self.leaving = []
        self.selector.unregister(self.source.socket)
        self.source.close()
        self.source.open()
        self.selector.register(self.source.socket, selectors.EVENT_READ)
        return ended

    def _answered(self, slot: _Slot, answer: dict[str, Any]) -> Ended:
        process, assignment = slot.process, slot.assignment
        assert process and assignment
        self._release(slot)
        process.done += 1
        rss = 0.0
        with contextlib.suppress(psutil.Error):
            rss = float(psutil.Process(process.pid).memory_info().rss)
        key, outcome = (answer.pop("id"), answer.pop("n")), Outcome(**answer)
        slot.resident = tuple(outcome.resident)
        if process.loaded_rss is None or outcome.warm is False:
            process.loaded_rss = rss
        if process.stdin.closed or process.done >= JOBS_PER_PROCESS or rss > GROWTH * process.loaded_rss:
            self._retire(slot)
        return Ended(*key, outcome, exit_code=0)

    def _died(self, slot: _Slot, code: int | None) -> list[Ended]:
        process, assignment, killed = slot.process, slot.assignment, slot.killed
        assert process
        last = self._heard(slot)  # it may have answered before it went
        if slot.process is process:
            self._forget(slot)
        _end(process)  # what it left behind
        slot.resident = ()
        if assignment is None or last:
            return last
        self._release(slot)
        return [Ended(*assignment.key, None, _how(code, killed), exit_code=code)]

    def _retire(self, slot: _Slot) -> None:
        """Let a worker that has nothing to do go."""
        process = slot.process
        if process is not None:
            self._forget(slot)
            slot.resident = ()
            self.leaving.append((process, time.monotonic() + LEAVE))

    def _see_off(self, patience: bool = True) -> None:
        """Workers that were let go are gone within seconds, or ended."""
        for process, until in self.leaving:
            if not patience or time.monotonic() > until:
                _end(process)
        if not patience:
            self.leaving = []

    def _forget(self, slot: _Slot) -> None:
        process = slot.process
        assert process
        with contextlib.suppress(KeyError, ValueError):
            self.selector.unregister(process.stdout)
        for file in (process.stdin, process.stdout):
            with contextlib.suppress(OSError):
                file.close()
        slot.process = None

    def _processes(self) -> list[_Process]:
        return [slot.process for slot in self.slots.values() if slot.process] + [p for p, _ in self.leaving]

    def _at_work(self, key: Key) -> list[_Slot]:
        return [slot for slot in self.slots.values() if slot.assignment is not None and slot.assignment.key == key]

    # -- cores --------------------------------------------------------------------------------------------------------

    def _claim(self, count: int) -> list[int]:
        """Cores for one attempt; [] (anywhere) where there are more jobs than cores."""
        if not self.pin or len(self.unclaimed) < count:
            return []
        claimed, self.unclaimed = self.unclaimed[:count], self.unclaimed[count:]
        return claimed

    def _release(self, slot: _Slot) -> None:
        assert slot.assignment
        self.unclaimed = sorted(self.unclaimed + slot.assignment.cores)
        for name, part in slot.devices:
            self.devices[name] += part
        slot.assignment, slot.devices = None, ()

    def _claim_devices(self, count: float) -> tuple[tuple[str, float], ...]:
        """Whole devices, or a part of the fullest one that has room for it."""
        if count <= 0:
            return ()
        part = min(count, 1.0)
        with_room = sorted((left, name) for name, left in self.devices.items() if left >= part - 1e-9)
        claimed = [(name, part) for _, name in with_room[: max(1, math.ceil(count))]]
        for name, _ in claimed:
            self.devices[name] -= part
        return tuple(claimed)


def _view(slot: _Slot) -> WorkerView:
    return WorkerView(slot.id, slot.resident, CLASS_SLOTS)


def worker_environment(cpus: int, devices: Sequence[str]) -> dict[str, str]:
    """Threads and devices, set before a job imports anything."""
    pools = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "NUMBA_NUM_THREADS")
    return {**dict.fromkeys(pools, str(cpus)), "CUDA_VISIBLE_DEVICES": ",".join(devices)}


def _end(process: _Process) -> bool:
    """The worker's group, and what has left it. -> False, so that it can be dropped from a list"""
    if process.pid:
        with contextlib.suppress(OSError):
            os.killpg(process.pid, signal.SIGKILL)
    end_marked(process.mark)
    return False


def _how(code: int | None, killed: bool) -> str:
    if killed:
        return "ended by the scheduler"
    if code is None:
        return "was lost with the nursery"
    if code < 0:
        with contextlib.suppress(ValueError):
            return f"ended by {signal.Signals(-code).name}"
    return f"ended with exit code {code} and without a word"


def _cores() -> list[int]:
    if hasattr(os, "sched_getaffinity"):
        return sorted(os.sched_getaffinity(0))
    return list(range(os.cpu_count() or 1))


def _devices() -> list[str]:
    """GPUs that this process may see. Asked without importing anything heavy."""
    visible = os.environ.get("CUDA_VISIBLE_DEVICES")
    if visible is not None:
        return [name.strip() for name in visible.split(",") if name.strip() not in ("", "-1")]
    return [str(k) for k in range(len(list(Path("/dev").glob("nvidia[0-9]*"))))]

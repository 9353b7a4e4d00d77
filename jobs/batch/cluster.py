"""Attempts as Ray tasks, on this machine or on a cluster. The queue stays here: Ray only runs what it is handed.

Ray's own retries are off, because ours know about checkpoints. A local Ray listens on the loopback device alone, has no
dashboard and reports to nobody. An address elsewhere is taken only with Ray's token authentication, since whoever
reaches an open Ray can run anything on it (CVE-2023-48022). Workers and scheduler must see the same batch folder.
"""

import contextlib
import os
import socket
import sys
import time
import uuid
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import psutil

from jobs.batch.assignment import BATCH, MARK, Assignment
from jobs.batch.capacity import Capacity
from jobs.batch.executor import Ended
from jobs.batch.local import local_capacity
from jobs.batch.marked import end_marked
from jobs.batch.order import WorkerView
from jobs.batch.retry import Outcome
from jobs.errors import JobError

OLDEST = (2, 54)  # before it, a request without credentials could stop services (CVE-2026-27482)
TRIES = 3
CALLS = 20  # jobs that a worker may do when they are tiny
STORE_MEMORY = 100 * 2**20  # bytes; nothing but a few hundred characters goes through Ray's object store

Key = tuple[str, int]


@dataclass
class _Task:
    ref: Any
    assignment: Assignment
    worker: str
    killed: bool = False
    shares: bool = False


@dataclass
class RayExecutor:
    """Ray.

    Args:
        root: the batch folder. workers: jobs at the same time on a local Ray.
        address: of a running cluster, such as "127.0.0.1:6379"; None starts a Ray of our own.

    Raises:
        JobError: Ray is not installed or too old, cannot be reached, or is elsewhere and unprotected.
    """

    root: Path
    workers: int | None = None
    address: str | None = None
    capacity: Capacity = field(init=False)

    def __post_init__(self) -> None:
        self.mark_, self.tasks = uuid.uuid4().hex, dict[Key, _Task]()
        self.homes = dict[str, str]()  # the machine on which a class was last used
        if self.address is not None:
            require_protected(self.address)
        self.ray = _import_ray()
        self._connect_patiently()
        self.fresh, self.warm = (self.ray.remote(max_calls=n, max_retries=0)(run_in_ray) for n in (1, CALLS))

    def _connect_patiently(self) -> None:
        """Ray gives itself half a minute to start, which a busy machine may not keep."""
        for left in reversed(range(1 if self.address else TRIES)):
            try:
                return self._connect()
            except Exception as error:  # Ray raises plain ones, too
                self.ray.shutdown()
                end_marked(self.mark_)
                if left == 0:
                    what = f"no Ray answers at {self.address}" if self.address else "Ray does not start on this machine"
                    raise JobError(f"executor: {what}: {str(error).splitlines()[0]}") from error

    def _connect(self) -> None:
        quiet = {"log_to_driver": False, "configure_logging": False, "ignore_reinit_error": False}
        if self.address is not None:
            self.ray.init(address=self.address, **quiet)
            have = self.ray.cluster_resources()
            cpus, memory = int(have.get("CPU", 1)), have.get("memory", 4e9) / 1e6
            slots = self.workers or max(1, cpus)
            self.capacity = Capacity(cpus, have.get("GPU", 0.0), memory, memory / slots, slots)
            return
        self.capacity = local_capacity(self.workers)
        path = os.pathsep.join(dict.fromkeys(p or str(Path.cwd()) for p in sys.path))
        with _environment({BATCH: self.mark_, "PYTHONPATH": path}):
            self.ray.init(
                num_cpus=self.capacity.cpus,
                num_gpus=int(self.capacity.gpus),
                include_dashboard=False,
                _node_ip_address="127.0.0.1",
                object_store_memory=STORE_MEMORY,
                **quiet,
            )

    # -- what the scheduler calls -------------------------------------------------------------------------------------

    @property
    def mark(self) -> str:
        return self.mark_

    def places(self) -> list[str]:
        return [f"ray-{k}" for k in range(self.capacity.slots)]

    def free(self) -> list[WorkerView]:
        busy = {task.worker for task in self.tasks.values()}
        return [WorkerView(name) for name in self.places() if name not in busy]

    def start(self, assignment: Assignment, worker: str, tiny: bool) -> None:
        options: dict[str, Any] = {"num_cpus": assignment.cpus}
        if assignment.gpus:
            options["num_gpus"] = assignment.gpus
        if self.address is not None and assignment.memory_mb:
            options["memory"] = int(assignment.memory_mb * 1e6)
        shares = tiny and not assignment.gpus
        function = self.warm if shares else self.fresh
        if assignment.class_key:
            # Ray chooses the process; the machine is where the class was used last, if there is room.
            options["name"] = f"formgrad {assignment.class_key}"
            if shares and (home := self.homes.get(assignment.class_key)):
                affinity = self.ray.util.scheduling_strategies.NodeAffinitySchedulingStrategy
                options["scheduling_strategy"] = affinity(home, soft=True)
        ref = function.options(**options).remote(assignment.to_json(), self.mark_)
        self.tasks[assignment.key] = _Task(ref, assignment, worker, shares=shares)

    def staying(self) -> list[WorkerView]:
        return []  # which process takes the next task is Ray's choice, so there is nothing to wait for

    def wait(self, seconds: float) -> list[Ended]:
        if not self.tasks:
            time.sleep(seconds)
            return []
        refs = {task.ref: key for key, task in self.tasks.items()}
        self.ray.wait(list(refs), num_returns=1, timeout=seconds)
        ready, _ = self.ray.wait(list(refs), num_returns=len(refs), timeout=0)
        return [self._ended(refs[ref]) for ref in ready]

    def kill(self, key: Key) -> None:
        task = self.tasks.get(key)
        if task is not None and not task.killed:
            task.killed = True
            self.ray.cancel(task.ref, force=True)
            end_marked(own_mark(task.assignment))

    def cpu_seconds(self, key: Key) -> float | None:
        if self.address is not None:  # Ray itself notices workers that are gone
            return time.monotonic()
        beat = self.tasks[key].assignment.contact.last_beat() if key in self.tasks else None
        with contextlib.suppress(psutil.Error):
            return float(sum(psutil.Process(beat[1]["pid"]).cpu_times()[:2])) if beat else None
        return None

    def close(self) -> None:
        for key in list(self.tasks):
            self.kill(key)
        self.ray.shutdown()
        end_marked(self.mark_)

    def _ended(self, key: Key) -> Ended:
        task = self.tasks.pop(key)
        errors = self.ray.exceptions
        try:
            answer = self.ray.get(task.ref)
            if task.shares and task.assignment.class_key:
                self.homes[task.assignment.class_key] = answer["node"]
            return Ended(*key, Outcome(**answer["outcome"]), exit_code=0)
        except errors.OutOfMemoryError:
            return Ended(*key, Outcome("memory", "Ray ended it because memory ran out"))
        except errors.RayTaskError as error:
            message = str(error).strip().splitlines()[-1]
            return Ended(*key, Outcome("error", message, traceback_hash=message[:16]))
        except errors.RayError as error:
            end_marked(own_mark(task.assignment))
            how = "ended by the scheduler" if task.killed else f"was lost ({type(error).__name__})"
            return Ended(*key, None, how)


def run_in_ray(text: str, batch: str) -> dict[str, Any]:
    """The task: one attempt in a Ray worker. -> the fields of its `Outcome`, and the machine that it ran on"""
    import ray

    from jobs.batch.attempt import run_attempt

    assignment = Assignment.from_json(text)
    assignment = Assignment(**{**vars(assignment), "parent": os.getppid()})
    threads = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "NUMBA_NUM_THREADS")
    own = {MARK: own_mark(assignment), BATCH: batch, **dict.fromkeys(threads, str(assignment.cpus))}
    with _environment(own):
        outcome = run_attempt(assignment)
        end_marked(own_mark(assignment), spare=os.getpid())
    return {"outcome": dict(vars(outcome)), "node": ray.get_runtime_context().get_node_id()}


def own_mark(assignment: Assignment) -> str:
    """What the children of one attempt carry."""
    return f"{assignment.id}-{assignment.n}"


def require_protected(address: str) -> None:
    """Raises: JobError, when the address is not this machine's and Ray's tokens are off."""
    host = address.rpartition(":")[0] or address
    try:
        found = {info[4][0] for info in socket.getaddrinfo(host, None)} if host != "auto" else {"127.0.0.1"}
    except OSError as error:
        raise JobError(f"address: {host} is not known: give one such as 127.0.0.1:6379") from error
    loopback = all(str(ip).startswith("127.") or ip == "::1" for ip in found)
    if not loopback and os.environ.get("RAY_AUTH_MODE") != "token":
        raise JobError(
            f"address: {host} is another machine, and whoever reaches an open Ray can run anything on it: "
            "set RAY_AUTH_MODE=token there and here"
        )


def _import_ray() -> Any:
    # Read when Ray is imported: nothing is reported, and 127.0.0.1 stays 127.0.0.1.
    os.environ["RAY_USAGE_STATS_ENABLED"] = "0"
    os.environ.setdefault("RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER", "0")
    os.environ.setdefault("RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO", "0")
    try:
        import ray
        import ray.exceptions
        import ray.util.scheduling_strategies
    except ImportError as error:
        raise JobError("executor: Ray is not installed: pip install 'formgrad[cluster]'") from error
    version = tuple(int(part) for part in ray.__version__.split(".")[:2])
    if version < OLDEST:
        raise JobError(
            f"executor: Ray {ray.__version__} has known holes: upgrade it to {OLDEST[0]}.{OLDEST[1]} or newer"
        )
    return ray


@contextlib.contextmanager
def _environment(values: dict[str, str]) -> Any:
    before = {name: os.environ.get(name) for name in values}
    os.environ.update(values)
    try:
        yield
    finally:
        for name, value in before.items():
            if value is None:
                os.environ.pop(name, None)
            else:
                os.environ[name] = value

"""Put jobs into a queue, take them out, and work it off: what the command line and Python call."""

import contextlib
import getpass
import json
import time
import uuid
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from jobs.batch.executor import Executor
from jobs.batch.identity import Identified, Inputs
from jobs.batch.inbox import change
from jobs.batch.lane import Lane
from jobs.batch.order import order_named
from jobs.batch.prediction import size_features
from jobs.batch.request import Request
from jobs.batch.scheduler import Scheduler
from jobs.batch.store import ACTIVE, FINAL, WAITING, Store
from jobs.batch.sweep import Sweep, class_key
from jobs.errors import JobError, RunFolderError
from jobs.job import Job


@dataclass(frozen=True)
class Submitted:
    """What became of a submission.

    Attributes:
        ids: of the jobs, in their order. sweep: id of the sweep, or "".
        new, cached, waiting, again: how many were queued, had been done before, were in the queue, or had ended badly
            and are tried again.
    """

    ids: tuple[str, ...]
    sweep: str
    new: int
    cached: int
    waiting: int
    again: int


def submit_job(root: Path, job: Job, request: Request | None = None) -> Submitted:
    """Queue one job.

    Raises:
        JobError: a file is missing. RunFolderError: the batch folder cannot be written.
    """
    return _submit(root, [(job, {})], request or Request(nice=0), None, ())


def submit_sweep(root: Path, sweep: Sweep) -> Submitted:
    """Queue every job of a sweep."""
    members = [(member.job, member.values) for member in sweep.members]
    text = json.dumps(sweep.spec.model_dump(mode="json", by_alias=True))
    head = {"id": uuid.uuid4().hex[:20], "name": sweep.name, "spec": text}
    return _submit(root, members, sweep.spec.resources, head, sweep.spec.class_keys)


def _submit(
    root: Path,
    members: Sequence[tuple[Job, Mapping[str, Any]]],
    request: Request,
    sweep: dict[str, Any] | None,
    class_keys: Sequence[str],
) -> Submitted:
    inputs = Inputs(demand_root(root))
    found = [(inputs.identify(job), values) for job, values in members]
    before = _states(root, {job.id for job, _ in found})
    rows = [_row(root, job, values, request, class_keys) for job, values in found]
    change(root, {"do": "add", "sweep": sweep, "jobs": rows})
    ids = tuple(job.id for job, _ in found)
    kinds = [_fate(before.get(id)) for id in dict.fromkeys(ids)]
    counted = {kind: kinds.count(kind) for kind in ("new", "cached", "waiting", "again")}
    return Submitted(ids, sweep["id"] if sweep else "", **counted)


def _fate(state: str | None) -> str:
    if state is None:
        return "new"
    return "cached" if state == "succeeded" else "waiting" if state in (*WAITING, *ACTIVE) else "again"


def _states(root: Path, ids: set[str]) -> dict[str, str]:
    if not (root / "batch.sqlite").is_file():
        return {}
    with Store(root) as store:
        return {row["id"]: row["state"] for row in store.rows("SELECT id, state FROM jobs") if row["id"] in ids}


def _row(
    root: Path, job: Identified, values: Mapping[str, Any], request: Request, class_keys: Sequence[str]
) -> dict[str, Any]:
    request = _as_the_job_says(request, job.spec)
    by = ""
    with contextlib.suppress(KeyError, OSError):  # a user id without a name
        by = getpass.getuser()
    return {
        "id": job.id,
        "name": job.name,
        "kind": job.kind,
        "spec": json.dumps(job.spec),
        "request": request.model_dump_json(),
        "features": json.dumps(size_features(job.spec, job.input_bytes)),
        "priority": request.priority,
        "class": class_key(job.spec, class_keys),
        "values": json.dumps(dict(values)),
        "by": by,
    }


def _as_the_job_says(request: Request, spec: Mapping[str, Any]) -> Request:
    """Memory and threads that the job file itself states, where the request says nothing else."""
    own = spec.get("resources")
    if not isinstance(own, Mapping):
        return request
    says: dict[str, Any] = {}
    if request.memory is None and own.get("memory_gb"):
        says["memory"] = float(own["memory_gb"])
    if request.cpus == 1 and (own.get("threads") or 0) > 1:
        says["cpus"] = int(own["threads"])
    return request.model_copy(update=says)


def cancel(root: Path, ids: Sequence[str]) -> None:
    """Take jobs out of the queue; those that run finish their step, save and stop."""
    change(root, {"do": "cancel", "ids": list(ids)})


def retry(root: Path, ids: Sequence[str], *, again: bool = False) -> None:
    """Queue jobs that ended badly once more; with `again` also those that succeeded."""
    change(root, {"do": "retry", "ids": list(ids), "again": again})


def make_executor(root: Path, name: str = "local", workers: int | None = None, address: str | None = None) -> Executor:
    """Who runs the attempts: "local" or "ray".

    Raises:
        JobError: there is no such executor, or Ray is not installed or not to be reached.
    """
    if workers is not None and workers < 1:
        raise JobError("workers: at least one job must be able to run: give 1 or more")
    if name == "local":
        from jobs.batch.local import LocalExecutor

        if address is not None:
            raise JobError("address: only the Ray executor has one; add --executor ray")
        demand_root(root).mkdir(parents=True, exist_ok=True)
        return LocalExecutor(root, workers)
    if name == "ray":
        from jobs.batch.cluster import RayExecutor

        return RayExecutor(root, workers, address)
    raise JobError(f"executor: there is no executor {name!r}; choose local or ray")


def work_off(
    root: Path,
    *,
    executor: str = "local",
    workers: int | None = None,
    address: str | None = None,
    order: str = "guess_edf",
    fail_fast: bool = False,
    serve: bool = False,
    fair_share: float = 0.1,
    preempt: bool = True,
    on_turn: Callable[[Scheduler], None] | None = None,
) -> bool:
    """Be the scheduler of a batch folder until its queue is empty. -> False if it was stopped before

    Raises:
        RunFolderError: another scheduler is here. JobError: no such order or executor.
    """
    rule = order_named(order)
    Lane(fair_share)  # refuses what cannot be
    from jobs.batch.lock import scheduler_alive, taken

    if scheduler_alive(root):  # before the executor starts anything
        raise RunFolderError(taken(root))
    runner = make_executor(root, executor, workers, address)
    return Scheduler(root, runner, rule, fail_fast, serve, fair_share, preempt, on_turn).run()


def wait_for(root: Path, ids: Sequence[str], on_look: Callable[[Store], None] | None = None) -> None:
    """Wait until another process's scheduler has brought these jobs to an end."""
    from jobs.batch.lock import scheduler_alive

    with Store(root) as store:
        while True:
            if on_look:
                on_look(store)
            states = {row["id"]: row["state"] for row in store.rows("SELECT id, state FROM jobs")}
            if all(states.get(id, "cancelled") in FINAL for id in ids) or not scheduler_alive(root):
                return
            time.sleep(0.3)


def demand_root(root: Path) -> Path:
    """A folder that may hold a batch.

    Raises:
        RunFolderError: it is a file.
    """
    if root.exists() and not root.is_dir():
        raise RunFolderError(f"{root} is a file: choose another --root")
    return root

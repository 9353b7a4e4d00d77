"""What may be asked of a queue: add jobs, cancel, try again, forget. Plain data, so that it can wait in a file."""

import re
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from jobs.batch.results import record_result
from jobs.batch.store import ACTIVE, FINAL, WAITING, Store
from jobs.store import Run

Change = Mapping[str, Any]
EARLIER = " (earlier)"
"""Marks attempts from before a job was submitted again; they no longer count."""


def apply(store: Store, change: Change) -> None:
    """Carry a change out, in one transaction. What no longer makes sense (a job that is gone) is passed over.

    change: {"do": "add", "sweep": {...} or None, "jobs": [{id, name, kind, spec, request, features, class, values}]},
        {"do": "cancel" | "forget", "ids": [...]}, {"do": "retry", "ids": [...], "again": bool}
    """
    with store.transaction():
        _ACTIONS[change["do"]](store, change, time.time())


def folder_name(name: str, id: str) -> str:
    """Where a job's run folder is, inside the batch folder."""
    return f"{re.sub(r'[^A-Za-z0-9_.+-]+', '-', name).strip('-.') or 'job'}-{id[:12]}"


def _add(store: Store, change: Change, now: float) -> None:
    sweep = change.get("sweep")
    if sweep:
        store.insert("sweeps", id=sweep["id"], name=sweep["name"], spec_json=sweep["spec"], created=now)
    known = {row["id"]: row for row in store.rows("SELECT id, state, folder FROM jobs")}
    folders = {path.name[-12:]: path.name for path in store.root.glob("*-*") if (path / "result.json").is_file()}
    for position, job in enumerate(change["jobs"]):
        # A tiny step in time keeps the order of a sweep among jobs that were released together.
        row = known.get(job["id"])
        if row is None:
            _insert(store, job, sweep, now + 1e-6 * position, folders.get(job["id"][:12]))
            known[job["id"]] = {"id": job["id"], "state": "queued", "folder": ""}
        elif _is_broken(store, row):
            _requeue(store, job["id"], now + 1e-6 * position, "submitted again")
        if sweep:
            store.insert(
                "members", sweep_id=sweep["id"], position=position, job_id=job["id"], values_json=job["values"]
            )


def _insert(store: Store, job: Mapping[str, Any], sweep: Mapping[str, Any] | None, at: float, done: str | None) -> None:
    store.insert(
        "jobs",
        id=job["id"],
        name=job["name"],
        kind=job["kind"],
        spec_json=job["spec"],
        request_json=job["request"],
        features_json=job["features"],
        state="queued",
        priority=job["priority"],
        class_key=job["class"],
        released_at=at,
        parent_sweep=sweep and sweep["id"],
        created_by=job["by"],
        folder=done or folder_name(job["name"], job["id"]),
    )
    store.event(at, job["id"], "queued")
    if done:  # the queue was lost, the run was not
        record_result(store, job["id"], Run(store.root / done), at)


def _is_broken(store: Store, row: Mapping[str, Any]) -> bool:
    if row["state"] == "succeeded":
        return not (store.root / row["folder"] / "result.json").is_file()
    return row["state"] in FINAL


def _requeue(store: Store, id: str, now: float, why: str) -> None:
    store.run("UPDATE attempts SET counts = 0 WHERE job_id = ?", (id,))
    earlier = "UPDATE attempts SET reason = reason || ?, settings_json = '{}' WHERE job_id = ? AND reason NOT LIKE ?"
    store.run(earlier, (EARLIER, id, f"%{EARLIER}"))
    store.set_job(
        id, state="queued", wanted="", released_at=now, message=why, ended=None, result_json=None, result_sha256=None
    )
    store.event(now, id, "queued", why)


def _cancel(store: Store, change: Change, now: float) -> None:
    for id in change["ids"]:
        for row in store.rows("SELECT state FROM jobs WHERE id = ?", (id,)):
            if row["state"] in WAITING:
                store.set_job(id, state="cancelled", ended=now, message="cancelled before it ran", wanted="")
                store.event(now, id, "cancelled")
            elif row["state"] in ACTIVE:
                store.set_job(id, wanted="cancel")


def _retry(store: Store, change: Change, now: float) -> None:
    for id in change["ids"]:
        for row in store.rows("SELECT state, folder FROM jobs WHERE id = ?", (id,)):
            if row["state"] == "succeeded" and change.get("again"):
                (store.root / row["folder"] / "result.json").unlink(missing_ok=True)
                _discard_checkpoints(store.root / row["folder"])
                _requeue(store, id, now, "to be run again")
            elif row["state"] in FINAL and row["state"] != "succeeded":
                _requeue(store, id, now, "to be tried again")


def _discard_checkpoints(folder: Path) -> None:
    for path in Run(folder).checkpoints.glob("step-*"):
        path.unlink()


def _forget(store: Store, change: Change, now: float) -> None:
    for id in change["ids"]:
        if store.rows("SELECT 1 FROM jobs WHERE id = ? AND state NOT IN ('leased', 'running')", (id,)):
            store.forget(id)
    store.run("DELETE FROM sweeps WHERE id NOT IN (SELECT sweep_id FROM members)")


_ACTIONS = {"add": _add, "cancel": _cancel, "retry": _retry, "forget": _forget}

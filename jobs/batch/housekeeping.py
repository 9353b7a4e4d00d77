"""Keeping a batch folder in order: what can go (`gc`), and what is wrong (`doctor`)."""

import shutil
import socket
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from jobs.batch.inbox import change
from jobs.batch.lock import read_owner, scheduler_alive
from jobs.batch.marked import marked
from jobs.batch.results import is_whole
from jobs.batch.store import FINAL, Store
from jobs.errors import RunFolderError
from jobs.store import Run, readable_errors

LITTLE_SPACE = 2_000_000_000  # bytes


@dataclass(frozen=True)
class Finding:
    """Something that the doctor looked at. remedy: "" where all is well."""

    what: str
    remedy: str = ""


@dataclass(frozen=True)
class Freed:
    """What `collect` removed, or would remove."""

    jobs: int
    folders: tuple[str, ...]
    bytes: int


def collect(root: Path, older: float, *, states: Sequence[str] = FINAL, dry: bool = False) -> Freed:
    """Forget jobs that ended more than `older` seconds ago, and remove their run folders and unused inputs.

    Args:
        states: only jobs that ended so. dry: only say what would go.

    Raises:
        RunFolderError: the folder cannot be written.
    """
    with Store(root) as store:
        marks = ", ".join("?" * len(states))
        rows = store.rows(
            f"SELECT id, folder FROM jobs WHERE state IN ({marks}) AND coalesce(ended, released_at) < ?",
            (*states, time.time() - older),
        )
        going = {row["id"] for row in rows}
        kept = " ".join(r["spec_json"] for r in store.rows("SELECT id, spec_json FROM jobs") if r["id"] not in going)
    unused = [place for place in sorted((root / "inputs").glob("*")) if f"inputs/{place.name}/" not in kept]
    places = [root / row["folder"] for row in rows] + unused
    places = [place for place in places if place.is_dir()]
    freed = Freed(len(rows), tuple(str(place.relative_to(root)) for place in places), sum(map(_bytes, places)))
    if not dry:
        # First forgotten, then removed: a folder without a job is found by the doctor, a job without one is a lie.
        change(root, {"do": "forget", "ids": sorted(going)})
        with readable_errors(root):
            for place in places:
                shutil.rmtree(place)
    return freed


def _bytes(folder: Path) -> int:
    return sum(file.stat().st_size for file in folder.rglob("*") if file.is_file())


def examine(root: Path) -> Iterator[Finding]:
    """Locks, orphans, disk, leases, results and folders.

    Raises:
        RunFolderError: there is no batch here.
    """
    with Store(root) as store:
        yield _scheduler(root)
        yield _disk(root)
        yield _writable(root)
        yield _database(store)
        yield from _attempts(store, scheduler_alive(root))
        yield _results(store)
        yield _folders(store)


def _scheduler(root: Path) -> Finding:
    owner = read_owner(root)
    if scheduler_alive(root):
        return Finding(f"scheduler: process {owner.pid} on {owner.host}" if owner else "scheduler: at work")
    if owner and owner.host == socket.gethostname():
        return Finding("scheduler: the last one was killed", "`formgrad jobs resume` takes its jobs up again")
    return Finding("scheduler: none")


def _disk(root: Path) -> Finding:
    free = shutil.disk_usage(root).free
    return Finding(f"disk: {free / 1e9:.1f} GB free", "" if free > LITTLE_SPACE else "free some space, or `jobs gc`")


def _writable(root: Path) -> Finding:
    probe = root / ".probe"
    try:
        with readable_errors(root):
            probe.write_bytes(b"0" * 4096)
            probe.unlink()
    except RunFolderError as error:
        return Finding("folder: cannot be written", str(error))
    return Finding("folder: can be written")


def _database(store: Store) -> Finding:
    said = store.rows("PRAGMA quick_check")[0]["quick_check"]
    broken = "" if said == "ok" else f"move {store.path} away and submit again; finished runs are found again"
    return Finding(f"queue: {said}, {sum(store.counts().values())} jobs", broken)


def _attempts(store: Store, alive: bool) -> Iterator[Finding]:
    rows = store.rows("SELECT job_id, n, worker, lease_until FROM attempts WHERE ended IS NULL")
    if not rows:
        yield Finding("attempts: none open")
        return
    late = [row for row in rows if row["lease_until"] < time.time()]
    remedy = "" if alive and not late else "`formgrad jobs resume` settles them"
    yield Finding(f"attempts: {len(rows)} open, {len(late)} without a sign of life", remedy)
    if not alive:
        orphans = {pid for mark in {row["worker"] for row in rows} for pid in marked(mark)}
        if orphans:
            ids = ", ".join(map(str, sorted(orphans)))
            yield Finding(f"orphans: processes {ids}", "`formgrad jobs resume` ends them")


def _results(store: Store) -> Finding:
    rows = store.rows("SELECT id, folder, result_sha256 FROM jobs WHERE state = 'succeeded'")
    bad = [row["id"][:8] for row in rows if not is_whole(Run(store.root / row["folder"]), row["result_sha256"])]
    if not bad:
        return Finding(f"results: {len(rows)}, all as they were recorded")
    return Finding(
        f"results: {len(bad)} are gone or were changed", f"`formgrad jobs retry --again {' '.join(bad[:20])}`"
    )


def _folders(store: Store) -> Finding:
    known = {row["folder"] for row in store.rows("SELECT folder FROM jobs")}
    strays = [p.name for p in sorted(store.root.iterdir()) if (p / "batch").is_dir() and p.name not in known]
    remedy = f"remove them, or submit their jobs again: {', '.join(strays[:10])}" if strays else ""
    return Finding(
        f"folders: {len(strays)} that belong to no job" if strays else "folders: each belongs to a job", remedy
    )

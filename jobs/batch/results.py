"""A finished run in the queue's tables: its numbers, its files with their checksums."""

import json
import math
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from jobs.batch.identity import file_digest
from jobs.batch.store import Store
from jobs.store import Run


def record_result(store: Store, id: str, run: Run, now: float) -> None:
    """Note that a run succeeded, and everything that its result.json says."""
    result = run.result()
    assert result is not None
    step = int(result.get("iterations") or 0)
    with store.transaction():
        store.set_job(
            id,
            state="succeeded",
            wanted="",
            message="",
            ended=now,
            size_true=result.get("seconds"),
            result_json=json.dumps(result),
            result_sha256=file_digest(run.folder / "result.json"),
        )
        store.set_metrics(id, step, _measured(run, result))
        store.run("DELETE FROM artifacts WHERE job_id = ?", (id,))
        for file in sorted(run.artifacts.rglob("*")):
            if file.is_file():
                path, size = file.relative_to(run.folder).as_posix(), file.stat().st_size
                kind = file.suffix.lstrip(".")
                store.insert("artifacts", job_id=id, path=path, bytes=size, sha256=file_digest(file), kind=kind)
        store.event(now, id, "succeeded")


def _measured(run: Run, result: Mapping[str, Any]) -> Iterator[tuple[str, float]]:
    rows = run.progress()
    last = dict(scalars(rows[-1])) if rows else {}
    for name, value in {**last, **dict(scalars(result))}.items():
        if isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value):
            yield name, float(value)


def scalars(data: Mapping[str, Any], prefix: str = "") -> Iterator[tuple[str, Any]]:
    """Numbers, words and truths of a nested result by dotted names; lists are left out."""
    for key, value in data.items():
        if isinstance(value, Mapping):
            yield from scalars(value, f"{prefix}{key}.")
        elif isinstance(value, str | int | float | bool):
            yield f"{prefix}{key}", value


def is_whole(run: Run, sha256: str | None) -> bool:
    """Whether result.json is there and is the one that was recorded."""
    path: Path = run.folder / "result.json"
    return path.is_file() and (sha256 is None or file_digest(path) == sha256)

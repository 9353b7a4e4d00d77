"""What came out of many jobs, as rows: one per job, with the values that make it different and the numbers it found."""

import contextlib
import csv
import math
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from jobs.batch.results import scalars
from jobs.batch.store import Store, loads
from jobs.errors import JobError
from jobs.store import readable_errors

if TYPE_CHECKING:
    import pandas

HEAD = ("index", "id", "name", "kind", "state", "attempts", "run_s")
NOT_RESULTS = frozenset(["status", "job", "name"])
SHOWN = 6
"""Columns of results that a table on the screen has when none are asked for."""

Rows = list[dict[str, Any]]


def result_rows(store: Store, sweep: str | None = None) -> Rows:
    """One row per job, or per member of a sweep: HEAD, the values of the sweep, the result's numbers and words."""
    if sweep is None:
        rows = store.rows("SELECT j.*, '{}' AS values_json FROM jobs j ORDER BY j.released_at, j.rowid")
    else:
        rows = store.rows(
            "SELECT j.*, m.values_json FROM members m JOIN jobs j ON j.id = m.job_id WHERE m.sweep_id = ? "
            "ORDER BY m.position",
            (sweep,),
        )
    attempts = {row["job_id"]: row for row in store.rows(_ATTEMPTS)}
    return [_row(k + 1, row, attempts.get(row["id"], {})) for k, row in enumerate(rows)]


_ATTEMPTS = "SELECT job_id, count(*) AS n, sum(coalesce(ended, started) - started) AS s FROM attempts GROUP BY job_id"


def _row(index: int, row: Mapping[str, Any], tried: Mapping[str, Any]) -> dict[str, Any]:
    seconds = round(tried["s"], 3) if tried else None
    head = dict(
        zip(HEAD, (index, row["id"], row["name"], row["kind"], row["state"], tried.get("n", 0), seconds), strict=True)
    )
    found = {key: value for key, value in scalars(loads(row["result_json"])) if key not in NOT_RESULTS}
    values = loads(row["values_json"])
    # Where a result has the name of an entry that was varied, it says so.
    results = {(f"result.{key}" if key in values or key in HEAD else key): value for key, value in found.items()}
    return {**head, **values, **results, "message": row["message"], "folder": row["folder"]}


def columns(rows: Sequence[Mapping[str, Any]]) -> list[str]:
    """Every column of any row, in the order in which they first come; message and folder last."""
    seen = dict.fromkeys(key for row in rows for key in row)
    return [key for key in seen if key not in ("message", "folder")] + [k for k in ("message", "folder") if k in seen]


def shown_columns(
    rows: Sequence[Mapping[str, Any]], values: Sequence[str], goals: Sequence[str], asked: Sequence[str]
) -> tuple[list[str], int]:
    """Columns for a screen, the most important first, and how many of them must be there: the values of the sweep, its
    goals, and what was asked for, or else the results that differ. A result that only repeats a value is not shown.

    Raises:
        JobError: a column that was asked for is not there.
    """
    have = columns(rows)
    for name in asked:
        require_column(name, have)
    done = all(row.get("state") == "succeeded" for row in rows)
    wanted: list[str] = ["index", *([] if done else ["state"]), *values, *goals, *asked]
    first = list(dict.fromkeys(wanted))
    if asked:
        return [*first, *(name for name in ("id", "name") if name not in first)], len(first)
    told = {tuple(row.get(name) for row in rows) for name in first}
    results = [name for name in have if name not in (*HEAD, *first, "message", "folder") and _differs(rows, name)]
    results = [name for name in results if tuple(row.get(name) for row in rows) not in told]
    results.sort(key=lambda name: PREFERRED.index(name) if name in PREFERRED else len(PREFERRED))  # stable
    more = [*results[:SHOWN], "id", "name", *([] if "state" in first else ["state"])]
    return [*first, *(name for name in more if name not in first)], len(first)


PREFERRED = (
    "compliance",
    "volume_fraction",
    "mass_kg",
    "reanalysis.von_mises_p999_mpa",
    "reanalysis.safety_factor",
    "objective",
    "value",
    "primal_value",
    "iterations",
    "seconds",
)


def require_column(name: str, have: Sequence[str]) -> None:
    """Raises: JobError, naming the nearest column."""
    import difflib

    if name not in have:
        near = difflib.get_close_matches(name, have, n=1, cutoff=0.0)
        hint = f": did you mean {near[0]!r}?" if near else ""
        raise JobError(f"there is no column {name!r}{hint} `formgrad jobs export` writes all of them")


def _differs(rows: Sequence[Mapping[str, Any]], name: str) -> bool:
    values = [row.get(name) for row in rows if row.get(name) is not None]
    return all(isinstance(v, int | float) and not isinstance(v, bool) for v in values) and len(set(values)) > 1


def frame(rows: Rows) -> "pandas.DataFrame":
    """The rows as a pandas DataFrame."""
    import pandas

    return pandas.DataFrame(rows, columns=columns(rows) if rows else list(HEAD))


def write_table(rows: Rows, path: Path) -> None:
    """CSV, or Parquet by the suffix; the file appears whole.

    Raises:
        JobError: another suffix, or Parquet without pyarrow. RunFolderError: the place cannot be written.
    """
    kind = path.suffix.lower()
    if kind not in (".csv", ".parquet"):
        raise JobError(f"{path}: write a .csv or a .parquet file")
    half = path.with_name(path.name + ".part")
    with readable_errors(path.parent), _removed(half):
        path.parent.mkdir(parents=True, exist_ok=True)
        if kind == ".csv":
            _write_csv(rows, half)
        else:
            try:
                frame(rows).to_parquet(half, index=False)
            except ImportError as error:
                raise JobError("a .parquet file needs pyarrow: pip install pyarrow, or write a .csv file") from error
        half.replace(path)


def _write_csv(rows: Rows, path: Path) -> None:
    names = columns(rows) if rows else list(HEAD)
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerow(names)
        for row in rows:
            writer.writerow([_cell(row.get(name)) for name in names])


def _cell(value: Any) -> Any:
    """A text that a spreadsheet would take for a formula begins with an apostrophe (OWASP, CSV injection)."""
    if isinstance(value, str) and value[:1] in ("=", "+", "-", "@", "\t", "\r"):
        return "'" + value
    return "" if value is None or (isinstance(value, float) and math.isnan(value)) else value


@contextlib.contextmanager
def _removed(half: Path) -> Iterator[None]:
    try:
        yield
    finally:
        half.unlink(missing_ok=True)

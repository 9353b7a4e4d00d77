"""What the command line shows of a batch: tables, one job, and a live view while it is worked off."""

import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rich.console import Group
from rich.live import Live
from rich.markup import escape
from rich.table import Table
from rich.text import Text

from jobs.batch.results_table import as_text
from jobs.batch.store import ACTIVE, Store
from jobs.screen import console
from jobs.store import Run

if TYPE_CHECKING:
    from jobs.batch.housekeeping import Finding
    from jobs.batch.queue import Submitted
    from jobs.batch.simulation import Replayed

COLOURS = {
    "succeeded": "green",
    "failed": "red",
    "lost": "red",
    "timed_out": "red",
    "cancelled": "yellow",
    "running": "cyan",
    "leased": "cyan",
    "checkpointed": "blue",
}
ORDER = ("running", "leased", "queued", "checkpointed", "succeeded", "failed", "timed_out", "lost", "cancelled")
SHORT = 8  # letters of an id


def print_submitted(found: "Submitted", sweep: str = "") -> None:
    parts = [
        (found.new, "new"),
        (found.cached, "done before (cached)"),
        (found.waiting, "in the queue already"),
        (found.again, "tried again"),
    ]
    words = ", ".join(f"{number} {what}" for number, what in parts if number)
    what = f"sweep {sweep} ({found.sweep[:SHORT]})" if found.sweep else f"job {found.ids[0][:SHORT]}"
    console.print(escape(f"{what}: {words}"))


def jobs_table(rows: Sequence[Mapping[str, Any]], now: float, title: str = "") -> Table:
    """One line per job."""
    table = Table(title=title or None, title_justify="left")
    for name, justify in (("id", "left"), ("name", "left"), ("kind", "left"), ("state", "left"), ("tries", "right")):
        table.add_column(name, justify=justify, no_wrap=True)  # type: ignore[arg-type]
    table.add_column("time", justify="right", no_wrap=True)
    table.add_column("guess", justify="right", no_wrap=True)
    room = console.width - 90  # `show` has the whole of it
    if room >= 15:
        table.add_column("message", no_wrap=True)
    for row in rows:
        times = duration(_spent(row, now)), duration(row["size_pred"])
        head = row["id"][:SHORT], escape(row["name"]), row["kind"], state_text(row), str(row["attempts"])
        table.add_row(*head, *times, *([escape(shortened(row["message"], room))] if room >= 15 else []))
    return table


def shortened(text: str, room: int) -> str:
    return text if len(text) <= room else text[: room - 3] + "..."


def state_text(row: Mapping[str, Any]) -> Text:
    state = row["state"]
    words = f"{state}, to be cancelled" if row.get("wanted") == "cancel" and state in ACTIVE else state
    return Text(words, style=COLOURS.get(state, ""))


def _spent(row: Mapping[str, Any], now: float) -> float | None:
    """Seconds since the newest attempt began, while it runs, or until the job ended."""
    end = now if row["state"] in ACTIVE else row["ended"]
    return None if row["started"] is None or end is None else end - row["started"]


def duration(seconds: float | None) -> str:
    """3.2 s, 4:05, 2:10:00."""
    if seconds is None:
        return ""
    if seconds < 100:
        return f"{seconds:.1f} s"
    minutes, s = divmod(round(seconds), 60)
    hours, m = divmod(minutes, 60)
    return f"{hours}:{m:02d}:{s:02d}" if hours else f"{m}:{s:02d}"


def sweeps_table(store: Store) -> Table:
    table = Table("id", "name", "jobs", "states", "submitted")
    for sweep in store.rows("SELECT id, name, created FROM sweeps ORDER BY created DESC"):
        counts = store.counts(sweep["id"])
        when = time.strftime("%Y-%m-%d %H:%M", time.localtime(sweep["created"]))
        table.add_row(sweep["id"][:SHORT], escape(sweep["name"]), str(sum(counts.values())), count_words(counts), when)
    return table


def count_words(counts: Mapping[str, int]) -> str:
    return ", ".join(f"{counts[state]} {state}" for state in ORDER if counts.get(state))


def stretch_table(rows: Sequence["Replayed"]) -> Table:
    """What each order would have done."""
    table = Table("order")
    for name in ("largest stretch", "mean stretch", "interruptions"):
        table.add_column(name, justify="right")
    for row in rows:
        table.add_row(row.order, f"{row.largest_stretch:.3g}", f"{row.mean_stretch:.3g}", str(row.switches))
    return table


def print_job(store: Store, job: Mapping[str, Any]) -> None:
    """Everything about one job."""
    from jobs.batch.results import scalars
    from jobs.batch.store import loads

    run = Run(store.root / job["folder"])
    console.print(Text.assemble((job["name"], "bold"), f"  {job['id']}  ", state_text(job)))
    if job["message"]:
        console.print(escape(job["message"]))
    console.print(str(run.folder))
    attempts = Table("attempt", "began", "took", "end", "code", "memory", "checkpoint", title="attempts")
    for row in store.attempts(job["id"]):
        began = time.strftime("%m-%d %H:%M:%S", time.localtime(row["started"]))
        took = duration((row["ended"] or time.time()) - row["started"])
        memory = f"{row['peak_rss']:.0f} MB" if row["peak_rss"] else ""
        code, kept = ("" if row[name] is None else str(row[name]) for name in ("exit_code", "checkpoint"))
        attempts.add_row(str(row["n"]), began, took, row["reason"] or "at work", code, memory, kept)
    console.print(attempts)
    progress = run.progress()
    if progress:
        console.print(escape(", ".join(f"{key} {value}" for key, value in progress[-1].items())))
    found = Table("result", "")
    for key, value in scalars(loads(job["result_json"])):
        found.add_row(escape(key), escape(as_text(value)))
    if found.row_count:
        console.print(found)
    for row in store.rows("SELECT path, bytes FROM artifacts WHERE job_id = ? ORDER BY path", (job["id"],)):
        console.print(escape(f"{run.folder / row['path']}  {row['bytes']:,} bytes"))


def print_findings(findings: Sequence["Finding"]) -> None:
    for finding in findings:
        mark = "[red]![/]" if finding.remedy else "[green]ok[/]"
        console.print(f"{mark:>4} {escape(finding.what)}" + (f": {escape(finding.remedy)}" if finding.remedy else ""))


def print_ending(store: Store, ids: Sequence[str] | None) -> int:
    """What became of the jobs, the failed ones by name. -> exit code: 0 all done, 2 some failed, 3 some cancelled"""
    wanted = None if ids is None else set(ids)
    rows = [r for r in store.rows("SELECT id, name, state, message FROM jobs") if wanted is None or r["id"] in wanted]
    counts: dict[str, int] = {}
    for row in rows:
        counts[row["state"]] = counts.get(row["state"], 0) + 1
    console.print(escape(f"{len(rows)} jobs: {count_words(counts)}"))
    bad = [row for row in rows if row["state"] in ("failed", "timed_out", "lost")]
    for row in bad:
        console.print(f"[red]{row['state']}[/] {row['id'][:SHORT]} {escape(row['name'])}: {escape(row['message'])}")
    if bad:
        return 2
    return 3 if counts.get("cancelled") else 0


class LiveView:
    """What goes on, redrawn twice a second on a terminal; elsewhere a line whenever the counts change.

    Args:
        root: the batch folder. sweep: only count these jobs.
    """

    def __init__(self, root: Path, sweep: str | None = None) -> None:
        self.root, self.sweep, self.drawn, self.said, self.began = root, sweep, 0.0, "", time.monotonic()
        self.live = Live(console=console, auto_refresh=False, transient=True)

    def __enter__(self) -> "LiveView":
        if console.is_terminal:
            self.live.start()
        return self

    def __exit__(self, *_: object) -> None:
        if console.is_terminal:
            self.live.stop()

    def look(self, store: Store) -> None:
        """Called as often as one likes."""
        if time.monotonic() - self.drawn < (0.5 if console.is_terminal else 2.0):
            return
        self.drawn = time.monotonic()
        if console.is_terminal:
            self.live.update(self.draw(store), refresh=True)
            return
        words = count_words(store.counts(self.sweep))
        if words != self.said:
            self.said = words
            console.print(f"{time.monotonic() - self.began:7.1f} s  {words}")

    def draw(self, store: Store) -> Group:
        """The counts, and what every running job says."""
        now = time.time()
        head = Text.assemble(
            (f"{duration(time.monotonic() - self.began)}  ", "dim"),
            (count_words(store.counts(self.sweep)), "bold"),
            ("   Ctrl-C stops and saves", "dim"),
        )
        table = Table("id", "name", "time", "left", "step", "", expand=True)
        for row in store.list_jobs(states=ACTIVE, limit=30):
            spent = _spent(row, now) or 0.0
            left = duration(max(0.0, row["size_pred"] - spent)) if row["size_pred"] else ""
            progress = last_progress(Run(store.root / row["folder"]))
            step = str(progress.pop("iteration", "")) if progress else ""
            words = "  ".join(f"{key} {value:.5g}" for key, value in progress.items() if isinstance(value, float))
            table.add_row(row["id"][:SHORT], escape(row["name"]), duration(spent), left, step, escape(words))
        return Group(head, table)


def last_progress(run: Run) -> dict[str, Any]:
    """The last whole line of progress.jsonl, without reading the others."""
    import json

    try:
        with (run.folder / "progress.jsonl").open("rb") as file:
            size = file.seek(0, 2)
            file.seek(max(0, size - 8192))
            lines = file.read().splitlines(keepends=True)
    except OSError:
        return {}
    for line in reversed(lines):
        if line.endswith(b"\n"):
            try:
                return dict(json.loads(line))
            except ValueError:
                continue
    return {}

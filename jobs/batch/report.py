"""`formgrad jobs table`: a sweep on the screen, in a file, and as a picture of its best compromises."""

from dataclasses import dataclass, field
from pathlib import Path

from rich.console import Console
from rich.markup import escape

from jobs.batch.pareto import Objective, front, objectives, plot_front
from jobs.batch.results_table import results_table
from jobs.batch.screen import count_words
from jobs.batch.store import Store, loads
from jobs.batch.table import columns, require_column, result_rows, shown_columns, write_table
from jobs.errors import JobError
from jobs.screen import console

WIDE = 160  # characters, where no terminal sets a limit


@dataclass(frozen=True)
class Wanted:
    """What to show. columns: results; sort: by this one. file, plot: where to write. pareto: see `objectives`."""

    columns: list[str] = field(default_factory=list)
    sort: str | None = None
    file: Path | None = None
    pareto: str | None = None
    plot: Path | None = None


def report(store: Store, sweep: str, wanted: Wanted) -> None:
    """Raises: JobError, when there is no such sweep or column. RunFolderError, when a file cannot be written."""
    found = None if sweep == "all" else store.sweep(sweep)
    id = found["id"] if found else None
    rows = result_rows(store, id)
    spec = loads(found["spec_json"]) if found else {}
    if not rows:
        raise JobError("there are no jobs to show")
    goals = objectives(wanted.pareto) if wanted.pareto else [Objective(*g) for g in spec.get("objectives", {}).items()]
    if wanted.plot and len(goals) < 2:
        raise JobError("plot: say which two columns, for instance --pareto compliance,volume_fraction")
    if by := wanted.sort:
        require_column(by, columns(rows))
        rows.sort(key=lambda row: (row.get(by) is None, _sortable(row.get(by))))
    best = front(rows, goals) if len(goals) > 1 and any(goals[0].column in row for row in rows) else []
    goal_columns = [goal.column for goal in goals if goal.column in columns(rows)]
    names, keep = shown_columns(rows, list(spec.get("sweep", {})), goal_columns, wanted.columns)
    paper = console if console.is_terminal else Console(width=WIDE)
    shown = results_table(rows, names, best, paper.width, keep)
    paper.print(shown.table)
    if shown.left_out:
        console.print(escape(f"no room for {', '.join(shown.left_out)}: --columns, or --csv FILE"), style="dim")
    console.print(count_words(store.counts(id)))
    if best:
        console.print(escape("* not beaten in " + " and ".join(goal.words for goal in goals)), style="dim")
    if wanted.file:
        write_table(rows, wanted.file)
        console.print(escape(str(wanted.file)))
    if wanted.plot:
        plot_front(rows, goals[:2], wanted.plot, found["name"] if found else "all jobs")
        console.print(escape(str(wanted.plot)))


def _sortable(value: object) -> tuple[int, float, str]:
    return (0, float(value), "") if isinstance(value, int | float) else (1, 0.0, str(value))

"""One run of a PDE problem against its solves, and two that are compared: curves, fields and figures side by side."""

from collections.abc import Callable, Sequence
from typing import Any

from ui.curves import Curve, chart
from ui.pde.methods import words
from ui.run_view.pictures import pictures
from ui.runs import RunView
from ui.words import escape, figure

TONES = ("first", "second")
FEASIBLE = 1e-4  # iterates that violate their constraints by more are not drawn: they may well be lower


def curve(run: RunView, tone: str = "first") -> Curve:
    """The objective of its iterates, or the best solved so far, against its solves."""
    points = []
    for row in run.rows:
        value, spent = row.get("best", row.get("objective")), solves(row)
        if spent is None or (row.get("violation") or 0) > FEASIBLE:
            continue
        if isinstance(value, int | float) and abs(value) < 1e100:
            points.append((spent, float(value)))
    return Curve(method(run), tone, points, steps=run.kind == "hybrid")


def solves(row: dict[str, Any]) -> int | None:
    """Forward, adjoint and tangent solves up to a line of progress; by evaluations where solves are not counted."""
    names = ("forward", "adjoint", "tangent")
    if isinstance(row.get("forward"), int):
        return sum(int(row.get(name) or 0) for name in names)
    if isinstance(row.get("values"), int):
        return row["values"] + int(row.get("gradients") or 0) + 2 * int(row.get("hessian_actions") or 0)
    return None


def method(run: RunView) -> str:
    """Of the result once it is there, for that names the one that suited the problem."""
    return words((run.result or {}).get("method") or run.job.get("method"))


def plot(run: RunView) -> str:
    """Both curves in one chart, over the whole width."""
    curves = [curve(each, tone) for each, tone in zip(run.pair or (run,), TONES, strict=False)]
    wide = run.pair is not None
    return f'<div class="panel plot-panel{" pair" if wide else ""}">{chart(curves, wide)}</div>'


def picture(run: RunView, of: Callable[[RunView], tuple[str, str]]) -> str:
    """The fields of both, beside each other.

    Args:
        of: a run's picture and when it was taken; an empty address where there is none.
    """
    shown = [(*of(each), each) for each in run.pair or ()]
    if not any(address for address, _, _ in shown):
        return pictures([], "Control and state of both appear here while they run.")
    return pictures([(address, method(each), at if address else "") for address, at, each in shown], "", beside=True)


def table(run: RunView) -> str:
    """What both found, and what it took."""
    first, second = run.pair or (run, run)
    rows = [_row(name, [of(each) for each in (first, second)], digits) for name, of, digits in ROWS]
    head = "".join(
        f'<th scope="col" class="{tone}">{escape(method(each))}</th>'
        for each, tone in zip((first, second), TONES, strict=True)
    )
    ends = "".join(f'<td class="words">{escape(_ended(each))}</td>' for each in (first, second))
    return (
        '<table class="result pair" id="results"><caption>Side by side</caption>'
        f'<thead><tr><th scope="col">Quantity</th>{head}</tr></thead>'
        f'<tbody>{"".join(rows)}<tr><th scope="row">How it ended</th>{ends}</tr></tbody></table>'
    )


def _row(name: str, values: Sequence[Any], digits: int) -> str:
    """One line; the lower number stands out. Nothing where neither run has it."""
    numbers = [value for value in values if isinstance(value, int | float) and not isinstance(value, bool)]
    if not numbers or (name in SOMETIMES and not any(numbers)):
        return ""
    least = min(numbers) if len(numbers) > 1 and max(numbers) > min(numbers) and name not in OPINIONS else None
    cells = "".join(
        f'<td class="{"least" if least is not None and value == least else ""}">{figure(value, digits)}</td>'
        for value in values
    )
    return f'<tr><th scope="row">{escape(name)}</th>{cells}</tr>'


def _of(key: str) -> Callable[[RunView], Any]:
    return lambda run: (run.result or {}).get(key)


def _count(*keys: str) -> Callable[[RunView], Any]:
    """The first of these counts that is there."""

    def of(run: RunView) -> Any:
        counts = (run.result or {}).get("counts") or {}
        return next((counts[key] for key in keys if key in counts), None)

    return of


def _solves_in_all(run: RunView) -> Any:
    return solves(run.rows[-1]) if run.rows and run.result else None


def _ended(run: RunView) -> str:
    r = run.result or {}
    return str(r.get("ended") or r.get("message") or run.status.get("message") or "")


ROWS: list[tuple[str, Callable[[RunView], Any], int]] = [
    ("Objective, solved", _of("objective"), 8),
    ("Believed by the surrogate", _of("believed"), 8),
    ("The same design, solved", lambda run: _of("verified")(run) if _of("believed")(run) is not None else None, 8),
    ("Forward solves", _count("forward", "states", "values"), 9),
    ("Adjoint solves", _count("adjoint", "adjoints", "gradients"), 9),
    ("Tangent solves", _count("tangent", "tangents", "hessian_actions"), 9),
    ("Solves in all", _solves_in_all, 9),
    ("Factorisations", _count("factorisations"), 9),
    ("Seconds of the search", _of("search_seconds"), 3),
]
SOMETIMES = {"Tangent solves", "Factorisations"}  # not shown where both are zero
OPINIONS = {"Believed by the surrogate", "The same design, solved"}  # not better for being lower

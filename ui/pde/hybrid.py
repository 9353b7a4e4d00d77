"""What the run view shows of a member of a family: its solver, its surrogate, or the hybrid of the two."""

from typing import Any

from ui.pde import compare
from ui.pde.methods import words
from ui.run_view.pictures import pictures
from ui.run_view.show import Show
from ui.runs import RunView
from ui.words import escape, figure

SOLVES = {
    "forward": "Forward solves",
    "adjoint": "Adjoint solves",
    "tangent": "Tangent solves",
    "factorisations": "Factorisations",
}


def numbers(run: RunView) -> list[tuple[str, str]]:
    """Names and values for the line of numbers under the state."""
    last = run.rows[-1]
    cells = [("Best solved", figure(last.get("best"), 7))]
    cells += [(SOLVES[key], figure(last.get(key), 9)) for key in ("forward", "adjoint") if key in last]
    if isinstance(last.get("model_gradients"), int) and last["model_gradients"]:
        cells.append(("Surrogate gradients", figure(last["model_gradients"], 9)))
    return cells


def plot(run: RunView) -> str:
    """The best solved design against solves."""
    return compare.plot(run)


def picture(run: RunView) -> str:
    """Design and state: at the end as handed over, before that as far as they are."""
    if run.pair:
        return compare.picture(run, fields)
    address, at = fields(run)
    empty = "Design and state appear here while it runs." if run.active else "There is no picture of this run."
    return pictures([(address, "Design and state", at)] if address else [], empty)


def fields(run: RunView) -> tuple[str, str]:
    """Address of the picture, "" where there is none, and when it was taken."""
    done = next((d.url for d in run.downloads if d.name == "fields.png"), "")
    if done:
        return done, "the best solved design"
    at = f"after {run.rows[-1].get('forward')} forward solves" if run.rows else "at the start"
    return run.looks.get("fields", ""), at


def result_rows(run: RunView) -> list[tuple[str, str, str]]:
    """Quantity, value, and what it is."""
    r: dict[str, Any] = run.result or {}
    counts = r.get("counts") or {}
    rows = [
        ("Objective", figure(r.get("objective"), 8), f"solved; {figure(r.get('start'), 6)} at the start"),
        ("Believed", figure(r.get("believed"), 8), escape(r.get("surrogate") or "")),
        ("Verified", figure(r.get("verified"), 8) if r.get("believed") is not None else "–", "that design, solved"),
        *((name, figure(counts.get(key), 9) if counts.get(key) else "–", "") for key, name in SOLVES.items()),
        ("Seconds", figure(r.get("search_seconds"), 3), "of the search"),
        ("Method", escape(words(r.get("method"))), escape(r.get("message") or "")),
    ]
    return [row for row in rows if row[1] != "–"]


SHOW = Show(numbers, lambda run: None, plot, picture, result_rows, compared=compare.table)

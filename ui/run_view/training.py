"""What the run view shows of work on operators: runs that are recorded, and a training."""

from typing import Any

from ui import plots
from ui.run_view.pictures import pictures
from ui.run_view.show import Show
from ui.runs import RunView
from ui.words import bytes_text, escape, figure, percent

ERROR = plots.Panel("error", "Error of the states of unseen runs", digits=3, power=True)
LOSS = plots.Panel("state_loss", "Loss on the states", digits=3, power=True)
SLOPES = plots.Panel("sensitivity_loss", "Loss on the sensitivities", digits=3, power=True)
REACHED = plots.Panel("objective", "Objective at the end of each run", digits=5)


def recorded(run: RunView) -> list[tuple[str, str]]:
    """Names and values for the line of numbers under the state, while runs are recorded."""
    last = run.rows[-1]
    at = figure(last.get("iteration"), 9)
    return [
        ("Runs", f"{at} of {_runs(run)}" if run.active else at),
        ("Last", f"number {figure(last.get('run'), 9)}, {figure(last.get('iterates'), 9)} iterates"),
        ("Objective", f"{figure(last.get('start'))} → {figure(last.get('objective'))}"),
    ]


def trained(run: RunView) -> list[tuple[str, str]]:
    """The same while an operator is trained."""
    last, steps = run.rows[-1], run.job.get("steps")
    at = figure(last.get("iteration"), 9)
    return [
        ("Step", f"{at} of {figure(steps, 9)} at most" if run.active and steps else at),
        ("Loss", figure(last.get("loss"), 3)),
        ("Unseen states", percent(last.get("error"))),
        ("Best", percent(last.get("best"))),
    ]


def losses(run: RunView) -> str:
    """Losses and the error that chooses the weights, against steps."""
    panels = (ERROR, LOSS, SLOPES)
    rows = [{**row, **{panel.key: plots.exponent(row.get(panel.key)) for panel in panels}} for row in run.rows]
    return f'<div class="panel plot-panel">{plots.convergence(rows, "", panels)}</div>'


def reached(run: RunView) -> str:
    """Where the runs ended, one after the other."""
    return f'<div class="panel plot-panel">{plots.convergence(run.rows, "", (REACHED,))}</div>'


def picture(run: RunView) -> str:
    """Pictures that were handed over, before that as far as they are."""
    done = [(d.url, f"{d.about[:1].upper()}{d.about[1:]}", "at the end") for d in run.downloads if d.label == "PNG"]
    live = run.looks.get("fields")
    shown = done or ([(live, "Losses", f"step {run.rows[-1].get('iteration')}")] if live and run.rows else [])
    return pictures(shown, "Pictures come at the end." if run.active else "There is no picture of this run.")


def recorded_rows(run: RunView) -> list[tuple[str, str, str]]:
    """Quantity, value, and what it is."""
    r: dict[str, Any] = run.result or {}
    counts = r.get("counts") or {}
    first, last = figure(r.get("first"), 9), figure(r.get("last"), 9)
    return [
        ("Runs", figure(r.get("runs"), 9), escape(f"of {r.get('problem')}, members {first} to {last}")),
        ("Iterates", figure(r.get("iterates"), 9), "with state and gradient"),
        ("Forward solves", figure(counts.get("forward"), 9), ""),
        ("Adjoint solves", figure(counts.get("adjoint"), 9), ""),
        ("Size", bytes_text(int(r.get("bytes") or 0)), "HDF5 files in the folder of the run"),
    ]


def trained_rows(run: RunView) -> list[tuple[str, str, str]]:
    """What was trained, and how its states compare with the solver's."""
    r: dict[str, Any] = run.result or {}
    errors = [
        (
            escape(f"States, {row.get('where')}"),
            percent(row.get("state")),
            f"gradient {percent(row.get('gradient'))}, cosine {figure(row.get('cosine'), 3)}",
        )
        for row in r.get("table") or []
    ]
    return [
        *errors,
        (
            "Steps",
            figure(r.get("steps"), 9),
            f"{figure(r.get('learnt'), 9)} runs learnt, {figure(r.get('judged'), 9)} judged",
        ),
        ("Numbers", figure(r.get("parameters"), 9), escape(f"{r.get('network')}, {r.get('output')}")),
    ]


def _runs(run: RunView) -> int | None:
    count = run.job.get("count")
    return count if isinstance(count, int) else None


DATA = Show(recorded, _runs, reached, picture, recorded_rows)
TRAINING = Show(trained, lambda run: None, losses, picture, trained_rows, third="Beside the solver")

"""What the run view shows of a problem of PDE-constrained optimisation."""

from dataclasses import replace
from typing import Any

from ui import plots
from ui.pde import compare
from ui.pde.methods import words
from ui.run_view.pictures import pictures
from ui.run_view.show import Show
from ui.runs import RunView
from ui.words import escape, figure

OBJECTIVE = plots.Panel("objective", "Objective J", digits=6)
OPTIMALITY = plots.Panel("kkt", "Optimality, KKT residual", digits=2, power=True)
VIOLATION = plots.Panel("violation", "Violation of the constraints", digits=2, power=True)
SOLVES = {
    "states": "Solves of the equation",
    "newton_steps": "Newton steps in them",
    "adjoints": "Adjoint solves",
    "tangents": "Tangent solves",
    "factorisations": "Factorisations",
}
DECADES = 2.0  # an objective that falls by more is drawn on a logarithmic axis


def numbers(run: RunView) -> list[tuple[str, str]]:
    """Names and values for the line of numbers under the state."""
    last, whole = run.rows[-1], expected(run)
    at = figure(last.get("iteration", len(run.rows)), 9)
    cells = [
        ("Iteration", f"{at} of {whole} at most" if run.active and whole else at),
        ("Objective", figure(last.get("objective"), 7)),
        ("Optimality", figure(last.get("kkt"), 2)),
    ]
    if _constrained(run):
        cells.append(("Violation", figure(last.get("violation"), 2)))
    counts = [("Values", "values"), ("Gradients", "gradients"), ("Hessian actions", "hessian_actions")]
    return cells + [(name, figure(last[key], 9)) for name, key in counts if last.get(key)]


def expected(run: RunView) -> int | None:
    """The limit that the job states; else the problem's own, which nobody knows before it is posed."""
    most = run.job.get("max_iterations")
    return int(most) if isinstance(most, int) else None


def plot(run: RunView) -> str:
    """Objective and optimality, and the violation where there are constraints; of two runs the objectives by solves."""
    if run.pair:
        return compare.plot(run)
    objective = replace(OBJECTIVE, power=_falls_far(run))
    panels = (objective, OPTIMALITY, *([VIOLATION] if _constrained(run) else []))
    rows = [
        {**row, **{panel.key: plots.exponent(row.get(panel.key)) for panel in panels if panel.power}}
        for row in run.rows
    ]
    return f'<div class="panel plot-panel">{plots.convergence(rows, "", panels)}</div>'


def picture(run: RunView) -> str:
    """Control and state: at the end as handed over, before that as far as they are."""
    if run.pair:
        return compare.picture(run, fields)
    done = [d for d in run.downloads if d.name.endswith(".png")]
    if done:
        done.sort(key=lambda d: d.name != "fields.png")
        return pictures([(d.url, _words(d.name), "at the end") for d in done], "")
    live, at = fields(run)
    empty = "Control and state appear here while it runs." if run.active else "There is no picture of this run."
    return pictures([(live, _words("fields.png"), at)] if live else [], empty)


def fields(run: RunView) -> tuple[str, str]:
    """Address of the picture of control and state, "" where there is none, and when it was taken."""
    done = next((d.url for d in run.downloads if d.name == "fields.png"), "")
    if done:
        return done, "at the end"
    at = f"iteration {run.rows[-1].get('iteration')}" if run.rows else "at the start"
    return run.looks.get("fields", ""), at


def result_rows(run: RunView) -> list[tuple[str, str, str]]:
    """The figures beside their known answers, then how they were found."""
    r: dict[str, Any] = run.result or {}
    known = r.get("known") or {}
    rows = [
        (escape(_words(name)), figure(value, 7), _beside(value, known.get(name)))
        for name, value in (r.get("figures") or {}).items()
    ]
    rows.append(("Iterations", figure(r.get("iterations"), 9), escape(words(r.get("method")))))
    rows.append(("How it ended", "", escape(r.get("ended") or r.get("status") or "")))
    counts = r.get("counts") or {}
    return rows + [(words, figure(counts[name], 9), "") for name, words in SOLVES.items() if counts.get(name)]


def _words(name: str) -> str:
    """`control_error` -> Control error; the name of a picture -> what it shows."""
    if name == "fields.png":
        return "Control and state"
    text = name.removesuffix(".png").replace("_", " ")
    return text[:1].upper() + text[1:]


def _beside(value: Any, known: Any) -> str:
    """A known answer, and by how much the figure misses it."""
    if not isinstance(known, int | float):
        return ""
    if not known or not isinstance(value, int | float):
        return figure(known, 7)
    return f"{figure(known, 7)} ({100 * (value / known - 1):+.2g} %)"


def _constrained(run: RunView) -> bool:
    return any(isinstance(row.get("violation"), int | float) and row["violation"] > 0 for row in run.rows)


def _falls_far(run: RunView) -> bool:
    values = [row["objective"] for row in run.rows if isinstance(row.get("objective"), int | float)]
    return bool(values) and min(values) > 0 and max(values) > 10**DECADES * min(values)


SHOW = Show(numbers, expected, plot, picture, result_rows, third="Known answer", compared=compare.table)

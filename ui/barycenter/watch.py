"""What the run view shows of a barycenter: its numbers, picture, convergence and results."""

from pathlib import Path
from typing import Any

from ui import plots
from ui.barycenter.form import METHODS, shares
from ui.barycenter.inputs import inputs_list
from ui.run_view.show import Show
from ui.runs import RunView
from ui.words import escape, figure, percent

PANELS = (
    plots.Panel("dual", "Dual value [side²]", digits=5),
    plots.Panel("residual", "Residual [side²]: how far the maps disagree", digits=3, power=True),
)
PUBLISHED = 300  # iterations of the published methods


def numbers(run: RunView) -> list[tuple[str, str]]:
    """Names and values for the line of numbers under the state."""
    last = run.rows[-1]
    at = figure(last.get("iteration", len(run.rows)))
    cells = [
        ("Iteration", f"{at} of {expected(run)} at most" if run.active else at),
        ("Cells", _by(last.get("shape"))),
        ("Dual value", figure(last.get("dual"), 5)),
        ("Residual", figure(last.get("residual"), 3)),
    ]
    return [(name, escape(value)) for name, value in cells]


def expected(run: RunView) -> int:
    """Iterations in all, at most."""
    left = run.rows[-1].get("left") if run.rows else None
    if not isinstance(left, int | float):
        return len(run.rows) if _has_levels(run) else PUBLISHED
    return len(run.rows) + int(left)


def plot(run: RunView) -> str:
    """The dual value, which rises on every grid, the residual, which falls, and what was put in."""
    # Frames of a film have other weights, so their values belong to other curves.
    rows = [{**row, "residual": plots.exponent(row.get("residual"))} for row in run.rows if "frame" not in row]
    drawn = plots.convergence(rows, "", PANELS)
    return (
        f'<div class="beside"><div class="panel plot-panel">{drawn}</div><div class="panel">{_inputs(run)}</div></div>'
    )


def picture(run: RunView) -> str:
    """The barycenter once it is there, else the preview."""
    done = next((d for d in run.downloads if d.name == "barycenter.png"), None)
    source = done.url if done else run.looks.get("preview")
    if source:
        words = f"{'Barycenter' if done else 'Preview'}: {run.name}"
        shown = f'<img class="mass" id="{"result" if done else "early"}-picture" src="{source}" alt="{escape(words)}">'
    else:
        told = "The picture comes at the end." if run.active else "There is no picture; the files are listed below."
        shown = f'<p class="quiet">{told}</p>'
    cells = _by((run.result or {}).get("shape")) if done else "64 cells a side, until the full solve is done"
    caption = f"<figcaption><b>{'Barycenter' if done else 'Preview'}</b><span>{cells}</span></figcaption>"
    caption = caption if source else ""
    return f'<div class="panel mass-stage narrow"><figure>{shown}{caption}</figure>{_film(run)}</div>'


def _film(run: RunView) -> str:
    """The film along the path of weights, if the run made one."""
    film = next((d for d in run.downloads if d.name in ("film.gif", "film.mp4")), None)
    if film is None:
        return ""
    if film.name.endswith(".mp4"):
        shown = f'<video class="mass" id="film" src="{film.url}" controls loop muted></video>'
    else:
        shown = f'<img class="mass" id="film" src="{film.url}" alt="Film along the path of weights">'
    return f"<figure>{shown}<figcaption><b>Film</b><span>there and back</span></figcaption></figure>"


def result_rows(run: RunView) -> list[tuple[str, str, str]]:
    """Quantity, value, and what it is. Lengths are in units of the longest side of the frame."""
    r: dict[str, Any] = run.result or {}
    rows = [
        ("Shape part of F", figure(r.get("shape_value")), "of this density, from below"),
        ("Certified bound", figure(r.get("shape_bound")), "no density has less"),
        ("Upper bound", figure(r.get("shape_upper")), "this density has no more"),
        ("Gap", _gap(r.get("gap")), "between the first two"),
        ("F = ½ Σ w W₂²", figure(r.get("primal_value")), "shape and centroids"),
        ("Residual", figure(r.get("residual"), 3), "how far the maps disagree"),
        ("Cells", _by(r.get("shape")), escape(METHODS.get(str(r.get("method")), str(r.get("method"))))),
    ]
    where = "coarse to fine" if _has_levels(run) else "on the full grid"
    return [*rows, ("Iterations", figure(r.get("iterations"), 9), where)]


def _inputs(run: RunView) -> str:
    files = [Path(str(file)).stem for file in run.job.get("inputs") or []]
    weights = run.job.get("weights") or [1.0] * len(files)
    if len(weights) != len(files) or not all(isinstance(w, int | float) for w in weights):
        return ""
    pictures = [(name, run.looks.get(f"input-{k}", "")) for k, name in enumerate(files, start=1)]
    halves = (run.result or {}).get("half_squared_distances") or []
    told = [f"½ W₂² {figure(value, 3)}" for value in halves]
    return inputs_list(pictures, shares(weights), told)


def _by(shape: Any) -> str:
    return " × ".join(str(int(n)) for n in shape) if isinstance(shape, list | tuple) else "–"


def _gap(value: Any) -> str:
    if not isinstance(value, int | float):
        return "–"
    return percent(value) if value >= 5e-4 else "below 0.1 %"


def _has_levels(run: RunView) -> bool:
    return run.job.get("method", "accelerated") == "accelerated"


SHOW = Show(numbers, expected, plot, picture, result_rows)

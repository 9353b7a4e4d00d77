"""What the run view shows of a design made of features."""

from typing import Any

from ui import plots
from ui.features.form import BACKENDS, ITERATIONS
from ui.run_view.pictures import pictures
from ui.run_view.show import Show
from ui.runs import RunView
from ui.words import escape, figure, percent

PANELS = (
    plots.Panel("compliance", "Compliance of the smooth field [N mm]"),
    plots.Panel("volume", "Volume fraction [–]", zero=True, digits=3),
    plots.Panel("change", "Largest change [elements]", zero=True, digits=2),
)


def numbers(run: RunView) -> list[tuple[str, str]]:
    """Names and values for the line of numbers under the state."""
    last = run.rows[-1]
    at = figure(last.get("iteration", len(run.rows)), 9)
    return [
        ("Iteration", f"{at} of {expected(run)} at most" if run.active else at),
        ("Compliance", figure(last.get("compliance"))),
        ("Volume", percent(last.get("volume"))),
        ("Thresholded", percent(last.get("thresholded"))),
        ("Change", figure(last.get("change"), 2)),
    ]


def expected(run: RunView) -> int:
    """Iterations of all starts, at most."""
    most, starts = run.job.get("iterations"), run.job.get("restarts")
    return (most if isinstance(most, int) else ITERATIONS) * (starts if isinstance(starts, int) else 1)


def plot(run: RunView) -> str:
    """Compliance, volume and change."""
    return f'<div class="panel plot-panel">{plots.convergence(run.rows, "N mm", PANELS)}</div>'


def picture(run: RunView) -> str:
    """The outlines on the domain as they move; at the end as they leave, and the part."""
    files = {d.name: d.url for d in run.downloads}
    done = [(files[name], words, "as exported") for name, words in FINAL if name in files]
    if done:
        return pictures(done, "")
    live = run.looks.get("outlines")
    at = f"iteration {run.rows[-1].get('iteration')}" if run.rows else "at the start"
    empty = "The outlines appear here while they move." if run.active else "There is no picture of this run."
    return pictures([(live, "Outlines of the features", at)] if live else [], empty)


FINAL = (("part.svg", "Outline of the part"), ("picture.png", "The part"))


def result_rows(run: RunView) -> list[tuple[str, str, str]]:
    """Quantity, value, and what it is."""
    r: dict[str, Any] = run.result or {}
    backend = next((words.lower() for words, name in BACKENDS.items() if name == r.get("backend")), "")
    away = r.get("difference")
    rows = [
        ("Compliance, smooth [N mm]", figure(r.get("smooth")), "as optimised"),
        ("Compliance, cut [N mm]", figure(r.get("compliance")), "cells in or out"),
        (
            "Compliance, outline [N mm]",
            figure(r.get("outline_compliance")),
            f"{percent(away, signed=True)}, re-analysis",
        ),
        ("Best published [N mm]", figure(r.get("published")), "of the method"),
        ("Volume, cut", percent(r.get("volume")), f"{percent(r.get('goal'))} asked"),
        ("Volume, outline", percent(r.get("outline_volume")), "exact"),
        ("Thickness [mm]", figure(r.get("thickness")), ""),
        ("Features", figure(r.get("features"), 9), escape(backend)),
        ("Iterations", figure(r.get("iterations"), 9), _starts(r.get("starts"))),
    ]
    return [row for row in rows if row[1] != "–"]


def _starts(found: Any) -> str:
    return f"best of {len(found)} starts" if isinstance(found, list) and len(found) > 1 else ""


SHOW = Show(numbers, expected, plot, picture, result_rows)

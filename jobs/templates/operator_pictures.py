"""Pictures of work on operators: the paths of recorded runs, and how a training went."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

INK, FIRST, SECOND = "#16222c", "#0a6c74", "#c2450a"


def draw_runs(path: Path, objectives: Sequence[NDArray[np.float64]], title: str) -> None:
    """How far each run of the optimizer fell: J less the lowest of the run, over its start."""
    figure, (axes,) = _figure(1)
    for J in objectives:
        gap = (J - J.min()) / max(float(J[0] - J.min()), 1e-300)
        above = np.flatnonzero(gap > 0)
        axes.semilogy(above, gap[above], color=FIRST, lw=0.9, alpha=0.55)
    _named(axes, f"{len(objectives)} runs: {title}", "accepted iterate", "J above the lowest of the run, start 1")
    _write(figure, path)


def draw_losses(path: Path, history: Sequence[dict[str, Any]], best_at: int) -> None:
    """Losses on what is learnt, and the error of the states of unseen runs, against steps."""
    figure, (left, right) = _figure(2)
    steps = [row["step"] for row in history]
    for name, colour in (("state", FIRST), ("sensitivity", SECOND), ("jvp", "#2b65b0"), ("vjp", "#4d7c2a")):
        seen = [(row["step"], row["parts"][name]) for row in history if row["parts"].get(name, 0) > 0]
        if seen:
            left.semilogy(
                *zip(*seen, strict=True), color=colour, lw=1.6, label=name, marker="." if len(seen) < 3 else ""
            )
    left.legend(frameon=False, fontsize=8)
    _named(left, "Losses on what is learnt", "step", "loss")
    right.semilogy(steps, [100 * row["error"] for row in history], color=FIRST, lw=1.6)
    best = history[best_at]
    right.plot(best["step"], 100 * best["error"], "o", color=SECOND, ms=5, label=f"kept: {best['error']:.2%}")
    right.legend(frameon=False, fontsize=8)
    _named(right, "Error of the states of runs that are not learnt", "step", "per cent")
    _write(figure, path)


def _figure(panels: int) -> tuple[Any, Any]:
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    figure = Figure(figsize=(5.2 * panels, 3.6), dpi=120, layout="constrained")
    FigureCanvasAgg(figure)
    return figure, figure.subplots(1, panels, squeeze=False)[0]


def _named(axes: Any, title: str, along: str, up: str) -> None:
    from matplotlib.ticker import FuncFormatter

    axes.set_title(title, loc="left", fontsize=10, color=INK)
    axes.set_xlabel(along, fontsize=8)
    axes.set_ylabel(up, fontsize=8)
    axes.tick_params(which="both", labelsize=8)
    for each in (axes.yaxis.set_major_formatter, axes.yaxis.set_minor_formatter):
        each(FuncFormatter(lambda value, _: f"{value:g}"))
    axes.grid(alpha=0.3)
    axes.spines[["top", "right"]].set_visible(False)


def _write(figure: Any, path: Path) -> None:
    part = path.with_name(path.name + ".part")
    figure.savefig(part, format="png")
    part.replace(path)

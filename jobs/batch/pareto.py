"""The best compromises of a sweep: jobs that no other job beats in every objective, and their picture."""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from jobs.batch.table import columns, require_column
from jobs.errors import JobError
from jobs.store import readable_errors

APART = 24.0  # pixels at 100 per inch, below which two labels would lie on each other


@dataclass(frozen=True)
class Objective:
    """A column and which way is better."""

    column: str
    goal: Literal["min", "max"] = "min"

    @property
    def words(self) -> str:
        return f"{self.column} ({'smaller' if self.goal == 'min' else 'larger'} is better)"


def objectives(text: str) -> list[Objective]:
    """From "mass_kg,reanalysis.safety_factor:max".

    Raises:
        JobError: fewer than two, or a goal that is neither min nor max.
    """
    found = []
    for part in text.split(","):
        column, _, goal = part.strip().partition(":")
        if goal not in ("", "min", "max"):
            raise JobError(f"pareto: {part!r}: write the column, or the column and :min or :max")
        found.append(Objective(column, "max" if goal == "max" else "min"))
    if len({o.column for o in found}) < 2:
        raise JobError("pareto: give two different columns, for instance compliance,volume_fraction")
    return found


def front(rows: Sequence[Mapping[str, Any]], goals: Sequence[Objective]) -> list[Mapping[str, Any]]:
    """Rows that are not dominated: no other is at least as good in all objectives and better in one (Pareto, 1896).

    Rows without a number in one of the objectives take no part. In order of the first objective.

    Raises:
        JobError: no row has such a column.
    """
    for goal in goals:
        require_column(goal.column, columns(rows))
    points = [(tuple(_signed(row[g.column], g) for g in goals), row) for row in rows if _complete(row, goals)]
    best: list[tuple[tuple[float, ...], Mapping[str, Any]]] = []
    # In lexicographic order, only a point that came before can dominate.
    for point, row in sorted(points, key=lambda item: item[0]):
        if not any(all(a <= b for a, b in zip(other, point, strict=True)) and other != point for other, _ in best):
            best.append((point, row))
    return [row for _, row in best]


def plot_front(rows: Sequence[Mapping[str, Any]], goals: Sequence[Objective], path: Path, title: str) -> None:
    """All jobs as points, the front as a line: .png (Matplotlib) or .html (Plotly, works offline).

    Raises:
        JobError: another suffix, or nothing to draw. RunFolderError: the place cannot be written.
    """
    best = front(rows, goals)
    if not best:
        raise JobError("pareto: no finished job has both objectives yet")
    draw = {".png": _png, ".html": _html}.get(path.suffix.lower())
    if draw is None:
        raise JobError(f"{path}: write a .png or an .html file")
    with readable_errors(path.parent):
        path.parent.mkdir(parents=True, exist_ok=True)
        half = path.with_name(path.stem + ".part" + path.suffix)
        draw([row for row in rows if _complete(row, goals)], best, goals, half, title)
        half.replace(path)


def _png(
    rows: Sequence[Mapping[str, Any]],
    best: Sequence[Mapping[str, Any]],
    goals: Sequence[Objective],
    path: Path,
    title: str,
) -> None:
    from matplotlib.figure import Figure

    x, y = goals[0], goals[1]
    figure = Figure(figsize=(7, 5), layout="constrained")
    axes = figure.subplots()
    axes.scatter([r[x.column] for r in rows], [r[y.column] for r in rows], color="0.65", label="jobs")
    corner = [r[x.column] for r in best], [r[y.column] for r in best]
    # Stairs: between two points of the front nothing better than the first has been found.
    axes.plot(*corner, "o-", color="#0b5fa5", label="Pareto front", drawstyle="steps-post")
    axes.set(xlabel=x.words, ylabel=y.words, title=title)
    axes.legend()
    axes.grid(alpha=0.3)
    figure.draw_without_rendering()  # only then the places are known
    for at, words in _labels(best, x, y, axes.transData.transform):
        axes.annotate(words, at, xytext=(5, 5), textcoords="offset points")
    figure.savefig(path, dpi=150)


def _labels(
    best: Sequence[Mapping[str, Any]], x: Objective, y: Objective, in_pixels: Callable[[Any], Any]
) -> list[tuple[tuple[float, float], str]]:
    """Where each label of the front goes and what it says; neighbours on the picture share one."""
    found: list[tuple[tuple[float, float], list[str]]] = []
    for row in best:
        at = row[x.column], row[y.column]
        if found and math.dist(in_pixels(found[-1][0]), in_pixels(at)) < APART:
            found[-1][1].append(str(row["index"]))
        else:
            found.append((at, [str(row["index"])]))
    return [(at, ", ".join(numbers)) for at, numbers in found]


def _html(
    rows: Sequence[Mapping[str, Any]],
    best: Sequence[Mapping[str, Any]],
    goals: Sequence[Objective],
    path: Path,
    title: str,
) -> None:
    import html

    import plotly.graph_objects as go

    x, y = goals[0], goals[1]
    figure = go.Figure()
    for points, mode, name, colour in (
        (rows, "markers", "jobs", "#999999"),
        (best, "lines+markers", "Pareto front", "#0b5fa5"),
    ):
        figure.add_scatter(
            x=[r[x.column] for r in points],
            y=[r[y.column] for r in points],
            mode=mode,
            name=name,
            marker={"size": 9, "color": colour},
            line={"shape": "hv"},
            text=[html.escape(f"{r['index']}: {r['name']}") for r in points],
        )
    figure.update_layout(
        title=html.escape(title), xaxis_title=x.words, yaxis_title=y.words, template="simple_white", height=600
    )
    figure.write_html(path, include_plotlyjs=True)


def _signed(value: float, goal: Objective) -> float:
    return float(value) if goal.goal == "min" else -float(value)


def _complete(row: Mapping[str, Any], goals: Sequence[Objective]) -> bool:
    return all(isinstance(row.get(g.column), int | float) and not isinstance(row.get(g.column), bool) for g in goals)

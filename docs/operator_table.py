"""The pictures and the tables of `docs/operators.md`, from benchmarks/data/operators-table.json.

`python docs/operator_table.py`
"""

import json
from pathlib import Path
from typing import Any

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt
import numpy as np
from matplotlib.axes import Axes

from benchmarks.operators import summary

HERE = Path(__file__).parent
TABLE = HERE.parent / "benchmarks" / "data" / "operators-table.json"
KINDS = {
    "fno": "FNO",
    "virtual_fourier": "Virtual-Fourier",
    "physics_attention": "physics attention",
    "subspace_attention": "subspace attention",
}
PROBLEMS = {"inversion": "B3 inversion", "reactor": "B7 reactor", "points": "B3 at scattered points"}
WAYS = {
    "base": "increment, reference, sensitivity",
    "plain": "no sensitivity loss",
    "state": "state output",
    "state_plain": "state output, no sensitivity loss",
    "none": "no reference",
    "none_plain": "no reference, no sensitivity loss",
}
BUDGETS = {"time": "equal time", "steps": "equal steps"}
FIGURES = "state, unseen paths | gradient, paths | cosine, paths | gradient, probe | cosine, probe |"
TICKS = (0.2, 0.5, 1, 2, 3, 5, 10, 20, 50)  # per cent
LONG = 50.0  # CPU seconds, from which a row is one of the long trainings


def main() -> None:
    content = json.loads(TABLE.read_text())
    rows = content["rows"]
    short = [row for row in rows if row["budget"] == "steps" or row["amount"] < LONG]
    draw_rows(short, content["nothing_learnt"], HERE / "images" / "operators-table.png")
    draw_curves([row for row in rows if row not in short], HERE / "images" / "operators-curves.png")
    print(written(short))
    print(written_long([row for row in rows if row not in short]))


def draw_rows(rows: list[dict[str, Any]], nothing: dict[str, Any], picture: Path) -> None:
    """State errors on unseen paths: problems side by side, budgets below each other, a line per way, a mark per kind,
    whiskers over the seeds."""
    problems = [name for name in PROBLEMS if any(row["problem"] == name for row in rows)]
    ways = [name for name in WAYS if any(row["variant"] == name for row in rows)]
    figure, axes = plt.subplots(
        len(BUDGETS), len(problems), figsize=(4.4 * len(problems), 6.4), layout="constrained", squeeze=False
    )
    for line, budget in zip(axes, BUDGETS, strict=True):
        for axis, problem in zip(line, problems, strict=True):
            own = [row for row in rows if (row["problem"], row["budget"]) == (problem, budget)]
            if not own:
                axis.axis("off")
                continue
            draw_marks(axis, own, ways)
            axis.axvline(3, color="grey", linestyle=":", linewidth=1)
            axis.axvline(100 * nothing[problem]["state"], color="grey", linewidth=1)
            axis.set(title=f"{PROBLEMS[problem]}, {BUDGETS[budget]}", xlim=(0, None))
            axis.set_xlabel("state error on unseen paths, %")
            axis.set_yticks(range(len(ways)), [WAYS[way] for way in ways] if axis is line[0] else [""] * len(ways))
            axis.set_ylim(len(ways) - 0.5, -0.5)
    figure.legend(*axes[0, 0].get_legend_handles_labels(), loc="outside upper center", ncols=len(KINDS), fontsize=8)
    save(figure, picture)


def draw_marks(axis: Axes, rows: list[dict[str, Any]], ways: list[str]) -> None:
    lines = summary(rows)
    for colour, (kind, title) in enumerate(KINDS.items()):
        own = {line["variant"]: line["state"] for line in lines if line["kind"] == kind}
        if not own:
            continue
        middle, low, high = 100 * np.array([own[way] for way in ways if way in own]).T
        height = np.array([place for place, way in enumerate(ways) if way in own]) + 0.15 * (colour - 1)
        axis.errorbar(middle, height, xerr=(middle - low, high - middle), fmt="o", color=f"C{colour}", label=title)


def draw_curves(rows: list[dict[str, Any]], picture: Path) -> None:
    """Validation error against CPU seconds of the long trainings: a panel per problem."""
    problems = [name for name in PROBLEMS if any(row["problem"] == name for row in rows)]
    figure, axes = plt.subplots(
        1, len(problems), figsize=(4.6 * len(problems), 3.6), layout="constrained", squeeze=False
    )
    for axis, problem in zip(axes[0], problems, strict=True):
        for colour, (kind, title) in enumerate(KINDS.items()):
            for row in (row for row in rows if (row["problem"], row["kind"]) == (problem, kind)):
                curve(axis, row, f"C{colour}", f"{title}, {row['steps']} steps" if row["seed"] == 0 else None)
        axis.set(
            title=PROBLEMS[problem], xlabel="CPU seconds", ylabel="state error on validation runs, %", yscale="log"
        )
        low, high = axis.get_ylim()
        axis.set_yticks([y for y in TICKS if low <= y <= high], minor=False)
        axis.set_yticks([], minor=True)
        axis.yaxis.set_major_formatter("{x:g}")
        axis.legend(fontsize=8)
    save(figure, picture)


def curve(axis: Axes, row: dict[str, Any], colour: str, label: str | None) -> None:
    _, seconds, error = np.array(row["curve"]).T
    axis.plot(seconds, 100 * error, "o-", color=colour, markersize=3, label=label)


def save(figure: Any, picture: Path) -> None:
    figure.savefig(picture, dpi=150)
    print(picture.name)


def written(rows: list[dict[str, Any]]) -> str:
    """The tables in Markdown, one for each problem and budget."""
    text = []
    for problem, title in PROBLEMS.items():
        for budget, equal in BUDGETS.items():
            lines = summary([row for row in rows if (row["problem"], row["budget"]) == (problem, budget)])
            if not lines:
                continue
            text += ["", f"**{title}, {equal}**", "", f"| how | network | seeds | steps | CPU s | {FIGURES}"]
            text.append("|---" * 10 + "|")
            for way, name in WAYS.items():
                for kind, network in KINDS.items():
                    own = [line for line in lines if (line["variant"], line["kind"]) == (way, kind)]
                    text += [line_of([name, network], line) for line in own]
    return "\n".join(text)


def written_long(rows: list[dict[str, Any]]) -> str:
    """The long trainings."""
    text = ["", f"| problem | network | seeds | steps | CPU s | {FIGURES}", "|---" * 10 + "|"]
    for problem, title in PROBLEMS.items():
        lines = summary([row for row in rows if row["problem"] == problem])
        for kind, network in KINDS.items():
            text += [line_of([title, network], line) for line in lines if line["kind"] == kind]
    return "\n".join(text)


def line_of(names: list[str], x: dict[str, Any]) -> str:
    """Means over the seeds; of the state and of the gradient at the probe step also least and largest."""
    state = spread([100 * value for value in x["state"]], x["seeds"], "{:.2f}", " %")
    cells = [*names, x["seeds"], f"{x['steps']:.0f}", f"{x['cpu_seconds']:.0f}", state]
    cells += [f"{x['gradient'][0]:.2f}", f"{x['cosine'][0]:.3f}"]
    cells += [spread(x["probe_gradient"], x["seeds"], "{:.3f}"), f"{x['probe_cosine'][0]:.4f}"]
    return "| " + " | ".join(map(str, cells)) + " |"


def spread(figures: list[float], seeds: int, form: str, unit: str = "") -> str:
    middle, low, high = map(form.format, figures)
    return middle + unit + (f" ({low} to {high})" if seeds > 1 else "")


if __name__ == "__main__":
    main()

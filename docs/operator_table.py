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
    ("base", "time"): "increment, reference, sensitivity",
    ("base", "steps"): "the same, equal steps",
    ("plain", "time"): "no sensitivity loss",
    ("state", "time"): "state output",
    ("none", "time"): "no reference",
}
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
    """State errors on unseen paths: a panel per problem, a line per way, a mark per kind, whiskers over the seeds."""
    problems = [name for name in PROBLEMS if any(row["problem"] == name for row in rows)]
    figure, axes = plt.subplots(
        1, len(problems), figsize=(4.4 * len(problems), 3.6), layout="constrained", squeeze=False
    )
    for axis, problem in zip(axes[0], problems, strict=True):
        lines = summary([row for row in rows if row["problem"] == problem])
        for colour, (kind, title) in enumerate(KINDS.items()):
            own = {(line["variant"], line["budget"]): line["state"] for line in lines if line["kind"] == kind}
            places = [place for place, way in enumerate(WAYS) if way in own]
            if not places:
                continue
            middle, low, high = 100 * np.array([own[way] for way in WAYS if way in own]).T
            height = np.array(places) + 0.15 * (colour - 1)
            axis.errorbar(middle, height, xerr=(middle - low, high - middle), fmt="o", color=f"C{colour}", label=title)
        axis.axvline(3, color="grey", linestyle=":", linewidth=1)
        axis.axvline(100 * nothing[problem]["state"], color="grey", linewidth=1)
        axis.set(title=PROBLEMS[problem], xlabel="state error on unseen paths, %", xlim=(0, None))
        axis.set_yticks(range(len(WAYS)), list(WAYS.values()) if axis is axes[0, 0] else [""] * len(WAYS))
        axis.set_ylim(len(WAYS) - 0.5, -0.5)
    figure.legend(*axes[0, 0].get_legend_handles_labels(), loc="outside upper center", ncols=len(KINDS), fontsize=8)
    save(figure, picture)


def draw_curves(rows: list[dict[str, Any]], picture: Path) -> None:
    """Validation error against CPU seconds of the long trainings: a panel per problem."""
    problems = [name for name in PROBLEMS if any(row["problem"] == name for row in rows)]
    figure, axes = plt.subplots(
        1, len(problems), figsize=(4.6 * len(problems), 3.6), layout="constrained", squeeze=False
    )
    for axis, problem in zip(axes[0], problems, strict=True):
        for colour, (kind, title) in enumerate(KINDS.items()):
            for row in (row for row in rows if (row["problem"], row["kind"]) == (problem, kind)):
                curve(axis, row, f"C{colour}", title)
        axis.set(
            title=PROBLEMS[problem], xlabel="CPU seconds", ylabel="state error on validation runs, %", yscale="log"
        )
        low, high = axis.get_ylim()
        axis.set_yticks([y for y in TICKS if low <= y <= high], minor=False)
        axis.set_yticks([], minor=True)
        axis.yaxis.set_major_formatter("{x:g}")
        axis.legend(fontsize=8)
    save(figure, picture)


def curve(axis: Axes, row: dict[str, Any], colour: str, title: str) -> None:
    _, seconds, error = np.array(row["curve"]).T
    axis.plot(seconds, 100 * error, "o-", color=colour, markersize=3, label=f"{title}, {row['steps']} steps")


def save(figure: Any, picture: Path) -> None:
    figure.savefig(picture, dpi=150)
    print(picture.name)


def written(rows: list[dict[str, Any]]) -> str:
    """The tables in Markdown: mean over the seeds, and least to largest of the state error."""
    text = []
    for problem, title in PROBLEMS.items():
        lines = summary([row for row in rows if row["problem"] == problem])
        if not lines:
            continue
        text += [
            "",
            f"**{title}**",
            "",
            "| how | network | seeds | steps | CPU s | state, unseen paths | gradient, paths ",
        ]
        text[-1] += "| cosine, paths | gradient, probe | cosine, probe |"
        text.append("|---" * 10 + "|")
        for way, name in WAYS.items():
            for kind, network in KINDS.items():
                own = [x for x in lines if (x["variant"], x["budget"], x["kind"]) == (*way, kind)]
                text += [line_of(name, network, line) for line in own]
    return "\n".join(text)


def written_long(rows: list[dict[str, Any]]) -> str:
    """The long trainings, one row each."""
    text = ["", "| problem | network | steps | CPU s | state, unseen paths | gradient, paths | cosine, paths "]
    text[-1] += "| gradient, probe | cosine, probe |"
    text.append("|---" * 9 + "|")
    places = list(PROBLEMS), list(KINDS)
    for row in sorted(rows, key=lambda row: (places[0].index(row["problem"]), places[1].index(row["kind"]))):
        cells = [PROBLEMS[row["problem"]], KINDS[row["kind"]], str(row["steps"]), f"{row['cpu_seconds']:.0f}"]
        cells += [f"{100 * row['state']:.2f} %", f"{row['gradient']:.2f}", f"{row['cosine']:.3f}"]
        cells += [f"{row['probe_gradient']:.3f}", f"{row['probe_cosine']:.4f}"]
        text.append("| " + " | ".join(cells) + " |")
    return "\n".join(text)


def line_of(name: str, network: str, x: dict[str, Any]) -> str:
    state, low, high = (f"{100 * value:.2f}" for value in x["state"])
    state += " %" if x["seeds"] == 1 else f" % ({low} to {high})"
    cells = [name, network, x["seeds"], f"{x['steps']:.0f}", f"{x['cpu_seconds']:.0f}", state]
    cells += [f"{x['gradient'][0]:.2f}", f"{x['cosine'][0]:.3f}", f"{x['probe_gradient'][0]:.3f}"]
    return "| " + " | ".join(map(str, [*cells, f"{x['probe_cosine'][0]:.4f}"])) + " |"


if __name__ == "__main__":
    main()

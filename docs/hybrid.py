"""The pictures of the hybrid, from what `python -m benchmarks hybrid` wrote. `python docs/hybrid.py TABLE`"""

import argparse
import json
from pathlib import Path
from typing import Any

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt
import numpy as np
from matplotlib.axes import Axes

HERE = Path(__file__).parent
TITLES = {"inversion": "B3 inversion", "cantilever": "B4b cantilever", "reactor": "B7 reactor", "compliance": "pixels"}
FLOOR = 1e-3


def main(tables: list[Path], folder: Path = HERE / "images") -> None:
    """Draw both pictures: the gap against solves, and what a surrogate believes against what is true."""
    runs = [run for table in tables for run in json.loads(table.read_text())["runs"]]
    problems = [name for name in TITLES if any(run["problem"] == name for run in runs)]
    for name, modes, paint in (
        ("hybrid.png", ("solver_only", "hybrid_corrected"), draw),
        ("hybrid-trust.png", ("surrogate_only", "hybrid_corrected"), draw_belief),
    ):
        figure, axes = plt.subplots(
            1, len(problems), figsize=(4.6 * len(problems), 4), layout="constrained", squeeze=False
        )
        for axis, problem in zip(axes[0], problems, strict=True):
            paint(axis, problem, [run for run in runs if run["problem"] == problem and run["mode"] in modes])
        axes[0, 0].set_ylabel("gap of the best solved design to the reference")
        figure.savefig(folder / name, dpi=150)
        print(folder / name)


def draw(axis: Axes, problem: str, runs: list[dict[str, Any]]) -> None:
    """One panel."""
    names = list(dict.fromkeys(run["surrogate"] for run in runs))
    where = np.arange(1, max(run["curve"][-1][0] for run in runs) + 1)
    for colour, name in enumerate(names):
        curves = [stairs(run["curve"], where) for run in runs if run["surrogate"] == name]
        for curve in curves:
            axis.plot(where, curve, color=f"C{colour}", alpha=0.2, linewidth=0.6)
        axis.plot(where, np.median(curves, axis=0), color=f"C{colour}", linewidth=2, label=name or "solver alone")
    axis.set(
        title=TITLES[problem], xlabel="solves: forward and adjoint", xscale="log", yscale="log", ylim=(FLOOR / 5, None)
    )
    axis.axhline(0.005 if problem == "inversion" else 0.01, color="grey", linestyle=":", linewidth=1)
    axis.legend(fontsize=7, loc="lower left")


def draw_belief(axis: Axes, problem: str, runs: list[dict[str, Any]]) -> None:
    """One panel: the gap that the last model promised, and the one that the solver found."""
    names = list(dict.fromkeys(run["surrogate"] for run in runs))
    for colour, name in enumerate(names):
        for mode, marker in (("surrogate_only", "x"), ("hybrid_corrected", "o")):
            shown = [run for run in runs if (run["surrogate"], run["mode"]) == (name, mode)]
            # What is below the reference, or equal to it, is drawn at the floor.
            believed, true = (np.maximum([run[key] for run in shown], FLOOR) for key in ("believed_gap", "gap"))
            label = name if mode == "hybrid_corrected" else None
            axis.plot(believed, true, marker, color=f"C{colour}", markersize=5, alpha=0.7, label=label)
    ends = np.array([FLOOR, max(1.0, *axis.get_xlim(), *axis.get_ylim())])
    axis.plot(ends, ends, color="grey", linestyle=":", linewidth=1)
    axis.set(title=TITLES[problem], xlabel="gap that the last model promised", xscale="log", yscale="log")
    axis.legend(fontsize=8)


def stairs(curve: list[list[float]], where: Any) -> Any:
    """The gap after so many solves; a run that has ended keeps its last."""
    solves, gaps = np.array(curve).T
    place = np.searchsorted(solves, where, side="right") - 1
    return np.maximum(gaps[np.maximum(place, 0)], FLOOR)


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("tables", type=Path, nargs="+")
    main(parser.parse_args().tables)

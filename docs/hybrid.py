"""The picture of the hybrid, from what `python -m benchmarks hybrid` wrote. `python docs/hybrid.py TABLE`"""

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
TITLES = {"inversion": "B3 inversion", "cantilever": "B4b cantilever", "reactor": "B7 reactor"}
FLOOR = 1e-3


def main(tables: list[Path], picture: Path = HERE / "images" / "hybrid.png") -> None:
    """Draw the gap to the reference against the solves: each start thin, their median thick."""
    runs = [run for table in tables for run in json.loads(table.read_text())["runs"]]
    shown = [run for run in runs if run["mode"] in ("solver_only", "hybrid_corrected")]
    problems = [name for name in TITLES if any(run["problem"] == name for run in shown)]
    figure, axes = plt.subplots(1, len(problems), figsize=(4.6 * len(problems), 4), layout="constrained", squeeze=False)
    for axis, problem in zip(axes[0], problems, strict=True):
        draw(axis, problem, [run for run in shown if run["problem"] == problem])
    axes[0, 0].set_ylabel("gap of the best solved design to the reference")
    figure.savefig(picture, dpi=150)
    print(picture)


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
        title=TITLES[problem], xlabel="solves: forward and adjoint", xscale="log", yscale="log", ylim=(FLOOR, None)
    )
    axis.axhline(0.005 if problem == "inversion" else 0.01, color="grey", linestyle=":", linewidth=1)
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

"""Designs made of features, beside the density method on the same meshes: `python docs/features.py`

It optimises the six published tasks, draws them, prints the table, and draws a part from its STEP file.
"""

import argparse
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt
import numpy as np
from matplotlib.axes import Axes
from matplotlib.patches import PathPatch
from matplotlib.path import Path as Way
from matplotlib.tri import Triangulation

from jobs.launch import prepare
from jobs.observer import Log
from jobs.runner import run_job
from jobs.spec import load_job
from topopt.cad.outline import OutlineAnalysis
from topopt.cad.planar_picture import step_picture
from topopt.cad.region import Region
from topopt.cad.wires import Wire
from topopt.features import Result, optimize, tasks
from topopt.features.density_baseline import Baseline, density_design
from topopt.features.tasks import Task

HERE = Path(__file__).parent
IMAGES = HERE / "images"
PLATE = HERE.parent / "assets" / "jobs" / "plate.yaml"
RADIUS = 0.015  # mm, of the density filter, as published
PAPER, INK, VOID, OLD = "#c8d3dc", "#1b2a36", "#2f7f86", "Greys"


@dataclass(frozen=True)
class Pair:
    """One task by both methods. level, cut: density at which the density design is cut to the volume goal, and the
    compliance of what is left, N mm."""

    task: Task
    result: Result
    outline: OutlineAnalysis
    old: Baseline
    level: float
    cut: float


def pair(number: int) -> Pair:
    """Both methods on one task, with the same volume."""
    one, problem = tasks.task(number), tasks.problem(number)
    result, mesh = optimize(problem), one.mesh()
    outline = one.domain(one.anchors(mesh)).reanalysed(result, one.h)
    old = density_design(one.domain().plate(mesh), one.goal, RADIUS)
    falling = np.argsort(-old.rho, kind="stable")
    solid = np.zeros(len(old.rho))
    share = np.cumsum(problem.plate.areas[falling]) / problem.plate.areas.sum()
    solid[falling[share <= one.goal]] = 1.0
    return Pair(one, result, outline, old, float(old.rho[solid > 0].min()), problem.plate.response(solid).compliance)


def draw(pairs: list[Pair], path: Path) -> None:
    """Two tasks in a row, each by features and by densities."""
    rows = [pairs[k : k + 2] for k in range(0, len(pairs), 2)]
    shapes = [[np.divide(*np.ptp(it.task.mesh().nodes, axis=0)[::-1]) for it in row] for row in rows]
    heights = [min(max(row), 1.2) for row in shapes]
    size = (11, 0.6 * len(rows) + 2.7 * sum(heights))
    figure, axes = plt.subplots(
        len(rows), 4, figsize=size, layout="constrained", squeeze=False, height_ratios=[h + 0.2 for h in heights]
    )
    for axis in axes.flat:
        axis.axis("off")
    for line, row in zip(axes, rows, strict=True):
        for (left, right), it in zip(line.reshape(2, 2), row, strict=False):
            draw_pair(left, right, it)
    path.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path, dpi=130)
    plt.close(figure)


def draw_pair(left: Axes, right: Axes, it: Pair) -> None:
    """The exact outline with its features, and the densities."""
    mesh, name = it.task.mesh(), it.task.name.replace("_", " ")
    draw_region(left, it.outline.cut.body)
    for shape in it.result.shapes:
        draw_wire(left, shape.wires(), it.task.region)
    x, y = mesh.nodes.T
    right.tripcolor(Triangulation(x, y, mesh.triangles), facecolors=it.old.rho, cmap=OLD, vmin=0, vmax=1)
    left.set_title(f"{name}: features, {it.result.thresholded:#.4g}", fontsize=9)
    right.set_title(f"densities, {it.old.compliance:#.4g} grey, {it.cut:#.4g} cut", fontsize=9)
    low, high = mesh.nodes.min(0), mesh.nodes.max(0)
    edge = 0.01 * float((high - low).max())
    for axis in (left, right):
        draw_border(axis, it.task.region)
        axis.set(aspect="equal", xlim=(low[0] - edge, high[0] + edge), ylim=(low[1] - edge, high[1] + edge))


def draw_border(axis: Axes, domain: Region) -> None:
    """The border of the domain."""
    axis.add_patch(PathPatch(way(domain.outer), facecolor="none", edgecolor="#9aa7b3", linewidth=0.5, zorder=3))


def draw_region(axis: Axes, region: Region) -> None:
    """The exact outline, filled."""
    ways = [way(wire) for wire in region.wires]
    axis.add_patch(PathPatch(Way.make_compound_path(*ways), facecolor=PAPER, edgecolor=INK, linewidth=0.8))


def draw_wire(axis: Axes, wire: Wire, domain: Region) -> None:
    """A feature as it lies in the domain, thin."""
    drawn = PathPatch(way(wire), facecolor="none", edgecolor=VOID, linewidth=0.5, alpha=0.8)
    axis.add_patch(drawn)
    drawn.set_clip_path(PathPatch(way(domain.outer), transform=axis.transData))


def way(wire: Wire) -> Way:
    points = wire.sample(1e-4)
    return Way(np.vstack([points, points[:1]]), closed=True)


def table(pairs: list[Pair]) -> str:
    """Markdown."""
    head = "| task | goal | smooth | thresholded | outline | volume of the outline | best published | SIMP, cut |"
    rows = [
        f"| {p.task.name.replace('_', ' ')} | {p.task.goal:.4f} | {p.result.smooth:#.4g} | {p.result.thresholded:#.4g} "
        f"| {p.outline.compliance:#.4g} | {p.outline.volume_fraction:.4f} | {p.task.published:#.4g} | {p.cut:#.4g} |"
        for p in pairs
    ]
    return "\n".join([head, "|---" * 8 + "|", *rows])


def part(path: Path) -> None:
    """The plate of the job file, drawn from the STEP file that the job leaves."""
    with TemporaryDirectory() as folder:
        job, run = prepare(load_job(PLATE), Path(folder) / "plate")
        run_job(job, run, Log())
        step_picture(run.artifacts / "part.step", path)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument(
        "--tasks", type=int, nargs="*", default=[1, 2, 3, 4, 5, 6], help="0 to 6 of the published tasks"
    )
    parser.add_argument("--images", type=Path, default=IMAGES, help="folder for the pictures")
    parser.add_argument("--no-part", action="store_true", help="leave the plate away")
    options = parser.parse_args()
    found = [pair(number) for number in options.tasks]
    if found:
        draw(found, options.images / "features.png")
        print(table(found))
    if not options.no_part:
        part(options.images / "features-part.png")

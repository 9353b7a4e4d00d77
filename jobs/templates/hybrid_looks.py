"""What there is to see of a design and its state: pictures of the families' problems, drawn without a solve."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

Vector = NDArray[np.float64]
WIDTH = 3.4  # inches of a panel: small, so that its words are large beside it


@dataclass(frozen=True)
class Plate:
    """Values at the nodes or in the cells of a rectangle, (nx, ny), x to the right and y upwards.

    Attributes:
        size: lengths along x and y. dark: dark is much, as a density is drawn.
    """

    name: str
    values: Vector
    size: tuple[float, float] = (1.0, 1.0)
    dark: bool = False


def look(problem: Any, x: Vector, u: Vector, path: Path) -> bool:
    """Draw design and state into a PNG; -> False where this problem has no picture, as one in space."""
    posed = getattr(problem, "posed", None)
    if posed is not None:
        return _functions(problem, posed, x, u, path)
    if hasattr(problem, "square"):
        n = problem.square.n + 1
        permeability = (problem.square.prior @ x).reshape(n, n)
        return _plates([Plate("log-permeability", permeability), Plate("pressure", u.reshape(n, n))], path)
    grid = getattr(getattr(problem, "system", None), "grid", None)
    if grid is None or grid.dim != 2:
        return False
    size = (float(grid.shape[0] * grid.steps[0]), float(grid.shape[1] * grid.steps[1]))
    moved = np.linalg.norm(u.reshape(*grid.node_shape, grid.dim), axis=-1)
    density = np.clip(problem.filter @ x, 0, 1).reshape(grid.shape)
    return _plates([Plate("density", density, size, dark=True), Plate("displacement", moved, size)], path)


def _functions(problem: Any, posed: Any, x: Vector, u: Vector, path: Path) -> bool:
    from pde.fem.plane_picture import draw_functions
    from pde.problems.fields import standing

    problem.objective(u, x)  # places x and u into the functions of the forms
    found = standing(posed)
    if not found or any(f.function_space.mesh.geometry.dim > 2 for f in found):
        return False
    draw_functions(path, found, WIDTH)
    return True


def _plates(plates: list[Plate], path: Path, width: float = WIDTH) -> bool:
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    tall = max(plate.size[1] / plate.size[0] for plate in plates)
    figure = Figure(figsize=(width * len(plates), min(0.62 * width * tall, 6.0) + 0.6), dpi=120, layout="constrained")
    FigureCanvasAgg(figure)
    for axes, plate in zip(figure.subplots(1, len(plates), squeeze=False)[0], plates, strict=True):
        axes.set_title(plate.name, loc="left", fontsize=10)
        drawn = axes.imshow(
            plate.values.T,
            origin="lower",
            extent=(0, plate.size[0], 0, plate.size[1]),
            cmap="gray_r" if plate.dark else "viridis",
            vmin=0 if plate.dark else None,
            vmax=1 if plate.dark else None,
            interpolation="nearest" if plate.dark else "bilinear",
        )
        axes.tick_params(labelsize=8)
        figure.colorbar(drawn, ax=axes, shrink=0.8, format="%.3g").ax.tick_params(labelsize=8)
    part = path.with_name(path.name + ".part")
    figure.savefig(part, format="png")
    part.replace(path)
    return True

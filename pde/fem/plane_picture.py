"""Functions on a plane or a line as one picture, side by side: what a person looks at while a design forms."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pde.fem.errors import FemError
from pde.fem.result_files import at_vertices

Table = NDArray[np.float64]


def draw_functions(path: Path, functions: Sequence[Any], width: float = 4.2) -> None:
    """Write a PNG with a panel for each function; of vectors their length, and arrows.

    Args:
        functions: dolfinx Functions in one or two dimensions, or objects with name, position and values, (n,) each.

    Raises:
        FemError: nothing to draw, or functions in space: write these as .vtu.
    """
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    if not functions or any(_dim(f) > 2 for f in functions):
        raise FemError("pictures are drawn of functions in one or two dimensions: write others as .vtu or .xdmf")
    columns = min(len(functions), 2)
    rows = -(-len(functions) // columns)
    figure = Figure(figsize=(width * columns, 3.2 * rows), dpi=120, layout="constrained")
    FigureCanvasAgg(figure)
    panels = figure.subplots(rows, columns, squeeze=False).ravel()
    for axes in panels[len(functions) :]:
        axes.set_axis_off()
    for axes, f in zip(panels, functions, strict=False):
        axes.set_title(f.name, loc="left", fontsize=10)
        _line(axes, f) if _dim(f) == 1 else _plane(figure, axes, f)
    part = path.with_name(path.name + ".part")
    figure.savefig(part, format="png")
    part.replace(path)


def _dim(f: Any) -> int:
    return 1 if hasattr(f, "position") else f.function_space.mesh.geometry.dim


def _line(axes: Any, f: Any) -> None:
    x, y = (f.position, f.values) if hasattr(f, "position") else _along(f)
    order = np.argsort(x)
    axes.plot(x[order], y[order], lw=1.6, color="#0f766e")
    axes.grid(alpha=0.3)


def _along(f: Any) -> tuple[Table, Table]:
    values, by_cell = at_vertices(f)
    geometry = f.function_space.mesh.geometry
    x = geometry.x[:, 0]
    x = x[geometry.dofmaps[0][:, :2]].mean(axis=1) if by_cell else x
    return x, values if values.ndim == 1 else values[:, 0]


def _plane(figure: Any, axes: Any, f: Any) -> None:
    values, by_cell = at_vertices(f)
    geometry = f.function_space.mesh.geometry
    points, corners = geometry.x, np.asarray(geometry.dofmaps[0])
    shown = values if values.ndim == 1 else np.linalg.norm(values, axis=1)
    if corners.shape[1] == 4:  # squares, in DOLFINx's order of corners, cut in two
        corners = np.concatenate([corners[:, [0, 1, 2]], corners[:, [1, 3, 2]]])
        shown = np.tile(shown, 2) if by_cell else shown
    drawn = axes.tripcolor(
        points[:, 0], points[:, 1], corners[:, :3], shown, cmap="viridis", shading="flat" if by_cell else "gouraud"
    )
    if values.ndim == 2 and not by_cell and shown.max() > 0:
        few = np.linspace(0, len(points) - 1, min(len(points), 220)).astype(int)
        axes.quiver(*points[few, :2].T, *values[few, :2].T, color="white", alpha=0.7, width=0.003)
    axes.set_aspect("equal")
    axes.margins(0)
    axes.tick_params(labelsize=7)
    figure.colorbar(drawn, ax=axes, shrink=0.8, format="%.3g").ax.tick_params(labelsize=7)

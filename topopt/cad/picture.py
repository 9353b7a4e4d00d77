"""Pictures of a part, drawn off screen by a process of its own.

A graphics driver that is missing or crashes takes its process with it. So the drawing happens in a child (`scene.py`),
all pictures of a report in one, because its start takes longer than a picture. Without a picture the answer is False;
a report is still a report.
"""

import ctypes
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from pde.grid.grid import Grid
from topopt.cad.body import Surface
from topopt.cad.isosurface import Field
from topopt.cad.preview import preview, preview_glb
from topopt.cad.shading import feature_edges, split_at_edges
from topopt.cad.whole import write_whole
from topopt.errors import ExportError

__all__ = ["Shot", "can_render", "preview", "preview_glb", "render", "render_all", "turntable"]

View = Literal["iso", "back", "below", "front", "right", "top"]
Fields = tuple[Field, Field, Grid]

SECONDS = 90.0  # for the start of the child; every picture adds SECONDS_EACH
SECONDS_EACH = 30.0


@dataclass(frozen=True)
class Shot:
    """One picture.

    Attributes:
        subject: a surface, or (density, fraction, grid) of a design in progress.
        path: the PNG to write.
        view: where the camera stands: "iso" is in front, right and above; "back" behind, "below" under the part.
        size: pixels, width and height.
        scalars: (n,) values per vertex of the surface, drawn in colour with a legend, or None.
        label: title of the legend, with its unit.
        limits: lowest and highest value of the colours; the default ends at the 99 % quantile, which says more than a
            singular maximum.
        ghost: a body drawn as glass around the subject, usually the design space.
    """

    subject: Surface | Fields
    path: str | Path
    view: View = "iso"
    size: tuple[int, int] = (1200, 900)
    scalars: NDArray[np.floating] | None = None
    label: str = "von Mises stress (MPa)"
    limits: tuple[float, float] | None = None
    ghost: Surface | None = None


def render(
    subject: Surface | Fields,
    path_png: str | Path,
    *,
    view: View = "iso",
    size: tuple[int, int] = (1200, 900),
    scalars: NDArray[np.floating] | None = None,
    label: str = "von Mises stress (MPa)",
    limits: tuple[float, float] | None = None,
    ghost: Surface | None = None,
) -> bool:
    """One picture; see `Shot`. Several are much faster together: `render_all`. False where nothing can be drawn."""
    return render_all([Shot(subject, path_png, view, size, scalars, label, limits, ghost)])[0]


def turntable(
    subject: Surface | Fields, stem: str | Path, views: Sequence[View] = ("iso", "back", "front"), **options: object
) -> list[Path]:
    """Pictures `STEM-VIEW.png` from several sides, for a report. The paths of those that could be drawn."""
    stem = Path(stem)
    shots = [Shot(subject, stem.with_name(f"{stem.name}-{view}.png"), view, **options) for view in views]  # type: ignore[arg-type]
    return [Path(shot.path) for shot, drawn in zip(shots, render_all(shots), strict=True) if drawn]


def render_all(shots: Sequence[Shot]) -> list[bool]:
    """Draw every shot in one child process. True where the PNG was written.

    Raises:
        ExportError: the shots cannot be understood, or a picture cannot be written to its folder.
    """
    if not shots:
        return []
    if not can_render():
        return [False] * len(shots)
    with tempfile.TemporaryDirectory(prefix="formgrad-picture-") as name:
        folder = Path(name)
        plans = [_plan(shot, number, folder) for number, shot in enumerate(shots)]
        (folder / "shots.json").write_text(json.dumps(plans))
        _draw(folder, SECONDS + SECONDS_EACH * len(shots))
        drawn = []
        for number, shot in enumerate(shots):
            picture = folder / f"{number}.png"
            drawn.append(picture.is_file())
            if drawn[-1]:
                write_whole(shot.path, picture.read_bytes())
        return drawn


def can_render() -> bool:
    """Whether the library for drawing without a screen is here. VTK aborts the process where it is not."""
    if sys.platform != "linux":
        return True  # macOS and Windows bring their own
    try:
        ctypes.CDLL("libEGL.so.1")
    except OSError:
        return False
    return True


def _plan(shot: Shot, number: int, folder: Path) -> dict[str, object]:
    surface = shot.subject if isinstance(shot.subject, Surface) else preview(*shot.subject)
    if shot.scalars is not None and np.shape(shot.scalars) != (len(surface.vertices),):
        raise ExportError(f"scalars {np.shape(shot.scalars)} must have one value per vertex ({len(surface.vertices)})")
    # The surface of a design in progress is rough: its creases are drawn smooth and without lines.
    rough = not isinstance(shot.subject, Surface)
    arrays = _drawable(surface, "part", crease=60.0 if rough else 35.0, edges=not rough)
    if shot.ghost is not None:
        arrays |= _drawable(shot.ghost, "ghost")
    limits = shot.limits
    if shot.scalars is not None:
        values = np.asarray(shot.scalars, float)
        arrays["scalars"] = values[np.asarray(arrays["part_source"], int)]
        limits = limits or (float(values.min()), float(np.quantile(values, 0.99)))
    np.savez(folder / f"{number}.npz", **arrays)  # type: ignore[arg-type]
    return {"view": shot.view, "size": list(shot.size), "label": shot.label, "limits": limits}


def _drawable(surface: Surface, name: str, crease: float = 35.0, edges: bool = True) -> dict[str, NDArray[Any]]:
    points, normals, faces, source = split_at_edges(surface, crease)
    lines = surface.vertices[feature_edges(surface)] if edges else np.zeros((0, 2, 3))
    return {
        f"{name}_points": points,
        f"{name}_normals": normals,
        f"{name}_faces": faces,
        f"{name}_source": source,
        f"{name}_edges": lines,
    }


def _draw(folder: Path, seconds: float) -> None:
    environment = {k: v for k, v in os.environ.items() if k not in ("DISPLAY", "WAYLAND_DISPLAY")}
    if sys.platform == "linux":
        environment["VTK_DEFAULT_OPENGL_WINDOW"] = "vtkEGLRenderWindow"
    # -P: the child's own folder must not come before the libraries on the path.
    command = [sys.executable, "-P", str(Path(__file__).with_name("scene.py")), str(folder)]
    try:
        subprocess.run(command, env=environment, timeout=seconds, check=False, capture_output=True)
    except (subprocess.TimeoutExpired, OSError):
        return  # what was drawn before is there; the rest is missing

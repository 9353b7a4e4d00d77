"""The child process of `picture.py`: reads shots from a folder and leaves PNGs there. Imports nothing of the house."""

import json
import sys
from pathlib import Path
from typing import Any

import numpy as np

PAPER, MIST = "#ffffff", "#eef2f6"
METAL, INK, GLASS = "#c3cdd8", "#2b3644", "#7d93ad"
COLOURS = "Spectral_r"
ANGLE = 22.0  # degrees, opening of the camera
FLAT = ("front", "right", "top")  # drawn without perspective
CAMERA = {  # direction from the part to the camera, and what is up
    "iso": ((0.62, -1.0, 0.62), (0, 0, 1)),
    "back": ((-0.8, 1.0, 0.55), (0, 0, 1)),
    "below": ((0.62, -1.0, -0.7), (0, 0, 1)),
    "front": ((0, -1, 0), (0, 0, 1)),
    "right": ((1, 0, 0), (0, 0, 1)),
    "top": ((0, 0, 1), (0, 1, 0)),
}


def main(folder: Path) -> None:
    import pyvista as pv

    pv.OFF_SCREEN = True
    for number, plan in enumerate(json.loads((folder / "shots.json").read_text())):
        with np.load(folder / f"{number}.npz", allow_pickle=False) as arrays:
            draw(pv, plan, dict(arrays), folder / f"{number}.part.png")
        (folder / f"{number}.part.png").rename(folder / f"{number}.png")


def draw(pv: Any, plan: dict[str, Any], arrays: dict[str, Any], path: Path) -> None:
    plotter = pv.Plotter(off_screen=True, window_size=plan["size"], lighting="none")
    plotter.set_background(PAPER, top=MIST)
    part = polydata(pv, arrays, "part")
    look: dict[str, Any] = {"color": METAL, "ambient": 0.18, "diffuse": 0.85, "specular": 0.12, "specular_power": 12}
    if "scalars" in arrays:
        part.point_data[plan["label"]] = arrays["scalars"]
        look = {"scalars": plan["label"], "cmap": COLOURS, "clim": plan["limits"], "show_scalar_bar": False}
        look |= {"ambient": 0.45, "diffuse": 0.7, "specular": 0.0}
    actor = plotter.add_mesh(part, smooth_shading=True, split_sharp_edges=False, **look)
    scale = min(plan["size"]) / 900
    lines(pv, plotter, arrays["part_edges"], INK, 1.7 * scale, 0.8)
    points = arrays["part_points"]
    if "ghost_points" in arrays:
        glass = polydata(pv, arrays, "ghost")
        plotter.add_mesh(glass, color=GLASS, opacity=0.06, smooth_shading=True, lighting=False)
        lines(pv, plotter, arrays["ghost_edges"], GLASS, 1.2 * scale, 0.55)
        points = np.concatenate([points, arrays["ghost_points"]])
    if "scalars" in arrays:
        legend(plotter, plan["label"], actor.mapper, scale)
    lights(pv, plotter)
    stand(plotter, plan["view"], points, room=0.16 if "scalars" in arrays else 0.0)
    size = float(np.linalg.norm(np.ptp(points, axis=0)))
    plotter.enable_ssao(radius=0.06 * size, bias=0.002 * size, kernel_size=32, blur=True)
    plotter.enable_anti_aliasing("ssaa")
    plotter.screenshot(str(path))
    plotter.close()


def polydata(pv: Any, arrays: dict[str, Any], name: str) -> Any:
    faces = arrays[f"{name}_faces"]
    mesh = pv.PolyData(arrays[f"{name}_points"], np.column_stack([np.full(len(faces), 3), faces]).ravel())
    mesh.point_data.active_normals = arrays[f"{name}_normals"]
    return mesh


def lines(pv: Any, plotter: Any, ends: Any, colour: str, width: float, opacity: float) -> None:
    if len(ends) == 0:
        return
    cells = np.column_stack([np.full(len(ends), 2), np.arange(2 * len(ends)).reshape(-1, 2)])
    mesh = pv.PolyData(ends.reshape(-1, 3), lines=cells.ravel())
    plotter.add_mesh(mesh, color=colour, line_width=width, opacity=opacity, lighting=False, render_lines_as_tubes=False)


def legend(plotter: Any, title: str, mapper: Any, scale: float) -> None:
    bar = plotter.add_scalar_bar(
        title=title,
        mapper=mapper,
        vertical=True,
        width=0.03,
        height=0.46,
        position_x=0.86,
        position_y=0.27,
        color=INK,
        n_labels=5,
        fmt="%.3g",
        title_font_size=int(19 * scale),
        label_font_size=int(17 * scale),
        font_family="arial",
    )
    bar.SetVerticalTitleSeparation(int(14 * scale))


def lights(pv: Any, plotter: Any) -> None:
    # A key from the upper left, a fill from the right, a rim from behind: form without hard shadows.
    for place, strength in (((-1.2, 1.6, 2.2), 0.75), ((2.0, 0.3, 1.6), 0.45), ((0.2, 1.5, -1.0), 0.3)):
        plotter.add_light(pv.Light(position=place, intensity=strength, light_type="camera light"))


def stand(plotter: Any, view: str, points: Any, room: float) -> None:
    """Place the camera so that the points fill 88 % of the picture, with `room` of its width left free on the right."""
    direction, up = (np.asarray(v, float) for v in CAMERA[view])
    back = direction / np.linalg.norm(direction)
    right = np.cross(up, back)
    right /= np.linalg.norm(right)
    axes = np.stack([right, np.cross(back, right), back], axis=1)
    seen = points @ axes
    width, height = plotter.window_size
    tangent = np.tan(np.radians(ANGLE / 2))
    reach = 0.88 * tangent * np.array([width / height * (1 - room), 1.0])
    middle = (seen.min(axis=0) + seen.max(axis=0)) / 2
    flat = view in FLAT
    for _ in range(4):
        # Distance at which every point lies inside the picture; then the middle of the outline, as seen from there.
        offset = seen - middle
        depth = 0 * offset[:, 2] if flat else offset[:, 2]
        distance = float((depth + (np.abs(offset[:, :2]) / reach).max(axis=1)).max())
        outline = offset[:, :2] / (distance - depth)[:, None]
        middle[:2] += distance * (outline.min(axis=0) + outline.max(axis=0)) / 2
    middle[0] += room / 2 * distance * tangent * width / height
    camera = plotter.camera
    camera.view_angle = ANGLE
    camera.focal_point = axes @ middle
    camera.position = axes @ (middle + np.array([0, 0, distance]))
    camera.up = up
    if flat:
        plotter.enable_parallel_projection()
        camera.parallel_scale = distance * tangent
    plotter.renderer.ResetCameraClippingRange()


if __name__ == "__main__":
    main(Path(sys.argv[1]))

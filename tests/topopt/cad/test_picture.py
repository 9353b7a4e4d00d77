"""Pictures that show the part, a preview that lies where the design lies, and no crash without a graphics library."""

import time
from pathlib import Path

import numpy as np
import pytest

from pde.grid.grid import Grid
from topopt.cad import picture
from topopt.cad.body import Surface
from topopt.cad.glb import read_glb_bytes
from topopt.cad.measure import open_edges
from topopt.cad.picture import Shot, can_render, preview, preview_glb, render, render_all
from topopt.cad.shading import split_at_edges
from topopt.cad.solid import box, to_surface
from topopt.errors import ExportError

drawing = pytest.mark.skipif(not can_render(), reason="no libEGL on this machine: nothing can be drawn off screen")


def pixels(path: Path) -> np.ndarray:
    from matplotlib.image import imread

    return np.asarray(imread(path))[..., :3]


@drawing
def test_pictures_of_one_call(tmp_path: Path) -> None:
    tall = to_surface(box(np.array([0.0, 0, 0]), np.array([10.0, 20, 40])))
    grid = Grid((8, 8, 8))
    shots = [
        Shot(tall, tmp_path / "front.png", "front", (200, 160)),
        Shot(tall, tmp_path / "right.png", "right", (200, 160)),
        Shot(tall, tmp_path / "stress.png", "iso", (240, 180), scalars=tall.vertices[:, 2]),
        Shot((np.ones((8, 8, 8)), np.ones((8, 8, 8)), grid), tmp_path / "fields.png", "iso", (200, 160), ghost=tall),
    ]
    assert render_all(shots) == [True] * 4
    assert sorted(p.name for p in tmp_path.iterdir()) == ["fields.png", "front.png", "right.png", "stress.png"]
    for name, ratio in (("front", 10 / 40), ("right", 20 / 40)):
        image = pixels(tmp_path / f"{name}.png")
        assert image.shape == (160, 200, 3)
        part = image.mean(axis=2) < 0.87  # the background is nearly white
        high, wide = np.ptp(np.nonzero(part), axis=1) + 1
        assert wide / high == pytest.approx(ratio, abs=0.05)
        assert high / 160 == pytest.approx(0.88, abs=0.04)
        assert image[2, 2].min() > 0.9 and image[-3, -3].min() > 0.9
    colours = pixels(tmp_path / "stress.png")
    assert np.ptp(colours, axis=2).max() > 0.4  # not grey: the field is there


def test_turntable_names_its_views(tmp_path: Path, monkeypatch) -> None:
    seen = []
    monkeypatch.setattr(
        picture, "render_all", lambda shots: [seen.append(shot) or shot.view != "back" for shot in shots]
    )
    cube = to_surface(box(np.zeros(3), np.ones(3)))
    paths = picture.turntable(cube, tmp_path / "part", ("iso", "back"), size=(300, 200))
    assert paths == [tmp_path / "part-iso.png"]
    assert [(shot.view, shot.size) for shot in seen] == [("iso", (300, 200)), ("back", (300, 200))]


@pytest.mark.parametrize("trouble", ["no library", "crash"])
def test_no_picture_is_no_disaster(tmp_path: Path, monkeypatch, trouble: str) -> None:
    cube = to_surface(box(np.zeros(3), np.ones(3)))
    if trouble == "no library":
        monkeypatch.setattr(picture, "can_render", lambda: False)
    else:
        monkeypatch.setattr(picture, "can_render", lambda: True)
        monkeypatch.setattr(picture.sys, "executable", "/bin/false")
    assert render(cube, tmp_path / "cube.png") is False
    assert list(tmp_path.iterdir()) == []


def test_scalars_of_wrong_length_are_named(tmp_path: Path, monkeypatch) -> None:
    monkeypatch.setattr(picture, "can_render", lambda: True)
    cube = to_surface(box(np.zeros(3), np.ones(3)))
    with pytest.raises(ExportError, match="one value per vertex"):
        render(cube, tmp_path / "cube.png", scalars=np.ones(3))


def test_preview_lies_where_the_design_lies(tmp_path: Path) -> None:
    grid = Grid((20, 14, 11), (1.0, 2.0, 0.5), (5.0, -3.0, 2.0))
    x, y, z = np.moveaxis(grid.centers(), -1, 0)
    density = np.where((y < 15) & (x < 21), 1.0, 0.0)
    fraction = np.where(z < 6, 1.0, 0.0)
    path = preview_glb(density, fraction, grid, tmp_path / "live.glb")
    surface = read_glb_bytes(path.read_bytes())
    assert open_edges(surface.faces) == 0
    assert surface.bounds == pytest.approx(np.array([[5, -3, 2], [21, 15, 6]]), abs=0.5)
    assert surface.volume == pytest.approx(16 * 18 * 4, rel=0.1)


def test_preview_of_a_plane_grid() -> None:
    density = np.ones((30, 10))
    density[10:16, 3:7] = 0
    surface = preview(density, np.ones((30, 10)), Grid((30, 10), 2.0))
    assert open_edges(surface.faces) == 0
    assert surface.volume == pytest.approx((300 - 24) * 8, rel=0.15)


def test_preview_keeps_its_budget_and_its_time() -> None:
    grid = Grid((49, 46, 46))
    x, y, z = np.moveaxis(grid.centers(), -1, 0)
    gyroid = np.sin(x / 6) * np.cos(y / 6) + np.sin(y / 6) * np.cos(z / 6) + np.sin(z / 6) * np.cos(x / 6)
    density = 1 / (1 + np.exp(-4 * gyroid))
    full = preview(density, np.ones(grid.shape), grid, 10**6)
    light = preview(density, np.ones(grid.shape), grid, 12_000)
    assert len(light.faces) <= 12_000 < len(full.faces)
    assert light.bounds == pytest.approx(full.bounds, abs=1.5)
    assert light.volume == pytest.approx(full.volume, rel=0.05)
    start = time.process_time()
    preview(density, np.ones(grid.shape), grid)
    assert time.process_time() - start < 1.0  # .1 s on a quiet core


def test_normals_are_smooth_on_a_ball_and_sharp_on_a_cube() -> None:
    from manifold3d import Manifold

    ball = to_surface(Manifold.sphere(3.0, 64))
    points, normals, faces, source = split_at_edges(ball)
    assert len(points) == len(ball.vertices)
    assert np.array_equal(np.sort(source[faces], axis=1), np.sort(ball.faces, axis=1))
    assert normals == pytest.approx(points / 3.0, abs=0.02)
    cube = to_surface(box(np.zeros(3), np.ones(3)))
    points, normals, _, _ = split_at_edges(cube)
    assert len(points) == 24
    assert isinstance(cube, Surface) and np.sort(np.abs(normals), axis=1) == pytest.approx(
        np.tile([0.0, 0, 1], (24, 1))
    )

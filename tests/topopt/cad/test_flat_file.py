"""Plane outlines from drawings and bodies, read in this process and in one of its own, with refusals in words."""

from pathlib import Path

import numpy as np
import pytest

from topopt.cad.drawing import dxf_bytes
from topopt.cad.flat_file import FlatFace, faces_of_file, faces_of_file_safely
from topopt.cad.region import Region
from topopt.cad.wires import circle, polygon, rectangle
from topopt.errors import BodyError, OutlineError

ASSETS = Path(__file__).parents[3] / "assets"
LEVER = ASSETS / "outlines" / "lever.dxf"


def same(one: tuple[FlatFace, ...], two: tuple[FlatFace, ...]) -> bool:
    return all(
        (a.region, a.normal, a.height, a.depth) == (b.region, b.normal, b.height, b.depth)
        for a, b in zip(one, two, strict=True)
    )


def test_the_sample_drawing_is_one_face_with_three_holes():
    (face,) = faces_of_file(LEVER)
    assert face.region.bounds == pytest.approx(np.array([[0, 0], [140, 70]]), abs=1e-9)
    assert sorted(abs(hole.area) for hole in face.region.holes) == pytest.approx(np.pi * np.array([4.5, 4.5, 8]) ** 2)
    assert (face.normal, face.height, face.depth) == ((0, 0, 1), 0, 0)
    assert same(faces_of_file_safely(LEVER), (face,))


def test_faces_of_a_body_come_largest_first_and_the_upright_one_before_its_mirror():
    pytest.importorskip("OCP")
    found = faces_of_file_safely(ASSETS / "parts" / "rocker.step")
    areas = [face.region.area for face in found]
    assert areas == pytest.approx(sorted(areas, reverse=True), rel=1e-6)
    top, bottom = found[:2]
    assert (top.normal, top.height, top.depth) == ((0, 0, 1), 24, pytest.approx(24))
    assert bottom.normal == (0, 0, -1) and bottom.region.area == pytest.approx(top.region.area)
    # The mirror image turns x over.
    assert bottom.region.bounds[0][0] == pytest.approx(-top.region.bounds[1][0])


def test_units_are_the_files_or_those_that_are_given(tmp_path):
    path = tmp_path / "plate.dxf"
    path.write_bytes(dxf_bytes([Region(rectangle((0, 0), (4, 2)))]))
    assert faces_of_file(path, "in")[0].region.area == pytest.approx(8 * 25.4**2)
    assert faces_of_file(path)[0].region.area == pytest.approx(8)
    with pytest.raises(BodyError, match="unknown units 'ft'"):
        faces_of_file(path, "ft")


def test_several_regions_are_several_faces(tmp_path):
    path = tmp_path / "two.dxf"
    path.write_bytes(dxf_bytes([Region(rectangle((0, 0), (4, 2))), Region(rectangle((10, 0), (20, 5)))]))
    assert [face.region.area for face in faces_of_file(path)] == pytest.approx([50, 8])


@pytest.mark.parametrize("read", [faces_of_file, faces_of_file_safely])
def test_what_is_no_outline_is_refused_in_words(tmp_path, read):
    path = tmp_path / "plate.dxf"
    path.write_text("this is no drawing")
    with pytest.raises(BodyError, match=r"no readable DXF|holds no lines"):
        read(path)


@pytest.mark.parametrize(
    ("name", "region", "error", "says"),
    [
        ("plate.stl", None, BodyError, "no plane outline"),
        ("gone.dxf", None, BodyError, "there is no file"),
        ("tiny.dxf", Region(rectangle((0, 0), (1e-3, 1e-3))), BodyError, "give `units`"),
        ("bow.dxf", Region(polygon([(0, 0), (10, 10), (12, 0), (0, 8)])), OutlineError, "crosses itself"),
        (
            "fine.dxf",
            Region(polygon(1e2 * np.array([(np.cos(t), np.sin(t)) for t in np.arange(2100) * 2 * np.pi / 2100]))),
            BodyError,
            "has 2100 edges",
        ),
    ],
)
def test_outlines_that_cannot_be_designed_in_are_refused(tmp_path, name, region, error, says):
    path = tmp_path / name
    if region is not None:
        path.write_bytes(dxf_bytes([region]))
    with pytest.raises(error, match=says):
        faces_of_file(path)


def test_a_reader_that_takes_too_long_is_ended(tmp_path):
    with pytest.raises(BodyError, match=r"took longer than 0\.01 s"):
        faces_of_file_safely(LEVER, seconds=0.01)


def test_a_reader_that_dies_is_told(tmp_path, monkeypatch):
    monkeypatch.setattr("topopt.cad.flat_file.WORKER", "topopt.cad.no_such_worker")
    with pytest.raises(BodyError, match="brought its reader down"):
        faces_of_file_safely(LEVER)


def test_holes_stay_with_their_face(tmp_path):
    path = tmp_path / "ring.dxf"
    path.write_bytes(dxf_bytes([Region(circle((0, 0), 10.0), (circle((0, 0), 4.0),))]))
    (face,) = faces_of_file(path)
    assert face.region.area == pytest.approx(84 * np.pi)

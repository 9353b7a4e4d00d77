"""Planar solids in OpenCASCADE: areas and volumes to 1e-9, no spline, the same wires out as in."""

import math

import numpy as np
import pytest
from hypothesis import given, settings

from tests.topopt.cad.shapes import rounded_polygons
from topopt.cad.brep import exact_area, extrude, face_of, planar_faces, wires_of_face
from topopt.cad.exact import exact_volume
from topopt.cad.planar_export import planar_step, step_gates
from topopt.cad.region import Region, regions_of
from topopt.cad.step import read_step_bytes
from topopt.cad.wires import Arc, EllipseArc, Line, Wire, circle, ellipse, polygon, rectangle, rounded_polygon, slot
from topopt.errors import BodyError, ExportError, OutlineError

PLATE = Region(
    rectangle((0, 0), (60, 20)),
    (
        ellipse((15, 10), 6, 3, math.radians(25)),
        rounded_polygon([(30, 4), (50, 5), (48, 16), (33, 14)], [1.5, 2, 2.5, 1]),
    ),
)


@settings(max_examples=20, deadline=None)
@given(rounded_polygons())
def test_area_of_a_wire_is_that_of_its_face(wire: Wire) -> None:
    face = face_of(Region(wire))
    assert exact_area(face) == pytest.approx(wire.area, rel=1e-9)
    back = wires_of_face(face)
    assert back.area == pytest.approx(wire.area, rel=1e-12)
    assert [type(e) for e in sorted(back.outer.edges, key=lambda e: e.start)] == [
        type(e) for e in sorted(wire.edges, key=lambda e: e.start)
    ]


@settings(max_examples=10, deadline=None)
@given(rounded_polygons())
def test_a_step_file_keeps_volume_and_has_no_spline(wire: Wire) -> None:
    region = Region(rectangle((-60, -60), (60, 60)), (wire,))
    data = planar_step(region, 4.0, "hole")
    volume, solids, closed = read_step_bytes(data)
    assert volume == pytest.approx(4 * (14400 - wire.area), rel=1e-9) and solids == 1 and closed
    assert b"B_SPLINE" not in data and b"SI_UNIT(.MILLI.,.METRE.)" in data
    assert all(gate.passed for gate in step_gates(data, region, 4.0))


def test_the_plate_of_an_ellipse_and_a_rounded_void() -> None:
    solid = extrude(PLATE, 3.0)
    assert exact_volume(solid) == pytest.approx(3 * PLATE.area, rel=1e-12)
    data = planar_step(PLATE, 3.0, "plate")
    assert (data.count(b"ADVANCED_FACE("), data.count(b"EDGE_CURVE(")) == (15, 39)
    assert data.count(b"CYLINDRICAL_SURFACE(") == 4 and b"B_SPLINE" not in data
    assert data == planar_step(PLATE, 3.0, "plate")


def test_a_hole_is_one_cylinder() -> None:
    data = planar_step(Region(rectangle((0, 0), (10, 10)), (circle((5, 5), 2),)), 2.0)
    assert data.count(b"CYLINDRICAL_SURFACE(") == 1
    assert read_step_bytes(data)[0] == pytest.approx(2 * (100 - 4 * math.pi), rel=1e-12)


def test_planar_faces_of_a_solid_keep_their_place() -> None:
    moved = PLATE.moved(offset=(100.0, -7.0))
    faces = planar_faces(extrude(moved, 3.0))
    assert len(faces) == 6 + 4
    top = next(face for face in faces if face.normal == (0, 0, 1))
    assert top.frame.origin == (0, 0, 3) and top.region.bounds == moved.bounds
    assert top.region.area == pytest.approx(PLATE.area, rel=1e-12)
    kinds = [{type(e) for e in wire.edges} for wire in top.region.wires]
    assert kinds[0] == {Line} and {EllipseArc} in kinds[1:] and {Line, Arc} in kinds[1:]
    below = next(face for face in faces if face.normal == (0, 0, -1))
    assert below.region.bounds[0] == pytest.approx((-160, -7)) and below.region.area == pytest.approx(PLATE.area)
    side = next(face for face in faces if face.normal == (0, -1, 0))
    assert side.region.area == pytest.approx(180) and np.dot(side.frame.x_axis, side.normal) == 0


def test_a_ball_has_no_planar_face() -> None:
    from OCP.BRepPrimAPI import BRepPrimAPI_MakeSphere  # pyright: ignore[reportAttributeAccessIssue]

    with pytest.raises(BodyError, match="no planar face"):
        planar_faces(BRepPrimAPI_MakeSphere(2.0).Solid())


def test_regions_are_sorted_by_nesting() -> None:
    wires = [circle((0, 0), 1), circle((0, 0), 4), circle((9, 0), 2), circle((0, 0), 3)]
    one, two, three = regions_of(wires)
    assert one.area == pytest.approx(7 * math.pi) and len(one.holes) == 1
    assert two.area == pytest.approx(4 * math.pi) and three.area == pytest.approx(math.pi)
    assert one.contains([(3.5, 0), (2, 0), (9, 0)]).tolist() == [True, False, False]


def test_what_cannot_be_a_part_is_refused() -> None:
    with pytest.raises(ExportError, match="thickness of lid"):
        extrude(PLATE, 0.0, "lid")
    with pytest.raises(OutlineError, match="no valid face"):
        face_of(Region(rectangle((0, 0), (10, 10)), (circle((10, 5), 2),)))
    with pytest.raises(OutlineError, match="encloses no area"):
        Region(polygon([(0, 0), (1, 1), (2, 2)]))
    with pytest.raises(OutlineError, match="larger than the outline"):
        Region(slot((0, 0), (1, 0), 1), (circle((0, 0), 9),))

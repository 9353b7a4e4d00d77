"""A design as a person edits it: the same bytes again, another radius, files that pass their checks."""

import json
import math
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings

from tests.topopt.cad.shapes import rounded_polygons
from topopt.cad.brep import planar_faces
from topopt.cad.drawing import Annotation
from topopt.cad.parameters import Circle, Domain, PlanarDesign, Rectangle, shape_of
from topopt.cad.parameters import Path as PathShape
from topopt.cad.planar_export import export_design
from topopt.cad.read import read_body
from topopt.cad.wires import Wire, circle, ellipse
from topopt.errors import ExportError, OutlineError

TEXT = """{"schema": "formgrad.planar/1", "units": "mm", "name": "plate 1", "thickness": 3.0,
 "domain": {"outer": {"kind": "rectangle", "lower": [0, 0], "upper": [60, 20]}, "holes": []},
 "voids": [{"kind": "polygon", "vertices": [[30, 4], [50, 5], [48, 16], [33, 14]], "radii": [1.5, 2, 2.5, 1]},
           {"kind": "ellipse", "centre": [15, 10], "semi_axes": [3, 6], "angle": 25},
           {"kind": "slot", "start": [56, 14], "end": [64, 24], "radius": 2},
           {"kind": "circle", "centre": [24, 7], "radius": 3}]}"""


def test_export_edit_and_export_again(tmp_path: Path) -> None:
    design = PlanarDesign.from_json(TEXT)
    marks = Annotation((((0, 0), (0, 20)),), (((60, 5), (0, -100)),))
    files = export_design(design, tmp_path, annotation=marks)
    assert sorted(p.name for p in tmp_path.iterdir()) == [f"plate-1.{kind}" for kind in ("dxf", "json", "step", "svg")]
    assert all(gate.passed for gate in files.gates)
    body = read_body(files.paths["step"])
    assert body.volume == pytest.approx(3 * files.cut.area, rel=1e-9)
    # A face of the body, read back, is a domain for the next design.
    top = next(face for face in planar_faces(body.solid) if face.normal == (0, 0, 1))
    assert top.region.area == pytest.approx(files.cut.area, rel=1e-9) and top.region.bounds == ((0, 0), (60, 20))
    before = {kind: path.read_bytes() for kind, path in files.paths.items()}

    again = PlanarDesign.from_json(before["json"])
    assert again == design
    export_design(again, tmp_path, annotation=marks)
    assert {kind: path.read_bytes() for kind, path in files.paths.items()} == before

    edited = json.loads(before["json"])
    edited["voids"][3]["radius"] = 2.0
    other = export_design(PlanarDesign.from_json(json.dumps(edited)), tmp_path, formats=("step",))
    grown = other.cut.area - files.cut.area
    # The circle about (24, 7) overlaps neither of its neighbours.
    assert grown == pytest.approx(math.pi * (9 - 4), rel=1e-9)
    assert read_body(other.paths["step"]).volume == pytest.approx(3 * other.cut.area, rel=1e-9)


def test_bars_and_keep_in_a_file() -> None:
    design = PlanarDesign(
        thickness=1,
        domain=Domain(outer=Rectangle(lower=(0, 0), upper=(10, 10))),
        bars=(shape_of(circle((5, 5), 3)),),
        keep=(Rectangle(lower=(0, 0), upper=(10, 3)),),
        voids=(Circle(centre=(5, 5), radius=1),),
    )
    assert PlanarDesign.from_json(design.to_json()) == design
    cut = design.cut()
    segment = 9 * math.acos(2 / 3) - 2 * math.sqrt(5)
    assert cut.body.area == pytest.approx(30 + 9 * math.pi - segment - math.pi, rel=1e-12)


@settings(max_examples=20, deadline=None)
@given(rounded_polygons())
def test_any_wire_can_be_kept_as_a_path(wire: Wire) -> None:
    shape = shape_of(wire)
    assert PathShape.model_validate_json(shape.model_dump_json()).wire() == wire


def test_shapes_of_features() -> None:
    class Oval:
        centre, a, b, angle = (1.0, 2.0), 3.0, 4.0, 0.5

    assert np.allclose(shape_of(Oval()).wire().bounds, ellipse((1, 2), 3, 4, 0.5).bounds, rtol=1e-14)
    with pytest.raises(OutlineError, match="no shape that can be edited"):
        shape_of(object())


@pytest.mark.parametrize(
    ("change", "word"),
    [
        ({"thickness": -1}, "thickness of the design file"),
        ({"schema": "formgrad.planar/2"}, "schema of the design file"),
        ({"units": "inch"}, "units of the design file"),
        ({"colour": "red"}, "colour of the design file"),
        ({"voids": [{"kind": "polygon", "vertices": [[0, 0], [1, 0], [0, 1]], "radii": [1]}]}, "as many radii"),
        ({"voids": [{"kind": "circle", "centre": [0, 0], "radius": "big"}]}, "voids.0.circle.radius"),
    ],
)
def test_a_file_that_cannot_be_says_where(change: dict, word: str) -> None:
    with pytest.raises(OutlineError, match=word):
        PlanarDesign.from_json(json.dumps(json.loads(TEXT) | change))
    with pytest.raises(OutlineError, match="of the design file"):
        PlanarDesign.from_json("no json")


def test_a_design_in_two_pieces_is_not_exported(tmp_path: Path) -> None:
    cut = {"kind": "rectangle", "lower": [29, -1], "upper": [31, 21]}
    design = PlanarDesign.from_json(json.dumps(json.loads(TEXT) | {"voids": [cut]}))
    with pytest.raises(ExportError, match="falls into 2 pieces"):
        export_design(design, tmp_path)
    with pytest.raises(ExportError, match="iges is no format"):
        export_design(design, tmp_path, formats=("iges",))
    assert not list(tmp_path.iterdir())

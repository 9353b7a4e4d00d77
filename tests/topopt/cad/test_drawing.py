"""DXF and SVG: true arcs, layers, units, audit, the same outline read back."""

import io
import math
import re
from pathlib import Path

import pytest
from hypothesis import given, settings

from tests.topopt.cad.shapes import rounded_polygons
from topopt.cad.drawing import Annotation, dxf_bytes
from topopt.cad.dxf_read import read_dxf
from topopt.cad.edges import Arc, EllipseArc
from topopt.cad.region import Region
from topopt.cad.svg import svg_text
from topopt.cad.wires import Wire, circle, ellipse, rounded_polygon, slot
from topopt.errors import BodyError, OutlineError

ezdxf = pytest.importorskip("ezdxf")

PLATE = Region(
    rounded_polygon([(0, 0), (60, 0), (60, 20), (0, 20)], [2, 0, 3, 0]),
    (ellipse((15, 10), 3, 6, 0.4), circle((40, 10), 4), slot((50, 6), (54, 12), 1.5)),
)
MADE_FOR = Annotation((((0, 0), (0, 20)),), (((60, 10), (0, -100)),))


def _drawing(data: bytes):
    return ezdxf.read(io.StringIO(data.decode()))


def test_entities_layers_unit_and_audit() -> None:
    drawing = _drawing(dxf_bytes([PLATE], MADE_FOR))
    assert drawing.header["$INSUNITS"] == 4 and not drawing.audit().errors
    kinds = sorted((e.dxf.layer, e.dxftype()) for e in drawing.modelspace())
    assert kinds.count(("OUTLINE", "LINE")) == 4 and kinds.count(("OUTLINE", "ARC")) == 2
    assert kinds.count(("VOIDS", "CIRCLE")) == 1 and kinds.count(("VOIDS", "ELLIPSE")) == 1
    assert kinds.count(("VOIDS", "LINE")) == 2 and kinds.count(("VOIDS", "ARC")) == 2
    assert ("SUPPORTS", "LINE") in kinds and ("LOADS", "TEXT") in kinds
    assert not any(kind in ("SPLINE", "LWPOLYLINE") for _, kind in kinds)


def test_polylines_carry_arcs_as_bulges() -> None:
    data = dxf_bytes([PLATE], polylines=True)
    kinds = [e.dxftype() for e in _drawing(data).modelspace()]
    assert kinds.count("LWPOLYLINE") == 3 and kinds.count("ELLIPSE") == 1 and len(kinds) == 4
    outer = next(e for e in _drawing(data).modelspace() if e.dxf.layer == "OUTLINE")
    bulges = sorted(round(point[4], 12) for point in outer.get_points() if point[4])
    assert bulges == pytest.approx([math.tan(math.pi / 8)] * 2)


@pytest.mark.parametrize("polylines", [False, True])
def test_the_outline_comes_back(polylines: bool) -> None:
    (back,) = read_dxf(dxf_bytes([PLATE], MADE_FOR, polylines=polylines))
    assert back.area == pytest.approx(PLATE.area, rel=1e-12) and back.length == pytest.approx(PLATE.length, rel=1e-12)
    assert len(back.holes) == 3 and back.bounds[1] == pytest.approx(PLATE.bounds[1], abs=1e-12)
    kinds = {type(e) for hole in back.holes for e in hole.edges}
    assert Arc in kinds and EllipseArc in kinds


@settings(max_examples=12, deadline=None)
@given(rounded_polygons())
def test_random_outlines_come_back(wire: Wire) -> None:
    (back,) = read_dxf(dxf_bytes([Region(wire)]))
    assert back.area == pytest.approx(wire.area, rel=1e-9)
    assert len(back.outer.edges) == len(wire.edges)


def test_the_same_design_gives_the_same_bytes() -> None:
    assert dxf_bytes([PLATE], MADE_FOR) == dxf_bytes([PLATE], MADE_FOR)


def test_a_drawing_in_inches_with_gaps_and_mixed_senses() -> None:
    drawing = ezdxf.new("R2010", units=1)
    space = drawing.modelspace()
    space.add_line((1, 0), (0, 0))
    space.add_line((1, 0.00002), (1, 1))
    space.add_arc((0.5, 1), 0.5, 0, 180)
    space.add_line((0, 0), (0, 1))
    space.add_text("a plate")
    data = io.StringIO()
    drawing.write(data)
    (back,) = read_dxf(data.getvalue().encode(), gap=0.001)
    assert back.area == pytest.approx(25.4**2 * (1 + math.pi / 8), rel=1e-4)
    with pytest.raises(OutlineError, match="open at"):
        read_dxf(data.getvalue().encode(), gap=1e-6)


def test_mirrored_arcs_are_read_as_they_look() -> None:
    drawing = ezdxf.new("R2010", units=4)
    space = drawing.modelspace()
    # Seen from behind: the arc about (-5, 0) of the flipped system is one about (5, 0), run through the other way.
    space.add_arc((-5, 0), 2, 0, 180, dxfattribs={"extrusion": (0, 0, -1)})
    space.add_line((3, 0), (7, 0))
    data = io.StringIO()
    drawing.write(data)
    (back,) = read_dxf(data.getvalue().encode())
    assert back.area == pytest.approx(2 * math.pi) and back.contains([(5, 1), (5, -1)]).tolist() == [True, False]


def test_what_is_no_outline_is_refused(tmp_path: Path) -> None:
    drawing = ezdxf.new("R2010", units=0)
    drawing.modelspace().add_circle((0, 0), 1)
    data = io.StringIO()
    drawing.write(data)
    with pytest.raises(BodyError, match="unit of length"):
        read_dxf(data.getvalue().encode())
    assert read_dxf(data.getvalue().encode(), units_mm=10)[0].area == pytest.approx(100 * math.pi)
    with pytest.raises(BodyError, match="holds no lines"):
        read_dxf(data.getvalue().encode(), units_mm=1, layers=["CUT"])
    drawing.modelspace().add_spline([(0, 0), (1, 1), (2, 0)])
    data = io.StringIO()
    drawing.write(data)
    with pytest.raises(BodyError, match="SPLINE"):
        read_dxf(data.getvalue().encode(), units_mm=1)
    (tmp_path / "no.dxf").write_bytes(b"\x00\x01 nothing of the kind")
    with pytest.raises(BodyError, match="no readable DXF"):
        read_dxf(tmp_path / "no.dxf")


def test_lines_drawn_twice_are_named() -> None:
    drawing = ezdxf.new("R2010", units=4)
    for a, b in [((0, 0), (1, 0)), ((1, 0), (0, 1)), ((0, 1), (0, 0)), ((0, 0), (1, 0))]:
        drawing.modelspace().add_line(a, b)
    data = io.StringIO()
    drawing.write(data)
    with pytest.raises(OutlineError, match="3 ends of edges meet"):
        read_dxf(data.getvalue().encode())


def test_svg_has_true_arcs_at_true_size() -> None:
    text = svg_text([PLATE], MADE_FOR, name="a < b")
    assert 'width="72mm" height="32mm" viewBox="0 0 72 32"' in text and "a &lt; b" in text
    path = re.search(r'id="outline-1".*? d="([^"]+)"', text, re.DOTALL)
    assert path and path[1].count("A ") == 2 + 4 + 4 + 4 and path[1].count("Z") == 4
    assert _svg_area(path[1]) == pytest.approx(-PLATE.area, rel=1e-7)  # y points down
    assert 'id="supports"' in text and 'id="loads"' in text


def _svg_area(path: str) -> float:
    """Signed area by the definition of SVG's arcs, independent of the writer."""
    total = 0.0
    for loop in path.split("Z"):
        words = loop.split()
        at, k = (0.0, 0.0), 0
        while k < len(words):
            if words[k] in "ML":
                to = float(words[k + 1]), float(words[k + 2])
                total += (at[0] * to[1] - at[1] * to[0]) / 2 if words[k] == "L" else 0.0
                k += 3
            else:
                a, b, _, large, sweep, x, y = map(float, words[k + 1 : k + 8])
                turn, to = math.radians(float(words[k + 3])), (x, y)
                dx, dy = (to[0] - at[0]) / 2, (to[1] - at[1]) / 2
                u, v = math.cos(turn) * dx + math.sin(turn) * dy, math.cos(turn) * dy - math.sin(turn) * dx
                half = math.asin(min(1.0, math.hypot(u / a, v / b)))
                angle = 2 * (math.pi - half if large else half)
                total += (at[0] * to[1] - at[1] * to[0]) / 2
                total += (1 if sweep else -1) * a * b * (angle - math.sin(angle)) / 2
                k += 8
            at = to
    return total

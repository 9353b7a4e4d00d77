"""DXF drawings of planar designs in millimetres: true LINE, ARC, CIRCLE and ELLIPSE entities, on layers.

OUTLINE and VOIDS hold what is cut. SUPPORTS and LOADS say what the part was made for; they are not to be cut, and a
reader of outlines leaves them away.
"""

import io
import math
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from topopt.cad.edges import Arc, Edge, EllipseArc, Line, Point
from topopt.cad.region import Region
from topopt.cad.wires import Wire, bounds_of
from topopt.errors import ExportError

LAYERS = {"OUTLINE": 7, "VOIDS": 5, "SUPPORTS": 3, "LOADS": 1}  # with the index of their colour
ANNOTATIONS = ("SUPPORTS", "LOADS")
_ARROW = 0.08  # of the size of the part


@dataclass(frozen=True)
class Annotation:
    """What a part was made for.

    Attributes:
        supports: held stretches, from point to point, mm.
        loads: where a force acts, and the force in N.
    """

    supports: tuple[tuple[Point, Point], ...] = ()
    loads: tuple[tuple[Point, tuple[float, float]], ...] = ()


def dxf_bytes(
    regions: Sequence[Region], annotation: Annotation | None = None, *, name: str = "part", polylines: bool = False
) -> bytes:
    """The file's content, R2010, the same bytes for the same design.

    Args:
        regions: the pieces of the design, usually one.
        annotation: drawn on its own layers.
        name: title of the drawing.
        polylines: closed LWPOLYLINEs with bulges instead of single lines and arcs, as some laser cutters want it;
            wires with arcs of ellipses stay single entities.

    Raises:
        ExportError: ezdxf is not installed, or its audit finds an error in the drawing.
    """
    try:
        import ezdxf
        from ezdxf import units
    except ImportError as missing:
        raise ExportError("DXF needs ezdxf: pip install 'formgrad[cad]'") from missing
    with _without_times():
        drawing = ezdxf.new("R2010", units=units.MM)  # pyright: ignore[reportPrivateImportUsage]
    for layer, colour in LAYERS.items():
        drawing.layers.add(layer, color=colour)
    drawing.header.custom_vars.append("TITLE", name)
    space = drawing.modelspace()
    for region in regions:
        for wire in region.wires:
            _draw(space, wire, {"layer": "OUTLINE" if wire is region.outer else "VOIDS"}, polylines)
    if annotation:
        lower, upper = bounds_of(region.outer for region in regions)
        _annotate(space, annotation, _ARROW * math.dist(lower, upper))
    if errors := drawing.audit().errors:
        raise ExportError(f"the audit of the drawing finds {len(errors)} errors, the first: {errors[0].message}")
    text = io.StringIO()
    with _without_times():
        drawing.write(text)
    return text.getvalue().encode("utf-8")


@contextmanager
def _without_times() -> Iterator[None]:
    """Times and random identifiers would make every file of one design another one."""
    import ezdxf

    options = ezdxf.options  # pyright: ignore[reportPrivateImportUsage]
    before = options.write_fixed_meta_data_for_testing
    options.write_fixed_meta_data_for_testing = True
    try:
        yield
    finally:
        options.write_fixed_meta_data_for_testing = before


def _draw(space: Any, wire: Wire, attributes: dict[str, Any], polylines: bool) -> None:
    if polylines and not any(isinstance(edge, EllipseArc) for edge in wire.edges):
        corners = [(*edge.start, math.tan(edge.sweep / 4) if isinstance(edge, Arc) else 0.0) for edge in wire.edges]
        space.add_lwpolyline(corners, format="xyb", close=True, dxfattribs=attributes)
    elif wire.is_full_turn:
        whole = wire.edges[0]
        if isinstance(whole, Arc):
            space.add_circle(whole.centre, whole.radius, dxfattribs=attributes)
        else:
            _draw_ellipse(space, whole, 0.0, 2 * math.pi, attributes)
    else:
        for edge in wire.edges:
            _draw_edge(space, edge, attributes)


def _draw_edge(space: Any, edge: Edge, attributes: dict[str, Any]) -> None:
    if isinstance(edge, Line):
        space.add_line(edge.start, edge.end, dxfattribs=attributes)
        return
    first = edge.conic.first
    # Arcs of a drawing always run counter-clockwise.
    low, high = sorted((first, first + edge.sweep))
    if isinstance(edge, Arc):
        space.add_arc(edge.centre, edge.radius, math.degrees(low), math.degrees(high), dxfattribs=attributes)
    else:
        _draw_ellipse(space, edge, low, high, attributes)


def _draw_ellipse(space: Any, edge: Any, low: float, high: float, attributes: dict[str, Any]) -> None:
    major = edge.semi_major * math.cos(edge.angle), edge.semi_major * math.sin(edge.angle)
    space.add_ellipse(edge.centre, major, edge.semi_minor / edge.semi_major, low, high, dxfattribs=attributes)


def _annotate(space: Any, annotation: Annotation, arrow: float) -> None:
    held, loaded = ({"layer": layer} for layer in ANNOTATIONS)
    for start, end in annotation.supports:
        if start == end:
            space.add_point(start, dxfattribs=held)
        else:
            space.add_line(start, end, dxfattribs=held)
    for (x, y), force in annotation.loads:
        size = math.hypot(*force)
        if size == 0:
            continue
        dx, dy = arrow * force[0] / size, arrow * force[1] / size
        # The tip is where the force acts.
        space.add_line((x - dx, y - dy), (x, y), dxfattribs=loaded)
        for turn in (0.5, -0.5):
            barb = (-0.3 * (dx - turn * dy), -0.3 * (dy + turn * dx))
            space.add_line((x + barb[0], y + barb[1]), (x, y), dxfattribs=loaded)
        text = space.add_text(f"{size:.6g} N", height=arrow / 5, dxfattribs=loaded)
        text.set_placement((x - dx, y - dy))

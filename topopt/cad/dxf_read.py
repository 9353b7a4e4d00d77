"""Outlines out of DXF drawings: loose lines, arcs, circles, ellipses and polylines, joined to closed wires in mm."""

import io
import math
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from topopt.cad.chain import chained
from topopt.cad.drawing import ANNOTATIONS
from topopt.cad.edges import Arc, Edge, EllipseArc, Line, Point
from topopt.cad.region import Region, regions_of
from topopt.cad.wires import Wire, circle, ellipse
from topopt.errors import BodyError

# $INSUNITS: 1 inch, 2 foot, 4 mm, 5 cm, 6 m.
UNITS_MM = {1: 25.4, 2: 304.8, 4: 1.0, 5: 10.0, 6: 1000.0, 13: 1e-3}
MOST_BYTES = 50_000_000
# Words and measures around a drawing say nothing about its outline.
IGNORED = {"TEXT", "MTEXT", "DIMENSION", "LEADER", "MULTILEADER", "POINT", "VIEWPORT", "HATCH", "ATTDEF", "ATTRIB"}


def read_dxf(
    source: Path | bytes,
    *,
    units_mm: float | None = None,
    layers: Sequence[str] | None = None,
    gap: float | None = None,
) -> tuple[Region, ...]:
    """The regions that a drawing's closed wires bound, the largest first.

    Args:
        source: the file or its content.
        units_mm: length of the drawing's unit in mm; None: the drawing says.
        layers: read only these; None: all but those that hold supports and loads.
        gap: mm; ends that are closer are joined. Default: 1e-6 of the size of the drawing.

    Raises:
        BodyError: no readable DXF, no unit, a free-form curve, no closed outline, or ezdxf is not installed.
        OutlineError: an end that nothing joins, or more than two edges that meet in a point.
    """
    wires = read_dxf_wires(source, units_mm=units_mm, layers=layers, gap=gap)
    if not wires:
        raise BodyError("the drawing holds no lines, arcs, circles, ellipses or polylines on the layers asked for")
    return regions_of(wires)


def read_dxf_wires(
    source: Path | bytes,
    *,
    units_mm: float | None = None,
    layers: Sequence[str] | None = None,
    gap: float | None = None,
) -> list[Wire]:
    """All closed wires, unsorted. Arguments and errors as `read_dxf`."""
    drawing = _load(source)
    scale = units_mm if units_mm is not None else _unit(drawing)
    closed, loose = [], []
    for entity in _entities(drawing, layers):
        for found in _parts(entity):
            (closed if isinstance(found, Wire) else loose).append(found.moved(scale))
    return closed + chained(loose, gap)


def _load(source: Path | bytes) -> Any:
    try:
        from ezdxf import recover
        from ezdxf.lldxf.const import DXFError
    except ImportError as missing:
        raise BodyError("reading a DXF needs ezdxf: pip install 'formgrad[cad]'") from missing
    try:
        data = source if isinstance(source, bytes) else source.read_bytes()
        if len(data) > MOST_BYTES:
            raise BodyError(f"the drawing has {len(data) / 1e6:.0f} MB, at most {MOST_BYTES / 1e6:.0f} are read")
        drawing, _ = recover.read(io.BytesIO(data))
    except (OSError, DXFError, UnicodeError, ValueError) as reason:
        if isinstance(reason, BodyError):
            raise
        raise BodyError("this is no readable DXF drawing: export it again as DXF R2000 or newer") from reason
    return drawing


def _unit(drawing: Any) -> float:
    number = int(drawing.header.get("$INSUNITS", 0))
    if number not in UNITS_MM:
        raise BodyError("the drawing does not say its unit of length: set `units_mm`, 1 for mm or 25.4 for inches")
    return UNITS_MM[number]


def _entities(drawing: Any, layers: Sequence[str] | None) -> Iterator[Any]:
    from ezdxf.disassemble import recursive_decompose

    wanted = None if layers is None else {layer.upper() for layer in layers}
    for entity in recursive_decompose(drawing.modelspace()):
        layer = entity.dxf.layer.upper()
        if entity.dxftype() not in IGNORED and (layer not in ANNOTATIONS if wanted is None else layer in wanted):
            yield entity


def _parts(entity: Any) -> Iterator[Edge | Wire]:
    kind = entity.dxftype()
    if kind == "LINE":
        if not entity.dxf.start.isclose(entity.dxf.end):
            yield Line(_flat(entity.dxf.start), _flat(entity.dxf.end))
    elif kind == "ARC":
        start, end = _flat(entity.start_point), _flat(entity.end_point)
        yield Arc(start, end, _centre(entity), float(entity.dxf.radius), entity.dxf.extrusion.z > 0)
    elif kind == "CIRCLE":
        yield circle(_centre(entity), float(entity.dxf.radius))
    elif kind == "ELLIPSE":
        yield _ellipse(entity)
    elif kind in ("LWPOLYLINE", "POLYLINE"):
        for part in entity.virtual_entities():
            yield from _parts(part)
    else:
        raise BodyError(
            f"layer {entity.dxf.layer} holds a {kind}: turn it into lines and arcs, or name the layers to read"
        )


def _ellipse(entity: Any) -> Edge | Wire:
    centre, major = _flat(entity.dxf.center), _flat(entity.dxf.major_axis)
    a, angle = math.hypot(*major), math.atan2(major[1], major[0])
    low, high = float(entity.dxf.start_param), float(entity.dxf.end_param)
    if math.isclose((high - low) % (2 * math.pi), 0, abs_tol=1e-9) or high - low >= 2 * math.pi:
        return ellipse(centre, a, a * float(entity.dxf.ratio), angle)
    start, end = (_flat(p) for p in entity.vertices([low, high]))
    return EllipseArc(start, end, centre, a, a * float(entity.dxf.ratio), angle, entity.dxf.extrusion.z > 0)


def _centre(entity: Any) -> Point:
    return _flat(entity.ocs().to_wcs(entity.dxf.center))


def _flat(point: Any) -> Point:
    return float(point[0]), float(point[1])

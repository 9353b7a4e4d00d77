"""A planar design as a person edits it: a small JSON file of shapes, from which the same STEP, DXF and SVG come again.

{"schema": "formgrad.planar/1", "units": "mm", "name": "plate", "thickness": 3.0,
 "domain": {"outer": {"kind": "rectangle", "lower": [0, 0], "upper": [60, 20]}, "holes": []},
 "voids": [{"kind": "polygon", "vertices": [[30, 4], [50, 5], [48, 16], [33, 14]], "radii": [1.5, 2, 2.5, 1]},
           {"kind": "ellipse", "centre": [15, 10], "semi_axes": [6, 3], "angle": 25}]}

Lengths are mm, angles degrees. Change a radius, read the file, export again.
"""

import math
from collections.abc import Sequence
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, FiniteFloat, PositiveFloat, ValidationError, model_validator

from topopt.cad import wires
from topopt.cad.edges import Arc, Edge, EllipseArc, Line
from topopt.cad.planar_cut import CutOutline, cut_outline
from topopt.cad.region import Region
from topopt.cad.wires import Wire
from topopt.errors import OutlineError

SCHEMA = "formgrad.planar/1"

Pair = tuple[FiniteFloat, FiniteFloat]


class _Strict(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class Rectangle(_Strict):
    """Sides along the axes."""

    kind: Literal["rectangle"] = "rectangle"
    lower: Pair
    upper: Pair

    def wire(self) -> Wire:
        return wires.rectangle(self.lower, self.upper)


class Polygon(_Strict):
    """Corners rounded by tangent arcs; one radius per vertex, 0 for a sharp one."""

    kind: Literal["polygon"] = "polygon"
    vertices: tuple[Pair, ...]
    radii: tuple[FiniteFloat, ...]

    @model_validator(mode="after")
    def _one_radius_each(self) -> "Polygon":
        if len(self.radii) != len(self.vertices):
            raise ValueError(f"{len(self.vertices)} vertices need as many radii, not {len(self.radii)}")
        return self

    def wire(self) -> Wire:
        return wires.rounded_polygon(self.vertices, self.radii)


class Circle(_Strict):
    kind: Literal["circle"] = "circle"
    centre: Pair
    radius: PositiveFloat

    def wire(self) -> Wire:
        return wires.circle(self.centre, self.radius)


class Ellipse(_Strict):
    """The first semi-axis lies at `angle` degrees from +x; either may be the longer one."""

    kind: Literal["ellipse"] = "ellipse"
    centre: Pair
    semi_axes: tuple[PositiveFloat, PositiveFloat]
    angle: FiniteFloat = 0.0

    def wire(self) -> Wire:
        return wires.ellipse(self.centre, *self.semi_axes, math.radians(self.angle))


class Slot(_Strict):
    """All points within `radius` of the segment from start to end."""

    kind: Literal["slot"] = "slot"
    start: Pair
    end: Pair
    radius: PositiveFloat

    def wire(self) -> Wire:
        return wires.slot(self.start, self.end, self.radius)


class LinePiece(_Strict):
    to: Pair


class ArcPiece(_Strict):
    to: Pair
    centre: Pair
    radius: PositiveFloat
    ccw: bool


class EllipsePiece(_Strict):
    to: Pair
    centre: Pair
    semi_axes: tuple[PositiveFloat, PositiveFloat]
    angle: FiniteFloat
    ccw: bool


class Path(_Strict):
    """Any closed wire: a start, and pieces that lead to the next point; the last one leads back to the start."""

    kind: Literal["path"] = "path"
    start: Pair
    pieces: tuple[EllipsePiece | ArcPiece | LinePiece, ...]

    def wire(self) -> Wire:
        at, edges = self.start, []
        for piece in self.pieces:
            edges.append(_edge(at, piece))
            at = piece.to
        return Wire(tuple(edges))


Shape = Annotated[Rectangle | Polygon | Circle | Ellipse | Slot | Path, Field(discriminator="kind")]


class Domain(_Strict):
    outer: Shape
    holes: tuple[Shape, ...] = ()

    def region(self) -> Region:
        return Region(self.outer.wire(), tuple(hole.wire() for hole in self.holes))


class PlanarDesign(_Strict):
    """((bars or everything) + keep) within the domain, minus (voids - keep), extruded to the thickness.

    `sliver` is the mean width in mm below which pieces, holes and voids are dropped; None: 1e-4 of the size.
    """

    format: Literal["formgrad.planar/1"] = Field(default=SCHEMA, alias="schema")
    units: Literal["mm"] = "mm"
    name: str = "part"
    thickness: PositiveFloat
    domain: Domain
    voids: tuple[Shape, ...] = ()
    bars: tuple[Shape, ...] | None = None
    keep: tuple[Shape, ...] = ()
    sliver: PositiveFloat | None = None

    model_config = ConfigDict(extra="forbid", frozen=True, populate_by_name=True)

    @classmethod
    def from_json(cls, text: str | bytes) -> "PlanarDesign":
        """Read and check.

        Raises:
            OutlineError: no JSON, a key that is not known, a value that cannot be. It names the first such place.
        """
        try:
            return cls.model_validate_json(text)
        except ValidationError as reason:
            first = reason.errors()[0]
            place = ".".join(str(part) for part in first["loc"]) or "the file"
            raise OutlineError(f"{place} of the design file: {first['msg']}") from reason

    def to_json(self) -> str:
        """One line per shape, so that an edit is easy and its difference small. The same design gives the same text."""
        return _laid_out(self.model_dump(mode="json", by_alias=True))

    def cut(self, seconds: float = 60.0) -> CutOutline:
        """The exact outline; errors as `cut_outline`."""
        voids, keep = ([shape.wire() for shape in group] for group in (self.voids, self.keep))
        bars = None if self.bars is None else [shape.wire() for shape in self.bars]
        return cut_outline(self.domain.region(), voids, bars, keep, sliver=self.sliver, seconds=seconds)


def shape_of(it: Any) -> Any:
    """The editable shape of a wire, or of a feature that has the attributes of one of the shapes.

    Args:
        it: a `Wire`, or an object with (vertices, radii), (centre, a, b, angle in rad), (start, end, radius) or
            `capsule`.

    Raises:
        OutlineError: it is none of these.
    """
    if isinstance(it, Wire):
        return _path(it)
    if hasattr(it, "vertices") and hasattr(it, "radii"):
        return Polygon(vertices=it.vertices, radii=it.radii)
    if hasattr(it, "semi_axes"):
        return it
    if hasattr(it, "a") and hasattr(it, "b"):
        return Ellipse(centre=it.centre, semi_axes=(it.a, it.b), angle=math.degrees(it.angle))
    if hasattr(it, "start") and hasattr(it, "radius"):
        return Slot(start=it.start, end=it.end, radius=it.radius)
    if hasattr(it, "capsule"):
        return shape_of(it.capsule)
    raise OutlineError(f"a {type(it).__name__} is no shape that can be edited: give its wire")


def domain_of(region: Region) -> Domain:
    """The editable form of a region."""
    return Domain(outer=_path(region.outer), holes=tuple(map(_path, region.holes)))


def _path(wire: Wire) -> Path:
    pieces = []
    for edge in wire.edges:
        if isinstance(edge, Line):
            pieces.append(LinePiece(to=edge.end))
        elif isinstance(edge, Arc):
            pieces.append(ArcPiece(to=edge.end, centre=edge.centre, radius=edge.radius, ccw=edge.ccw))
        else:
            axes, angle = (edge.semi_major, edge.semi_minor), math.degrees(edge.angle)
            pieces.append(EllipsePiece(to=edge.end, centre=edge.centre, semi_axes=axes, angle=angle, ccw=edge.ccw))
    return Path(start=wire.edges[0].start, pieces=tuple(pieces))


def _edge(start: tuple[float, float], piece: EllipsePiece | ArcPiece | LinePiece) -> Edge:
    if isinstance(piece, LinePiece):
        return Line(start, piece.to)
    if isinstance(piece, ArcPiece):
        return Arc(start, piece.to, piece.centre, piece.radius, piece.ccw)
    return EllipseArc(start, piece.to, piece.centre, *piece.semi_axes, math.radians(piece.angle), piece.ccw)


def _laid_out(value: dict[str, Any]) -> str:
    import json

    def block(items: Sequence[Any]) -> str:
        return "[" + ",".join("\n    " + json.dumps(item) for item in items) + ("\n  ]" if items else "]")

    lines = []
    for key, item in value.items():
        grouped = isinstance(item, list) and item and isinstance(item[0], dict)
        lines.append(f"  {json.dumps(key)}: {block(item) if grouped else json.dumps(item)}")
    return "{\n" + ",\n".join(lines) + "\n}\n"

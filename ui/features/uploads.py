"""Outlines that were uploaded: read in a process of its own, then kept with their faces and edges in words.

runs/.bodies/ID/   NAME.dxf   outline.json (for the form)
"""

import json
import math
from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np

from topopt.cad.edges import Arc, Edge, EllipseArc, Line
from topopt.cad.flat_file import KINDS, FlatFace, faces_of_file_safely
from topopt.cad.region import Region
from topopt.cad.wires import Wire
from topopt.errors import BodyError
from ui.bodies import BODY_ID, kept
from ui.words import lengths

MOST_EDGES = 150  # that can be chosen, the longest
CHORD = 2e-4  # of the size: lines in the picture
AXES = ("x", "y", "z")

Point = tuple[float, float]


@dataclass(frozen=True)
class EdgeChoice:
    """One choice of the edge lists.

    Attributes:
        key: stands for it in the form. number: in the picture. words: what a designer would say.
        points: one on each edge that it means, as the job file names them.
        lines: chords of those edges, mm.
        shown: whether its number stands in the picture; a hole whose edges have numbers of their own needs none.
    """

    key: str
    number: int
    words: str
    points: tuple[Point, ...]
    lines: tuple[tuple[Point, ...], ...]
    shown: bool = True

    @property
    def length(self) -> float:
        """mm."""
        return sum(math.dist(p, q) for line in self.lines for p, q in pairwise(line))


@dataclass(frozen=True)
class FaceCard:
    """A face to design in. size: extents, mm; area: mm2; depth: of the body across it, mm, 0 for a drawing."""

    words: str
    size: tuple[float, float]
    area: float
    depth: float
    edges: tuple[EdgeChoice, ...]

    def edge(self, key: str) -> EdgeChoice | None:
        return next((edge for edge in self.edges if edge.key == key), None)


@dataclass(frozen=True)
class OutlineCard:
    """What the form knows about an upload. file: our copy of it; faces: the largest first."""

    id: str
    file: str
    units: str | None
    faces: tuple[FaceCard, ...]

    @property
    def name(self) -> str:
        return Path(self.file).stem


def admit(root: Path, source: Path, units: str | None) -> OutlineCard:
    """Copy, check and describe an upload.

    Raises:
        BodyError: the file holds no plane outline.
    """
    if source.suffix.lower() not in KINDS:
        raise BodyError(f"{source.name} is no plane outline: upload a {', '.join(KINDS)} file")
    with kept(root, source, "outline") as copy:
        faces = faces_of_file_safely(copy, units)
        drawing = copy.suffix == ".dxf"
        cards = tuple(_face(number, face, drawing) for number, face in enumerate(faces, start=1))
        card = OutlineCard(copy.parent.name, str(copy), units, cards)
        (copy.parent / "outline.json").write_text(json.dumps(asdict(card)))
        return card


def outline_card(root: Path, card_id: str | None) -> OutlineCard | None:
    """The card of an outline that was admitted, or None."""
    if not BODY_ID.fullmatch(card_id or ""):
        return None
    about = root / ".bodies" / str(card_id) / "outline.json"
    if not about.is_file():
        return None
    told = json.loads(about.read_text())
    return OutlineCard(told["id"], told["file"], told["units"], tuple(map(_face_again, told["faces"])))


def with_card(form: Mapping[str, Any], root: Path) -> dict[str, Any]:
    """The form with `card`: the outline that it names, or None."""
    return {**form, "card": outline_card(root, form["outline_id"])}


def _face_again(told: dict[str, Any]) -> FaceCard:
    edges = tuple(
        EdgeChoice(**{**edge, "points": _pairs(edge["points"]), "lines": tuple(map(_pairs, edge["lines"]))})
        for edge in told["edges"]
    )
    return FaceCard(told["words"], tuple(told["size"]), told["area"], told["depth"], edges)


def _pairs(rows: list[list[float]]) -> tuple[Point, ...]:
    return tuple((x, y) for x, y in rows)


def _face(number: int, face: FlatFace, drawing: bool) -> FaceCard:
    (x0, y0), (x1, y1) = face.region.bounds
    size = (x1 - x0, y1 - y0)
    holes = len(face.region.holes)
    told = f"{lengths(size)} mm, {holes} {'hole' if holes == 1 else 'holes'}"
    where = "" if drawing else f"{_looks(face)}, "
    return FaceCard(f"{number} · {where}{told}", size, face.region.area, face.depth, _edges(face.region))


def _looks(face: FlatFace) -> str:
    axis = int(np.argmax(np.abs(face.normal)))
    if abs(face.normal[axis]) < 1 - 1e-6:
        return f"normal ({', '.join(map(_plain, face.normal))})"
    sign = "+" if face.normal[axis] > 0 else "−"
    return f"looks along {sign}{AXES[axis]}"


def _edges(region: Region) -> tuple[EdgeChoice, ...]:
    """Whole holes and single edges; numbers as in the picture."""
    found: list[EdgeChoice] = []
    for which, wire in enumerate(region.wires):
        if which and wire.is_full_turn:
            found.append(_choice(f"w{which}", len(found) + 1, _round_hole(wire), wire.edges, region))
            continue
        singles = [
            _choice(f"e{which}.{k}", len(found) + 1 + k, _words(edge, region), (edge,), region)
            for k, edge in enumerate(wire.edges)
        ]
        found += singles
        if which:
            first, last = singles[0].number, singles[-1].number
            told = f"hole of edges {first} to {last}, all round"
            found.append(replace(_choice(f"w{which}", last + 1, told, wire.edges, region), shown=False))
    longest = sorted(found, key=lambda choice: -choice.length)[:MOST_EDGES]
    return tuple(choice for choice in found if choice in longest)


def _choice(key: str, number: int, words: str, edges: tuple[Edge, ...], region: Region) -> EdgeChoice:
    middles = tuple(_rounded(edge.point(0.5)) for edge in edges)
    lines = tuple(
        tuple(_rounded(p) for p in (*map(tuple, edge.sample(CHORD * region.size).tolist()), edge.end)) for edge in edges
    )
    return EdgeChoice(key, number, f"{number} · {words}", middles, lines)


def _words(edge: Edge, region: Region) -> str:
    x, y = map(_plain, edge.point(0.5))
    if isinstance(edge, Line):
        return f"{_side(edge, region) or 'line'}, {_plain(edge.length)} mm, at ({x}, {y})"
    if isinstance(edge, Arc):
        return f"arc r{_plain(edge.radius)}, {_plain(edge.length)} mm, at ({x}, {y})"
    return f"arc of an ellipse, {_plain(edge.length)} mm, at ({x}, {y})"


def _side(line: Line, region: Region) -> str:
    """The side of the box around the outline that the line lies on; nothing for other lines."""
    lower, upper, near = *map(np.array, region.bounds), 1e-6 * region.size
    ends = np.array([line.start, line.end])
    for axis, words in ((0, ("left edge", "right edge")), (1, ("bottom edge", "top edge"))):
        for limit, told in zip((lower, upper), words, strict=True):
            if (np.abs(ends[:, axis] - limit[axis]) <= near).all():
                return told
    return ""


def _round_hole(wire: Wire) -> str:
    one = wire.edges[0]
    assert isinstance(one, Arc | EllipseArc)
    x, y = map(_plain, one.centre)
    if isinstance(one, EllipseArc):
        return f"elliptic hole {lengths((2 * one.semi_major, 2 * one.semi_minor))}, at ({x}, {y})"
    return f"hole d{_plain(2 * one.radius)}, at ({x}, {y})"


def _rounded(point: Any) -> Point:
    return round(float(point[0]), 6) + 0.0, round(float(point[1]), 6) + 0.0


def _plain(value: float) -> str:
    """Two decimals, without idle zeros."""
    text = f"{value:.2f}".rstrip("0").rstrip(".").replace("-", "−")
    return "0" if text == "−0" else text

"""What is left of a domain when overlapping voids are cut out of it: exact wires of lines, arcs and ellipses.

The kernel that does it may hang, crash, or quietly keep the wrong pieces on a figure that is barely valid. So it works
in a process of its own under a time limit, and its area is compared with that of a second, independent program:
Boolean operations on finely sampled polygons (Clipper2, through manifold3d).
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from pde.child_process import ChildError, ChildTimeout, call
from topopt.cad.region import Region
from topopt.cad.wire_arrays import regions_from, wires_table
from topopt.cad.wires import Wire
from topopt.errors import ExportError, OutlineError

SLIVER = 1e-4  # of the size of the domain: mean width below which a piece, a hole or a void is dropped
SECONDS = 60.0
_CHORD = 1e-6  # of the size of the domain: sampling of the second program
_FUZZY = (0.0, 1e-9, 1e-7, 1e-6)  # tried in turn


@dataclass(frozen=True)
class CutOutline:
    """The result.

    Attributes:
        pieces: connected regions, the largest first. A design in one piece has one.
        dropped: what slivers were left out: pieces that are no material now, holes that are material now, voids.
        dropped_area: their total area, mm2.
    """

    pieces: tuple[Region, ...]
    dropped: int = 0
    dropped_area: float = 0.0

    @property
    def area(self) -> float:
        """Of all pieces, mm2."""
        return sum(piece.area for piece in self.pieces)

    @property
    def loose_area(self) -> float:
        """Of all pieces but the largest, mm2."""
        return sum(piece.area for piece in self.pieces[1:])

    @property
    def body(self) -> Region:
        """The one piece.

        Raises:
            ExportError: there are several.
        """
        if len(self.pieces) != 1:
            areas = ", ".join(f"{piece.area:.4g}" for piece in self.pieces[:5])
            raise ExportError(
                f"the design falls into {len(self.pieces)} pieces of {areas} mm2: make the bridges between voids wider"
            )
        return self.pieces[0]

    def contains(self, points: ArrayLike) -> NDArray[np.bool_]:
        """Whether points are in the material. points : (n, 2) -> (n,)"""
        inside = np.zeros(len(np.atleast_2d(np.asarray(points, float))), bool)
        for piece in self.pieces:
            inside |= piece.contains(points)
        return inside


def cut_outline(
    domain: Region | Wire,
    voids: Sequence[Wire] = (),
    bars: Sequence[Wire] | None = None,
    keep: Sequence[Wire] = (),
    *,
    sliver: float | None = None,
    seconds: float = SECONDS,
) -> CutOutline:
    """((bars or everything) + keep) within the domain, minus (voids - keep).

    Args:
        domain: where material may be; a wire is a domain without holes.
        voids: they may overlap each other and cross the border, and lie outside altogether.
        bars: solid features; None: the whole domain is material but for the voids.
        keep: always material, within the domain.
        sliver: mm; pieces, holes and voids of less mean width (twice the area over the length of the border) are
            dropped. Default: 1e-4 of the size of the domain.
        seconds: CPU time for each try.

    Raises:
        OutlineError: a void or bar crosses itself or has no area.
        ExportError: no material is left, out of time, the kernel failed, or both programs disagree.
    """
    domain = domain if isinstance(domain, Region) else Region(domain)
    sliver = SLIVER * domain.size if sliver is None else sliver
    _check(domain, voids, bars or (), keep)
    kept = [[wire for wire in wires if _width(wire) >= sliver] for wires in (voids, bars or (), keep)]
    thin = [wire for wires in (voids, bars or (), keep) for wire in wires if _width(wire) < sliver]
    tables = {name: wires_table(wires) for name, wires in zip(("voids", "bars", "keep"), kept, strict=True)}
    asked = {"domain": wires_table(domain.wires), "with_bars": bars is not None, **tables}
    wanted = polygon_area(domain, kept[0], kept[1] if bars is not None else None, kept[2])
    pieces = _combine(asked, wanted, domain, seconds)
    return _without_slivers(pieces, sliver, thin)


def polygon_area(
    domain: Region, voids: Sequence[Wire], bars: Sequence[Wire] | None, keep: Sequence[Wire]
) -> tuple[float, float]:
    """Area of the same combination by Clipper2 on sampled polygons, and a bound of its error, mm2."""
    from manifold3d import CrossSection, FillRule

    chord = _CHORD * domain.size

    def section(wires: Sequence[Wire]) -> CrossSection:
        loops = [wire.oriented(True).sample(chord) for wire in wires]
        return CrossSection(loops, FillRule.Positive) if loops else CrossSection()

    body = section([domain.outer]) - section(domain.holes)
    kept = section(keep)
    if bars is not None:
        body = body ^ (section(bars) + kept)
    everything = (*domain.wires, *voids, *(bars or ()), *keep)
    error = 2 * chord * sum(wire.length for wire in everything) + 1e-6 * chord * domain.size
    return float((body - (section(voids) - kept)).area()), error


def _check(domain: Region, *groups: Sequence[Wire]) -> None:
    for name, wires in zip(("void", "bar", "keep-in wire"), groups, strict=True):
        for number, wire in enumerate(wires, start=1):
            if not wire.is_simple():
                raise OutlineError(f"{name} {number} crosses itself: move its vertices until it does not fold over")
    for wire in domain.wires:
        if not wire.is_simple():
            raise OutlineError("the outline of the domain crosses itself: draw it again")


def _combine(asked: dict[str, ArrayLike], wanted: tuple[float, float], domain: Region, seconds: float) -> list[Region]:
    area, error = wanted
    if area <= 0:
        raise ExportError("no material is left: the voids cover the whole domain")
    said = ""
    for fuzzy in _FUZZY:
        try:
            found = call("topopt.cad.planar_worker", {**asked, "fuzzy": fuzzy}, seconds, gigabytes=4)
        except ChildTimeout as reason:
            raise ExportError(
                f"the outlines were not combined within {seconds:.0f} s: drop voids that are tiny or barely overlap"
            ) from reason
        except ChildError as reason:
            if reason.kind in ("ImportError", "ModuleNotFoundError"):
                raise ExportError("exact outlines need OpenCASCADE: pip install 'formgrad[cad]'") from reason
            said = str(reason)
            continue
        pieces = regions_from(found["table"], found["counts"])
        miss = abs(sum(piece.area for piece in pieces) - area)
        if miss <= error + 10 * fuzzy * domain.size * sum(piece.length for piece in pieces):
            return pieces
        said = f"the areas of two programs differ by {miss / area:.1e} of the material"
    raise ExportError(f"the outlines could not be combined ({said}): move the voids a little or drop the smallest")


def _width(shape: Wire | Region) -> float:
    return 2 * abs(shape.area) / shape.length


def _without_slivers(pieces: list[Region], sliver: float, thin: list[Wire]) -> CutOutline:
    whole, lost = [], [abs(wire.area) for wire in thin]
    for piece in sorted(pieces, key=lambda piece: -piece.area):
        if _width(piece) < sliver:
            lost.append(piece.area)
            continue
        holes = tuple(hole for hole in piece.holes if _width(hole) >= sliver)
        lost += [abs(hole.area) for hole in piece.holes if _width(hole) < sliver]
        whole.append(Region(piece.outer, holes))
    if not whole:
        raise ExportError("nothing but slivers is left of the material: use fewer or smaller voids")
    return CutOutline(tuple(whole), len(lost), math.fsum(lost))

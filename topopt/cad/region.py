"""A connected piece of the plane: one outer wire and the wires of its holes."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from topopt.cad.edges import Box, Point
from topopt.cad.wires import Wire
from topopt.errors import OutlineError


@dataclass(frozen=True)
class Region:
    """Material within `outer` and outside all `holes`. Wires in either sense are accepted; outer becomes
    counter-clockwise, holes clockwise.

    Raises:
        OutlineError: a wire encloses nothing, or holes take more than the outer wire encloses.
    """

    outer: Wire
    holes: tuple[Wire, ...] = ()

    def __post_init__(self) -> None:
        for wire in (self.outer, *self.holes):
            if not abs(wire.area) > 1e-14 * wire.size**2:
                raise OutlineError(f"a wire of {len(wire.edges)} edges encloses no area: drop it")
        object.__setattr__(self, "outer", self.outer.oriented(True))
        object.__setattr__(self, "holes", tuple(hole.oriented(False) for hole in self.holes))
        if not self.area > 0:
            raise OutlineError("the holes are larger than the outline around them: check which wire is the outer one")

    @property
    def wires(self) -> tuple[Wire, ...]:
        """Outer wire first."""
        return (self.outer, *self.holes)

    @property
    def area(self) -> float:
        """mm2."""
        return sum(wire.area for wire in self.wires)

    @property
    def length(self) -> float:
        """Of all borders, mm."""
        return sum(wire.length for wire in self.wires)

    @property
    def bounds(self) -> Box:
        """Lower and upper corner of the box around it."""
        return self.outer.bounds

    @property
    def size(self) -> float:
        """Diagonal of the box, mm."""
        return self.outer.size

    def contains(self, points: ArrayLike) -> NDArray[np.bool_]:
        """Whether points are in the material. points : (n, 2) -> (n,)"""
        inside = self.outer.contains(points)
        for hole in self.holes:
            inside &= ~hole.contains(points)
        return inside

    def moved(self, scale: float = 1.0, angle: float = 0.0, offset: Point = (0.0, 0.0)) -> "Region":
        """Scaled (positive) and turned (rad) about the origin, then shifted."""
        return Region(
            self.outer.moved(scale, angle, offset), tuple(hole.moved(scale, angle, offset) for hole in self.holes)
        )


def regions_of(wires: Sequence[Wire]) -> tuple[Region, ...]:
    """Sort wires that do not cross each other into regions, by how deeply they are nested; the largest region first.

    Raises:
        OutlineError: there is no wire.
    """
    if not wires:
        raise OutlineError("there is no closed wire: close the outline")
    wires = sorted(wires, key=lambda wire: -abs(wire.area))
    samples = [wire.vertices for wire in wires]
    # A vertex may touch the other wire; the majority decides.
    inside = [[j != i and bool(w.contains(p).mean() > 0.5) for j, w in enumerate(wires)] for i, p in enumerate(samples)]
    depth = [sum(row) for row in inside]
    found = []
    for i, wire in enumerate(wires):
        if depth[i] % 2 == 0:
            holes = [wires[j] for j in range(len(wires)) if inside[j][i] and depth[j] == depth[i] + 1]
            found.append(Region(wire, tuple(holes)))
    return tuple(sorted(found, key=lambda region: -region.area))

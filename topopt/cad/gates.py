"""The gates between a formed body and a file: each one has a figure, a bound, and a mistake that it catches."""

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from topopt.cad import solid as exact
from topopt.cad.body import Surface
from topopt.cad.measure import open_edges
from topopt.cad.necks import thinnest
from topopt.cad.solid import Piece
from topopt.cad.stl import read_stl_bytes, stl_bytes
from topopt.errors import ExportError

if TYPE_CHECKING:
    from manifold3d import Manifold

Field = NDArray[np.float64]

VOLUME = 2e-3  # relative error against the optimiser's volume
LOST = 1e-3  # share of the volume in loose pieces that needs no word
BROKEN = 5e-2  # share that means that the part has fallen apart
OUTSIDE = 1e-6  # share of the volume outside the body
NECK = 2  # voxels


@dataclass(frozen=True)
class Gate:
    """One check.

    Attributes:
        name: what is checked.
        value: the figure that was measured.
        bound: the figure that it is compared with.
        passed: the verdict.
        catches: the mistake that the gate is there for, in the words of the person who asked.
        hard: a hard gate stops the export; a soft one is a warning.
    """

    name: str
    value: float
    bound: float
    passed: bool
    catches: str
    hard: bool = True

    def __post_init__(self) -> None:
        # Plain numbers: gates are written into the run's result as JSON.
        object.__setattr__(self, "value", float(self.value))
        object.__setattr__(self, "bound", float(self.bound))
        object.__setattr__(self, "passed", bool(self.passed))


@dataclass(frozen=True)
class Formed:
    """What the gates look at: the surface as it would be written, the piece it came from and the pieces left behind."""

    surface: Surface
    piece: Piece
    others: tuple[Piece, ...]
    rough_genus: int
    level: float
    target: float


def run_gates(
    formed: Formed, allowed: "Manifold", keep: "Manifold | None", density: Field, fraction: Field
) -> tuple[Gate, ...]:
    """Every gate, in the order of the way to the file. density, fraction : (nx, ny, nz)."""
    solid = exact.to_manifold(formed.surface, "the formed body")
    return (
        Gate("manifold", 1.0, 1.0, True, "an open or doubly covered surface"),
        _watertight(formed.surface),
        _degenerate(formed.surface),
        *_islands(formed, keep),
        _volume(formed),
        _outside(solid, allowed),
        _bounding_box(formed.surface, allowed),
        _genus(formed),
        _cavities(formed),
        _necks(density, fraction, formed.level),
    )


def refuse(gates: tuple[Gate, ...]) -> None:
    """Raise for the first hard gate that did not pass.

    Raises:
        ExportError: names the gate, its figure, its bound and what it catches.
    """
    for gate in gates:
        if gate.hard and not gate.passed:
            raise ExportError(
                f"gate '{gate.name}' failed ({gate.value:.4g} where {gate.bound:.4g} is the most allowed): "
                f"{gate.catches}"
            )


def _watertight(surface: Surface) -> Gate:
    # A file of single-precision numbers without connectivity can lose what the surface in memory has.
    bad = open_edges(read_stl_bytes(stl_bytes(surface)).faces)
    return Gate(
        "watertight STL", bad, 0, bad == 0, "Open edges after reading the STL back: no slicer closes them safely."
    )


def _degenerate(surface: Surface) -> Gate:
    single = surface.vertices.astype(np.float32)[surface.faces]
    collapsed = int(((single == np.roll(single, 1, axis=1)).all(axis=2)).any(axis=1).sum())
    return Gate("degenerate triangles", collapsed, 0, collapsed == 0, "Triangles that collapse to a line in a file.")


def _islands(formed: Formed, keep: "Manifold | None") -> tuple[Gate, Gate]:
    lost = sum((piece.volume for piece in formed.others), start=0.0)
    share = lost / formed.target
    held = 0
    if keep is not None:
        held = sum(not (piece.solid ^ keep).is_empty() for piece in formed.others)
    sizes = ", ".join(f"{piece.volume:.3g}" for piece in formed.others[:5]) + (" ..." if len(formed.others) > 5 else "")
    told = f"{len(formed.others)} loose pieces ({sizes} mm3) were left out." if formed.others else "Loose pieces."
    connected = Gate(
        "one connected part",
        share,
        BROKEN,
        held == 0 and share <= BROKEN,
        f"{told} The part is not connected: raise the volume, or move supports, loads and keep-in bodies together."
        if formed.others
        else "A part in several pieces.",
    )
    return connected, Gate("lost volume", share, LOST, share <= LOST, told, hard=False)


def _volume(formed: Formed) -> Gate:
    lost = sum((piece.volume for piece in formed.others), start=0.0)
    miss = abs((formed.surface.volume + lost) / formed.target - 1)
    return Gate("volume", miss, VOLUME, miss <= VOLUME, "The body does not weigh what the optimiser promised.")


def _outside(solid: "Manifold", allowed: "Manifold") -> Gate:
    share = exact.excess(solid, allowed) / solid.volume()
    return Gate("volume outside the body", share, OUTSIDE, share <= OUTSIDE, "Material outside the design space.")


def _bounding_box(surface: Surface, allowed: "Manifold") -> Gate:
    space = np.reshape(allowed.bounding_box(), (2, 3))
    reach = max(0.0, float((space[0] - surface.bounds[0]).max()), float((surface.bounds[1] - space[1]).max()))
    bound = 1e-9 * float(np.abs(space).max())
    return Gate("bounding box", reach, bound, reach <= bound, "A shifted or mirrored body.")


def _genus(formed: Formed) -> Gate:
    change = abs(formed.piece.genus - formed.rough_genus)
    return Gate("genus", change, 0, change == 0, "Smoothing opened or closed a small loop.", hard=False)


def _cavities(formed: Formed) -> Gate:
    count = formed.piece.cavities
    return Gate(
        "closed cavities", count, 0, count == 0, "A cavity that no tool reaches and no powder leaves.", hard=False
    )


def _necks(density: Field, fraction: Field, level: float) -> Gate:
    width, count = thinnest((density >= level) & (fraction > 0.25))
    told = (
        f"{count} members of {width} voxel: too thin to trust, raise the filter radius."
        if width < NECK
        else "Thin necks."
    )
    return Gate("thinnest member", width, NECK, width >= NECK, told, hard=False)

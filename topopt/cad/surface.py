"""From a density field to a body that can be made.

    extend the field -> nodal values -> iso-surface -> Taubin smoothing -> simplification
    -> united with the keep-in bodies, cut by the exact body less the keep-out bodies -> level that keeps the volume
    -> gates

The exact bodies come after smoothing and simplification, so bolt holes and flats are those of the CAD part, not of the
voxels, and nothing leaves the design space. The level is found on the volume after the Booleans, because that is the
volume that is made.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from pde.grid.grid import Grid
from topopt.cad import solid as exact
from topopt.cad.body import Surface
from topopt.cad.gates import Formed, Gate, refuse, run_gates
from topopt.cad.isosurface import Field, march, nodal_field, outline, taubin
from topopt.cad.space import DesignSpace
from topopt.errors import ExportError

if TYPE_CHECKING:
    from manifold3d import Manifold

MATCH = 5e-4  # relative volume error at which the level is good enough
EVALUATIONS = 14
LEVELS = (0.02, 0.98)


@dataclass(frozen=True)
class FormedBody:
    """A body that passed the gates.

    Attributes:
        surface: closed, outward oriented, in the part's own coordinates, mm.
        level: density at which the field was cut.
        volume: mm3.
        genus: number of through holes (handles).
        components: connected pieces that were found; the largest is `surface`.
        lost_volume: volume of the other pieces, mm3.
        gates: every check, with its figure. A soft gate that did not pass is a warning to show.
    """

    surface: Surface
    level: float
    volume: float
    genus: int
    components: int
    lost_volume: float
    gates: tuple[Gate, ...]


def form_surface(
    density: Field,
    fraction: Field,
    grid: Grid,
    body: Surface | None,
    *,
    keep: Sequence[Surface] = (),
    keep_out: Sequence[Surface] = (),
    volume: float,
    smoothing: int = 10,
    tolerance: float = 0.05,
) -> FormedBody:
    """Form the body of a density design.

    Args:
        density: (nx, ny, nz) physical densities in [0, 1]. A design in the plane is one layer, (nx, ny, 1): its body is
            an exact extrusion.
        fraction: (nx, ny, nz) volume fraction of the body in each voxel, 0 outside.
        grid: three axes; its third step is the thickness of a plane design.
        body: the exact design space; None stands for the voxels with a fraction above 0, a box if that is all of them.
        keep: bodies that stay solid; what of them lies in the design space is united with the design.
        keep_out: bodies that stay empty, subtracted last.
        volume: mm3 to meet, the optimiser's sum(density * fraction) times the voxel's volume.
        smoothing: Taubin steps; 0 leaves the marks of the voxels.
        tolerance: mm by which the optimised surfaces may move to save triangles. Exact surfaces do not move.

    Raises:
        ExportError: a body is not closed, the design is empty, or a hard gate does not pass. The message names it.
    """
    density, fraction = np.asarray(density, float), np.asarray(fraction, float)
    if grid.dim != 3 or density.shape != grid.shape:
        raise ExportError(
            f"the density field has shape {density.shape}, the grid {grid.shape}: both need three equal axes"
        )
    if not (np.isfinite(volume) and volume > 0):
        raise ExportError(f"the volume to keep must be positive, not {volume} mm3")
    field = nodal_field(density, fraction)
    space = DesignSpace.of(grid, body, fraction, keep, keep_out)

    def at(level: float, steps: int = smoothing) -> "Manifold":
        return space.cut(_raw(field, level, grid, steps, tolerance))

    level, whole = _match_volume(at, volume)
    largest, *others = exact.pieces(whole)
    rough = exact.pieces(at(level, 0))[0] if smoothing else largest
    surface = exact.to_surface(_clean(largest.solid))
    formed = Formed(surface, largest, tuple(others), rough.genus, level, volume)
    gates = run_gates(formed, space.allowed, space.keep, density, fraction)
    refuse(gates)
    lost = float(sum(piece.volume for piece in others))
    return FormedBody(surface, float(level), surface.volume, largest.genus, 1 + len(others), lost, gates)


def _raw(field: Field, level: float, grid: Grid, smoothing: int, tolerance: float) -> "Manifold":
    """The smoothed design before any exact body cuts it. It ends between one and two voxels outside the grid."""
    if grid.shape[2] == 1:
        from manifold3d import Manifold

        plane = outline(field, level, grid, smoothing).simplify(max(tolerance, 1e-6))
        thickness = grid.steps[2]
        return exact.checked(
            Manifold.extrude(plane, 3 * thickness).translate([0, 0, grid.origin[2] - thickness]), "the outline"
        )
    # A few ambiguous cells can leave an edge with four sides; at a neighbouring level they are gone.
    for nudge in (0.0, 3e-4, -3e-4, 9e-4):
        try:
            raw = exact.to_manifold(taubin(march(field, level + nudge, grid), smoothing), "the iso-surface")
            return exact.checked(raw.simplify(tolerance), "the simplified iso-surface")
        except ExportError as error:
            failure = error
    raise failure


def _match_volume(at: "Callable[[float], Manifold]", target: float) -> "tuple[float, Manifold]":
    """Level whose body has the target volume: secant within a bracket (Illinois rule; Dowell and Jarratt 1971).

    Returns the best level and its body; whether the volume is good enough is for the gate to say.
    """
    tried: dict[float, tuple[float, Manifold]] = {}

    def error(level: float) -> float:
        body = at(level)
        tried[level] = (body.volume() / target - 1, body)
        return tried[level][0]

    level = 0.5
    miss = error(level)
    low, high = LEVELS  # the volume falls with the level: too much material below, too little above
    miss_low = miss_high = None
    while abs(miss) > MATCH and len(tried) < EVALUATIONS and high - low > 1e-5:
        if miss > 0:
            low, miss_low = level, miss
            miss_high = None if miss_high is None else miss_high / 2
        else:
            high, miss_high = level, miss
            miss_low = None if miss_low is None else miss_low / 2
        if miss_low is None or miss_high is None:
            level = (
                min(level + 0.05 * 2 ** len(tried), 0.5 * (level + high))
                if miss > 0
                else max(level - 0.05 * 2 ** len(tried), 0.5 * (level + low))
            )
        else:
            level = low + (high - low) * miss_low / (miss_low - miss_high)
        try:
            miss = error(level)
        except ExportError:  # nothing left at this level: as good as no material
            miss = -1.0
    best = min(tried, key=lambda level: abs(tried[level][0]))
    return best, tried[best][1]


def _clean(solid: "Manifold") -> "Manifold":
    """Without the edges that a file of single-precision numbers cannot tell from a point."""
    resolution = 8 * float(np.finfo(np.float32).eps) * max(1.0, float(np.abs(solid.bounding_box()).max()))
    surface = exact.to_surface(solid)
    corners = surface.corners
    if np.linalg.norm(corners - np.roll(corners, 1, axis=1), axis=2).min() > resolution:
        return solid
    return exact.checked(solid.simplify(resolution), "the cleaned body")

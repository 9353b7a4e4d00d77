"""A plane density design as exact CAD: the borders of its voids as lines and arcs, cut out of the exact domain.

Only what the optimiser decided is redrawn. The density is carried outward beyond the domain, so that a void that opens
the border runs across it, and the domain itself (its straight sides, its drilled holes) stays as exact as it was.
The level of the contour is the one that gives the volume of the density.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.ndimage import distance_transform_edt, gaussian_filter, map_coordinates

from pde.grid.grid import Grid
from topopt.cad.contour_fit import fit_polygon
from topopt.cad.edges import Points
from topopt.cad.parameters import PlanarDesign, domain_of, shape_of
from topopt.cad.planar_cut import polygon_area
from topopt.cad.region import Region
from topopt.cad.wires import Wire, rectangle
from topopt.errors import ExportError

TOLERANCE = 0.35  # of the element size
VOLUME = 5e-4  # relative; a volume nearer than this is not corrected again
_PAD = 3
_PASSES = 3
_FINE = 4  # samples per element
_SMALLEST = 1.0  # elements; the area of a void or an island below which it is noise


@dataclass(frozen=True)
class DensityOutline:
    """What was found.

    Attributes:
        domain: where material may be. voids: closed wires of lines and arcs to be cut out of it.
        level: density at the contour.
        error: mm, the largest distance between a void's wire and its contour, measured both ways.
        island_area: mm2 of loose material inside voids that was left away, and that the volume lacks.
    """

    domain: Region
    voids: tuple[Wire, ...]
    level: float
    error: float
    island_area: float

    @property
    def edges(self) -> int:
        """Number of lines and arcs of all voids."""
        return sum(len(void.edges) for void in self.voids)

    def design(self, thickness: float, name: str = "part") -> PlanarDesign:
        """To be exported, or edited first."""
        voids = tuple(shape_of(void) for void in self.voids)
        return PlanarDesign(name=name, thickness=thickness, domain=domain_of(self.domain), voids=voids)


def outline_of_density(
    density: ArrayLike,
    grid: Grid,
    *,
    domain: Region | None = None,
    fraction: ArrayLike | None = None,
    volume: float | None = None,
    tolerance: float | None = None,
    smoothing: float = 0.0,
) -> DensityOutline:
    """Redraw the voids of a density as lines and arcs.

    Args:
        density: (nx, ny), physical densities in [0, 1].
        grid: two-dimensional, mm.
        domain: the exact region of the part; default: the grid's rectangle.
        fraction: (nx, ny), share of each element that belongs to the domain; default: all of it.
        volume: mm2 that the contour shall enclose; default: that of the density.
        tolerance: mm; how far lines and arcs may be from the contour. Default: 0.35 of an element.
        smoothing: standard deviation of a Gaussian in elements. It takes the stairs out of a sharp field, and thins or
            breaks members of one or two elements; so none by default.

    Raises:
        ExportError: shapes or values that cannot be, or no level between 0.02 and 0.98 gives the volume.
        OutlineError: a void that cannot be redrawn within the tolerance.
    """
    rho, share = _checked(density, grid, fraction)
    (x0, y0), (x1, y1) = grid.origin, grid.upper
    domain = Region(rectangle((float(x0), float(y0)), (float(x1), float(y1)))) if domain is None else domain
    tolerance = TOLERANCE * float(grid.steps.min()) if tolerance is None else tolerance
    wanted = float((rho * share).sum()) * grid.element_volume if volume is None else volume
    field = _fine_field(rho, share, smoothing)
    best, aim = None, wanted
    for _ in range(_PASSES):
        found = _redrawn(field, grid, domain, aim, tolerance)
        miss = polygon_area(domain, found.voids, None, ())[0] + found.island_area - wanted
        if best is None or abs(miss) < abs(best[0]):
            best = (miss, found)
        if abs(miss) <= VOLUME * wanted:
            break
        # Lines and arcs cut the curved borders a little short; aim as far to the other side.
        aim -= miss
    assert best is not None
    return best[1]


def _redrawn(field: NDArray, grid: Grid, domain: Region, volume: float, tolerance: float) -> DensityOutline:
    level = _level(field, grid, domain, volume)
    smallest = _SMALLEST * grid.element_volume
    loops = [loop for loop in _loops(field, grid, level) if abs(_area(loop)) >= smallest]
    # With void to the left, a loop that runs counter-clockwise surrounds a void, the others surround islands.
    islands = -sum(_area(loop) for loop in loops if _area(loop) < 0)
    smooth = float(grid.steps.min())
    # No corner of a filtered field is sharp; where it seems so, the tolerance decides.
    fits = [fit_polygon(loop, tolerance, corner=np.pi, smooth=smooth) for loop in loops if _area(loop) > 0]
    voids = _outermost([fit.wire for fit in fits])
    return DensityOutline(domain, tuple(voids), level, max((fit.error for fit in fits), default=0.0), islands)


def _checked(density: ArrayLike, grid: Grid, fraction: ArrayLike | None) -> tuple[NDArray, NDArray]:
    rho = np.asarray(density, float)
    share = np.ones_like(rho) if fraction is None else np.asarray(fraction, float)
    if grid.dim != 2 or rho.shape != grid.shape or share.shape != rho.shape:
        raise ExportError(
            f"density {rho.shape} and fraction {share.shape} must have the shape {grid.shape} of a 2-D grid"
        )
    if not np.isfinite(rho).all() or rho.min() < -1e-6 or rho.max() > 1 + 1e-6:
        raise ExportError("densities must be finite and lie in [0, 1]: hand over the physical densities of the design")
    if not (share > 0).any():
        raise ExportError("no element belongs to the domain: domain and grid do not overlap")
    return rho, share


def _fine_field(rho: NDArray, share: NDArray, smoothing: float) -> NDArray:
    """Nodal values of the extended density, cubic in between, in a rim of solid; `_FINE` samples per element."""
    known = np.pad(share > 0, _PAD)
    nearest = np.asarray(distance_transform_edt(~known, return_distances=False, return_indices=True))
    wide = gaussian_filter(np.pad(rho, _PAD)[tuple(nearest)], smoothing, mode="nearest")
    nodes = (wide[1:, 1:] + wide[:-1, 1:] + wide[1:, :-1] + wide[:-1, :-1]) / 4
    at = np.meshgrid(*(np.linspace(0, n - 1, _FINE * (n - 1) + 1) for n in nodes.shape), indexing="ij")
    fine = map_coordinates(nodes, at, order=3, mode="nearest")
    fine[:2], fine[-2:], fine[:, :2], fine[:, -2:] = 1, 1, 1, 1
    return fine


def _loops(field: NDArray, grid: Grid, level: float) -> list[Points]:
    """Closed contours, (n, 2) each, mm; void lies to the left."""
    from skimage.measure import find_contours

    place = np.asarray(grid.origin) - (_PAD - 1) * grid.steps
    found = find_contours(field, level, positive_orientation="low")
    loops = [place + loop[:-1] * grid.steps / _FINE for loop in found]
    return [loop for loop in loops if len(loop) >= 3]


def _level(field: NDArray, grid: Grid, domain: Region, wanted: float) -> float:
    """The density at which the contour encloses the volume, by bisection."""
    from manifold3d import CrossSection, FillRule

    chord = 1e-4 * float(grid.steps.min())
    body = CrossSection([domain.outer.sample(chord)], FillRule.Positive)
    if domain.holes:
        body -= CrossSection([hole.reversed().sample(chord) for hole in domain.holes], FillRule.Positive)

    def area(level: float) -> float:
        loops = _loops(field, grid, level)
        return (body - CrossSection(loops, FillRule.EvenOdd)).area() if loops else body.area()

    low, high = 0.02, 0.98
    slack = 1e-5 * body.area()
    if not area(high) - slack <= wanted <= area(low) + slack:
        raise ExportError(
            f"no contour encloses {wanted:.4g} mm2 (between {area(high):.4g} and {area(low):.4g} are possible): "
            "hand over the physical densities and the domain they belong to"
        )
    for _ in range(40):
        middle = (low + high) / 2
        low, high = (middle, high) if area(middle) > wanted else (low, middle)
        if high - low < 1e-5:
            break
    return (low + high) / 2


def _outermost(wires: list[Wire]) -> list[Wire]:
    """Without those inside another one."""
    return [w for w in wires if not any(o is not w and o.contains(w.vertices[:1])[0] for o in wires)]


def _area(loop: Points) -> float:
    x, y = loop.T
    return 0.5 * float((x * np.roll(y, -1) - y * np.roll(x, -1)).sum())

"""From a part, as a designer states it, to the problem that is solved: body, regions, supports, loads and material."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from pde.grid import Elasticity, Grid
from topopt.cad.body import Body, Surface
from topopt.cad.select import Patch
from topopt.errors import DesignError
from topopt.loads import LoadCase, Support, held_nodes, nodal_forces
from topopt.materials import Material
from topopt.problem import Problem
from topopt.regions import Region
from topopt.voxels import volume_fractions

Field = NDArray[np.float64]
Mask = NDArray[np.bool_]


@dataclass(frozen=True)
class Part:
    """A body with its purpose.

    Attributes:
        preserve: thickness in mm of the layer behind loaded and held faces that stays solid, so that they survive.
            None: two voxels.
    """

    body: Body
    material: Material
    supports: tuple[Support, ...]
    cases: tuple[LoadCase, ...]
    keep: tuple[Region, ...] = ()
    keep_out: tuple[Region, ...] = ()
    preserve: float | None = None

    @property
    def patches(self) -> tuple[Patch, ...]:
        """Every face that is held or loaded."""
        loaded = [load.patch for case in self.cases for load in case.loads]
        return (*(support.patch for support in self.supports), *loaded)

    def keep_surfaces(self) -> list[Surface]:
        """Closed solids of the keep regions that have one, for exact Booleans."""
        return [s for s in (region.surface() for region in self.keep) if s is not None]

    def keep_out_surfaces(self) -> list[Surface]:
        return [s for s in (region.surface() for region in self.keep_out) if s is not None]


def pose(
    part: Part,
    grid: Grid,
    *,
    volume_fraction: float | None = None,
    mass_kg: float | None = None,
    element: str = "incompatible",
) -> Problem:
    """The problem on a grid, in mm, N and MPa.

    Args:
        grid: voxels that cover the body, see `voxels.grid_for`.
        volume_fraction, mass_kg: how much material; exactly one of them.

    Raises:
        DesignError: a region, support or load that does not meet the body; more mass than the body has.
        BodyError: the body is open.
    """
    fraction = volume_fractions(part.body.surface, grid)
    fraction = fraction * (1 - _coverage(part.keep_out, grid, fraction))
    fraction[fraction < 0.02] = 0.0
    problem = Problem(
        name=part.body.name,
        grid=grid,
        physics=Elasticity(nu=part.material.nu, element=element),  # pyright: ignore[reportArgumentType]
        fixed=held_nodes(grid, fraction, part.supports),
        forces=np.stack([nodal_forces(grid, fraction, case) for case in part.cases]),
        volume_fraction=0.5,
        weights=tuple(case.weight for case in part.cases),
        modulus=part.material.E,
        fraction=fraction,
        keep=_kept(part, grid, fraction),
        weight_forces=_weights(part, grid),
    )
    return problem.with_volume(_fraction_of(problem, part.material, volume_fraction, mass_kg))


def _fraction_of(problem: Problem, material: Material, volume_fraction: float | None, mass_kg: float | None) -> float:
    if (volume_fraction is None) == (mass_kg is None):
        raise DesignError("say how much material: optimize.volume_fraction or optimize.mass_kg, one of them")
    if volume_fraction is not None:
        return volume_fraction
    whole = material.mass_kg(problem.body_volume)
    assert mass_kg is not None
    if not 0 < mass_kg < whole:
        raise DesignError(f"mass_kg is {mass_kg}: the whole body weighs {whole:.4g} kg; ask for less than that")
    return mass_kg / whole


def _coverage(regions: Sequence[Region], grid: Grid, fraction: Field) -> Field:
    """How much of each body element lies in the regions, by 2 x 2 x 2 sample points. (*shape,)"""
    covered = np.zeros(grid.shape)
    if not regions:
        return covered
    inside = fraction > 0
    centers = grid.centers()[inside]
    for corner in grid.corner_offsets:
        points = centers + grid.steps * (np.array(corner) - 0.5) / 2
        covered[inside] += np.any([region.contains(points) for region in regions], axis=0) / 8
    return covered


def _kept(part: Part, grid: Grid, fraction: Field) -> Mask:
    """Elements whose centre lies in a keep region or close behind a held or loaded face."""
    keep = np.zeros(grid.shape, bool)
    inside = fraction > 0
    centers = grid.centers()[inside]
    depth = 2 * float(grid.steps.max()) if part.preserve is None else part.preserve
    near = np.zeros(len(centers), bool)
    for region in part.keep:
        found = region.contains(centers)
        if not found.any():
            raise DesignError(
                f"keep region {region} holds no voxel of the body: move it, enlarge it, or refine the voxels"
            )
        near |= found
    if depth > 0:
        for patch in part.patches:
            near |= patch.distance(centers)[0] <= depth
    keep[inside] = near
    return keep


def _weights(part: Part, grid: Grid) -> Field | None:
    """Weight of each element when full, N, along each axis, per load case."""
    gravity = np.array([case.gravity for case in part.cases], float)
    if not gravity.any():
        return None
    weight = part.material.density * grid.element_volume * gravity
    return np.broadcast_to(weight[:, None, None, None, :], (len(gravity), *grid.shape, 3))

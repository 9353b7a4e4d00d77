"""A planar part on the grid engine: any outline with holes as pixels that it fills in part, its edges as nodes.

The edges of the outline meet no node of a grid. So a support or a load is found at points along them, and each point
acts on the nearest node of the body; a load is shared by length.
"""

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray
from scipy import ndimage

from pde.grid import Elasticity, Grid
from pde.grid.islands import corners
from topopt.cad.region import Region
from topopt.features.errors import FeatureError
from topopt.problem import Problem

if TYPE_CHECKING:
    from topopt.features.domain import Domain, Where

Field = NDArray[np.float64]

LEAST = 0.1  # of a pixel: a body that fills less of it is left out
SHARES = 8  # points along each side of a pixel that the border crosses
POINTS = 4  # along the border, for each pixel that it passes


def pixel_problem(domain: "Domain", h: float, name: str = "plate") -> Problem:
    """The part as `topopt.problem.Problem` with pixels of about h mm; its volume goal is left at a half.

    Raises:
        FeatureError: a support or a load that lies nowhere on the part.
    """
    lower, upper = np.array(domain.region.bounds)
    shape = np.maximum(np.rint((upper - lower) / h).astype(int), 1)
    grid = Grid(tuple(shape.tolist()), tuple(((upper - lower) / shape).tolist()), tuple(lower.tolist()))
    border = border_points(domain.region, h / POINTS)
    fraction = filled(domain.region, grid, border)
    nodes, alive = grid.nodes().reshape(-1, 2), np.flatnonzero(corners(fraction > 0))
    fixed = np.zeros((len(nodes), 2), bool)
    for number, support in enumerate(domain.supports, 1):
        at = _nearest(border[support.where(border)], nodes, alive)
        inside = alive[np.asarray(support.where(nodes[alive]), bool)]
        if not len(at) + len(inside):
            raise FeatureError(f"support {number} meets no node of the pixels: check its place, or take a smaller h")
        fixed[np.r_[at, inside]] |= np.array(support.components)
    forces = np.zeros((len(domain.cases), len(nodes), 2))
    for number, case in enumerate(domain.cases):
        for load in case:
            share = _share(load.where, border, nodes, alive)
            if not share.any():
                raise FeatureError(f"a load of case {number + 1} meets no node of the pixels: check its place")
            forces[number] += np.outer(share / share.sum(), load.force)
    material = Elasticity(nu=domain.nu, element="standard", plane=domain.plane)  # pyright: ignore[reportArgumentType]
    return Problem(
        name,
        grid,
        material,
        fixed.reshape(*grid.node_shape, 2),
        forces.reshape(-1, *grid.node_shape, 2),
        0.5,
        domain.weights or (1.0,) * len(forces),
        domain.E * domain.thickness,
        fraction,
        keep=domain.kept(grid.centers().reshape(-1, 2)).reshape(grid.shape) & (fraction > 0),
        thickness=domain.thickness,
    )


def border_points(region: Region, step: float) -> Field:
    """Points (k, 2) on all edges, at most `step` mm apart; the ends of edges are among them."""
    found = []
    for wire in region.wires:
        for edge in wire.edges:
            count = max(2, int(np.ceil(edge.length / step)))
            found += [edge.point(k / count) for k in range(count)]
    return np.array(found)


def filled(region: Region, grid: Grid, border: Field) -> Field:
    """How much of each pixel the region fills, (nx, ny); pixels that hang on by a corner only are left out."""
    centres = grid.centers()
    inside = region.contains(centres.reshape(-1, 2)).reshape(grid.shape)
    place = np.clip(((border - np.array(grid.origin)) / grid.steps).astype(int), 0, np.array(grid.shape) - 1)
    crossed = np.zeros(grid.shape, bool)
    crossed[tuple(place.T)] = True
    crossed = np.asarray(ndimage.binary_dilation(crossed, np.ones((3, 3))), bool)
    share = (np.arange(SHARES) + 0.5) / SHARES - 0.5
    around = np.stack(np.meshgrid(share, share, indexing="ij"), -1).reshape(-1, 2) * grid.steps
    fraction = inside.astype(float)
    asked = np.nonzero(crossed)
    looked = (centres[asked][:, None] + around).reshape(-1, 2)
    fraction[asked] = region.contains(looked).reshape(-1, len(around)).mean(1)
    fraction[fraction < LEAST] = 0.0
    label, count = ndimage.label(fraction > 0)  # pyright: ignore[reportGeneralTypeIssues]
    if count > 1:
        largest = 1 + int(np.argmax(ndimage.sum_labels(fraction, label, range(1, count + 1))))
        fraction[label != largest] = 0.0
    return fraction


def _share(where: "Where", border: Field, nodes: Field, alive: NDArray[np.intp]) -> Field:
    """Weight of every node in a load: by length along the border, evenly if the place lies within."""
    share = np.zeros(len(nodes))
    found = border[where(border)]
    if len(found):
        np.add.at(share, _nearest(found, nodes, alive), 1.0)
    else:
        share[alive[np.asarray(where(nodes[alive]), bool)]] = 1.0
    return share


def _nearest(points: Field, nodes: Field, alive: NDArray[np.intp]) -> NDArray[np.intp]:
    from scipy.spatial import KDTree

    if not len(points):
        return np.zeros(0, np.intp)
    return alive[KDTree(nodes[alive]).query(points)[1]]

"""Nodal forces of what acts on a body: at points, along lines, on faces, in its volume, and by its temperature.

Every load is consistent with the bilinear or trilinear shape functions, integrated exactly, so that its resultant and
its moment are those of the load. Forces are (*node_shape, dofs) in N (for conduction: heat in W); they add up.
"""

from itertools import product

import numpy as np
from numpy.typing import ArrayLike, NDArray

from pde.grid.errors import GridError
from pde.grid.grid import Grid
from pde.grid.physics import Anisotropic, Elasticity
from pde.grid.recovery import strain_vjp

Field = NDArray[np.float64]


def point_load(grid: Grid, point: ArrayLike, force: ArrayLike) -> Field:
    """A force at any point of the box, spread over the corners of its element.

    Args:
        point: (dim,), mm.
        force: (dofs,), N.

    Raises:
        GridError: the point lies outside the grid.
    """
    place = (np.asarray(point, float) - np.asarray(grid.origin)) / grid.steps
    if place.shape != (grid.dim,) or not ((place >= -1e-9) & (place <= np.array(grid.shape) + 1e-9)).all():
        raise GridError(f"the load at {np.asarray(point).tolist()} lies outside the grid")
    cell = np.clip(np.floor(place).astype(int), 0, np.array(grid.shape) - 1)
    share = np.clip(place - cell, 0, 1)
    out = _zeros(grid, force)
    for corner in grid.corner_offsets:
        weight = np.prod([s if o else 1 - s for s, o in zip(share, corner, strict=True)])
        out[tuple(cell + corner)] += weight * np.asarray(force, float)
    return out


def line_load(grid: Grid, axis: int, at: tuple[int, ...], force_per_length: ArrayLike) -> Field:
    """A force along a whole row of nodes.

    Args:
        axis: along which the row runs.
        at: node numbers on the other axes, in order.
        force_per_length: (dofs,), N/mm.
    """
    out = _zeros(grid, force_per_length)
    place: list[int | slice] = list(at)
    place.insert(axis, slice(None))
    ends = np.ones(grid.node_shape[axis])
    ends[[0, -1]] = 0.5
    out[tuple(place)] = grid.steps[axis] * ends[:, None] * np.asarray(force_per_length, float)
    return out


def area_load(grid: Grid, axis: int, plane: int, traction: ArrayLike, faces: ArrayLike = True) -> Field:
    """A traction on element faces in one plane of nodes; edges of elements in two dimensions (thickness 1).

    Args:
        axis: normal of the plane.
        plane: node number along it; -1 is the last.
        traction: (dofs,), N/mm2, or (*faces, dofs).
        faces: which faces, bool or a share in [0, 1], (*shape without axis,) or something that broadcasts to it.
    """
    others = [a for a in range(grid.dim) if a != axis]
    cells = tuple(grid.shape[a] for a in others)
    weight = np.broadcast_to(np.asarray(faces, float), cells)
    area = float(np.prod(grid.steps[others]))
    pressure = np.broadcast_to(np.asarray(traction, float), (*cells, np.shape(traction)[-1]))
    on_plane = _to_corners(weight[..., None] * area * pressure)
    out = np.zeros((*grid.node_shape, on_plane.shape[-1]))
    np.moveaxis(out, axis, 0)[plane] = on_plane
    return out


def body_load(grid: Grid, density: ArrayLike, acceleration: ArrayLike) -> Field:
    """Self-weight or any other force on the volume.

    Args:
        density: (*shape,) or a number, tonne/mm3 (already times the share of the element that is filled).
        acceleration: (dofs,), mm/s2; gravity is 9810 downwards. With density 1 it is a force per volume, N/mm3.
    """
    mass = np.broadcast_to(np.asarray(density, float), grid.shape) * grid.element_volume
    return _to_corners(mass[..., None] * np.asarray(acceleration, float))


def thermal_strain(physics: Elasticity, dim: int, expansion: float, temperature: ArrayLike) -> Field:
    """Free strain of a warmed isotropic element, as far as it acts within the plane (plane strain: times 1 + nu).

    Args:
        expansion: coefficient, 1/K.
        temperature: above the stress-free one, (*shape,), K.

    Returns:
        (*shape, 3 or 6)
    """
    normal = np.zeros(3 * (dim - 1))
    normal[:dim] = expansion * (1 + physics.nu if dim == 2 and physics.plane == "strain" else 1.0)
    return np.asarray(temperature, float)[..., None] * normal


def strain_load(grid: Grid, physics: Elasticity | Anisotropic, modulus: ArrayLike, strain: ArrayLike) -> Field:
    """Forces that a free strain (thermal, swelling, print shrinkage), constant in every element, exerts on the nodes.

    The integral of B^T C eps is the volume times its value at the centroid, and Wilson's modes do no work on a constant
    stress, so both elements are served. The stress of the answer is `recovery.stress` less `C strain` times modulus.

    Args:
        modulus: (*shape,), MPa.
        strain: (*shape, 3 or 6) or (3 or 6,), engineering shears.
    """
    stress = np.asarray(strain, float) @ physics.material_matrix(grid.dim)
    stress = np.asarray(modulus, float)[..., None] * np.broadcast_to(stress, (*grid.shape, stress.shape[-1]))
    return grid.element_volume * strain_vjp(grid, stress)


def _zeros(grid: Grid, force: ArrayLike) -> Field:
    return np.zeros((*grid.node_shape, np.asarray(force).shape[-1]))


def _to_corners(values: Field) -> Field:
    """Equal shares of what belongs to a cell for its corners. (*cells, dofs) -> (*nodes, dofs)"""
    *cells, dofs = values.shape
    out = np.zeros((*(n + 1 for n in cells), dofs))
    for corner in product((0, 1), repeat=len(cells)):
        out[tuple(slice(o, o + n) for o, n in zip(corner, cells, strict=True))] += values / 2 ** len(cells)
    return out

"""Loads on a mesh of the formed body: as stated on the original face, not as the facets happen to lie.

A face found again has a little less area than the original and is not quite symmetric. So each load is a traction with
two free vectors, chosen so that resultant and moment are the stated ones to rounding.
"""

import numpy as np

from pde.fem.quadratic import QuadraticTetrahedra
from topopt.cad.body import Points
from topopt.cad.patch_on_mesh import PatchOnMesh
from topopt.errors import ReanalysisError
from topopt.loads import Force, Load, LoadCase, Moment


def nodal_forces(mesh: QuadraticTetrahedra, case: LoadCase, patches: dict[int, PatchOnMesh]) -> Points:
    """Forces of all loads of a case but its own weight, (nodes, 3), N."""
    total = np.zeros_like(mesh.nodes)
    for load in case.loads:
        found = patches[id(load.patch)]
        force, moment, pressure = resultant(load)
        total += mesh.facet_forces(found.facets, tractions(found, force, moment, load.patch.centroid, pressure))
    return total


def total_wrench(mesh: QuadraticTetrahedra, case: LoadCase, weight_density: Points) -> tuple[Points, float]:
    """What a case amounts to as stated. weight_density : (3,), N/mm3

    Returns:
        Resultant and moment about the origin, (6,), N and N mm, and the size of its loads in N, for relative errors.
    """
    centres = mesh.vertices[mesh.cells].mean(axis=1)
    diagonal = float(np.linalg.norm(np.ptp(mesh.vertices, axis=0)))
    weight = weight_density * mesh.volumes.sum()
    wrench = np.concatenate([weight, np.cross(mesh.volumes @ centres, weight_density)])
    size = float(np.linalg.norm(weight))
    for load in case.loads:
        force, moment, pressure = resultant(load)
        wrench += np.concatenate([force, moment + np.cross(load.patch.centroid, force)])
        size += float(np.linalg.norm(force) + np.linalg.norm(moment) / diagonal) + abs(pressure) * load.patch.area
    return wrench, size


def resultant(load: Load) -> tuple[Points, Points, float]:
    """Exact force (N), moment about the centroid of the patch (N mm), and pressure (MPa) of a load."""
    if isinstance(load, Force):
        return np.asarray(load.vector, float), np.zeros(3), 0.0
    if isinstance(load, Moment):
        return np.zeros(3), np.asarray(load.vector, float), 0.0
    a, b, c = np.moveaxis(load.patch.triangles, 1, 0)
    pushes = -load.value * np.cross(b - a, c - a) / 2
    arms = (a + b + c) / 3 - load.patch.centroid
    return pushes.sum(axis=0), np.cross(arms, pushes).sum(axis=0), load.value


def tractions(found: PatchOnMesh, force: Points, moment: Points, about: Points, pressure: float = 0.0) -> Points:
    """A traction on the patch with exactly this resultant and this moment.

    t(x) = -p n + a + b x (x - x0) with the vectors a and b from six equations; without pressure and moment b only mends
    what the facets lack in symmetry.

    Args:
        force: (3,), N. moment: (3,), N mm, about the point `about`, (3,), mm.
        pressure: MPa into the body, the part of the traction that follows the normal.

    Returns:
        (k, q, 3), MPa, at `found.points`; zero off the patch.
    """
    weight = found.areas * found.inside
    arms = found.points - about
    base = np.broadcast_to(-pressure * found.normals[:, None, :], arms.shape)
    area, first = weight.sum(), np.einsum("kq,kqx->x", weight, arms)
    second = np.einsum("kq,kqx,kqy->xy", weight, arms, arms)
    S = _cross_matrix(first)  # S v = first x v
    matrix = np.block([[area * np.eye(3), -S], [S, np.trace(second) * np.eye(3) - second]])
    lacking = np.concatenate(
        [
            force - np.einsum("kq,kqx->x", weight, base),
            moment - np.einsum("kq,kqx->x", weight, np.cross(arms, base)),
        ]
    )
    # Lengths in units of the patch: otherwise mm4 beside mm2 decide about the condition of the matrix.
    size = np.sqrt(np.trace(second) / area)
    scale = np.repeat([1.0, 1 / size], 3)
    scaled = scale[:, None] * matrix * scale
    if np.linalg.cond(scaled) > 1e8:
        raise ReanalysisError(
            f"the face '{found.name}' is so narrow on the mesh that it cannot take a moment: widen it"
        )
    a, b = np.split(scale * np.linalg.solve(scaled, scale * lacking), 2)
    return np.where(found.inside[:, :, None], base + a + np.cross(b, arms), 0.0)


def _cross_matrix(v: Points) -> Points:
    return np.array([[0, -v[2], v[1]], [v[2], 0, -v[0]], [-v[1], v[0], 0]])

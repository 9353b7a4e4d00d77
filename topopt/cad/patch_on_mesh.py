"""A face of the original body, found again on a mesh of the formed one.

Triangle numbers and face names do not survive Booleans, smoothing and tetrahedra; the place and the direction of a face
do. A facet belongs to a patch if its corners lie on the patch within a tolerance and it looks the same way. Where the
rim of a patch cuts through a facet, the facet's sample points decide one by one.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from pde.fem.quadratic import QuadraticTetrahedra
from topopt.cad.body import Points
from topopt.cad.patch import Patch
from topopt.errors import ReanalysisError

SAME_WAY = 0.8  # cosine between the normals of a facet and of the patch
REACH = (1.5, 3.0, 6.0)  # tolerances to try, in envelopes of the mesher
AREA = 0.01  # relative error of the area of a patch made of whole facets
RIM_AREA = 0.05  # the same where a rim cuts through facets
_SIDEWAYS = 0.25  # of the tolerance: how far a sample may lie beyond the rim


@dataclass(frozen=True)
class PatchOnMesh:
    """Where a patch lies on the boundary of a mesh.

    Attributes:
        name: of the patch.
        facets: (k,), rows of `QuadraticTetrahedra.boundary`.
        inside: (k, q) bool, which of `QuadraticTetrahedra.facet_points` lie on the patch.
        points: (k, q, 3), mm, and areas: (k, q), mm2, these sample points; normals: (k, 3), outward and unit.
        nodes: (h,), nodes of the mesh that lie on the patch.
        area: mm2, as found. wanted: mm2, of the patch.
    """

    name: str
    facets: NDArray[np.int64]
    inside: NDArray[np.bool_]
    points: Points
    areas: NDArray[np.float64]
    normals: Points
    nodes: NDArray[np.int64]
    area: float
    wanted: float

    @property
    def miss(self) -> float:
        """Relative error of the area."""
        return self.area / self.wanted - 1

    @property
    def allowed(self) -> float:
        """How large `miss` may be."""
        return AREA if self.inside.all() else RIM_AREA


def find_patch(patch: Patch, mesh: QuadraticTetrahedra, epsilon: float) -> PatchOnMesh:
    """Find a patch again. epsilon: mm, how far the mesher may have moved the surface.

    The tolerance starts at 1.5 epsilon and doubles while the area is wrong; the closest area wins.

    Raises:
        ReanalysisError: nothing of the mesh lies on the patch, or too little to carry a load.
    """
    best: PatchOnMesh | None = None
    for reach in REACH:
        found = _find(patch, mesh, reach * epsilon)
        if best is None or abs(found.miss) < abs(best.miss):
            best = found
        if abs(best.miss) <= best.allowed:
            break
    assert best is not None
    if best.area == 0 or best.inside.sum() < 3:
        raise ReanalysisError(
            f"the face '{patch.name}' was not found again on the formed body: material is missing there; "
            "add a keep-in collar around it, or use smaller tetrahedra if the face is small"
        )
    return best


def _find(patch: Patch, mesh: QuadraticTetrahedra, tol: float) -> PatchOnMesh:
    facets = _within_reach(patch, mesh, tol)
    normals = _unit(mesh.boundary_normals[facets])
    on_patch = np.zeros(len(mesh.nodes), bool)
    candidates = np.unique(mesh.boundary_nodes[facets])
    on_patch[candidates] = _lies_on(patch, mesh.nodes[candidates], tol, tol)[0]
    # The middle of a facet tells whether it looks the same way; its corners may be shared with another face.
    middle, facing = _lies_on(patch, mesh.vertices[mesh.boundary[facets]].mean(axis=1), tol, tol)
    same_way = np.einsum("kx,kx->k", facing, normals) > SAME_WAY
    whole = on_patch[mesh.boundary[facets]].all(axis=1) & middle & same_way

    points, areas = mesh.facet_points(facets)
    q = points.shape[1]
    inside = np.repeat(whole[:, None], q, axis=1)
    lies, facing = _lies_on(patch, points[~whole].reshape(-1, 3), tol, _SIDEWAYS * tol)
    same_way = np.einsum("kqx,kx->kq", facing.reshape(-1, q, 3), normals[~whole]) > SAME_WAY
    inside[~whole] = lies.reshape(-1, q) & same_way

    kept = inside.any(axis=1)
    facets, inside, points, areas, normals = facets[kept], inside[kept], points[kept], areas[kept], normals[kept]
    nodes = np.unique(mesh.boundary_nodes[facets])
    # The middle of an edge lies a sagitta off a curved face, but it belongs to a facet that belongs to the face.
    nodes = np.union1d(nodes[on_patch[nodes]], mesh.boundary_nodes[facets[inside.all(axis=1)]])
    return PatchOnMesh(
        patch.name, facets, inside, points, areas, normals, nodes, float(areas[inside].sum()), float(patch.area)
    )


def _within_reach(patch: Patch, mesh: QuadraticTetrahedra, tol: float) -> NDArray[np.int64]:
    """Boundary facets that may touch the patch: first by boxes, then by the sphere around each facet."""
    corners = mesh.vertices[mesh.boundary]
    low, high = patch.triangles.min(axis=(0, 1)) - tol, patch.triangles.max(axis=(0, 1)) + tol
    facets = np.flatnonzero(((corners.max(axis=1) >= low) & (corners.min(axis=1) <= high)).all(axis=1))
    middles = corners[facets].mean(axis=1)
    radii = np.linalg.norm(corners[facets] - middles[:, None], axis=2).max(axis=1)
    distance = np.linalg.norm(middles - patch.closest(middles)[0], axis=1)
    return facets[distance <= radii + tol]


def _lies_on(patch: Patch, points: Points, tol: float, sideways: float) -> tuple[NDArray[np.bool_], Points]:
    """Whether points lie on the patch, and its unit normal there. points : (n, 3) -> (n,) bool, (n, 3)

    The offset from the closest point is split along and across the normal: across it, a point is beyond the rim.
    """
    foot, normal = patch.closest(points)
    offset = points - foot
    along = np.einsum("nx,nx->n", offset, normal)
    across = np.linalg.norm(offset - along[:, None] * normal, axis=1)
    return (np.abs(along) <= tol) & (across <= sideways), normal


def _unit(vectors: Points) -> Points:
    length = np.linalg.norm(vectors, axis=-1, keepdims=True)
    return vectors / np.where(length > 0, length, 1.0)

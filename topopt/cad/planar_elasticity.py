"""Linear elasticity of a plate in its plane, on linear or quadratic triangles with curved sides.

    find u, u = 0 where held:   t int sigma(u) : eps(v) dA = sum_i f_i . v(x_i)   for all v

with sigma = C eps and C of plane strain or plane stress. Isoparametric triangles (Zienkiewicz and Taylor 2000, ch. 8):
one integration point for three nodes, six (Dunavant 1985, degree 4) for six. It shares no line with the optimiser's
elements, so that the design is judged by someone else.
"""

from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csc_array
from scipy.sparse.linalg import splu

from topopt.cad.planar_mesh import PlanarMesh
from topopt.errors import ReanalysisError

Field = NDArray[np.float64]
Plane = Literal["strain", "stress"]

RESIDUAL = 1e-8  # relative, of the equations; beyond it the solution is none


@dataclass(frozen=True)
class PlanarSolution:
    """compliance (cases,), N mm; displacement (cases, n, 2), mm; reaction (cases, 2), N; von_mises (cases, m), MPa, at
    the middle of each triangle."""

    compliance: Field
    displacement: Field
    reaction: Field
    von_mises: Field


def solve_plane(
    mesh: PlanarMesh,
    held: NDArray[np.bool_],
    forces: Field,
    *,
    E: float = 1.0,
    nu: float = 0.3,
    plane: Plane = "strain",
    thickness: float = 1.0,
) -> PlanarSolution:
    """Solve every load case.

    Args:
        mesh: in one piece.
        held: (n, 2), True where a component of the displacement is zero.
        forces: (cases, n, 2), N.
        E: Young's modulus, MPa. nu: Poisson's ratio. thickness: mm.

    Raises:
        ReanalysisError: material or thickness of no use, the plate can move freely, or the equations were not solved.
    """
    C = elasticity_matrix(E, nu, plane)
    if not (np.isfinite(thickness) and thickness > 0):
        raise ReanalysisError(f"the thickness must be a positive number of mm, not {thickness}")
    _check_held(mesh, held)
    cells, B, weight = strain_matrices(mesh)
    local = thickness * np.einsum("mqki,kl,mqlj,mq->mij", B, C, B, weight, optimize=True)
    dofs = (2 * cells[..., None] + np.arange(2)).reshape(len(cells), -1)
    width, n = dofs.shape[1], 2 * len(mesh.nodes)
    rows, columns = np.repeat(dofs, width, axis=1).ravel(), np.tile(dofs, (1, width)).ravel()
    K = csc_array((local.ravel(), (rows, columns)), shape=(n, n))
    free = np.flatnonzero(~held.ravel())
    f = forces.reshape(len(forces), n)
    u = np.zeros_like(f)
    try:
        u[:, free] = splu(K[free][:, free], "MMD_AT_PLUS_A", options={"SymmetricMode": True}).solve(f[:, free].T).T
    except RuntimeError as reason:
        raise ReanalysisError("the plate has no stable equilibrium: check supports and the mesh") from reason
    residual = u @ K - f
    worst = np.linalg.norm(residual[:, free], axis=1) / np.linalg.norm(f[:, free], axis=1)
    if not (worst <= RESIDUAL).all():
        raise ReanalysisError(f"the equations of the plate were solved to {worst.max():.0e} only: mesh with another h")
    # Straight quadratic triangles carry linear stress; its mean over symmetric points is that at the middle.
    stress = (np.einsum("mqki,cmi->cmqk", B, u[:, dofs]) @ C).mean(axis=2)
    return PlanarSolution(
        compliance=(u * f).sum(axis=1),
        displacement=u.reshape(len(u), -1, 2),
        reaction=np.where(held, residual.reshape(len(u), -1, 2), 0).sum(axis=1),
        von_mises=_von_mises(stress, nu, plane),
    )


def elasticity_matrix(E: float, nu: float, plane: Plane) -> Field:
    """C (3, 3) for strains (xx, yy, 2 xy), MPa.

    Raises:
        ReanalysisError: E is not positive, nu outside (-1, 0.5), or an unknown state.
    """
    if not (np.isfinite(E) and E > 0 and -1 < nu < 0.5):
        raise ReanalysisError(f"Young's modulus must be positive and Poisson's ratio in (-1, 0.5), not {E} and {nu}")
    if plane not in ("strain", "stress"):
        raise ReanalysisError(f"the state must be plane 'strain' or 'stress', not {plane!r}")
    mu, lam = E / (2 * (1 + nu)), E * nu / ((1 + nu) * (1 - 2 * nu))
    if plane == "stress":
        lam = 2 * mu * lam / (lam + 2 * mu)
    return np.array([[lam + 2 * mu, lam, 0], [lam, lam + 2 * mu, 0], [0, 0, mu]])


def strain_matrices(mesh: PlanarMesh) -> tuple[NDArray[np.int64], Field, Field]:
    """Triangles (m, k), B (m, points, 3, 2 k) with strain = B u, and the area that each point stands for (m, points).

    Raises:
        ReanalysisError: a curved triangle is turned inside out.
    """
    points, share = _ONE if mesh.order == 1 else _SIX
    slopes = _slopes(mesh.order, points)
    x = mesh.nodes[mesh.triangles]
    J = np.einsum("qka,mkb->mqab", slopes, x)
    det = np.linalg.det(J)
    if not (det > 0).all():
        raise ReanalysisError(f"{int((det <= 0).any(axis=1).sum())} triangles are turned inside out: take a smaller h")
    grad = np.linalg.solve(J, np.broadcast_to(slopes.swapaxes(1, 2), (*J.shape[:2], 2, x.shape[1])))
    B = np.zeros((*det.shape, 3, 2 * x.shape[1]))
    B[..., 0, 0::2] = B[..., 2, 1::2] = grad[..., 0, :]
    B[..., 1, 1::2] = B[..., 2, 0::2] = grad[..., 1, :]
    return mesh.triangles, B, det * share / 2


def _slopes(order: int, points: Field) -> Field:
    """Derivatives of the shape functions with respect to the local coordinates. points : (q, 2) -> (q, k, 2)"""
    r, s = points.T
    one, nil = np.ones_like(r), np.zeros_like(r)
    if order == 1:
        pairs = [(-one, -one), (one, nil), (nil, one)]
    else:
        t = 1 - r - s
        pairs = [
            (1 - 4 * t, 1 - 4 * t),
            (4 * r - 1, nil),
            (nil, 4 * s - 1),
            (4 * (t - r), -4 * r),
            (4 * s, 4 * r),
            (-4 * s, 4 * (t - s)),
        ]
    return np.array(pairs).transpose(2, 0, 1)


def _six_points() -> tuple[Field, Field]:
    a, b, wa, wb = 0.445948490915965, 0.091576213509771, 0.223381589678011, 0.109951743655322
    points = [(x, y) for c in (a, b) for x, y in ((c, c), (1 - 2 * c, c), (c, 1 - 2 * c))]
    return np.array(points), np.repeat([wa, wb], 3)


_ONE = (np.array([[1 / 3, 1 / 3]]), np.array([1.0]))
_SIX = _six_points()


def _check_held(mesh: PlanarMesh, held: NDArray[np.bool_]) -> None:
    arm = (mesh.nodes - mesh.nodes.mean(axis=0)) / np.ptp(mesh.nodes, axis=0).max()
    motions = np.zeros((3, *arm.shape))
    motions[0, :, 0] = motions[1, :, 1] = 1
    motions[2] = np.column_stack([-arm[:, 1], arm[:, 0]])
    rows = motions[:, held]
    free = 3 - (np.linalg.matrix_rank(rows, tol=1e-9) if rows.size else 0)
    if free:
        raise ReanalysisError(f"the supports leave {free} of the plate's three rigid motions free: hold more of it")
    if mesh.components != 1:
        raise ReanalysisError(f"the mesh is in {mesh.components} pieces: keep the one that carries the load")


def _von_mises(stress: Field, nu: float, plane: Plane) -> Field:
    """stress : (..., 3) of xx, yy, xy -> (...)"""
    x, y, xy = np.moveaxis(stress, -1, 0)
    z = nu * (x + y) if plane == "strain" else 0.0
    return np.sqrt(((x - y) ** 2 + (y - z) ** 2 + (z - x) ** 2) / 2 + 3 * xy**2)

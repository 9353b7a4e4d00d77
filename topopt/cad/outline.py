"""A planar design judged on its exact outline: cut, meshed to fit, solved again by other elements.

The optimiser sees densities on a fixed mesh; the part has edges. Here the voids are cut out of the domain exactly, the
largest piece is meshed with its true arcs, and supports and loads are found again by place. Linear triangles of the
optimiser's own size say what its numbers mean on the outline; quadratic ones are the better judge of the part.
"""

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from topopt.cad.edges import Point, Points
from topopt.cad.planar_cut import SECONDS, CutOutline, cut_outline
from topopt.cad.planar_elasticity import Plane, solve_plane
from topopt.cad.planar_mesh import PlanarMesh, mesh_region
from topopt.cad.region import Region
from topopt.cad.wires import Wire
from topopt.errors import ReanalysisError

Where = Callable[[Points], NDArray[np.bool_]]  # (n, 2) -> (n,)

_NEAR = 1e-6  # of the size of the domain: a node closer than this to an anchor is the anchor


@dataclass(frozen=True)
class PlanarSupport:
    """Nodes at which displacements are zero.

    Attributes:
        where: tells which of some points (n, 2) belong to it.
        components: whether x and y are held.
    """

    where: Where
    components: tuple[bool, bool] = (True, True)


@dataclass(frozen=True)
class PlanarLoad:
    """A force spread over the nodes of a place.

    Attributes:
        where: tells which of some points (n, 2) belong to it.
        force: total, N.
        anchors: points that carry it. They become nodes of the mesh, and those that the design has cut away count as
            detached. Give the loaded nodes of the optimiser's mesh, or the ends of the loaded stretch.
    """

    where: Where
    force: tuple[float, float]
    anchors: tuple[Point, ...] = ()


@dataclass(frozen=True)
class OutlineAnalysis:
    """What the outline is and does.

    Attributes:
        cut: the exact outline. mesh: triangles of its largest piece.
        compliance: sum over the load cases of weight times f . u, N mm. per_case: each f . u.
        area: of all pieces, mm2. volume_fraction: that over the area of the domain.
        pieces: number of connected pieces; loose_area: mm2 of all but the largest, which are not analysed.
        attached: anchors of loads that lie on the analysed piece; anchors: how many there are.
        displacement: (cases, n, 2), mm. von_mises: (cases, m), MPa, per triangle.
    """

    cut: CutOutline
    mesh: PlanarMesh
    compliance: float
    per_case: tuple[float, ...]
    area: float
    volume_fraction: float
    pieces: int
    loose_area: float
    attached: int
    anchors: int
    h: float
    order: int
    displacement: NDArray[np.float64]
    von_mises: NDArray[np.float64]
    seconds: float

    @property
    def sound(self) -> bool:
        """One body that carries every anchor of a load."""
        return self.pieces == 1 and self.attached == self.anchors


def outline_compliance(
    domain: Region | Wire,
    voids: Sequence[Wire],
    supports: Sequence[PlanarSupport],
    cases: Sequence[Sequence[PlanarLoad]],
    *,
    h: float,
    weights: Sequence[float] | None = None,
    bars: Sequence[Wire] | None = None,
    keep: Sequence[Wire] = (),
    E: float = 1.0,
    nu: float = 0.3,
    plane: Plane = "strain",
    thickness: float = 1.0,
    order: int = 1,
    sliver: float | None = None,
    seconds: float = SECONDS,
) -> OutlineAnalysis:
    """Cut the voids out of the domain and analyse what is left; see `cut_outline` and `analyse_outline`."""
    domain = domain if isinstance(domain, Region) else Region(domain)
    cut = cut_outline(domain, voids, bars, keep, sliver=sliver, seconds=seconds)
    options = {"E": E, "nu": nu, "plane": plane, "thickness": thickness, "order": order, "seconds": seconds}
    return analyse_outline(cut, supports, cases, h=h, domain_area=domain.area, weights=weights, **options)


def analyse_outline(
    cut: CutOutline,
    supports: Sequence[PlanarSupport],
    cases: Sequence[Sequence[PlanarLoad]],
    *,
    h: float,
    domain_area: float,
    weights: Sequence[float] | None = None,
    E: float = 1.0,
    nu: float = 0.3,
    plane: Plane = "strain",
    thickness: float = 1.0,
    order: int = 1,
    seconds: float = SECONDS,
) -> OutlineAnalysis:
    """Mesh the largest piece and solve.

    Linear triangles share a load evenly among its nodes, as density methods do; quadratic ones take it as a uniform
    line load on the sides of the place, and at its nodes only where it has no side.

    Args:
        cut: the outline.
        supports, cases: by place; every case is a list of loads that act together.
        h: size of triangles, mm. domain_area: mm2, for the volume fraction.
        weights: of the cases, default 1 each.
        E: MPa. nu: Poisson's ratio. plane: "strain" or "stress". thickness: mm. order: 1 or 2.
        seconds: for the mesher.

    Raises:
        ReanalysisError: no support or load on the piece, no mesh, no solution, or reactions that do not balance.
    """
    started = time.perf_counter()
    weights = [1.0] * len(cases) if weights is None else list(weights)
    if not supports or not cases or len(weights) != len(cases):
        raise ReanalysisError("a re-analysis needs a support, a load case, and one weight for each case")
    anchors = [anchor for case in cases for load in case for anchor in load.anchors]
    mesh = mesh_region(cut.pieces[0], h, order=order, anchors=anchors, seconds=seconds)
    held = np.zeros((len(mesh.nodes), 2), bool)
    for number, support in enumerate(supports, start=1):
        found = support.where(mesh.nodes)
        if not found.any():
            raise ReanalysisError(f"support {number} lies where the design has no material: keep some there")
        held[found] |= np.asarray(support.components, bool)
    forces = np.stack([sum((_nodal(mesh, load) for load in case), np.zeros_like(mesh.nodes)) for case in cases])
    if not np.abs(np.where(held, 0, forces)).sum(axis=(1, 2)).all():
        raise ReanalysisError("a load case has no force on a node that can move: move the load")
    solution = solve_plane(mesh, held, forces, E=E, nu=nu, plane=plane, thickness=thickness)
    _check_balance(forces, solution.reaction)
    return OutlineAnalysis(
        cut=cut,
        mesh=mesh,
        compliance=float(solution.compliance @ weights),
        per_case=tuple(solution.compliance.tolist()),
        area=cut.area,
        volume_fraction=cut.area / domain_area,
        pieces=len(cut.pieces),
        loose_area=cut.loose_area,
        attached=sum(_is_node(mesh, anchor) for anchor in anchors),
        anchors=len(anchors),
        h=h,
        order=order,
        displacement=solution.displacement,
        von_mises=solution.von_mises,
        seconds=time.perf_counter() - started,
    )


def _nodal(mesh: PlanarMesh, load: PlanarLoad) -> NDArray[np.float64]:
    """Forces at nodes, (n, 2), N."""
    inside = load.where(mesh.nodes)
    if not inside.any():
        raise ReanalysisError("a load lies where the design has no material: keep some there")
    share = np.zeros(len(mesh.nodes))
    sides = mesh.border[inside[mesh.border].all(axis=1)]
    if mesh.order == 1 or not len(sides):
        share[inside] = 1.0
    else:
        length = np.linalg.norm(mesh.nodes[sides[:, 1]] - mesh.nodes[sides[:, 0]], axis=1)
        # A uniform traction on a side with three nodes gives 1/6, 1/6 and 4/6 of its force.
        np.add.at(share, sides, length[:, None] * np.array([1, 1, 4]) / 6)
    return np.outer(share / share.sum(), load.force)


def _is_node(mesh: PlanarMesh, anchor: Point) -> bool:
    away = np.linalg.norm(mesh.nodes - anchor, axis=1).min()
    return bool(away <= _NEAR * np.linalg.norm(np.ptp(mesh.nodes, axis=0)))


def _check_balance(forces: NDArray[np.float64], reaction: NDArray[np.float64]) -> None:
    total = forces.sum(axis=1)
    miss = np.abs(total + reaction).max(axis=1) / np.abs(forces).sum(axis=(1, 2))
    if not (miss <= 1e-6).all():
        raise ReanalysisError(f"reactions and loads differ by {miss.max():.0e} of the load: the solution is not valid")

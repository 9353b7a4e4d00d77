"""Tetrahedra that fit a triangulated body, by fTetWild (Hu, Schneider, Wang, Zorin and Panozzo 2020).

fTetWild accepts any triangle soup and keeps the surface within an envelope epsilon. It is one native call without a
time limit of its own, so it runs in a process of its own; if its time runs out, it gets a second and easier task. It
draws random numbers that cannot be seeded: the same body gives equally good meshes, not the same one.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components

from pde.child_process import ChildError, ChildTimeout, call
from topopt.cad.body import Points, Surface
from topopt.errors import ReanalysisError

EDGE = 0.03  # of the diagonal
VOLUME = 2e-3  # relative error against the surface, at epsilon 1e-3
LOST = 1e-3  # share of the volume in loose pieces that may be dropped
FLAT = 0.02  # the least quality that quadratic elements and multigrid still take
_PASSES = 20


@dataclass(frozen=True)
class Tetrahedra:
    """A body-fitted mesh.

    Attributes:
        vertices: (n, 3), mm.
        cells: (m, 4) int64, positively oriented.
        epsilon_mm: how far its boundary may be from the surface it was made from.
    """

    vertices: Points
    cells: NDArray[np.int64]
    epsilon_mm: float

    @property
    def volumes(self) -> NDArray[np.float64]:
        """(m,), mm3."""
        a, b, c, d = np.moveaxis(self.vertices[self.cells], 1, 0)
        return np.einsum("ij,ij->i", np.cross(b - a, c - a), d - a) / 6

    @property
    def quality(self) -> NDArray[np.float64]:
        """Edge of the regular tetrahedron of the same volume over the longest edge, (m,), in (0, 1]."""
        corners = self.vertices[self.cells]
        edges = [corners[:, i] - corners[:, j] for i in range(4) for j in range(i)]
        longest = np.linalg.norm(edges, axis=2).max(axis=0)
        return np.cbrt(6 * np.sqrt(2) * self.volumes) / longest


def tetrahedralise(
    surface: Surface, *, edge: float | None = None, epsilon: float = 1e-3, seconds: float | None = None
) -> Tetrahedra:
    """Fill a closed surface with tetrahedra.

    Args:
        surface: watertight, outward oriented.
        edge: wanted edge length in mm; details get shorter ones. Default: 0.03 of the diagonal of the bounding box.
        epsilon: how far the boundary may move, as a share of the diagonal.
        seconds: CPU time for the first try. Default: 120 s and 3 ms per triangle. The second try, with twice the
            epsilon, 1.25 times the edge and a lower wish for quality, gets as much again.

    Raises:
        ReanalysisError: no mesh in time, fTetWild failed or is not installed, or the mesh is not that of the body.
    """
    diagonal = float(np.linalg.norm(np.ptp(surface.bounds, axis=0)))
    edge = EDGE * diagonal if edge is None else edge
    seconds = 120 + 3e-3 * len(surface.faces) if seconds is None else seconds
    if not (edge > 0 and epsilon > 0 and seconds > 0):
        raise ReanalysisError(f"edge, epsilon and seconds must be positive, not {edge}, {epsilon} and {seconds}")
    try:
        return _fill(surface, edge, epsilon, 30.0, seconds)
    except ChildTimeout:
        pass
    try:
        return _fill(surface, 1.25 * edge, 2 * epsilon, 50.0, seconds)
    except ChildTimeout as reason:
        raise ReanalysisError(
            f"no tetrahedra within twice {seconds:.0f} s of CPU time ({len(surface.faces)} triangles): "
            "simplify the surface, use larger voxels, or allow more time"
        ) from reason


def _fill(surface: Surface, edge: float, epsilon: float, stop_energy: float, seconds: float) -> Tetrahedra:
    """One call of fTetWild, checked."""
    diagonal = float(np.linalg.norm(np.ptp(surface.bounds, axis=0)))
    asked = {
        "vertices": surface.vertices,
        "faces": surface.faces,
        "edge": edge,
        "epsilon": epsilon,
        "stop_energy": stop_energy,
        "passes": _PASSES,
    }
    try:
        found = call("topopt.cad.tetrahedra_worker", asked, seconds)
    except ChildTimeout:
        raise
    except ChildError as reason:
        if reason.kind == "ModuleNotFoundError":
            raise ReanalysisError(
                "tetrahedra need fTetWild, which is not installed here: `pip install 'formgrad[mesh]'`"
            ) from reason
        raise ReanalysisError(
            f"fTetWild could not fill the body: {reason}; simplify the surface or raise epsilon"
        ) from reason
    vertices, cells = _largest_piece(found["vertices"], _positive(found["vertices"], found["cells"]))
    mesh = Tetrahedra(vertices, cells, epsilon * diagonal)
    _check(mesh, surface, VOLUME * max(1.0, epsilon / 1e-3))
    return mesh


def _positive(vertices: Points, cells: NDArray[np.int64]) -> NDArray[np.int64]:
    """Cells whose corners are in the usual order; fTetWild has the other one."""
    flipped = Tetrahedra(vertices, cells, 0.0).volumes < 0
    cells = cells.copy()
    cells[flipped] = cells[flipped][:, [0, 1, 3, 2]]
    return cells


def _largest_piece(vertices: Points, cells: NDArray[np.int64]) -> tuple[Points, NDArray[np.int64]]:
    """The piece with the largest volume and its vertices.

    Raises:
        ReanalysisError: the others are more than crumbs.
    """
    n = len(vertices)
    rows, columns = np.repeat(cells[:, 0], 3), cells[:, 1:].ravel()
    _, label = connected_components(coo_array((np.ones(len(rows)), (rows, columns)), shape=(n, n)), directed=False)
    volumes = np.bincount(label[cells[:, 0]], Tetrahedra(vertices, cells, 0.0).volumes)
    lost = 1 - volumes.max() / volumes.sum()
    if lost > LOST:
        raise ReanalysisError(
            f"the body falls into {np.count_nonzero(volumes)} pieces; the smaller ones are {lost:.1%} of its volume: "
            "raise the volume fraction or the filter radius"
        )
    kept, cells = np.unique(cells[label[cells[:, 0]] == volumes.argmax()], return_inverse=True)
    return vertices[kept], cells.reshape(-1, 4)


def _check(mesh: Tetrahedra, surface: Surface, bound: float) -> None:
    volumes = mesh.volumes
    if not (volumes > 0).all():
        raise ReanalysisError(f"{int((volumes <= 0).sum())} tetrahedra are flat: raise epsilon")
    miss = volumes.sum() / surface.volume - 1
    if abs(miss) > bound:
        raise ReanalysisError(
            f"the tetrahedra fill {miss:+.2%} of the body's volume too much, {bound:.2%} is allowed: lower epsilon"
        )
    worst = float(mesh.quality.min())
    if worst < FLAT:
        raise ReanalysisError(
            f"the worst tetrahedron has quality {worst:.3f}, {FLAT} is the least: raise epsilon or edge"
        )

"""From loose triangles to a closed, oriented surface, or to the reason why they are none."""

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components
from scipy.spatial import KDTree

from topopt.cad.body import Surface
from topopt.errors import BodyError

Points = NDArray[np.float64]
Indices = NDArray[np.int64]


def weld(corners: Points) -> tuple[Surface, Indices]:
    """Join corners that coincide and drop triangles that collapse.

    Args:
        corners: (m, 3, 3), mm. Corners closer than a millionth of the diagonal (or than single precision can tell
            apart at this distance from the origin) are the same point.

    Returns:
        The surface, and for each of its triangles the number it had in `corners`.
    """
    points, inverse = np.unique(corners.reshape(-1, 3), axis=0, return_inverse=True)
    tolerance = (
        1e-6 * float(np.linalg.norm(np.ptp(points, axis=0))) + 4 * np.finfo(np.float32).eps * np.abs(points).max()
    )
    pairs = KDTree(points).query_pairs(tolerance, output_type="ndarray")
    if len(pairs):
        links = coo_array((np.ones(len(pairs), bool), (pairs[:, 0], pairs[:, 1])), shape=(len(points), len(points)))
        _, group = connected_components(links, directed=False)
        _, first, label = np.unique(group, return_index=True, return_inverse=True)
        points, inverse = points[first], label.ravel()[inverse.ravel()]
    faces = inverse.reshape(-1, 3).astype(np.int64)
    whole = (faces[:, 0] != faces[:, 1]) & (faces[:, 1] != faces[:, 2]) & (faces[:, 2] != faces[:, 0])
    used, compact = np.unique(faces[whole], return_inverse=True)
    return Surface(points[used], compact.reshape(-1, 3).astype(np.int64)), np.flatnonzero(whole)


def check_closed(surface: Surface, name: str) -> None:
    """Every edge must belong to exactly two triangles that run through it in opposite directions.

    Raises:
        BodyError: open edges, edges with more than two triangles, or triangles turned against their neighbours.
    """
    directed = surface.faces[:, [0, 1, 1, 2, 2, 0]].reshape(-1, 2)
    undirected = np.sort(directed, axis=1)
    _, edge, times = np.unique(undirected, axis=0, return_inverse=True, return_counts=True)
    opened, crowded = int((times == 1).sum()), int((times > 2).sum())
    if opened:
        raise BodyError(
            f"{name} is open: {opened} edges border on one triangle only; close the surface (fill its holes) and "
            "export it again"
        )
    if crowded:
        raise BodyError(
            f"{name} has {crowded} edges where more than two triangles meet: parts that touch along a line or "
            "overlapping copies; unite or separate them and export again"
        )
    forward = np.bincount(edge.ravel(), weights=directed[:, 0] < directed[:, 1])
    turned = int((forward != 1).sum())
    if turned:
        raise BodyError(
            f"{name} has inconsistent winding: {turned} edges join triangles of opposite orientation; "
            "let the exporting program recompute the normals"
        )


def shells(surface: Surface) -> Indices:
    """Number of the connected shell of each triangle, (m,)."""
    a, b, c = surface.faces.T
    n = len(surface.vertices)
    links = coo_array((np.ones(2 * len(a), bool), (np.r_[a, b], np.r_[b, c])), shape=(n, n))
    return connected_components(links, directed=False)[1][a].astype(np.int64)


def part(surface: Surface, mask: NDArray[np.bool_]) -> Surface:
    """The triangles under a mask as a surface of their own."""
    used, compact = np.unique(surface.faces[mask], return_inverse=True)
    return Surface(surface.vertices[used], compact.reshape(-1, 3).astype(np.int64))

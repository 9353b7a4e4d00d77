"""Loose edges joined to closed wires, as drawings hold them: in any order, in either sense, with gaps of rounding."""

import math
from collections.abc import Sequence

import numpy as np
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components
from scipy.spatial import KDTree

from topopt.cad.edges import Edge, EllipseArc, Line, Point, arc_by_bulge
from topopt.cad.wires import Wire
from topopt.errors import OutlineError

GAP = 1e-6  # of the size of all edges together


def chained(edges: Sequence[Edge], gap: float | None = None) -> list[Wire]:
    """Closed wires from edges whose ends meet within `gap` (mm; default 1e-6 of their size).

    Raises:
        OutlineError: an end that meets no other, or more than two that meet in a point. The message says where.
    """
    if not edges:
        return []
    corners = np.array([end for edge in edges for end in (edge.start, edge.end)])
    gap = GAP * float(np.linalg.norm(np.ptp(corners, axis=0))) if gap is None else gap
    place = _joints(corners, gap)
    middle = [tuple(map(float, corners[place == k].mean(axis=0))) for k in range(place.max() + 1)]
    meeting = np.bincount(place)
    for k in np.flatnonzero(meeting != 2):
        x, y = middle[k]
        if meeting[k] == 1:
            raise OutlineError(f"the outline is open at ({x:.6g}, {y:.6g}): close it there, or allow a wider gap")
        raise OutlineError(
            f"{meeting[k]} ends of edges meet at ({x:.6g}, {y:.6g}): remove lines that are drawn twice or branch off"
        )
    ends = place.reshape(-1, 2)
    left, wires = dict.fromkeys(range(len(edges))), []
    while left:
        first = next(iter(left))
        wires.append(_walk(first, edges, ends, middle, left))
    return wires


def _walk(first: int, edges: Sequence[Edge], ends: np.ndarray, middle: list, left: dict[int, None]) -> Wire:
    """Follow the edges from one back to its start; `left` loses those that were used."""
    number, at, chain = first, ends[first, 0], []
    while number is not None:
        del left[number]
        forwards = ends[number, 0] == at
        edge = edges[number] if forwards else edges[number].reversed()
        to = ends[number, 1] if forwards else ends[number, 0]
        chain.append(_between(edge, middle[at], middle[to]))
        at = to
        number = next((k for k in left if at in ends[k]), None)
    return Wire(tuple(chain))


def _joints(corners: np.ndarray, gap: float) -> np.ndarray:
    """The number of the joint that each end belongs to."""
    pairs = KDTree(corners).query_pairs(gap, output_type="ndarray")
    n = len(corners)
    graph = coo_array((np.ones(len(pairs)), (pairs[:, 0], pairs[:, 1])), shape=(n, n))
    return connected_components(graph, directed=False)[1]


def _between(edge: Edge, start: Point, end: Point) -> Edge:
    """The same edge from joint to joint; an arc keeps the angle that it spans."""
    if isinstance(edge, Line):
        return Line(start, end)
    if isinstance(edge, EllipseArc):
        return edge  # it cannot follow; a gap that a wire does not bear is refused there
    if max(math.dist(edge.start, start), math.dist(edge.end, end)) > 1e-9 * edge.radius:
        return arc_by_bulge(start, end, math.tan(edge.sweep / 4))
    return edge

"""Wires as plain arrays, so that they cross between processes without pickle.

One row per edge: wire, kind (0 line, 1 arc, 2 arc of an ellipse), start, end, centre, semi-axes, angle, ccw.
"""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from topopt.cad.edges import Arc, Edge, EllipseArc, Line
from topopt.cad.region import Region
from topopt.cad.wires import Wire

Table = NDArray[np.float64]

_COLUMNS = 12


def wires_table(wires: Sequence[Wire]) -> Table:
    """-> (edges, 12)"""
    rows = [(number, *_row(edge)) for number, wire in enumerate(wires) for edge in wire.edges]
    return np.array(rows, float).reshape(-1, _COLUMNS)


def wires_from(table: Table) -> list[Wire]:
    """table : (edges, 12)"""
    numbers = table[:, 0].astype(int)
    return [Wire(tuple(_edge(row) for row in table[numbers == n].tolist())) for n in np.unique(numbers)]


def regions_table(regions: Sequence[Region]) -> tuple[Table, NDArray[np.int64]]:
    """The table of all wires, and how many of them each region has, its outer one first."""
    table = wires_table([wire for region in regions for wire in region.wires])
    return table, np.array([len(region.wires) for region in regions], np.int64)


def regions_from(table: Table, counts: NDArray[np.int64]) -> list[Region]:
    """The way back."""
    wires = iter(wires_from(table))
    taken = [[next(wires) for _ in range(n)] for n in counts.tolist()]
    return [Region(outer, tuple(holes)) for outer, *holes in taken]


def _row(edge: Edge) -> tuple[float, ...]:
    if isinstance(edge, Line):
        return (0, *edge.start, *edge.end, 0, 0, 0, 0, 0, 0)
    if isinstance(edge, Arc):
        return (1, *edge.start, *edge.end, *edge.centre, edge.radius, edge.radius, 0, edge.ccw)
    return (2, *edge.start, *edge.end, *edge.centre, edge.semi_major, edge.semi_minor, edge.angle, edge.ccw)


def _edge(row: list[float]) -> Edge:
    _, kind, x0, y0, x1, y1, cx, cy, a, b, angle, ccw = row
    if kind == 0:
        return Line((x0, y0), (x1, y1))
    if kind == 1:
        return Arc((x0, y0), (x1, y1), (cx, cy), a, bool(ccw))
    return EllipseArc((x0, y0), (x1, y1), (cx, cy), a, b, angle, bool(ccw))

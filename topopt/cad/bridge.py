"""The narrowest material between two borders of a planar design: what has to be made, and what may break first."""

from dataclasses import dataclass
from itertools import combinations

import numpy as np
from scipy.spatial import KDTree

from topopt.cad.edges import Point
from topopt.cad.region import Region

_STEP = 1e-3  # of the size: distance between the samples


@dataclass(frozen=True)
class Bridge:
    """width in mm, and the two points between which it was measured."""

    width: float
    start: Point
    end: Point


def narrowest_bridge(region: Region) -> Bridge | None:
    """The shortest way through material from one wire to another; None for a region without holes.

    Necks of one wire with itself, such as a peninsula between two notches, are not seen. The width is that between
    samples a thousandth of the size apart, so it may be too large by about as much squared over twice the width.
    """
    step = _STEP * region.size
    samples = []
    for wire in region.wires:
        points = [edge.point(t) for edge in wire.edges for t in np.linspace(0, 1, 2 + int(edge.length / step))[:-1]]
        samples.append(np.array(points))
    best: Bridge | None = None
    trees = [KDTree(points) for points in samples]
    for i, j in combinations(range(len(samples)), 2):
        away, where = (np.asarray(values) for values in trees[j].query(samples[i]))
        k = int(np.argmin(away))
        if best is None or away[k] < best.width:
            start, end = samples[i][k].tolist(), samples[j][where[k]].tolist()
            best = Bridge(float(away[k]), (start[0], start[1]), (end[0], end[1]))
    return best

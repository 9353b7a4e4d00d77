"""A closed polygon sampled evenly between its corners, and the stretches of it that are straight."""

import math
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from numba import njit
from numpy.typing import NDArray

from topopt.cad.edges import Point, Points

_MOST = 6000  # points of a chain
_PER_TOLERANCE = 2
_STRAIGHT = 0.3  # of the tolerance: how far a run may bend and still be a line
_LEAST = 8.0  # tolerances: the shortest line


@dataclass
class Run:
    """A settled stretch: a corner (first == last, no tangent) or a line from point `first` to point `last`."""

    first: int
    last: int
    start: Point
    end: Point
    tangent: Point | None


@dataclass(frozen=True)
class Chain:
    """The samples. Indices wrap around.

    Attributes:
        p: (n, 2), mm. tolerance: mm. reach: samples on either side that a tangent is taken from.
        corners: indices of samples that are corners.
    """

    p: Points
    tolerance: float
    reach: int
    corners: NDArray[np.int64]

    @classmethod
    def of(cls, polygon: Points, tolerance: float, corner: float, smooth: float) -> "Chain":
        """Sample a polygon (m, 2) at half the tolerance, starting anew at each corner."""
        closed = np.vstack([polygon, polygon[:1]])
        at = np.concatenate([[0], np.cumsum(np.hypot(*np.diff(closed, axis=0).T))])
        corners = at[:-1][_turns(polygon, at, 2 * tolerance) > corner]
        n = int(np.clip(math.ceil(_PER_TOLERANCE * at[-1] / tolerance), 24, _MOST))
        stops = [*corners, corners[0] + at[-1]] if len(corners) else [0.0, at[-1]]
        parts = [np.linspace(a, b, max(4, round(n * (b - a) / at[-1])), endpoint=False) for a, b in pairwise(stops)]
        s = np.concatenate(parts) % at[-1]
        first = np.cumsum([0, *map(len, parts[:-1])]) if len(corners) else np.zeros(0, int)
        p = np.column_stack([np.interp(s, at, closed[:, 0]), np.interp(s, at, closed[:, 1])])
        return cls(p, tolerance, max(2, round(smooth * len(p) / at[-1])), first.astype(np.int64))

    def point(self, k: int) -> Point:
        return _point(self.p[k % len(self.p)])

    def points(self, first: int, last: int) -> Points:
        """Both ends included, (last - first + 1, 2)."""
        return self.p[np.arange(first, last + 1) % len(self.p)]

    def tangent(self, k: int) -> Point:
        """The slope of a straight fit through the neighbours on both sides, as far as the next corner."""
        n, reach = len(self.p), self.reach
        for c in self.corners.tolist():
            reach = min(reach, max(1, min((k - c) % n, (c - k) % n)))
        return _unit(np.arange(-reach, reach + 1) @ self.points(k - reach, k + reach))

    def one_sided(self, k: int, sign: int) -> Point:
        """The slope at the end of a quadratic through the samples on one side (+1 after, -1 before)."""
        u = np.arange(max(3, self.reach) + 1) * sign
        return _unit(np.polyfit(u, self.p[(k + u) % len(self.p)], 2)[1])

    def calmest(self) -> int:
        """The sample where the direction changes least."""
        n = len(self.p)
        t = np.array([self.tangent(k) for k in range(n)])
        return int(np.argmin(np.abs(t[:, 0] * np.roll(t[:, 1], -1) - t[:, 1] * np.roll(t[:, 0], -1))))


def straight_runs(chain: Chain) -> list[Run]:
    """Corners and lines in their order around the chain. Lines end at corners at the latest, the longest come first."""
    n, corners = len(chain.p), set(chain.corners.tolist())
    runs = [Run(k, k, chain.point(k), chain.point(k), None) for k in sorted(corners)]
    most = np.full(n, n - 1)
    if corners:
        at = np.array(sorted(corners))
        ahead = at[np.searchsorted(at, np.arange(n), side="right") % len(at)]
        most = (ahead - np.arange(n) - 1) % n + 1
    counts = _lengths(chain.p, most, _STRAIGHT * chain.tolerance)
    lengths = [(int(counts[k]), int(k)) for k in np.lexsort((np.arange(n), -counts))]
    least = max(math.ceil(_LEAST * _PER_TOLERANCE), 2 * chain.reach)
    taken = np.zeros(n, bool)
    for count, first in lengths:
        if count < least:
            break
        inside = np.arange(first, first + count + 1) % n
        if taken[[k for k in inside.tolist() if k not in corners]].any():
            continue
        if (line := _line(chain, first, first + count, corners)) is not None:
            taken[inside] = True
            runs.append(line)
    return sorted(runs, key=lambda run: (run.first, run.last))


def circle_through(q: Points) -> tuple[Point, float] | None:
    """The circle that fits points best in the algebraic sense (Kasa 1976); None where they lie on a line."""
    middle = q.mean(axis=0)
    x = q - middle
    A = np.column_stack([2 * x, np.ones(len(x))])
    answer, _, rank, _ = np.linalg.lstsq(A, (x**2).sum(axis=1), rcond=1e-10)
    if rank < 3:
        return None
    square = answer[2] + answer[:2] @ answer[:2]
    return (_point(middle + answer[:2]), math.sqrt(square)) if square > 0 else None


@njit(cache=True)
def _lengths(p: Points, most: NDArray[np.int64], limit: float) -> NDArray[np.int64]:
    """How many steps from each sample stay within `limit` of one line, found by doubling and halving. -> (n,)"""
    n = len(p)
    out = np.ones(n, np.int64)
    for first in range(n):
        low, high = 1, 2
        while high <= most[first] and _bend(p, first, high) <= limit:
            low, high = high, 2 * high
        high = min(high, most[first] + 1)
        while high - low > 1:
            middle = (low + high) // 2
            if _bend(p, first, middle) <= limit:
                low = middle
            else:
                high = middle
        out[first] = low
    return out


@njit(cache=True)
def _bend(p: Points, first: int, count: int) -> float:
    """Largest distance of `count + 1` samples from their principal axis."""
    n, mx, my = len(p), 0.0, 0.0
    for k in range(count + 1):
        mx += p[(first + k) % n, 0]
        my += p[(first + k) % n, 1]
    mx, my = mx / (count + 1), my / (count + 1)
    xx, xy, yy = 0.0, 0.0, 0.0
    for k in range(count + 1):
        x, y = p[(first + k) % n, 0] - mx, p[(first + k) % n, 1] - my
        xx, xy, yy = xx + x * x, xy + x * y, yy + y * y
    angle = 0.5 * np.arctan2(2 * xy, xx - yy)
    c, s, worst = np.cos(angle), np.sin(angle), 0.0
    for k in range(count + 1):
        x, y = p[(first + k) % n, 0] - mx, p[(first + k) % n, 1] - my
        worst = max(worst, abs(c * y - s * x))
    return worst


def _line(chain: Chain, first: int, last: int, corners: set[int]) -> Run | None:
    """The line of a run, through its corners where it has them; None where an arc describes it much better."""
    q, n = chain.points(first, last), len(chain.p)
    bend, found = _bend(q, 0, len(q) - 1), circle_through(q)
    if bend > 0.1 * chain.tolerance and found:
        off = np.abs(np.hypot(*(q - found[0]).T) - found[1]).max()
        if off < 0.4 * bend:
            return None
    # The ends reach a little into the roundings beside the line and would tilt it.
    cut = len(q) // 6
    centre, along = _direction(q[cut : len(q) - cut])
    start, end = (
        _point(q[k]) if number % n in corners else _point(centre + along * ((q[k] - centre) @ along))
        for k, number in ((0, first), (-1, last))
    )
    return Run(first, last, start, end, _unit(np.subtract(end, start)))


def _direction(q: Points) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Middle and principal direction of points, in their order."""
    centre = q.mean(axis=0)
    x, y = (q - centre).T
    angle = 0.5 * math.atan2(2 * float(x @ y), float(x @ x - y @ y))
    along = np.array([math.cos(angle), math.sin(angle)])
    return centre, along if (q[-1] - q[0]) @ along >= 0 else -along


def _turns(polygon: Points, at: NDArray[np.float64], window: float) -> NDArray[np.float64]:
    """How much the direction turns at each vertex, between chords of length `window`; zero unless it is the local
    maximum. polygon : (m, 2), at : (m + 1,) length up to each vertex -> (m,)"""
    closed, whole = np.vstack([polygon, polygon[:1]]), at[-1]

    def walk(offset: float) -> Points:
        s = (at[:-1] + offset) % whole
        return np.column_stack([np.interp(s, at, closed[:, 0]), np.interp(s, at, closed[:, 1])])

    before, after = polygon - walk(-min(window, whole / 6)), walk(min(window, whole / 6)) - polygon
    cross = before[:, 0] * after[:, 1] - before[:, 1] * after[:, 0]
    turn = np.abs(np.arctan2(cross, (before * after).sum(axis=1)))
    for k in np.argsort(-turn, kind="stable"):
        if turn[k] > 0:
            away = np.abs(at[:-1] - at[k])
            near = np.minimum(away, whole - away) < window
            near[k] = False
            turn[near] = 0
    return turn


def _unit(v: NDArray[np.float64]) -> Point:
    size = float(np.hypot(v[0], v[1]))
    return float(v[0]) / size, float(v[1]) / size


def _point(p: NDArray[np.float64]) -> Point:
    return float(p[0]), float(p[1])

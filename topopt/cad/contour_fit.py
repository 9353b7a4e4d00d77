"""A dense closed polygon as few lines and arcs, tangent to each other, none farther away than a tolerance.

Our own recipe, in the order in which a person would redraw the outline:

1. A polygon that is a circle becomes one.
2. Corners, vertices where the direction turns by more than a given angle within two tolerances, stay sharp.
3. Straight runs become lines, where a line is as good as an arc.
4. Between two lines one arc tangent to both is tried (a fillet); otherwise, and everywhere else, the longest biarcs
   (`topopt.cad.biarc`) that stay within the tolerance, with tangents taken from the polygon.

The result is tangent at every joint that is no corner, and its distance from the polygon is measured both ways.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from numpy.typing import ArrayLike
from scipy.optimize import minimize_scalar

from topopt.cad.biarc import arc_from, biarc, distance
from topopt.cad.edges import Edge, Line, Point, Points
from topopt.cad.straight_runs import Chain, Run, circle_through, straight_runs
from topopt.cad.wires import Wire, circle
from topopt.errors import OutlineError

CORNER = math.radians(50)
SHARP = 1e-6  # rad; a joint that turns by more is a corner
_SHARE = 0.8  # of the tolerance that pieces may use; the rest is for the polygon between its samples
_RATIOS = (1.0, 0.6, 1.6, 0.3, 3.0)
_TRIES = 24
_FEW = 40  # points that a biarc is tried on before all the others


@dataclass(frozen=True)
class FittedWire:
    """What was found.

    Attributes:
        wire: lines and arcs, in the sense of the polygon.
        error: the largest distance from the polygon to the wire or from the wire to the polygon, mm.
        corners: number of joints that are not tangent.
    """

    wire: Wire
    error: float
    corners: int


def fit_polygon(
    points: ArrayLike, tolerance: float, *, corner: float = CORNER, smooth: float | None = None
) -> FittedWire:
    """Lines and arcs for a closed polygon.

    Args:
        points: (n, 2), mm, the first not repeated, n >= 3.
        tolerance: mm.
        corner: rad; the least turn that stays a corner. pi: none does.
        smooth: mm; half the length over which a tangent is taken. Default: twice the tolerance.

    Raises:
        OutlineError: too few points, a tolerance that is not positive, or no wire within it that does not cross itself.
    """
    p = np.asarray(points, float)
    if p.ndim != 2 or p.shape[1] != 2 or len(p) < 3 or not np.isfinite(p).all():
        raise OutlineError(f"a contour needs at least three finite points (x, y), not an array of shape {p.shape}")
    if not (math.isfinite(tolerance) and tolerance > 0):
        raise OutlineError(f"the tolerance of a contour must be a positive number of mm, not {tolerance}")
    p = p[np.any(p != np.roll(p, 1, axis=0), axis=1)]
    smooth = 2 * tolerance if smooth is None else smooth
    for share in (1, 0.5, 0.25):
        chain = Chain.of(p, share * tolerance, corner, share * smooth)
        wire = _as_circle(chain) or Wire(tuple(_edges(chain)))
        error = deviation(wire, p)
        if error <= tolerance and wire.is_simple(tolerance / 20):
            return FittedWire(wire, error, int((np.abs(wire.turns) > SHARP).sum()))
    raise OutlineError(f"no lines and arcs within {tolerance:g} mm of the contour: allow more, or smooth the field")


def deviation(wire: Wire, polygon: Points) -> float:
    """Largest distance between a wire of lines and arcs and a closed polygon, both ways, by dense sampling, mm."""
    there = distance(_dense(polygon, wire.length / 2000), wire.edges).max()
    mine = _dense(wire.sample(1e-6 * wire.size), wire.length / 2000)
    start = polygon
    along = np.roll(polygon, -1, axis=0) - polygon
    square = np.maximum((along**2).sum(axis=1), 1e-300)
    back = 0.0
    for k in range(0, len(mine), 200):
        arm = mine[k : k + 200, None] - start
        t = np.clip((arm * along).sum(-1) / square, 0, 1)
        back = max(back, float(np.linalg.norm(arm - t[..., None] * along, axis=-1).min(axis=1).max()))
    return max(float(there), back)


def _dense(polygon: Points, step: float) -> Points:
    """The closed polygon with points at most `step` apart."""
    closed = np.vstack([polygon, polygon[:1]])
    at = np.concatenate([[0], np.cumsum(np.hypot(*np.diff(closed, axis=0).T))])
    s = np.union1d(at[:-1], np.linspace(0, at[-1], math.ceil(at[-1] / step), endpoint=False))
    return np.column_stack([np.interp(s, at, closed[:, 0]), np.interp(s, at, closed[:, 1])])


def _as_circle(chain: Chain) -> Wire | None:
    found = circle_through(chain.p)
    if found is None or len(chain.corners):
        return None
    centre, radius = found
    off = np.abs(np.hypot(*(chain.p - centre).T) - radius).max()
    if off > _SHARE * chain.tolerance:
        return None
    whole = circle(centre, radius)
    x, y = chain.p.T
    return whole.oriented(bool((x * np.roll(y, -1) - y * np.roll(x, -1)).sum() > 0))


def _edges(chain: Chain) -> list[Edge]:
    runs, n = straight_runs(chain), len(chain.p)
    if not runs:
        first = chain.calmest()
        here = chain.point(first), chain.tangent(first)
        return _biarcs(chain, first, first + n, *here, *here)
    following = [*runs[1:], runs[0]]
    links: list[list[Edge] | None] = [_fillet(chain, run, after) for run, after in zip(runs, following, strict=True)]
    edges: list[Edge] = []
    for run, after, link in zip(runs, following, links, strict=True):
        if run.tangent:
            edges.append(Line(run.start, run.end))
        first, last = run.last, after.first + (n if after.first < run.last or after is run else 0)
        if link is None and last > first:
            link = _biarcs(chain, first, last, run.end, run.tangent, after.start, after.tangent)
        edges += link or []
    return edges


def _fillet(chain: Chain, run: Run, after: Run) -> list[Edge] | None:
    """One arc tangent to two lines, which then end where it begins and begin where it ends; None if it is no good."""
    t0, t1 = run.tangent, after.tangent
    if t0 is None or t1 is None or run is after:
        return None
    v = after.start[0] - run.end[0], after.start[1] - run.end[1]
    turn, along = t0[0] * t1[1] - t0[1] * t1[0], v[0] * t0[0] + v[1] * t0[1]
    if abs(turn) > 1e-6:
        # The lines meet `ahead` of the end of the one and `behind` the start of the other.
        ahead, behind = (v[0] * t1[1] - v[1] * t1[0]) / turn, (v[1] * t0[0] - v[0] * t0[1]) / turn
        difference = behind - ahead
    elif t0[0] * t1[0] + t0[1] * t1[1] < 0:
        ahead, difference = math.inf, -along  # a half circle between parallel lines
    else:
        return None
    # The arc begins `shift` beyond the end of the one line and ends `shift + difference` before the start of the other,
    # so that both ends are equally far from where the lines meet. A line may give away a little less than half of it.
    spare = [0.45 * math.dist(line.start, line.end) for line in (run, after)]
    low = max(-spare[0], -difference - spare[1])
    high = min(0.999 * ahead, math.hypot(*v))
    if not (ahead > 0 and low < high):
        return None
    beyond = len(chain.p) if after.first < run.last else 0
    q = chain.points((run.first + run.last) // 2, (after.first + after.last) // 2 + beyond)
    q = q[:: 1 + len(q) // 200]

    def at(shift: float) -> tuple[Point, Edge, Point]:
        back = shift + difference
        start = run.end[0] + shift * t0[0], run.end[1] + shift * t0[1]
        end = after.start[0] - back * t1[0], after.start[1] - back * t1[1]
        return start, arc_from(start, t0, end), end

    def error(shift: float) -> float:
        start, arc, end = at(shift)
        return float(distance(q, [Line(run.start, start), arc, Line(end, after.end)]).max())

    tried = np.linspace(low, high, _TRIES)
    best = int(np.argmin([error(shift) for shift in tried]))
    bounds = tried[max(best - 1, 0)], tried[min(best + 1, _TRIES - 1)]
    found = minimize_scalar(error, bounds=bounds, method="bounded")
    shift = float(found.x)  # pyright: ignore[reportAttributeAccessIssue]
    if error(shift) > _SHARE * chain.tolerance:
        return None
    run.end, arc, after.start = at(shift)
    return [arc]


def _biarcs(
    chain: Chain, first: int, last: int, start: Point, t0: Point | None, end: Point, t1: Point | None
) -> list[Edge]:
    """Biarcs from point `first` to point `last` of the chain; ends are given, their tangents where they are known."""
    t0 = t0 or chain.one_sided(first, 1)
    t1 = t1 or chain.one_sided(last, -1)

    def known(k: int) -> tuple[Point, Point]:
        return (start, t0) if k == first else (end, t1) if k == last else (chain.point(k), chain.tangent(k))

    def joined(a: int, b: int) -> list[Edge] | None:
        return _one_biarc(chain, a, b, *known(a), *known(b))

    stops, pieces = [first], []
    while stops[-1] < last:
        to, found = _longest(stops[-1], last, joined)
        stops.append(to)
        pieces.append(found or [Line(known(stops[-2])[0], known(to)[0])])
    # The greedy way leaves a short rest at the end; as many pieces of equal length look better, if they will do.
    even = np.linspace(first, last, len(stops)).round().astype(int).tolist()
    balanced = [joined(a, b) for a, b in pairwise(even)] if len(set(even)) == len(even) else [None]
    if all(balanced):
        pieces = balanced
    return [edge for piece in pieces if piece for edge in piece]


def _longest(at: int, last: int, joined: Callable[[int, int], list[Edge] | None]) -> tuple[int, list[Edge] | None]:
    """The farthest point that one biarc reaches from a point, and the biarc."""
    if whole := joined(at, last):
        return last, whole
    low, high, found, size = at, last, None, 4
    while at + size < high:
        if not (piece := joined(at, at + size)):
            high = at + size
            break
        low, found, size = at + size, piece, 2 * size
    while high - low > 1:
        middle = (low + high) // 2
        piece = joined(at, middle)
        low, high, found = (middle, high, piece) if piece else (low, middle, found)
    return (low, found) if found else (at + 1, None)


def _one_biarc(chain: Chain, a: int, b: int, p: Point, t: Point, q: Point, u: Point) -> list[Edge] | None:
    points = chain.points(a, b)
    few = points[:: 1 + len(points) // _FEW]
    for ratio in _RATIOS:
        pieces = biarc(p, t, q, u, ratio)
        # No piece turns by more than a half circle: such arcs are detours.
        fair = pieces and all(isinstance(edge, Line) or abs(edge.sweep) < math.pi for edge in pieces)
        if pieces and fair and all(distance(q, pieces).max() <= _SHARE * chain.tolerance for q in (few, points)):
            return list(pieces)
    return None

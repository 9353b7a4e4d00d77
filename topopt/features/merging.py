"""Voids that overlap made one, where that costs next to nothing: fewer edges, and no nicks where two outlines cross.

A cavity of a finished design is often the union of several voids. Some of them are replaced by the convex polygon
around them if the plate, brought to its goal volume again, stays about as stiff. The group that changes the fewest
cells is tried first.
"""

from collections.abc import Callable, Iterator, Sequence
from itertools import combinations

import numpy as np
from numpy.typing import NDArray

from topopt.features.bridges import rim
from topopt.features.distance import signed_distance
from topopt.features.problem import FeatureProblem
from topopt.features.shapes import RoundedPolygon, Shape, turning
from topopt.features.validity import Rules

Field = NDArray[np.float64]
Shapes = tuple[Shape, ...]
Group = tuple[int, ...]

MOST_CHANGED = 0.1  # of the cells of the new void
MOST_VERTICES = 6
SPARED = 0.01  # of the area of a hull; so much it may change for one vertex less
TRIALS = 24  # evaluations of the plate


def merged(
    problem: FeatureProblem,
    shapes: Shapes,
    rules: Rules,
    worse: float,
    settle: Callable[[Shapes], Shapes],
    judge: Callable[[Shapes], float],
) -> Shapes:
    """The same plate with fewer voids.

    Args:
        worse: by how much of its value the compliance may rise in all.
        settle: makes shapes valid and meets the volume. judge: compliance of settled shapes; infinite if not valid.
    """
    limit, refused = (1 + worse) * judge(shapes), set()
    for _ in range(TRIALS):
        tries = [t for t in _candidates(problem, shapes, rules) if t not in refused]
        if not tries:
            break
        group, one = tries[0]
        found = settle((*(shape for k, shape in enumerate(shapes) if k not in group), one))
        if judge(found) <= limit:
            shapes, refused = found, set()
        else:
            refused.add(tries[0])
    return shapes


def around(shapes: Sequence[Shape], rules: Rules) -> RoundedPolygon | None:
    """The rounded polygon of few vertices around the convex hull of some shapes; None where no valid one comes near.

    Edges of the hull are left away one by one, and their neighbours extended until they meet. Corner radii are those
    whose arcs touch the hull. Of all that have about the area of the hull, the one with the fewest vertices is taken.
    """
    from scipy.spatial import ConvexHull

    points = np.concatenate([rim(shape) for shape in shapes])
    ring = points[ConvexHull(points).vertices]  # anticlockwise
    x, y = ring.T
    area = 0.5 * float(x @ np.roll(y, -1) - y @ np.roll(x, -1))
    best, miss = None, np.inf
    for at in _circumscribed(ring):
        lengths = np.hypot(*(np.roll(at, -1, 0) - at).T)
        if len(at) > MOST_VERTICES or lengths.min() < rules.edge or turning(at).min() < rules.sine:
            continue
        one = _rounded(at, ring, rules)
        found = abs(one.area / area - 1)
        if found <= max(SPARED, miss):
            best, miss = one, found
    return best


def _rounded(at: Field, ring: Field, rules: Rules) -> RoundedPolygon:
    """The polygon (k, 2) with arcs that touch the convex ring (n, 2) within it."""
    # An arc of radius r at a corner of half angle b stays r (1 / sin b - 1) away from the vertex.
    behind, ahead = np.roll(at, 1, 0) - at, np.roll(at, -1, 0) - at
    before, after = np.hypot(*behind.T), np.hypot(*ahead.T)
    half = 0.5 * np.arccos(np.clip((behind * ahead).sum(1) / (before * after), -1, 1))
    bisector = behind / before[:, None] + ahead / after[:, None]
    bisector /= np.hypot(*bisector.T)[:, None]
    depth = ((ring[None] - at[:, None]) * bisector[:, None]).sum(2).min(1)
    radius = np.maximum(depth, 0) / (1 / np.sin(half) - 1)
    fractions = np.clip(radius / np.tan(half) / np.minimum(before, after), *rules.fractions)
    return RoundedPolygon(tuple(map(tuple, at.tolist())), tuple(fractions.tolist()))


def _circumscribed(ring: Field) -> Iterator[Field]:
    """Polygons (k, 2) around a convex one (n, 2), each with one edge less; every time the one that adds least area."""
    at = ring
    while len(at) > 3:
        # Without the edge from p to q, its neighbours are extended to the corner c.
        before, p, q, after = np.roll(at, 1, 0), at, np.roll(at, -1, 0), np.roll(at, -2, 0)
        u, v, w = p - before, after - q, q - p
        cross = u[:, 0] * v[:, 1] - u[:, 1] * v[:, 0]
        meets = cross > 1e-9 * np.hypot(*u.T) * np.hypot(*v.T)
        share = np.divide(w[:, 0] * v[:, 1] - w[:, 1] * v[:, 0], cross, out=np.zeros_like(cross), where=meets)
        corner = p + share[:, None] * u
        away = corner - p
        added = np.where(meets, np.abs(w[:, 0] * away[:, 1] - w[:, 1] * away[:, 0]), np.inf)
        k = int(added.argmin())
        if not np.isfinite(added[k]):
            return
        at = np.vstack([corner[k], np.roll(at, -k, 0)[2:]])
        yield at


def _candidates(problem: FeatureProblem, shapes: Sequence[Shape], rules: Rules) -> list[tuple[Group, RoundedPolygon]]:
    """Groups of voids that overlap and the void around each, those first that change the fewest cells."""
    points, areas = problem.plate.points, problem.plate.areas
    inside = signed_distance(points, shapes) > 0
    count, found = inside.sum(0), []
    for group in _groups(inside @ inside.T.astype(np.int64) > 0, shapes):
        one = around([shapes[k] for k in group], rules)
        if one is None:
            continue
        new = signed_distance(points, [one])[0] > 0
        own = inside[list(group)]
        changed = (new != own.any(0)) & (count == own.sum(0)) & ~problem.kept
        share = float(areas @ changed) / max(float(areas @ new), 1e-300)
        if share <= MOST_CHANGED:
            found.append((share, group, one))
    found.sort(key=lambda row: row[0])
    return [row[1:] for row in found]


def _groups(touch: NDArray[np.bool_], shapes: Sequence[Shape]) -> list[Group]:
    """Pairs and triples of polygons that hang together, and whole cavities. touch: (n, n), which voids overlap."""
    from scipy.sparse import csr_array
    from scipy.sparse.csgraph import connected_components

    polygons = np.array([isinstance(shape, RoundedPolygon) for shape in shapes])
    touch = touch & polygons[:, None] & polygons
    _, label = connected_components(csr_array(touch), directed=False)
    groups = {tuple(np.flatnonzero(label == k).tolist()) for k in range(label.max() + 1)}
    for i, j in combinations(range(len(shapes)), 2):
        if touch[i, j]:
            groups.add((i, j))
            others = np.flatnonzero(touch[i] | touch[j]).tolist()
            groups |= {tuple(sorted((i, j, k))) for k in others if k not in (i, j)}
    return sorted(group for group in groups if len(group) > 1)

"""How much material stands between two voids, and between a void and the border; and how to widen what is too narrow.

Voids that overlap, and voids that open the border, leave no bridge and are left alone. The others are pushed apart, or
away from the border, along the line of their least distance; their form does not change.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from topopt.features.distance import signed_distance
from topopt.features.shapes import Capsule, Ellipse, RoundedPolygon, Shape, Slot

Field = NDArray[np.float64]

SAMPLES = 96
SWEEPS = 3


@dataclass(frozen=True)
class Bridge:
    """width in mm; first, second: numbers of the voids, second -1 for the border; away: unit vector (2,) from the
    second to the first."""

    width: float
    first: int
    second: int
    away: Field


def bridges(shapes: Sequence[Shape], border: Field, below: float) -> list[Bridge]:
    """All bridges narrower than `below` mm, the narrowest first. border : (k, 2, 2) segments of the domain."""
    found, rims = [], [rim(shape) for shape in shapes]
    if below <= 0:
        return []
    for i, points in enumerate(rims):
        near = [j for j in range(len(shapes)) if j != i and _apart(shapes[i], shapes[j]) < below]
        distances = signed_distance(points, [shapes[j] for j in near])
        for j, d in zip(near, distances, strict=True):
            gap = -float(d.max())
            if 0 < gap < below:
                place = points[d.argmax()]
                found.append(Bridge(gap, i, j, _outward(place, shapes[j])))
        near = _near(border, points, below)
        if len(near):
            to_border, foot = _to_border(points, near)
            at = int(to_border.argmin())
            if 0 < to_border[at] < below and _inside(points, border).all():
                away = (points[at] - foot[at]) / to_border[at]
                found.append(Bridge(float(to_border[at]), i, -1, away))
    return sorted(found, key=lambda bridge: bridge.width)


def widened(shapes: Sequence[Shape], border: Field, width: float, sweeps: int = SWEEPS) -> tuple[Shape, ...]:
    """The shapes, moved until no bridge is narrower than `width` mm, or as far as a few sweeps get."""
    out = list(shapes)
    for _ in range(sweeps):
        narrow = bridges(out, border, width * (1 - 1e-6))
        if not narrow:
            break
        moves = np.zeros((len(out), 2))
        for bridge in narrow:
            lack = 1.05 * (width - bridge.width)
            if bridge.second < 0:
                moves[bridge.first] += lack * bridge.away
            else:  # each pair is found from both sides, so each moves a quarter twice
                moves[bridge.first] += 0.25 * lack * bridge.away
                moves[bridge.second] -= 0.25 * lack * bridge.away
        out = [moved(shape, move) if move.any() else shape for shape, move in zip(out, moves, strict=True)]
    return tuple(out)


def moved(shape: Shape, by: Field) -> Shape:
    """Shifted by a vector (2,), mm."""
    values = shape.parameters.copy()
    if isinstance(shape, RoundedPolygon):
        values[: 2 * len(shape.vertices)] += np.tile(by, len(shape.vertices))
    elif isinstance(shape, Capsule):
        values[:4] += np.tile(by, 2)
    else:
        assert isinstance(shape, Ellipse | Slot)
        values[:2] += by
    return shape.with_parameters(values)


def rim(shape: Shape, samples: int = SAMPLES) -> Field:
    """Points on the outline, (k, 2); all tangent points of a polygon and the middles of its arcs are among them."""
    if isinstance(shape, RoundedPolygon):
        at = shape.corners
        middle = at[:, 4:6] + at[:, 6:7] * at[:, 7:9]
        share = np.linspace(0, 1, max(2, samples // len(at)))[1:-1, None, None]
        edge = at[:, 2:4] + share * (np.roll(at[:, 0:2], -1, 0) - at[:, 2:4])
        return np.concatenate([at[:, 0:2], at[:, 2:4], middle, edge.reshape(-1, 2)])
    s = np.linspace(0, 2 * np.pi, samples, endpoint=False)
    ring = np.stack([np.cos(s), np.sin(s)], 1)
    if isinstance(shape, Ellipse):
        c, n = np.cos(shape.angle), np.sin(shape.angle)
        return np.array(shape.centre) + ring * [shape.a, shape.b] @ np.array([[c, n], [-n, c]])
    capsule = shape.capsule if isinstance(shape, Slot) else shape
    start, end = np.array(capsule.start), np.array(capsule.end)
    along = end - start
    normal = np.array([-along[1], along[0]]) / max(float(np.hypot(*along)), 1e-300)
    share = np.linspace(0, 1, samples // 4)[:, None]
    sides = [start + share * along + side * capsule.radius * normal for side in (1, -1)]
    return np.concatenate([*sides, end + capsule.radius * ring, start + capsule.radius * ring])


def _apart(a: Shape, b: Shape) -> float:
    """Distance of the boxes around two shapes."""
    (a0, a1), (b0, b1) = a.bounds, b.bounds
    return float(np.hypot(*np.maximum(0, np.maximum(a0 - b1, b0 - a1))))


def _outward(place: Field, shape: Shape) -> Field:
    """Direction in which the distance from the shape grows, (2,)."""
    step = 1e-6 * float(np.ptp(shape.bounds, axis=0).max())
    around = place + step * np.array([[1, 0], [-1, 0], [0, 1], [0, -1]])
    d = -signed_distance(around, [shape])[0]
    slope = np.array([d[0] - d[1], d[2] - d[3]])
    return slope / max(float(np.hypot(*slope)), 1e-300)


def _near(border: Field, points: Field, below: float) -> Field:
    """The segments whose boxes come nearer than `below` to the box around the points."""
    low, high = points.min(0), points.max(0)
    gap = np.maximum(0, np.maximum(border.min(1) - high, low - border.max(1)))
    return border[np.hypot(*gap.T) < below]


def _to_border(points: Field, border: Field) -> tuple[Field, Field]:
    """Distance of points (m, 2) from the segments (m,), and the foot there (m, 2)."""
    start, along = border[None, :, 0], (border[:, 1] - border[:, 0])[None]
    away = points[:, None] - start
    share = np.clip((away * along).sum(2) / (along * along).sum(2), 0, 1)
    feet = start + share[..., None] * along
    distance = np.linalg.norm(points[:, None] - feet, axis=2)
    rows, nearest = np.arange(len(points)), distance.argmin(1)
    return distance[rows, nearest], feet[rows, nearest]


def _inside(points: Field, border: Field) -> NDArray[np.bool_]:
    """Whether points (m, 2) lie in the domain, by the parity of crossings, (m,)."""
    y, low, high = points[:, None, 1], border[None, :, 0, 1], border[None, :, 1, 1]
    spans = (low > y) != (high > y)
    run = (border[:, 1, 0] - border[:, 0, 0])[None]
    crossing = border[None, :, 0, 0] + (y - low) / np.where(high == low, 1.0, high - low) * run
    return (spans & (points[:, None, 0] < crossing)).sum(1) % 2 == 1

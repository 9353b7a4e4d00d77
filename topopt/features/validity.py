"""What makes a rounded polygon a feature that can be cut, and the step that makes it so.

An anticlockwise polygon is valid when at every corner the sine of its turning angle is at least `sine` (so it is convex
and has no spikes), every edge is at least `edge` long and every corner radius is at least `radius`: the tool's. A
polygon that violates one of these is moved along the gradient of its worst violation, which is a Gauss-Newton step for
that one rule, again and again. Correcting a feature after each step of the optimiser keeps it valid where a constraint
within the optimiser does not: the worst corner changes from step to step.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numba import njit
from numpy.typing import NDArray

from topopt.features.corners import corners, corners_vjp
from topopt.features.errors import FeatureError
from topopt.features.shapes import Capsule, Ellipse, RoundedPolygon, Shape, Slot, turning

Field = NDArray[np.float64]

OVERSHOOT = 1.02


@dataclass(frozen=True)
class Rules:
    """Limits of a valid feature; lengths in mm.

    Args:
        edge: shortest edge. sine: smallest sine of a turning angle. radius: smallest corner radius, or half width.
        fractions: lowest and highest tangent-length fraction.
        length, fraction: what counts as an equal effort of a vertex (mm) and of a fraction when a corner is mended.

    Raises:
        FeatureError: a limit that no feature can meet.
    """

    edge: float
    radius: float
    sine: float = 0.1
    fractions: tuple[float, float] = (0.05, 0.45)
    length: float = 1.0
    fraction: float = 0.04

    def __post_init__(self) -> None:
        low, high = self.fractions
        if min(self.edge, self.radius) < 0 or not 0 <= self.sine < 0.8:
            raise FeatureError("rules: edge and radius must not be negative, sine must lie in [0, 0.8)")
        if not 0 <= low < high <= 0.5:
            raise FeatureError(f"rules: fractions are {self.fractions}: give 0 <= lowest < highest <= 0.5")

    @property
    def limits(self) -> tuple[float, float, float]:
        """edge, sine, radius"""
        return (float(self.edge), float(self.sine), float(self.radius))


def constraints(shapes: Sequence[Shape], rules: Rules, near: float) -> tuple[Field, Field]:
    """The rules of polygons as functions that must not be positive, for an optimiser.

    Args:
        near: rules that are met by more than this share of their limit are left out.

    Returns:
        Values (r,) and their derivatives (r, number of parameters).
    """
    sizes = [len(shape.parameters) for shape in shapes]
    values, rows, first = [], [], 0
    for shape, size in zip(shapes, sizes, strict=True):
        if isinstance(shape, RoundedPolygon):
            vertices, fractions = np.array(shape.vertices), np.array(shape.fractions)
            excess = excesses(vertices, fractions, rules.limits)
            for rule, i in np.argwhere(excess > -near):
                dv, df = excess_gradient(vertices, fractions, rule, i, rules.limits)
                row = np.zeros(sum(sizes))
                row[first : first + size] = np.r_[dv.ravel(), df]
                values.append(excess[rule, i])
                rows.append(row)
        first += size
    return np.array(values), np.array(rows).reshape(len(values), sum(sizes))


def violations(shape: Shape, rules: Rules, share: float = 1.0) -> list[str]:
    """What is wrong with a shape, in words; empty when it is valid.

    Args:
        share: of the limits on lengths that is asked for; a little below 1 forgives rounding.
    """
    wrong = []
    if isinstance(shape, RoundedPolygon):
        points = np.array(shape.vertices)
        edge = float(np.hypot(*(np.roll(points, -1, 0) - points).T).min())
        radius, sine = min(shape.radii), float(turning(points).min())
        if shape.area <= 0:
            wrong.append("it runs clockwise")
        if sine < share * rules.sine:
            wrong.append(f"the sine of a turning angle is {sine:.3g}, {rules.sine:g} is the least")
        elif abs(_winding(points) - 1) > 1e-6:
            wrong.append("it crosses itself")
        if edge < share * rules.edge:
            wrong.append(f"an edge is {edge:.4g} mm long, {rules.edge:.4g} mm is the least")
    else:
        radius = half_width(shape)
    if radius < share * rules.radius:
        wrong.append(f"a radius is {radius:.4g} mm, {rules.radius:.4g} mm is the least")
    return wrong


def corrected(shapes: Sequence[Shape], rules: Rules, steps: int = 40) -> tuple[Shape, ...]:
    """The shapes after at most so many corrections each; valid ones are returned as they are."""
    return tuple(_corrected(shape, rules, steps) for shape in shapes)


def half_width(shape: Ellipse | Capsule | Slot) -> float:
    """The smallest radius of curvature of an ellipse, the radius of a capsule or slot, in mm."""
    if isinstance(shape, Ellipse):
        return min(shape.a, shape.b) ** 2 / max(shape.a, shape.b)
    return shape.radius if isinstance(shape, Capsule) else 0.5 * shape.width


def _corrected(shape: Shape, rules: Rules, steps: int) -> Shape:
    if not isinstance(shape, RoundedPolygon):
        return _widened(shape, rules)
    vertices, fractions = np.array(shape.vertices), np.clip(shape.fractions, *rules.fractions)
    mended = mend(
        vertices,
        fractions,
        rules.limits,
        rules.fractions,
        (rules.length, rules.fraction),
        steps,
    )
    if not mended and np.array_equal(fractions, shape.fractions):
        return shape
    return shape.with_parameters(np.concatenate([vertices.ravel(), fractions]))


def _widened(shape: Ellipse | Capsule | Slot, rules: Rules) -> Shape:
    if half_width(shape) >= rules.radius:
        return shape
    if isinstance(shape, Capsule):
        return Capsule(shape.start, shape.end, rules.radius)
    if isinstance(shape, Slot):
        return Slot(shape.centre, max(shape.length, 2 * rules.radius), 2 * rules.radius, shape.angle)
    # The curvature radius is small^2 / large: raise the smaller axis, and both where they are equal.
    large = max(shape.a, shape.b, rules.radius)
    small = min(max(np.sqrt(rules.radius * large), min(shape.a, shape.b)), large)
    a, b = (large, small) if shape.a >= shape.b else (small, large)
    return Ellipse(shape.centre, float(a), float(b), shape.angle)


def _winding(vertices: Field) -> float:
    """Turns of the outline around itself: 1 for a simple anticlockwise polygon whose corners all turn left."""
    ahead = np.roll(vertices, -1, 0) - vertices
    behind = vertices - np.roll(vertices, 1, 0)
    cross = behind[:, 0] * ahead[:, 1] - behind[:, 1] * ahead[:, 0]
    return float(np.arctan2(cross, (ahead * behind).sum(1)).sum() / (2 * np.pi))


@njit(cache=True)
def excesses(vertices: Field, fractions: Field, limits: tuple[float, float, float]) -> Field:
    """By how much each rule is broken, as a share of its limit, (3, n): edge after, turning sine, radius of a corner.

    limits: edge, sine, radius; a rule without a limit is met.
    """
    n = len(vertices)
    at = corners(vertices, fractions)
    out = np.full((3, n), -np.inf)
    for i in range(n):
        j = (i + 1) % n
        ax, ay = vertices[i, 0] - vertices[i - 1, 0], vertices[i, 1] - vertices[i - 1, 1]
        bx, by = vertices[j, 0] - vertices[i, 0], vertices[j, 1] - vertices[i, 1]
        la, lb = max(np.hypot(ax, ay), 1e-300), max(np.hypot(bx, by), 1e-300)
        values = (lb, (ax * by - ay * bx) / (la * lb), at[i, 6])
        for rule in range(3):
            if limits[rule] > 0:
                out[rule, i] = 1 - values[rule] / limits[rule]
    return out


@njit(cache=True)
def excess_gradient(
    vertices: Field, fractions: Field, rule: int, i: int, limits: tuple[float, float, float]
) -> tuple[Field, Field]:
    """Derivative of one entry of `excesses` with respect to vertices (n, 2) and fractions (n,)."""
    n = len(vertices)
    dv, df = np.zeros((n, 2)), np.zeros(n)
    j = (i + 1) % n
    a, b = vertices[i] - vertices[i - 1], vertices[j] - vertices[i]
    la, lb = max(np.hypot(a[0], a[1]), 1e-300), max(np.hypot(b[0], b[1]), 1e-300)
    limit = limits[rule]
    if rule == 0:
        dv[j] -= b / (lb * limit)
        dv[i] += b / (lb * limit)
    elif rule == 1:
        turn = (a[0] * b[1] - a[1] * b[0]) / (la * lb)
        da = np.array([b[1], -b[0]]) / (la * lb) - turn * a / (la * la)
        db = np.array([-a[1], a[0]]) / (la * lb) - turn * b / (lb * lb)
        dv[i] -= (da - db) / limit
        dv[i - 1] += da / limit
        dv[j] -= db / limit
    else:
        pull = np.zeros((n, 7))
        pull[i, 6] = -1 / limit
        dv, df = corners_vjp(vertices, fractions, pull)
    return dv, df


@njit(cache=True)
def mend(
    vertices: Field,
    fractions: Field,
    limits: tuple[float, float, float],
    bounds: tuple[float, float],
    effort: tuple[float, float],
    steps: int,
) -> int:
    """Correct in place; -> steps taken. bounds: of the fractions.

    The step along the gradient g of the worst excess, in units of `effort`, is excess / |g|^2, a little more than what
    a linear rule would need.
    """
    low, high = bounds
    length, fraction = effort
    for step in range(steps):
        excess = excesses(vertices, fractions, limits)
        worst = int(np.argmax(excess))
        rule, i = worst // len(vertices), worst % len(vertices)
        if excess[rule, i] < 1e-9:
            return step
        dv, df = excess_gradient(vertices, fractions, rule, i, limits)
        for k in range(len(df)):  # a fraction at its limit cannot help
            if (df[k] < 0 and fractions[k] >= high) or (df[k] > 0 and fractions[k] <= low):
                df[k] = 0
        square = (dv * dv).sum() * length**2 + (df * df).sum() * fraction**2
        if square < 1e-24:
            return step
        t = min(OVERSHOOT * excess[rule, i] / square, 1.0 / np.sqrt(square))  # no vertex moves by more than `length`
        vertices -= t * length**2 * dv
        for k in range(len(df)):
            fractions[k] = min(max(fractions[k] - t * fraction**2 * df[k], low), high)
    return steps

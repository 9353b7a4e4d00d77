"""The objective against the number of solves, of one run or of two that are compared, drawn as SVG."""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from ui.plots import power as at_power
from ui.plots import ticks
from ui.words import escape, figure

WIDTH, LEFT, RIGHT = 420, 62, 12
HEIGHT, TOP, BOTTOM, GAP = 178, 26, 42, 48
DECADES = 1.0  # values that span more are drawn on a logarithmic axis
LEAST = 1e-12  # of the fall, below which a gap is rounding


@dataclass(frozen=True)
class Curve:
    """One run.

    Attributes:
        name: in the legend. tone: "first" or "second", for the colour.
        points: solves and objective, by rising solves. steps: the objective is the lowest so far, which falls in steps.
    """

    name: str
    tone: str
    points: Sequence[tuple[float, float]]
    steps: bool = False


def chart(curves: Sequence[Curve], wide: bool = False) -> str:
    """A legend and two panels, beside each other where there is room: the objective, and how far above the lowest
    that was found; a sentence while there is nothing to draw."""
    drawn = [curve for curve in curves if len(curve.points) > 1]
    if not drawn:
        return '<p class="quiet plot-empty">The plot begins with the second solve.</p>'
    lowest = min(value for curve in drawn for _, value in curve.points)
    fall = max(value for curve in drawn for _, value in curve.points) - lowest
    gaps = [
        Curve(c.name, c.tone, [(x, y - lowest) for x, y in c.points if y - lowest > LEAST * fall], c.steps)
        for c in drawn
    ]
    panels = [_panel("Objective J", drawn, 0, 0, _far(drawn))]
    if any(len(curve.points) > 1 for curve in gaps):
        shift = (WIDTH, 0) if wide else (0, TOP + HEIGHT + GAP)
        panels.append(_panel("J above the lowest that was found", gaps, *shift, True))
    width, height = WIDTH * (2 if wide else 1), TOP + HEIGHT + BOTTOM
    if not wide and len(panels) > 1:
        height += TOP + HEIGHT + GAP
    told = escape("; ".join(_told(curve) for curve in drawn))
    return (
        f'{_legend(curves)}<svg class="plot curves" viewBox="0 0 {width} {height}" role="img" '
        f'aria-label="Objective against solves: {told}">{"".join(panels)}</svg>'
    )


def _legend(curves: Sequence[Curve]) -> str:
    entries = "".join(
        f'<li class="{curve.tone}"><i></i><b>{escape(curve.name)}</b> <span>{escape(_end(curve))}</span></li>'
        for curve in curves
    )
    return f'<ul class="curve-legend">{entries}</ul>'


def _end(curve: Curve) -> str:
    if not curve.points:
        return "not begun"
    solves, value = curve.points[-1]
    return f"{figure(value, 7)} after {figure(solves, 9)} solves"


def _told(curve: Curve) -> str:
    return f"{curve.name} from {figure(curve.points[0][1], 6)} to {_end(curve)}"


def _far(curves: Sequence[Curve]) -> bool:
    values = [value for curve in curves for _, value in curve.points]
    return min(values) > 0 and max(values) > 10**DECADES * min(values)


def _panel(title: str, curves: Sequence[Curve], left: float, top: float, power: bool) -> str:
    """One panel with its axes; power: the vertical axis is logarithmic."""
    shown = [
        Curve(c.name, c.tone, [(x, math.log10(y) if power else y) for x, y in c.points if y > 0 or not power], c.steps)
        for c in curves
    ]
    along = ticks(0, max(x for c in shown for x, _ in c.points), 5, whole=True)
    values = [y for c in shown for _, y in c.points]
    low, high = min(values), max(values)
    if high - low < 1e-9 * max(abs(low), abs(high), 1e-100):
        low, high = low - 0.5, high + 0.5
    up = ticks(low, high, 4, whole=power and high - low > 2)
    low, high = min(low, up[0]), max(high, up[-1])
    floor = top + TOP + HEIGHT

    def at(x: float, y: float) -> tuple[float, float]:
        share = (x - along[0]) / (along[-1] - along[0])
        return left + LEFT + (WIDTH - LEFT - RIGHT) * share, floor - HEIGHT * (y - low) / (high - low)

    end = left + WIDTH - RIGHT
    parts = [f'<text class="title" x="{left + LEFT}" y="{top + TOP - 9}">{escape(title)}</text>']
    for tick in along:
        x, _ = at(tick, low)
        parts.append(f'<line class="grid" x1="{x:.1f}" x2="{x:.1f}" y1="{top + TOP}" y2="{floor}"/>')
        parts.append(f'<text class="tick" x="{x:.1f}" y="{floor + 16}" text-anchor="middle">{tick:g}</text>')
    for tick in up:
        _, y = at(0, tick)
        words = at_power(tick) if power else f"{tick:.6g}"
        parts.append(f'<line class="grid" x1="{left + LEFT}" x2="{end}" y1="{y:.1f}" y2="{y:.1f}"/>')
        parts.append(f'<text class="tick" x="{left + LEFT - 8}" y="{y + 4:.1f}" text-anchor="end">{words}</text>')
    parts.append(
        f'<text class="title" x="{end}" y="{floor + 34}" text-anchor="end">Solves: forward, adjoint, tangent</text>'
    )
    return "".join([*parts, *(_line(c, at, power) for c in shown if c.points)])


def _line(curve: Curve, at: Callable[[float, float], tuple[float, float]], power: bool) -> str:
    places = [at(x, y) for x, y in curve.points]
    path = list(places)
    if curve.steps:
        path = [places[0]]
        for x, y in places[1:]:
            path += [(x, path[-1][1]), (x, y)]
    line = " ".join(f"{x:.1f},{y:.1f}" for x, y in path)
    step = max(1, len(places) // 120)
    dots = "".join(
        f'<g class="reading"><circle class="hit" cx="{x:.1f}" cy="{y:.1f}" r="6"/>'
        f"<title>{escape(f'{curve.name}: {figure(10**v if power else v, 7)} after {figure(k, 9)} solves')}</title></g>"
        for (x, y), (k, v) in list(zip(places, curve.points, strict=True))[::step]
    )
    x, y = places[-1]
    end = f'<circle class="dot {curve.tone}" cx="{x:.1f}" cy="{y:.1f}" r="3.4"/>'
    return f'<polyline class="line {curve.tone}" points="{line}"/>{end}{dots}'

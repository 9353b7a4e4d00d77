"""The convergence plot, drawn as SVG: three panels over one axis of iterations, in the colours of the page."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from ui.words import escape, figure

WIDTH, LEFT, RIGHT = 420, 56, 12
HEIGHT, GAP, BOTTOM, TOP = 98, 42, 46, 20


@dataclass(frozen=True)
class Panel:
    """One quantity: its column in progress.jsonl, its title with unit, its class for the colour."""

    key: str
    title: str
    zero: bool = False  # the axis starts at zero
    digits: int = 4
    power: bool = False  # the values are exponents of ten


PANELS = (
    Panel("compliance", "Compliance [N mm]"),
    Panel("volume", "Volume fraction [–]", zero=True, digits=3),
    Panel("grey", "Grey [–], 0 = black and white", zero=True, digits=2),
)


def convergence(rows: Sequence[dict[str, Any]], unit: str = "N mm", panels: Sequence[Panel] = PANELS) -> str:
    """Panels, by default compliance, volume and grey, against the iteration, as inline SVG; a sentence while there is
    nothing to draw."""
    points = [row for row in rows if _finite(row.get("iteration"))]
    if len(points) < 2:
        return '<p class="quiet plot-empty">The plot begins with the second iteration.</p>'
    last = max(row["iteration"] for row in points)
    marks = ticks(0, last, 6, whole=True)
    right = max(last, marks[-1])
    height = TOP + len(panels) * (HEIGHT + GAP) + BOTTOM - GAP

    def x(iteration: float) -> float:
        return LEFT + (WIDTH - LEFT - RIGHT) * iteration / right

    floor = TOP + len(panels) * (HEIGHT + GAP) - GAP
    words = escape(_summary(points, unit, panels))
    parts = [f'<svg class="plot" viewBox="0 0 {WIDTH} {height}" role="img" aria-label="{words}">']
    for tick in marks:
        parts.append(f'<text class="tick" x="{x(tick):.1f}" y="{floor + 16}" text-anchor="middle">{tick:g}</text>')
        parts.append(f'<line class="grid" x1="{x(tick):.1f}" x2="{x(tick):.1f}" y1="{TOP}" y2="{floor}"/>')
    parts.append(f'<text class="title" x="{WIDTH - RIGHT}" y="{floor + 33}" text-anchor="end">Iteration</text>')
    for number, panel in enumerate(panels):
        parts.append(_panel(panel, points, TOP + number * (HEIGHT + GAP), x, unit))
    parts.append(_readings(points, x, floor, panels))
    return "".join(parts) + "</svg>"


def _panel(panel: Panel, rows: Sequence[dict[str, Any]], top: float, x: Any, unit: str) -> str:
    values = [(row["iteration"], row[panel.key]) for row in rows if _finite(row.get(panel.key))]
    if not values:
        return ""
    low, high = _range([v for _, v in values], panel.zero)
    marks = ticks(low, high, 4)
    low, high = min(low, marks[0]), max(high, marks[-1])

    def y(value: float) -> float:
        # What lies beyond the axis leaves the panel, and a little further does as well as far away.
        return top + HEIGHT * (1 - (min(value, low + 3 * (high - low)) - low) / (high - low))

    line = " ".join(f"{x(i):.1f},{y(v):.1f}" for i, v in values)
    title = panel.title.replace("N mm", unit)
    end = values[-1]
    now = figure(10 ** end[1] if panel.power else end[1], panel.digits)
    parts = [
        f'<text class="title" x="{LEFT}" y="{top - 7}">{escape(title)}</text>',
        f'<text class="value {panel.key}" x="{WIDTH - RIGHT}" y="{top - 7}" text-anchor="end">{now}</text>',
    ]
    for tick in marks:
        parts.append(f'<line class="grid" x1="{LEFT}" x2="{WIDTH - RIGHT}" y1="{y(tick):.1f}" y2="{y(tick):.1f}"/>')
        label = power(tick) if panel.power else f"{tick:.4g}"
        parts.append(f'<text class="tick" x="{LEFT - 8}" y="{y(tick) + 4:.1f}" text-anchor="end">{label}</text>')
    clip = f"clip-{panel.key}"
    box = f'x="{LEFT - 2}" y="{top - 1:.1f}" width="{WIDTH - LEFT - RIGHT + 4}" height="{HEIGHT + 2}"'
    parts.append(f'<clipPath id="{clip}"><rect {box}/></clipPath>')
    parts.append(f'<polyline class="line {panel.key}" points="{line}" clip-path="url(#{clip})"/>')
    parts.append(f'<circle class="dot {panel.key}" cx="{x(end[0]):.1f}" cy="{y(end[1]):.1f}" r="3.2"/>')
    return "".join(parts)


def power(exponent: float) -> str:
    """1e3 for 3; where ticks are parts of decades, the number itself."""
    return f"1e{exponent:g}" if exponent == round(exponent) else figure(10**exponent, 3)


def _readings(rows: Sequence[dict[str, Any]], x: Any, floor: float, panels: Sequence[Panel]) -> str:
    """An invisible column per iteration that tells its values when pointed at."""
    step = max(1, len(rows) // 250)
    half = max(1.5, 0.5 * step * (x(1) - x(0)))
    parts = []
    for row in rows[::step]:
        words = ", ".join(f"{p.key} {figure(_shown(row.get(p.key), p))}" for p in panels)
        parts.append(
            f'<g class="reading"><rect x="{x(row["iteration"]) - half:.1f}" y="{TOP}" width="{2 * half:.1f}" '
            f'height="{floor - TOP}"/><title>{escape(f"iteration {row['iteration']}: {words}")}</title></g>'
        )
    return "".join(parts)


def _range(values: Sequence[float], zero: bool) -> tuple[float, float]:
    """Axis limits. The first steps of an optimisation are far off: where they would flatten the rest, they are cut."""
    low, high = min(values), max(values)
    if len(values) > 12 and not zero:
        settled = max(values[len(values) // 8 :])
        high = min(high, low + 2.5 * max(settled - low, 0.05 * abs(low)))
    if zero:
        low = min(0.0, low)
    size = max(abs(low), abs(high))
    if high - low < max(1e-9 * size, 1e-100):
        half = 0.5 * size if size > 1e-100 else 0.5
        return low - half, high + half
    return low, high


def ticks(low: float, high: float, most: int, whole: bool = False) -> list[float]:
    """Round numbers that cover low..high, at most `most` steps."""
    raw = (high - low) / most
    size = 10.0 ** math.floor(math.log10(raw))
    step = next(size * m for m in (1, 2, 2.5, 5, 10) if size * m >= raw * (1 - 1e-9))
    step = max(1.0, float(math.ceil(step))) if whole else step
    first, last = math.floor(low / step + 1e-9), math.ceil(high / step - 1e-9)
    return [k * step for k in range(first, last + 1)]


def _shown(value: Any, panel: Panel) -> Any:
    return 10**value if panel.power and _finite(value) else value


def exponent(value: Any) -> float | None:
    """Of ten, for a logarithmic axis; None where there is none."""
    return math.log10(value) if isinstance(value, int | float) and 0 < value < math.inf else None


def _summary(rows: Sequence[dict[str, Any]], unit: str, panels: Sequence[Panel]) -> str:
    first, last = rows[0], rows[-1]
    if panels is not PANELS:
        told = [
            f"{p.key} {figure(_shown(first.get(p.key), p))} to {figure(_shown(last.get(p.key), p))}" for p in panels
        ]
        return f"Convergence over {last['iteration']} iterations: {', '.join(told)}"
    return (
        f"Convergence over {last['iteration']} iterations: compliance from {figure(first.get('compliance'))} to "
        f"{figure(last.get('compliance'))} {unit}, volume fraction {figure(last.get('volume'))}, "
        f"grey {figure(last.get('grey'))}"
    )


def _finite(value: Any) -> bool:
    """A number that can be drawn: nothing near the end of the range of floats."""
    return isinstance(value, int | float) and not isinstance(value, bool) and abs(value) < 1e100

"""Numbers, times and texts as the page prints them."""

import html
import math
import time
from collections.abc import Iterable
from typing import Any

NARROW = "\u2009"  # thin space between a number and its unit


def escape(text: Any) -> str:
    """Safe in HTML, in attributes, and in the page's own templates (which would read double braces)."""
    return html.escape(str(text), quote=True).replace("{", "&#123;").replace("}", "&#125;").replace("$", "&#36;")


def figure(value: Any, digits: int = 4) -> str:
    """A number with `digits` significant digits: 12.35, 0.01382, 334 700 with thin spaces, 1.2e-07; a dash if none."""
    if not isinstance(value, int | float) or isinstance(value, bool) or not math.isfinite(value):
        return "–"
    if value == 0:
        return "0"
    size = math.floor(math.log10(abs(value)))
    if size < -4 or size >= 9:
        return f"{value:.{digits - 1}e}"
    if isinstance(value, int) or size >= digits:
        return f"{round(value):,}".replace(",", NARROW)
    text = f"{value:.{max(0, digits - 1 - size)}f}"
    whole, dot, rest = text.partition(".")
    whole = f"{int(whole):,}".replace(",", NARROW) if abs(int(whole)) >= 10_000 else whole
    return whole + dot + rest


def lengths(values: Iterable[float]) -> str:
    """Extents in mm, without idle zeros: 120 × 80 × 60."""
    return " × ".join(f"{value:.2f}".rstrip("0").rstrip(".") for value in values)


def percent(value: Any, signed: bool = False) -> str:
    """A ratio in per cent, one decimal: 30.0 %, +1.5 %."""
    if not isinstance(value, int | float) or not math.isfinite(value):
        return "–"
    return f"{100 * value:{'+' if signed else ''}.1f}{NARROW}%"


def duration(seconds: Any) -> str:
    """8 s, 2 min 05 s, 1 h 20 min."""
    if not isinstance(seconds, int | float) or not math.isfinite(seconds) or seconds < 0:
        return "–"
    whole = round(seconds)
    if whole < 60:
        return f"{whole}{NARROW}s"
    if whole < 3600:
        return f"{whole // 60}{NARROW}min {whole % 60:02d}{NARROW}s"
    return f"{whole // 3600}{NARROW}h {whole % 3600 // 60:02d}{NARROW}min"


def moment(seconds: float) -> str:
    """A point in time, as the machine's clock shows it: 30 Nov 09:20."""
    return time.strftime("%d %b %H:%M", time.localtime(seconds)).lstrip("0")


def bytes_text(count: int) -> str:
    """File size: 820 B, 599 kB, 1.2 MB."""
    if count < 1000:
        return f"{count}{NARROW}B"
    return f"{count / 1000:.0f}{NARROW}kB" if count < 1e6 else f"{count / 1e6:.1f}{NARROW}MB"

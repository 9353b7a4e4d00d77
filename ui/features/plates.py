"""A rectangular plate of one's own, with the usual supports and loads, as the `domain` of a job."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from jobs.errors import JobError

Point = tuple[float, float]
Box = tuple[Point, Point]
BOTH = (True, True)

HELD = {"the left edge": "left", "both ends": "ends", "the two lower corners": "corners"}
LOADED = {
    "the middle of the right edge": "right",
    "the lower end of the right edge": "below",
    "the middle of the top edge": "top",
    "the whole top edge": "deck",
}
# What a plate starts with: screwed on at the left, pulled down at the right, cut with a tool of 3 mm.
FRESH: dict[str, Any] = {
    "width": 120,
    "height": 60,
    "h": 1.5,
    "modulus": 69000,
    "held": "left",
    "loaded": "right",
    "fx": 0,
    "fy": -400,
}
STRIP = 1.5  # thickness of the strip under a load along an edge, in element sizes
STRETCH = 12  # of an edge that carries a load or stands on a support: one part in so many, two elements at least


@dataclass(frozen=True)
class Plate:
    """Attributes: as of a `topopt.features.tasks.Task`; the corners of the outline are those of supports and loads."""

    outline: tuple[Point, ...]
    held: tuple[tuple[Box, tuple[bool, bool]], ...]
    loaded: Box
    load: Point
    strip: Box | None = None


def plate(form: Mapping[str, Any]) -> Plate:
    """The plate that the form states.

    Raises:
        JobError: a length or a force that cannot be.
    """
    w, y, h = (length(words, form[key]) for words, key in (("Width", "width"), ("Height", "height"), ("Element", "h")))
    if h > min(w, y) / 8:
        raise JobError(f"Element: {h:g} mm leaves fewer than 8 across the plate; choose at most {min(w, y) / 8:.3g} mm")
    if form["held"] == "ends" and form["loaded"] in ("right", "below"):
        raise JobError("Load: it acts on the edge that is held; choose another place for it")
    s = max(2 * h, w / STRETCH), max(2 * h, y / STRETCH)
    held = {
        "left": ((((0, 0), (0, y)), BOTH),),
        "ends": ((((0, 0), (0, y)), BOTH), (((w, 0), (w, y)), BOTH)),
        "corners": ((((0, 0), (s[0], 0)), BOTH), (((w - s[0], 0), (w, 0)), (False, True))),
    }[form["held"]]
    loaded: Box = {
        "right": ((w, (y - s[1]) / 2), (w, (y + s[1]) / 2)),
        "below": ((w, 0.0), (w, s[1])),
        "top": (((w - s[0]) / 2, y), ((w + s[0]) / 2, y)),
        "deck": ((0.0, y), (w, y)),
    }[form["loaded"]]
    load = (force(form["fx"]), force(form["fy"]))
    if not any(load):
        raise JobError("Force: both parts are zero; give it a value in N")
    strip = ((0.0, y - STRIP * h), (w, y + h)) if form["loaded"] == "deck" else None
    return Plate(_outline(w, y, (*(box for box, _ in held), loaded)), held, loaded, load, strip)


def domain(form: Mapping[str, Any]) -> dict[str, Any]:
    """The plate as `domain` of a job.

    Raises:
        JobError: as `plate`.
    """
    one = plate(form)
    fixes = {BOTH: "all", (True, False): "x", (False, True): "y"}
    supports = [{"box": _plain(box), **({} if all(c) else {"fix": fixes[c]})} for box, c in one.held]
    data: dict[str, Any] = {
        "outline": [list(corner) for corner in one.outline],
        "h": float(form["h"]),
        "E": length("Modulus", form["modulus"]),
        "nu": 0.33,
        "supports": supports,
        "loads": [[{"box": _plain(one.loaded), "force": list(one.load)}]],
    }
    return data if one.strip is None else {**data, "keep": [_plain(one.strip)]}


def _outline(w: float, y: float, boxes: tuple[Box, ...]) -> tuple[Point, ...]:
    """Anticlockwise corners of the rectangle, and the ends of supports and loads between them."""
    ends = {point for box in boxes for point in box}
    sides = [
        sorted(p for p in ends if p[1] == 0 and 0 < p[0] < w),
        sorted((p for p in ends if p[0] == w and 0 < p[1] < y), key=lambda p: p[1]),
        sorted((p for p in ends if p[1] == y and 0 < p[0] < w), reverse=True),
        sorted((p for p in ends if p[0] == 0 and 0 < p[1] < y), key=lambda p: -p[1]),
    ]
    corners = ((0.0, 0.0), (w, 0.0), (w, y), (0.0, y))
    return tuple(point for corner, side in zip(corners, sides, strict=True) for point in (corner, *side))


def _plain(box: Box) -> list[list[float]]:
    return [list(map(float, point)) for point in box]


def length(words: str, value: Any) -> float:
    """A positive number of the form. Raises: JobError, if it is none."""
    if not isinstance(value, int | float) or isinstance(value, bool) or not 0 < value < 1e7:
        raise JobError(f"{words}: give a number above 0")
    return float(value)


def force(value: Any) -> float:
    """A part of a force, N; nothing is zero. Raises: JobError, if it is no number."""
    if value is None:
        return 0.0
    if not isinstance(value, int | float) or isinstance(value, bool) or not abs(value) < 1e12:
        raise JobError("Force: give numbers in N")
    return float(value)

"""Test problems and plates as sketches, drawn from what they are: outline, supports, load."""

from collections.abc import Callable
from math import hypot
from typing import Protocol

from topopt.features.tasks import TASKS, Box
from ui import gallery

TITLES = {
    1: "Tall cantilever",
    2: "L-bracket",
    3: "MBB beam",
    4: "Distributed load",
    5: "Square cantilever",
    6: "Square, load below",
}
WIDE, HIGH, LEFT, TOP = 78.0, 44.0, 21.0, 14.0  # of the room for the outline, in units of the sketch
Place = Callable[[tuple[float, float]], tuple[float, float]]


class Stated(Protocol):
    """A domain with one load, see `topopt.features.tasks.Task`."""

    @property
    def outline(self) -> tuple[tuple[float, float], ...]: ...

    @property
    def held(self) -> tuple[tuple[Box, tuple[bool, bool]], ...]: ...

    @property
    def loaded(self) -> Box: ...

    @property
    def load(self) -> tuple[float, float]: ...


def layers(stated: Stated) -> tuple[str, str]:
    """Body with its supports, and load, as `ui.gallery` takes them."""
    place = _placed(stated)
    corners = "L".join(f"{x:.1f} {y:.1f}" for x, y in map(place, stated.outline))
    held = "".join(_held(place, box, components) for box, components in stated.held)
    return f'<path d="M{corners}z"/>{held}', _arrows(place, stated.loaded, stated.load)


def task_css() -> str:
    """The sketches on the cards of the gallery."""
    return gallery.card_css("task", (layers(TASKS[number]) for number in TITLES))


def _placed(stated: Stated) -> Place:
    """From mm to the sketch: as large as there is room, in the middle, y upwards."""
    xs, ys = zip(*stated.outline, strict=True)
    scale = min(WIDE / (max(xs) - min(xs)), HIGH / (max(ys) - min(ys)))
    across, up = LEFT + WIDE / 2, TOP + HIGH / 2
    middle = ((min(xs) + max(xs)) / 2, (min(ys) + max(ys)) / 2)
    return lambda point: (across + scale * (point[0] - middle[0]), up - scale * (point[1] - middle[1]))


def _held(place: Place, box: Box, components: tuple[bool, bool]) -> str:
    """Hatching along an edge; small circles where it may slide."""
    (x0, y0), (x1, y1) = place(box[0]), place(box[1])
    length = max(abs(x1 - x0), abs(y1 - y0))
    count = max(1, round(length / 6))
    points = [(x0 + (x1 - x0) * (k + 0.5) / count, y0 + (y1 - y0) * (k + 0.5) / count) for k in range(count)]
    upright = abs(x1 - x0) < abs(y1 - y0)
    if all(components):
        return "".join(f'<path d="M{x:.1f} {y:.1f}{"l-6 5" if upright else "l5 -6"}"/>' for x, y in points)
    away = (-3.6, 0.0) if components[0] else (0.0, 3.6)
    return "".join(f'<circle cx="{x + away[0]:.1f}" cy="{y + away[1]:.1f}" r="2.4"/>' for x, y in points)


def _arrows(place: Place, box: Box, load: tuple[float, float]) -> str:
    """One arrow, or some along an edge, that end where the load acts and point as it does."""
    (x0, y0), (x1, y1) = place(box[0]), place(box[1])
    size = hypot(*load)
    across, down = load[0] / size, -load[1] / size
    count = max(1, round(abs(x1 - x0) / 14))
    barbs = "".join(
        f"M0 0L{-4.5 * across + turn * 4 * down:.1f} {-4.5 * down - turn * 4 * across:.1f}" for turn in (1, -1)
    )
    arrow = f"M{-13 * across:.1f} {-13 * down:.1f}L0 0{barbs}"
    points = ((x0 + (x1 - x0) * (k + 0.5) / count, (y0 + y1) / 2) for k in range(count))
    return "".join(f'<path d="{arrow}" transform="translate({x:.1f} {y:.1f})"/>' for x, y in points)

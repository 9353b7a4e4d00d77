"""The textbook problems as cards: a sentence, the numbers they take, and a sketch of supports and loads."""

import inspect
from dataclasses import dataclass

from topopt.presets import PRESETS
from ui import gallery


@dataclass(frozen=True)
class Sketch:
    """title, sentence; body and load: as `ui.gallery` takes them."""

    title: str
    sentence: str
    body: str
    load: str


def _wall(x: float, low: float, high: float) -> str:
    marks = "".join(f'<path d="M{x} {y}l-6 6"/>' for y in range(int(low), int(high), 6))
    return f'<path d="M{x} {low}V{high}"/>{marks}'


def _ground(y: float, low: float, high: float) -> str:
    return "".join(f'<path d="M{x} {y}l-4 5"/>' for x in range(int(low) + 4, int(high) + 1, 5))


def _pin(x: float, y: float) -> str:
    return f'<path d="M{x} {y}l-6 9h12z"/>' + _ground(y + 9, x - 7, x + 7)


def _roller(x: float, y: float) -> str:
    return f'<circle cx="{x}" cy="{y + 4}" r="3.5"/><path d="M{x - 8} {y + 9}h16"/>'


def _down(x: float, y: float, length: float = 17) -> str:
    return f'<path d="M{x} {y - length}V{y - 1}M{x - 4} {y - 6.5}l4 5.5l4 -5.5"/>'


SKETCHES = {
    "mbb_beam": Sketch(
        "MBB beam",
        "Half of a simply supported beam with a load at midspan.",
        '<path d="M22 22H104V48H22z"/>'
        + "".join(f'<circle cx="17.5" cy="{y}" r="2.6"/>' for y in (27, 35, 43))
        + '<path d="M12.5 22V48"/>'
        + _roller(102, 48),
        _down(22, 21),
    ),
    "cantilever": Sketch(
        "Cantilever",
        "A plate held at its left edge, loaded at its right edge.",
        _wall(20, 12, 52) + '<path d="M20 16H102V48H20"/>',
        _down(102, 46, 14),
    ),
    "l_bracket": Sketch(
        "L-bracket",
        "Hung from its top edge; the inner corner concentrates stress.",
        '<path d="M38 10H60V34H88V56H38z"/>' + "".join(f'<path d="M{x} 10l5 -6"/>' for x in (38, 44, 50, 56)),
        _down(88, 36, 15),
    ),
    "bridge": Sketch(
        "Bridge",
        "A deck that must stay carries an even load between two pins.",
        '<path d="M18 16H102V46H18z"/><path d="M18 42H102" stroke-width="4"/>' + _pin(18, 47) + _pin(102, 47),
        "".join(_down(x, 41, 11) for x in (32, 46, 60, 74, 88)),
    ),
    "cantilever_3d": Sketch(
        "Cantilever 3-D",
        "A solid block, held at one face, loaded along the far lower edge.",
        _wall(18, 18, 56) + '<path d="M18 24H86V52H18M18 24L36 10H104L86 24M104 10V38L86 52"/>',
        _down(95, 60, 15),
    ),
    "heat_sink": Sketch(
        "Heat sink",
        "Heat made everywhere leaves through a short stretch of the edge.",
        '<path d="M34 8H86V56H34z"/><path d="M34 26V38" stroke-width="6"/><path d="M22 32H10M15 27.5l-5 4.5l5 4.5"/>',
        "".join(f'<path d="M{x} {y}q3 -3 0 -6q-3 -3 0 -6"/>' for x in (50, 62, 74) for y in (28, 50)),
    ),
}
PLAIN = Sketch("", "A problem of the catalogue.", '<path d="M18 12H102V52H18z"/>', "")
# Options that are words rather than numbers, with what they can be.
CHOICES = {"load_at": ("middle", "bottom")}


def sketch(name: str) -> Sketch:
    found = SKETCHES.get(name, PLAIN)
    return found if found.title else Sketch(name.replace("_", " "), found.sentence, found.body, found.load)


def sizes(name: str) -> dict[str, int]:
    """Its whole numbers with their defaults, in order: {"nx": 60, "ny": 20}."""
    parameters = inspect.signature(PRESETS[name]).parameters.values()
    return {p.name: p.default for p in parameters if isinstance(p.default, int) and not isinstance(p.default, bool)}


def choice(name: str) -> tuple[str, tuple[str, ...]] | None:
    """Its option in words, with what it can be, or None."""
    parameters = inspect.signature(PRESETS[name]).parameters
    return next(((key, words) for key, words in CHOICES.items() if key in parameters), None)


def volume(name: str) -> float:
    """The textbook's volume fraction."""
    parameter = inspect.signature(PRESETS[name]).parameters.get("volume_fraction")
    return float(parameter.default) if parameter else 0.3


def picture(name: str) -> str:
    """The sketch as inline SVG for the page."""
    s = sketch(name)
    return gallery.inline(f"{s.title}: {s.sentence}", s.body, s.load)


def card_css() -> str:
    """The sketches on the cards of the gallery."""
    return gallery.card_css("preset", ((sketch(name).body, sketch(name).load) for name in PRESETS))

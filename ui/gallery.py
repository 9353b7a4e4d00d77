"""Sketches in two layers, the body and what acts on it: inline, and as masks of the cards of a gallery.

A sketch is 120 x 64 units of SVG elements that take the stroke colour of their surroundings.
"""

from collections.abc import Iterable
from urllib.parse import quote

from ui.words import escape

FRAME = 'fill="none" stroke-width="2.4" stroke-linejoin="round" stroke-linecap="round"'
BOX = 'viewBox="0 0 120 72"'


def inline(words: str, body: str, load: str) -> str:
    """The sketch as part of the page."""
    return (
        f'<svg class="sketch" {BOX} role="img" aria-label="{escape(words)}">'
        f'<g class="sketch-body" {FRAME} stroke="currentColor">{body}</g>'
        f'<g class="sketch-load" {FRAME} stroke="currentColor">{load}</g></svg>'
    )


def card_css(place: str, sketches: Iterable[tuple[str, str]]) -> str:
    """Rules that put the sketches (body, load) on the cards of the gallery with that id, in light and dark."""
    rules = []
    for number, layers in enumerate(sketches, start=1):
        label = f"#{place} .wrap label:nth-of-type({number})"
        for layer, part in zip(("before", "after"), layers, strict=True):
            rules.append(f"{label}::{layer} {{ -webkit-mask-image: {_mask(part)}; mask-image: {_mask(part)}; }}")
    return "\n".join(rules)


def _mask(part: str) -> str:
    svg = f'<svg xmlns="http://www.w3.org/2000/svg" {BOX}><g {FRAME} stroke="#000">{part}</g></svg>'
    return f'url("data:image/svg+xml,{quote(svg)}")'

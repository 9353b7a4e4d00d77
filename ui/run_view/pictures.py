"""Pictures of a run in place of the 3-D view. Drawings come as <img>, never as part of the page."""

from collections.abc import Sequence

from ui.words import escape


def pictures(shown: Sequence[tuple[str, str, str]], empty: str, *, beside: bool = False) -> str:
    """Figures under each other, the first one large.

    Args:
        shown: source, "" where it is not there yet, what it is, and what more is to be said, of each.
        empty: a sentence while there are none. beside: two figures next to each other.
    """
    pair = " pair" if beside else ""
    if not shown:
        return f'<div class="panel picture-stage{pair}"><p class="quiet">{escape(empty)}</p></div>'
    figures = "".join(
        f"<figure>{_image(source, words)}<figcaption><b>{escape(words)}</b>"
        f"<span>{escape(more)}</span></figcaption></figure>"
        for source, words, more in shown
    )
    return f'<div class="panel picture-stage{pair}">{figures}</div>'


def _image(source: str, words: str) -> str:
    return f'<img src="{source}" alt="{escape(words)}">' if source else '<p class="quiet awaited">not there yet</p>'

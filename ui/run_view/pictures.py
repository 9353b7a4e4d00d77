"""Pictures of a run in place of the 3-D view. Drawings come as <img>, never as part of the page."""

from collections.abc import Sequence

from ui.words import escape


def pictures(shown: Sequence[tuple[str, str, str]], empty: str) -> str:
    """Figures under each other, the first one large.

    Args:
        shown: source, what it is, and what more is to be said, of each.
        empty: a sentence while there are none.
    """
    if not shown:
        return f'<div class="panel picture-stage"><p class="quiet">{escape(empty)}</p></div>'
    figures = "".join(
        f'<figure><img src="{source}" alt="{escape(words)}"><figcaption><b>{escape(words)}</b>'
        f"<span>{escape(more)}</span></figcaption></figure>"
        for source, words, more in shown
    )
    return f'<div class="panel picture-stage">{figures}</div>'

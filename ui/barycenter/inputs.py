"""The images that were put in, each with its part of the whole."""

from collections.abc import Sequence

from ui.barycenter.form import share_text
from ui.words import escape


def inputs_list(pictures: Sequence[tuple[str, str]], parts: Sequence[float], told: Sequence[str] = ()) -> str:
    """Images with their part of the whole, as a bar and in figures. pictures: name and source; told: one line each."""
    rows = []
    for k, ((name, source), part) in enumerate(zip(pictures, parts, strict=True)):
        shot = f'<img class="mass" src="{source}" alt="{escape(name)}" loading="lazy">' if source else ""
        more = f'<span class="quiet">{told[k]}</span>' if k < len(told) else ""
        rows.append(
            f'<li><span class="thumb">{shot}</span><span class="words"><span class="name">{escape(name)}</span>'
            f'<b>{share_text(part)}</b><i style="width:{100 * part:.1f}%"></i>{more}</span></li>'
        )
    return f'<ul class="inputs n{len(rows)}">{"".join(rows)}</ul>' if rows else ""

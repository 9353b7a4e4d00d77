"""The bar at the top of every page: the name, the pages, light and dark."""

from dataclasses import dataclass

from jobs.kinds import KINDS

LOGO = (
    '<svg viewBox="0 0 32 32" fill="none" stroke="currentColor" stroke-width="2.4" stroke-linejoin="round" '
    'stroke-linecap="round" aria-hidden="true"><path d="M4 6v20M4 8l24 8L4 24M4 8l12 12 M4 24l12-12"/></svg>'
)


@dataclass(frozen=True)
class Page:
    """One page. kind: of the jobs that it starts."""

    address: str
    kind: str
    about: str


PAGES = {
    "Structure": Page("/", "structure", "From supports, loads and material to a part that can be made"),
    "Features": Page("/features", "features", "Voids and bars that leave as lines, arcs and ellipses"),
    "Barycenter": Page("/barycenter", "barycenter", "The shape between shapes, with a certificate"),
    "PDE": Page("/pde", "pde", "Optimisation under partial differential equations, beside known answers"),
}


def pages() -> dict[str, Page]:
    """The pages whose kind of job there is."""
    return {name: page for name, page in PAGES.items() if page.kind in KINDS}


def top(here: str) -> str:
    """The bar, for the page of that name."""
    links = "".join(
        f'<a href="{page.address}"{" aria-current=page" if name == here else ""}>{name}</a>'
        for name, page in pages().items()
    )
    return (
        f'<div class="top-bar">{LOGO}<h1>Formgrad</h1><nav aria-label="Pages">{links}</nav>'
        f'<p class="quiet">{PAGES[here].about}</p>'
        '<button type="button" id="theme-switch">Light / dark</button></div>'
    )

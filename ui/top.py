"""The bar at the top of every page: the name, the pages, light and dark."""

LOGO = (
    '<svg viewBox="0 0 32 32" fill="none" stroke="currentColor" stroke-width="2.4" stroke-linejoin="round" '
    'stroke-linecap="round" aria-hidden="true"><path d="M4 6v20M4 8l24 8L4 24M4 8l12 12 M4 24l12-12"/></svg>'
)
PAGES = {
    "Structure": ("/", "From supports, loads and material to a part that can be made"),
    "Barycenter": ("/barycenter", "The shape between shapes, with a certificate"),
}


def top(here: str) -> str:
    """The bar, for the page of that name."""
    links = "".join(
        f'<a href="{address}"{" aria-current=page" if name == here else ""}>{name}</a>'
        for name, (address, _) in PAGES.items()
    )
    return (
        f'<div class="top-bar">{LOGO}<h1>Formgrad</h1><nav aria-label="Pages">{links}</nav>'
        f'<p class="quiet">{PAGES[here][1]}</p>'
        '<button type="button" id="theme-switch">Light / dark</button></div>'
    )

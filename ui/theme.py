"""How the page looks: a drawing board, not a dashboard. System fonts, thin lines, one accent, light and dark."""

from pathlib import Path

from gradio.themes import Base, Font
from gradio.themes.utils import colors

STYLE = Path(__file__).with_name("assets") / "formgrad.css"
# Fonts of the machine; where a Linux desktop has none of these, those that Gradio brings along, from this server.
FONT = [
    *map(Font, ("Segoe UI", "Roboto", "Helvetica Neue")),
    Font("IBM Plex Sans"),
    Font("system-ui"),
    Font("sans-serif"),
]
MONO = [*map(Font, ("SFMono-Regular", "Cascadia Mono", "Consolas")), Font("IBM Plex Mono"), Font("monospace")]
FACES = {"IBM Plex Sans": "IBMPlexSans", "IBM Plex Mono": "IBMPlexMono"}
WEIGHTS = {"400 500": "Regular", "600 700": "Bold"}
HEAD = """
<meta name="color-scheme" content="light dark">
<script type="module" src="/formgrad/page.js"></script>
"""


def theme() -> Base:
    """Gradio's variables, all in terms of the tokens of formgrad.css, which know light and dark."""
    values = {
        "body_background_fill": "var(--paper)",
        "body_text_color": "var(--ink)",
        "body_text_color_subdued": "var(--quiet)",
        "background_fill_primary": "var(--sheet)",
        "background_fill_secondary": "var(--paper)",
        "block_background_fill": "transparent",
        "block_border_color": "var(--line)",
        "block_border_width": "0px",
        "block_label_background_fill": "transparent",
        "block_label_text_color": "var(--quiet)",
        "block_title_text_color": "var(--quiet)",
        "block_info_text_color": "var(--quiet)",
        "border_color_primary": "var(--line)",
        "border_color_accent": "var(--accent)",
        "color_accent": "var(--accent)",
        "color_accent_soft": "var(--accent-soft)",
        "input_background_fill": "var(--field)",
        "input_background_fill_focus": "var(--field)",
        "input_border_color": "var(--line-strong)",
        "input_border_color_focus": "var(--accent)",
        "input_placeholder_color": "var(--quiet)",
        "button_primary_background_fill": "var(--accent)",
        "button_primary_background_fill_hover": "var(--accent-strong)",
        "button_primary_text_color": "var(--on-accent)",
        "button_primary_border_color": "var(--accent)",
        "button_secondary_background_fill": "var(--sheet)",
        "button_secondary_background_fill_hover": "var(--accent-soft)",
        "button_secondary_text_color": "var(--ink)",
        "button_secondary_border_color": "var(--line-strong)",
        "slider_color": "var(--accent)",
        "checkbox_background_color": "var(--field)",
        "checkbox_background_color_selected": "var(--accent)",
        "checkbox_border_color": "var(--line-strong)",
        "checkbox_border_color_selected": "var(--accent)",
        "checkbox_label_background_fill": "transparent",
        "checkbox_label_background_fill_selected": "var(--accent-soft)",
        "checkbox_label_text_color": "var(--ink)",
        "checkbox_label_text_color_selected": "var(--ink)",
        "checkbox_label_border_color": "var(--line)",
        "table_even_background_fill": "var(--sheet)",
        "table_odd_background_fill": "var(--sheet)",
        "panel_background_fill": "var(--sheet)",
        "error_background_fill": "var(--sheet)",
        "link_text_color": "var(--accent)",
        "loader_color": "var(--accent)",
    }
    dark = [name for name in values if hasattr(Base(), f"{name}_dark")]
    sizes = {
        "block_label_text_size": "12.5px",
        "block_title_text_size": "12.5px",
        "block_title_text_weight": "500",
        "block_padding": "0px",
        "block_shadow": "none",
        "block_radius": "4px",
        "container_radius": "4px",
        "input_radius": "4px",
        "input_padding": "7px 10px",
        "input_text_size": "13.5px",
        "input_shadow": "none",
        "input_border_width": "1px",
        "button_large_radius": "4px",
        "button_small_radius": "4px",
        "button_medium_radius": "4px",
        "layout_gap": "12px",
        "form_gap_width": "0px",
        "checkbox_label_padding": "6px 10px",
        "checkbox_label_text_size": "13.5px",
        "section_header_text_size": "14px",
    }
    base = Base(primary_hue=colors.teal, neutral_hue=colors.slate, font=FONT, font_mono=MONO)
    return base.set(**values, **{f"{name}_dark": values[name] for name in dark}, **sizes)


def css() -> str:
    """The style sheet, with the fonts that Gradio's package holds."""
    faces = [
        f"@font-face {{ font-family: '{name}'; font-weight: {weight}; font-display: swap; "
        f"src: url('/static/fonts/{folder}/{folder}-{style}.woff2') format('woff2'); }}"
        for name, folder in FACES.items()
        for weight, style in WEIGHTS.items()
    ]
    return "\n".join(faces) + STYLE.read_text(encoding="utf-8")

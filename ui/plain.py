"""HTML of our own, without the styles that Gradio lays over it."""

from typing import Any

import gradio as gr


def html(value: str = "", elem_id: str | None = None) -> Any:
    """A component that shows `value` as it is; whoever writes it escapes what came from elsewhere."""
    return gr.HTML(value, elem_id=elem_id, apply_default_css=False, visible=bool(value))


def update(value: str) -> Any:
    """A new value for such a component; nothing takes no room."""
    return gr.HTML(value=value, visible=bool(value))

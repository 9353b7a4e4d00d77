"""The page for parts, at /."""

from pathlib import Path
from typing import Any

import gradio as gr

from jobs.launch import start
from jobs.store import Run
from ui import bodies
from ui.frame import frame
from ui.structure import setup
from ui.structure.asked import Asked
from ui.structure.checks import checked_job
from ui.structure.events import wire_form


def build(root: Path) -> gr.Blocks:
    """The page over the runs under `root`; others are added to it."""
    form = setup.Setup()
    with gr.Blocks(title="Formgrad", analytics_enabled=False, delete_cache=(3600, 86400), fill_width=True) as page:
        asked = frame(page, "Structure", root, form, draw=setup.build, ask=Asked, begin=begin)
        wire_form(form, root, asked)
    return page


def begin(asked: dict[str, Any], root: Path) -> Run:
    """Start what the form asks for.

    Raises:
        JobError: it is not complete. RunFolderError: the folder of the run cannot be written.
    """
    return start(checked_job(asked, bodies.body_card(root, asked["body_id"])), root)

"""The page: puts the form, the problem, the run and the history together and wires their events.

Handlers read folders, write a job and start a worker; none of them computes. What the browser knows of a run is its id.
"""

from pathlib import Path

import gradio as gr

from ui.structure import setup
from ui.structure.asked import Asked
from ui.structure.events import wire_form
from ui.structure.plain import html
from ui.structure.shown import Shown, wire_run, wire_watch
from ui.top import top


def build(root: Path) -> gr.Blocks:
    """The page over the runs under `root`."""
    form = setup.Setup()
    with gr.Blocks(title="Formgrad", analytics_enabled=False, delete_cache=(3600, 86400), fill_width=True) as page:
        html(top("Structure"), elem_id="top")
        with gr.Row(elem_id="board"):
            with gr.Column(elem_id="left"):
                setup.build(form)
                with gr.Column(elem_id="run-bar"):
                    error = html("", elem_id="run-error")
                    run_button = gr.Button("Run", variant="primary", elem_id="run")
            with gr.Column(elem_id="right"):
                with gr.Tabs(selected="problem") as tabs:
                    asked = Asked(form, root)
                    shown = Shown(root, tabs)
                shown.remember()
        wire_form(page, form, root, asked)
        wire_run(form, root, run_button, error, shown)
        wire_watch(page, shown)
    return page

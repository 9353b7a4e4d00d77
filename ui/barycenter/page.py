"""The page: puts the form, the preview, the run and the history together and wires their events."""

from pathlib import Path

import gradio as gr

from ui.barycenter import setup
from ui.barycenter.asked import Asked
from ui.barycenter.events import wire_form, wire_run
from ui.structure.plain import html
from ui.structure.shown import Shown, wire_watch
from ui.top import top

PATH = "barycenter"


def add(pages: gr.Blocks, root: Path) -> None:
    """Make it a further page of an application, at /barycenter, over the runs under `root`."""
    form = setup.Setup()
    with pages.route("Barycenter", PATH, show_in_navbar=False) as page:
        html(top("Barycenter"), elem_id="top")
        with gr.Row(elem_id="board"):
            with gr.Column(elem_id="left"):
                setup.build(form)
                with gr.Column(elem_id="run-bar"):
                    error = html("", elem_id="run-error")
                    run_button = gr.Button("Run", variant="primary", elem_id="run")
            with gr.Column(elem_id="right"):
                with gr.Tabs(selected="preview") as tabs:
                    asked = Asked(form, root)
                    shown = Shown(root, tabs)
                shown.remember()
        wire_form(page, form, root, asked)
        wire_run(form, root, run_button, error, shown)
        wire_watch(page, shown)

"""The tab that shows the problem before it runs, kept in step with the form."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import gradio as gr

from ui import bodies
from ui.findings import check_list
from ui.plain import html, update
from ui.structure import problem, setup
from ui.structure.checks import findings


class Asked:
    """The tab that shows the problem."""

    def __init__(self, form: setup.Setup, root: Path) -> None:
        self.form, self.root = form, root
        name = setup.START["preset"]
        with gr.Tab("Problem", id="problem"), gr.Column(elem_classes="problem"):
            self.sketch = html(problem.preset_stage(name, False))
            with gr.Column(visible=False) as self.body:
                html('<form-view id="body-view" style="--view-height:380px"></form-view>')
                self.source = html(problem.body_source(None, {}), elem_id="body-source")
                self.faces = html("")
            self.checks = html("")
            with gr.Accordion("The same on the command line and in Python", open=False, elem_id="command-line"):
                self.job = gr.Code("", language="yaml", label="job.yaml", interactive=False, show_label=False)

    @property
    def outputs(self) -> list[Any]:
        return [self.sketch, self.source, self.checks, self.job]

    def look(self, values: Mapping[Any, Any]) -> list[Any]:
        """Everything that follows from the form."""
        form = self.form.read(values)
        card = bodies.body_card(self.root, form["body_id"])
        part = form["source"] == "part"
        return [
            update(problem.preset_stage(form["preset"], part)),
            problem.body_source(card, form) if part else gr.skip(),
            update(check_list(findings(form, card))),
            problem.job_text(form, card),
        ]

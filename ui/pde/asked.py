"""The tab that shows the equation and what is known about its answer, kept in step with the form."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import gradio as gr

from ui.findings import check_list
from ui.pde.checks import findings
from ui.pde.form import START, job_text
from ui.pde.setup import Setup
from ui.pde.stories import story
from ui.plain import html, update


class Asked:
    """The tab that shows the problem."""

    def __init__(self, form: Setup, root: Path) -> None:
        self.form = form
        with gr.Tab("Problem", id="problem"), gr.Column(elem_classes="problem"):
            self.story = html(story(START), elem_id="story")
            self.checks = html("")
            with gr.Accordion("The same on the command line and in Python", open=False, elem_id="command-line"):
                self.job = gr.Code("", language="yaml", label="job.yaml", interactive=False, show_label=False)

    @property
    def outputs(self) -> list[Any]:
        return [self.story, self.checks, self.job]

    def look(self, values: Mapping[Any, Any]) -> list[Any]:
        """Everything that follows from the form."""
        form = self.form.read(values)
        return [update(story(form["problem"])), update(check_list(findings(form))), job_text(form)]

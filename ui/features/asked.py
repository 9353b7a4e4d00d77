"""The tab that shows the problem before it runs, kept in step with the form."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import gradio as gr

from jobs.errors import JobError
from topopt.features.tasks import TASKS
from ui.features.checks import findings
from ui.features.fields import Setup
from ui.features.form import START, job_text
from ui.features.outlines import face_of, picture
from ui.features.plates import Plate, plate
from ui.features.sketches import TITLES, layers
from ui.features.uploads import with_card
from ui.findings import check_list
from ui.gallery import inline
from ui.plain import html, update
from ui.words import escape, lengths


class Asked:
    """The tab that shows the problem."""

    def __init__(self, form: Setup, root: Path) -> None:
        self.form, self.root = form, root
        with gr.Tab("Problem", id="problem"), gr.Column(elem_classes="problem"):
            self.sketch = html(stage({"source": "task", "task": START}))
            self.checks = html("")
            with gr.Accordion("The same on the command line and in Python", open=False, elem_id="command-line"):
                self.job = gr.Code("", language="yaml", label="job.yaml", interactive=False, show_label=False)

    @property
    def outputs(self) -> list[Any]:
        return [self.sketch, self.checks, self.job]

    def look(self, values: Mapping[Any, Any]) -> list[Any]:
        """Everything that follows from the form."""
        form = with_card(self.form.read(values), self.root)
        return [update(stage(form)), update(check_list(findings(form))), job_text(form)]


def stage(form: Mapping[str, Any]) -> str:
    """The sketch of what is asked, with its size."""
    if form["source"] == "outline":
        return _outline_stage(form)
    try:
        stated = plate(form) if form["source"] == "plate" else TASKS[int(form["task"])]
    except JobError:
        return '<div class="panel problem-stage"><p class="quiet">See the checks below.</p></div>'
    if isinstance(stated, Plate):
        title, told = "My plate", "Plane stress, ν = 0.33."
    else:
        title, told = TITLES[int(form["task"])], "Unit modulus, ν = 0.3, plane strain, as in the literature."
    xs, ys = zip(*stated.outline, strict=True)
    size = lengths((max(xs) - min(xs), max(ys) - min(ys)))
    return (
        f'<div class="problem"><div class="panel problem-stage">{inline(title, *layers(stated))}</div>'
        f'<div class="panel problem-text"><h2>{title}</h2><p class="quiet">{size} mm. Orange: load. Hatching and '
        f"rollers: supports. {told}</p></div></div>"
    )


def _outline_stage(form: Mapping[str, Any]) -> str:
    """The face with its edges numbered, and what the numbers mean."""
    try:
        _, face = face_of(form)
    except JobError:
        words = "Upload a DXF drawing or a STEP body, or choose a sample on the left."
        return f'<div class="panel problem-stage"><p class="quiet">{words}</p></div>'
    rows = "".join(
        f'<li><span class="number">{edge.number}</span>{escape(edge.words.partition(" · ")[2])}</li>'
        for edge in face.edges
    )
    legend = (
        '<div class="legend"><span><b class="support">S</b>held</span><span><b class="load">L</b>loaded</span></div>'
    )
    return (
        f'<div class="problem"><div class="panel problem-stage">{picture(form, face)}</div>'
        f'<div class="panel"><div class="panel-title spread">Edges of {escape(face.words)}{legend}</div>'
        f'<ul class="faces">{rows}</ul></div></div>'
    )

"""The tab that shows what lies between the images before the full solve, kept in step with the form."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import gradio as gr

from transport.errors import TransportError
from ui.barycenter import setup
from ui.barycenter.checks import findings
from ui.barycenter.form import job_text, shares
from ui.barycenter.inputs import inputs_list
from ui.barycenter.preview import Preview, bright, picture_source, previewed, thumbnail
from ui.findings import check_list
from ui.images import ImageCard, image_card
from ui.plain import html, update
from ui.words import escape, percent

EMPTY = "The preview appears here with the second image."


class Asked:
    """The tab that shows the preview."""

    def __init__(self, form: setup.Setup, root: Path) -> None:
        self.form, self.root = form, root
        with gr.Tab("Preview", id="preview"), gr.Column(elem_classes="problem"):
            self.stage = html(stage([], [], False, None), elem_id="preview-block")
            self.checks = html("")
            with gr.Accordion("The same on the command line and in Python", open=False, elem_id="command-line"):
                self.job = gr.Code("", language="yaml", label="job.yaml", interactive=False, show_label=False)

    @property
    def outputs(self) -> list[Any]:
        return [self.stage, self.checks, self.job]

    def look(self, values: Mapping[Any, Any]) -> list[Any]:
        """Everything that follows from the form."""
        form = self.form.read(values)
        cards = found(self.root, form)
        preview, trouble = None, ""
        if all(line.kind != "missing" for line in findings(form, cards)):
            try:
                preview = previewed(form, cards)
            except TransportError as error:
                trouble = str(error)
        return [
            update(stage(cards, form["weights"], form["invert"], preview)),
            update(check_list(findings(form, cards, trouble))),
            job_text(form, cards),
        ]


def found(root: Path, form: dict[str, Any]) -> list[ImageCard]:
    """The images of the form that are still there; the weights of others are dropped."""
    pairs = [(image_card(root, name), weight) for name, weight in zip(form["ids"], form["weights"], strict=True)]
    form["weights"] = [weight for card, weight in pairs if card]
    return [card for card, _ in pairs if card]


def stage(cards: Sequence[ImageCard], weights: Sequence[float], invert: bool, preview: Preview | None) -> str:
    """The preview large, the images with their parts beside it."""
    if preview is None:
        shown = f'<p class="quiet">{EMPTY if len(cards) < 2 else "See the checks below."}</p>'
        caption = ""
    else:
        source = picture_source(preview.density, bright(preview.density))
        words = "Preview of the barycenter of " + ", ".join(card.name for card in cards)
        shown = f'<img class="mass" id="preview-picture" src="{source}" alt="{escape(words)}">'
        caption = (
            f"<figcaption><b>Preview, {' × '.join(map(str, preview.density.shape))} cells</b>"
            f"<span>{1000 * preview.seconds:.0f} ms, within {percent(preview.gap)} of the bound</span></figcaption>"
        )
    inputs = inputs_list([(card.name, thumbnail(card, invert)) for card in cards], shares(weights))
    return f'<div class="panel mass-stage"><figure>{shown}{caption}</figure>{inputs}</div>'

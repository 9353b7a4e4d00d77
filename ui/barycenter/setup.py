"""The left side: images, a weight for each, and how the full solve is done. Builds the form and reads it."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import gradio as gr

from ui.barycenter.form import FILMS, METHODS, MOST
from ui.barycenter.preview import thumbnail
from ui.images import SAMPLE, ImageCard, image_card, sample_names
from ui.plain import html
from ui.words import escape

START = ("ring", "star", "cross")
HALF = 0.5  # where every slider begins


@dataclass
class Setup:
    """Every input of the form, by name; the rows of images apart."""

    fields: dict[str, Any] = field(default_factory=dict)
    rows: list[Any] = field(default_factory=list)
    thumbs: list[Any] = field(default_factory=list)
    sliders: list[Any] = field(default_factory=list)
    drops: list[Any] = field(default_factory=list)
    blocks: dict[str, Any] = field(default_factory=dict)

    @property
    def inputs(self) -> list[Any]:
        return [*self.fields.values(), *self.sliders]

    @property
    def row_parts(self) -> list[Any]:
        """The components that `filled` has values for, in its order."""
        return [self.fields["ids"], *self.rows, *self.thumbs, *self.sliders]

    def read(self, form: Mapping[Any, Any]) -> dict[str, Any]:
        """Component values -> the plain form that `ui.barycenter.form` understands."""
        values = {name: form[component] for name, component in self.fields.items()}
        values["ids"] = split(values["ids"])
        values["weights"] = [float(form[s] or 0) for s in self.sliders[: len(values["ids"])]]
        values["resize"], values["invert"] = ("resize" in values["reading"], "invert" in values.pop("reading"))
        return values


def build(setup: Setup) -> None:
    """Draw the form into the page that is being built."""
    _images(setup)
    _picture(setup)
    _advanced(setup)


def join(ids: Sequence[str]) -> str:
    return " ".join(ids)


def split(ids: str | None) -> list[str]:
    """What the browser holds of the images: their ids, apart by blanks."""
    return (ids or "").split()[:MOST]


def filled(cards: Sequence[ImageCard], weights: Sequence[float], invert: bool) -> list[Any]:
    """Updates of `Setup.row_parts`: one row per image."""
    count = len(cards)
    return [
        join([card.id for card in cards]),
        *(gr.Row(visible=k < count) for k in range(MOST)),
        *(gr.HTML(thumb(cards[k], invert) if k < count else "") for k in range(MOST)),
        *(
            gr.Slider(value=weights[k] if k < count else HALF, label=cards[k].words if k < count else f"Image {k + 1}")
            for k in range(MOST)
        ),
    ]


def thumb(card: ImageCard, invert: bool) -> str:
    return f'<span class="thumb"><img class="mass" src="{thumbnail(card, invert)}" alt="{escape(card.words)}"></span>'


def sample_css() -> str:
    """The sample pictures on their cards."""
    rules = []
    for number, card in enumerate(_samples(sample_names()), start=1):
        label = f"#samples .wrap label:nth-of-type({number})"
        rules.append(f'{label}::before {{ background-image: url("{thumbnail(card, False)}"); }}')
    return "\n".join(rules)


def _samples(names: Sequence[str]) -> list[ImageCard]:
    from pathlib import Path

    found = [image_card(Path(), SAMPLE + name) for name in names]
    return [card for card in found if card]


def _images(setup: Setup) -> None:
    start = _samples(START)
    with gr.Column(elem_classes="block-card", elem_id="images"):
        html(
            '<div class="card-head"><h2>Images and weights</h2>'
            '<p class="quiet">Two to eight. White is mass; only the proportions of the weights count.</p></div>'
        )
        setup.fields["ids"] = gr.Textbox(
            join([card.id for card in start]), visible="hidden", label="Images", elem_id="image-ids"
        )
        for k in range(MOST):
            card = start[k] if k < len(start) else None
            with gr.Row(visible=card is not None, elem_classes="weight-row") as row:
                setup.thumbs.append(html(thumb(card, False) if card else " "))
                setup.sliders.append(
                    gr.Slider(
                        0,
                        1,
                        value=HALF,
                        step=0.01,
                        label=card.words if card else f"Image {k + 1}",
                        buttons=[],
                        min_width=100,
                        elem_id=f"weight-{k + 1}",
                    )
                )
                setup.drops.append(
                    gr.Button("✕", size="sm", variant="secondary", elem_classes="drop-row", elem_id=f"drop-{k + 1}")
                )
            setup.rows.append(row)
        setup.blocks["note"] = html(elem_id="image-note")
        setup.blocks["upload"] = gr.File(
            file_count="multiple",
            file_types=[".png", ".tif", ".tiff", ".npy"],
            label="PNG, TIFF or NPY, up to 50 MB each",
            height=100,
            elem_id="upload",
        )
        setup.blocks["samples"] = gr.CheckboxGroup(
            [(name.replace("-", " ").capitalize(), name) for name in sample_names()],
            value=list(START),
            label="Samples",
            elem_id="samples",
        )


def _picture(setup: Setup) -> None:
    f = setup.fields
    with gr.Column(elem_classes="block-card", elem_id="picture"):
        html('<div class="card-head"><h2>Full solve</h2></div>')
        f["size"] = gr.Radio(
            [("256", 256), ("512", 512), ("1024", 1024)],
            value=512,
            label="Cells along the longest side",
            elem_id="size",
            elem_classes=["segmented", "three"],
        )
        f["reading"] = gr.CheckboxGroup(
            [("Dark is mass", "invert"), ("Allow different sizes", "resize")],
            value=["resize"],
            label="Reading the images",
            elem_id="reading",
        )


def _advanced(setup: Setup) -> None:
    f = setup.fields
    with gr.Accordion("Advanced", open=False, elem_id="advanced"):
        f["name"] = gr.Textbox("", label="Name of the run", placeholder="barycenter", elem_id="job-name")
        f["method"] = gr.Dropdown(
            [(words, name) for name, words in METHODS.items()], value="accelerated", label="Method", elem_id="method"
        )
        with gr.Row(elem_classes="tight"):
            f["padding"] = gr.Number(0, label="Empty border [% of side]", minimum=0, maximum=99, min_width=110)
            f["floor"] = gr.Number(0, label="Uniform floor [% of mass]", minimum=0, maximum=99, min_width=110)
            f["volume_percent"] = gr.Number(None, label="Black-white [% of area]", minimum=0, maximum=99, min_width=110)
        with gr.Row(elem_classes="tight"):
            f["film"] = gr.Dropdown(
                [(words, kind) for kind, words in FILMS.items()],
                value="",
                label="Film to the last image",
                min_width=150,
                elem_id="film",
            )
            f["frames"] = gr.Number(24, label="Frames", minimum=2, maximum=600, precision=0, min_width=90)

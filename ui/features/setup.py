"""The left side: which plate, how much material, which features. Builds the form and reads it."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import gradio as gr

from ui.features.fields import Setup
from ui.features.form import BACKENDS, ITERATIONS, KINDS, LENGTHS, SOURCES, START, fresh
from ui.features.outline_setup import build_acting, build_outline, wire_upload
from ui.features.plates import FRESH, HELD, LOADED
from ui.features.sketches import TITLES
from ui.plain import html
from ui.run_view.shown import QUIET

# Parts of the form, and the sources that they belong to.
BLOCKS = {
    "task": ("task",),
    "plate": ("plate",),
    "outline": ("outline",),
    "material": ("plate", "outline"),
    "acting": ("outline",),
}
FOLLOWING = ("volume_percent", "nx", "ny", *LENGTHS)  # what `fresh` fills in


def build(setup: Setup) -> None:
    """Draw the form into the page that is being built."""
    start = dict(zip(FOLLOWING, fresh("task", START), strict=True))
    _source(setup)
    build_acting(setup)
    _features(setup, start)
    _making(setup, start)
    _advanced(setup)


def wire_form(setup: Setup, root: Path) -> None:
    """Fields that belong to the source, and volume, start grid and lengths that go with it; uploads."""
    f, blocks = setup.fields, setup.blocks

    def on_source(source: str, task: int) -> list[Any]:
        shown = [gr.update(visible=source in sources) for sources in BLOCKS.values()]
        return [*shown, *fresh(source, task)]

    given = [f["source"], f["task"]]
    following = [f[name] for name in FOLLOWING]
    f["source"].change(on_source, given, [*(blocks[name] for name in BLOCKS), *following], **QUIET)
    f["task"].change(lambda task: fresh("task", task), f["task"], following, **QUIET)
    wire_upload(setup, root)


def _source(setup: Setup) -> None:
    f = setup.fields
    with gr.Column(elem_classes="block-card", elem_id="source-block"):
        f["source"] = gr.Radio(
            list(SOURCES.items()), value="task", label="Start from", elem_id="source", elem_classes="segmented"
        )
        with gr.Column() as setup.blocks["task"]:
            f["task"] = gr.Radio(
                [(title, number) for number, title in TITLES.items()],
                value=START,
                label="Problem",
                elem_id="task",
                elem_classes="gallery",
            )
        with gr.Column(visible=False, elem_id="plate") as setup.blocks["plate"]:
            with gr.Row(elem_classes="tight"):
                f["width"] = gr.Number(FRESH["width"], label="Width [mm]", min_width=90)
                f["height"] = gr.Number(FRESH["height"], label="Height [mm]", min_width=90)
            with gr.Row(elem_classes="tight"):
                f["held"] = gr.Dropdown(list(HELD.items()), value=FRESH["held"], label="Held at", min_width=150)
                f["loaded"] = gr.Dropdown(list(LOADED.items()), value=FRESH["loaded"], label="Load at", min_width=150)
            with gr.Row(elem_classes="tight"):
                f["fx"] = gr.Number(FRESH["fx"], label="Force along x [N]", min_width=90)
                f["fy"] = gr.Number(FRESH["fy"], label="Force along y [N]", min_width=90)
        build_outline(setup)
        with gr.Row(elem_classes="tight", visible=False) as setup.blocks["material"]:
            f["h"] = gr.Number(FRESH["h"], label="Element size [mm]", step=0.1, min_width=90)
            f["modulus"] = gr.Number(FRESH["modulus"], label="Young's modulus [MPa]", min_width=90)


def _features(setup: Setup, start: Mapping[str, float]) -> None:
    f = setup.fields
    with gr.Column(elem_classes="block-card", elem_id="amount"):
        html('<div class="card-head"><h2>Material and features</h2></div>')
        f["volume_percent"] = gr.Number(start["volume_percent"], label="Volume [% of the domain]", elem_id="volume")
        f["feature"] = gr.Radio(list(KINDS.items()), value="void", label="Made of", elem_classes="segmented")
        with gr.Row(elem_classes="tight", elem_id="start-grid"):
            for axis in "xy":
                label = f"Features along {axis} at the start"
                f[f"n{axis}"] = gr.Number(start[f"n{axis}"], label=label, step=1, min_width=150)


def _making(setup: Setup, start: Mapping[str, float]) -> None:
    with gr.Column(elem_classes="block-card", elem_id="making"):
        html(
            '<div class="card-head"><h2>Making it</h2>'
            '<p class="quiet">Radius of the tool; least width between voids and to the border. 0: none.</p></div>'
        )
        with gr.Row(elem_classes="tight"):
            for key, words in LENGTHS.items():
                label = f"{words} [mm]"
                setup.fields[key] = gr.Number(start[key], label=label, step=0.5, min_width=110, elem_id=key)


def _advanced(setup: Setup) -> None:
    f = setup.fields
    with gr.Accordion("Advanced", open=False, elem_id="advanced"):
        f["backend"] = gr.Radio(
            list(BACKENDS.items()),
            value="analytic",
            label="Where shapes come from: exact distances, or a trained network",
            elem_classes="segmented",
        )
        with gr.Row(elem_classes="tight"):
            f["name"] = gr.Textbox(
                "", label="Name of the run", placeholder="that of the problem", elem_id="job-name", min_width=150
            )
            f["iterations"] = gr.Number(ITERATIONS, label="Most iterations", step=1, min_width=110)
            f["restarts"] = gr.Number(1, label="Starts, the best is kept", step=1, min_width=110)

"""The part of the form for an outline of one's own: file, face, and what acts on which of its edges."""

from pathlib import Path
from typing import Any

import gradio as gr

from topopt.errors import DesignError
from ui.features.fields import Setup
from ui.features.outlines import CASES, FIXES, FRESH, LOADS, edge_choices, face_choices, suggested
from ui.features.uploads import OutlineCard, admit, outline_card
from ui.plain import html, update
from ui.run_view.shown import QUIET
from ui.words import escape

UNITS = {"as the file says": "", "mm": "mm", "cm": "cm", "m": "m", "inch": "in"}
ASSETS = Path(__file__).parents[2] / "assets"
SAMPLES = {
    path.name: path
    for place, kind in (("outlines", "*.dxf"), ("parts", "*.step"))
    for path in sorted((ASSETS / place).glob(kind))
}
HELD_IN = {"held_all": "Held in all directions", "held_x": "Held along x only", "held_y": "Held along y only"}
CELLS = {"Triangles that fit the outline": "triangles", "Pixels, on the grid engine": "pixels"}
EDGE_LISTS = (*FIXES, *(f"load{k}" for k in range(1, LOADS + 1)))
FITTED = ("h", "rim", "nx", "ny", "thickness", "min_radius", "bridge")  # what `suggested` fills in


def build_outline(setup: Setup) -> None:
    """File, units, sample, face."""
    f, blocks = setup.fields, setup.blocks
    with gr.Column(visible=False, elem_id="outline") as blocks["outline"]:
        with gr.Row(elem_classes="tight"):
            blocks["sample"] = gr.Dropdown(
                [("none", ""), *((name, name) for name in SAMPLES)],
                value="",
                label="Sample",
                min_width=140,
                elem_id="outline-sample",
            )
            blocks["units"] = gr.Dropdown(
                list(UNITS), value="as the file says", label="Units of the file", min_width=140
            )
        blocks["upload"] = gr.File(
            file_types=[".dxf", ".step", ".stp"], label="DXF or STEP, up to 50 MB", height=110, elem_id="upload"
        )
        blocks["note"] = html(elem_id="outline-note")
        f["outline_id"] = gr.Textbox("", visible="hidden", label="Outline", elem_id="outline-id")
        f["face"] = gr.Dropdown(
            face_choices(None), value=1, label="Face to design in, the largest first", elem_id="outline-face"
        )
        f["cells"] = gr.Dropdown(list(CELLS.items()), value=FRESH["cells"], label="What the optimiser sees")


def build_acting(setup: Setup) -> None:
    """Supports and loads on edges."""
    f = setup.fields
    with gr.Column(visible=False) as setup.blocks["acting"]:
        with gr.Column(elem_classes="block-card", elem_id="own-supports"):
            html(
                '<div class="card-head"><h2>Supports</h2><p class="quiet">Edges by their numbers in the picture.</p>'
                "</div>"
            )
            for key, words in HELD_IN.items():
                f[key] = _edges(words)
        with gr.Column(elem_classes="block-card", elem_id="own-loads"):
            html(
                '<div class="card-head"><h2>Loads</h2><p class="quiet">A force is shared by its edges; loads of one '
                "case act together.</p></div>"
            )
            for k in range(1, LOADS + 1):
                f[f"load{k}"] = _edges(f"Load {k}, acts on")
                with gr.Row(elem_classes="tight"):
                    for axis in "xy":
                        f[f"load{k}_{axis}"] = gr.Number(0, label=f"Load {k} along {axis} [N]", min_width=90)
                    f[f"case{k}"] = gr.Dropdown(list(CASES), value="1", label=f"Load {k}, case", min_width=70)
            f["rim"] = gr.Number(
                FRESH["rim"], label="Material that stays along these edges [mm]", step=0.5, elem_id="rim"
            )


def wire_upload(setup: Setup, root: Path) -> None:
    """A file that comes, goes, or is read with other units; another face of it."""
    f, blocks = setup.fields, setup.blocks

    def taken(path: Path | None, units: str) -> list[Any]:
        if path is None:
            return ["", update(""), gr.Dropdown(face_choices(None), value=1), *_of_face(None, 1)]
        try:
            card = admit(root, path, UNITS[units] or None)
        except (DesignError, OSError) as error:
            note = f'<p class="run-error" role="alert">{escape(error)}</p>'
            return ["", update(note), gr.Dropdown(face_choices(None), value=1), *_of_face(None, 1)]
        count = f"{len(card.faces)} faces" if len(card.faces) > 1 else "one face"
        note = f'<p class="quiet">{escape(Path(card.file).name)}: {count}</p>'
        return [card.id, update(note), gr.Dropdown(face_choices(card), value=1), *_of_face(card, 1)]

    def on_upload(path: str | None, units: str) -> list[Any]:
        return taken(Path(path) if path else None, units)

    def on_face(card_id: str, number: int) -> list[Any]:
        return _of_face(outline_card(root, card_id), number)

    of_face = [f[key] for key in (*EDGE_LISTS, *FITTED)]
    told = [f["outline_id"], blocks["note"], f["face"], *of_face]
    own = [blocks["upload"], blocks["units"]]
    blocks["upload"].upload(on_upload, own, told, api_visibility="private")
    blocks["units"].input(on_upload, own, told, api_visibility="private")
    blocks["upload"].clear(lambda: taken(None, ""), None, told, **QUIET)
    blocks["sample"].input(
        lambda name: taken(SAMPLES.get(name), "as the file says"), blocks["sample"], told, api_visibility="private"
    )
    f["face"].input(on_face, [f["outline_id"], f["face"]], of_face, **QUIET)


def _edges(label: str) -> gr.Dropdown:
    return gr.Dropdown([], value=[], multiselect=True, label=label)


def _of_face(card: OutlineCard | None, number: int) -> list[Any]:
    """Edge lists emptied and offered anew, and the lengths that suit the face."""
    face = card.faces[number - 1] if card and 1 <= number <= len(card.faces) else None
    lists = [gr.Dropdown(edge_choices(face), value=[]) for _ in EDGE_LISTS]
    if face is None:
        return [*lists, *(gr.skip() for _ in FITTED)]
    fitted = suggested(face)
    return [*lists, *(fitted[key] for key in FITTED)]

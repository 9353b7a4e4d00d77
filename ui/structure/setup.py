"""The left side: what is asked. Builds the form, reads it, and shows what belongs to the chosen source."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, cast

import gradio as gr

from jobs.spec import load_job
from jobs.structure_spec import StructureJob
from topopt.materials import catalogue
from topopt.presets import PRESETS
from ui.plain import html
from ui.structure import presets
from ui.structure.form import FIXES, KEEP_ROWS, LOAD_ROWS, LOADS, SUPPORT_ROWS
from ui.words import escape, figure

DEFAULT_MATERIAL = "Al 6061-T6"
UNITS = {"as the file says": "", "mm": "mm", "cm": "cm", "m": "m", "inch": "in"}
ASSETS = Path(__file__).parents[2] / "assets"
SAMPLES = ASSETS / "parts"
START = {"preset": "cantilever_3d"}
SIZE_FIELDS = 3


@dataclass
class Table:
    """Rows of one editor: the row itself and its cells by name; `shown` says which rows are there."""

    rows: list[gr.Row] = field(default_factory=list)
    cells: list[dict[str, Any]] = field(default_factory=list)
    add: Any = None
    shown: Any = None

    def values(self, form: Mapping[Any, Any]) -> list[dict[str, Any]]:
        """What the visible rows hold."""
        shown = form[self.shown]
        return [
            {k: form[c] for k, c in cells.items() if k != "drop"}
            for cells, on in zip(self.cells, shown, strict=True)
            if on
        ]


@dataclass
class Setup:
    """Every input of the form, by name."""

    fields: dict[str, Any] = field(default_factory=dict)
    sizes: list[Any] = field(default_factory=list)
    tables: dict[str, Table] = field(default_factory=dict)
    blocks: dict[str, Any] = field(default_factory=dict)

    @property
    def inputs(self) -> list[Any]:
        """Every component that says what is asked, the rows' visibility among them."""
        cells = [c for t in self.tables.values() for row in t.cells for k, c in row.items() if k != "drop"]
        return [*self.fields.values(), *self.sizes, *cells, *(t.shown for t in self.tables.values())]

    def read(self, form: Mapping[Any, Any]) -> dict[str, Any]:
        """Component values -> the plain form that `ui.structure.form` understands."""
        values = {name: form[component] for name, component in self.fields.items()}
        values["sizes"] = [form[component] for component in self.sizes]
        return values | {name: table.values(form) for name, table in self.tables.items()}


def build(setup: Setup) -> None:
    """Draw the form into the page that is being built."""
    f = setup.fields
    with gr.Column(elem_classes="block-card", elem_id="source-block"):
        f["source"] = gr.Radio(
            [("Textbook problem", "preset"), ("My part", "part")],
            value="preset",
            label="Start from",
            elem_id="source",
            elem_classes="segmented",
        )
        _preset_block(setup)
        _part_block(setup)
    with gr.Column(visible=False) as setup.blocks["conditions"]:
        _supports(setup)
        _loads(setup)
        _keeps(setup)
    _amount(setup)
    _resolution(setup)
    _advanced(setup)


def _preset_block(setup: Setup) -> None:
    f = setup.fields
    with gr.Column(elem_id="preset-block") as setup.blocks["preset"]:
        f["preset"] = gr.Radio(
            [(presets.sketch(name).title, name) for name in PRESETS],
            value=START["preset"],
            label="Problem",
            elem_id="preset",
            elem_classes="gallery",
        )
        with gr.Row(elem_id="preset-numbers", elem_classes="tight"):
            numbers = list(presets.sizes(START["preset"]).items())
            for k in range(SIZE_FIELDS):
                name, value = numbers[k] if k < len(numbers) else ("", None)
                setup.sizes.append(
                    gr.Number(value, label=size_label(name), precision=0, visible=bool(name), min_width=90)
                )
            f["choice"] = gr.Dropdown([""], value="", label="Load at", visible=False, min_width=110)


def _part_block(setup: Setup) -> None:
    f = setup.fields
    with gr.Column(visible=False, elem_id="part-block") as setup.blocks["part"]:
        with gr.Row(elem_classes="tight"):
            setup.blocks["sample"] = gr.Dropdown(
                [("none", ""), *((path.stem, path.stem) for path in sorted(SAMPLES.glob("*.step")))],
                value="",
                label="Sample part",
                scale=1,
                min_width=140,
                elem_id="sample",
            )
            setup.blocks["units"] = gr.Dropdown(
                list(UNITS), value="as the file says", label="Units of the file", scale=1, min_width=140
            )
        setup.blocks["upload"] = gr.File(
            file_types=[".step", ".stp", ".stl"], label="STEP or STL, up to 50 MB", height=110, elem_id="upload"
        )
        setup.blocks["body_note"] = html(elem_id="body-note")
        f["body_id"] = gr.Textbox(visible="hidden", label="Body", elem_id="body-id")


def _table(setup: Setup, name: str, title: str, about: str, count: int, columns: list[str], cells: Any) -> Table:
    """A titled editor with `count` rows; the first is visible. cells(number): the components of one row."""
    table = setup.tables[name] = Table()
    with gr.Column(elem_classes="block-card", elem_id=name):
        html(f'<div class="card-head"><h2>{title}</h2><p class="quiet">{about}</p></div>')
        heads = "".join(f"<span>{column}</span>" for column in columns)
        html(f'<div class="row-head {name}-grid" aria-hidden="true">{heads}<span></span></div>')
        for number in range(count):
            with gr.Row(visible=number == 0, elem_classes=["edit-row", f"{name}-grid"]) as row:
                made = cells(number)
                for name_of_cell, cell in made.items():
                    cell.elem_classes = [*cell.elem_classes, f"at-{name_of_cell}"]
                made["drop"] = gr.Button(
                    "✕", size="sm", variant="secondary", elem_classes="drop-row", elem_id=f"{name}-drop-{number + 1}"
                )
            table.rows.append(row)
            table.cells.append(made)
        table.add = gr.Button(
            f"Add {title.lower().rstrip('s')}", size="sm", elem_classes="add-row", elem_id=f"{name}-add"
        )
        table.shown = gr.State([number == 0 for number in range(count)])
    return table


def _face(label: str, number: int) -> gr.Dropdown:
    return gr.Dropdown(
        [("choose a face", "")], value="", label=f"{label} {number + 1}, face", container=False, min_width=100
    )


def _supports(setup: Setup) -> None:
    def cells(number: int) -> dict[str, Any]:
        made: dict[str, Any] = {"face": _face("Support", number)}
        made["fix"] = gr.Dropdown(
            list(FIXES), value="all directions", label=f"Support {number + 1}, held", container=False, min_width=100
        )
        return made

    about = "Faces that are held, and in which directions."
    _table(setup, "supports", "Supports", about, SUPPORT_ROWS, ["Face", "Held in"], cells)


def _loads(setup: Setup) -> None:
    def cells(number: int) -> dict[str, Any]:
        label = f"Load {number + 1}"
        made: dict[str, Any] = {"face": _face("Load", number)}
        made["kind"] = gr.Dropdown(
            list(LOADS), value="force [N]", label=f"{label}, kind", container=False, min_width=80
        )
        for axis in "xyz":
            made[axis] = gr.Number(0, label=f"{label}, {axis}", container=False, min_width=40)
        made["case"] = gr.Dropdown(
            ["1", "2", "3", "4"], value="1", label=f"{label}, case", container=False, min_width=40
        )
        return made

    about = "What acts on a face. Loads of one case act together; a pressure takes its value from the first number."
    _table(setup, "loads", "Loads", about, LOAD_ROWS, ["Face", "Kind", "Case"], cells)


def _keeps(setup: Setup) -> None:
    def cells(number: int) -> dict[str, Any]:
        made: dict[str, Any] = {"face": _face("Collar", number)}
        made["thickness"] = gr.Number(4, label=f"Collar {number + 1}, thickness mm", container=False, min_width=60)
        return made

    about = "Material around a hole that stays solid. Held and loaded faces keep two voxels anyway."
    _table(setup, "keeps", "Collars", about, KEEP_ROWS, ["Hole or face", "Thickness [mm]"], cells)


def _amount(setup: Setup) -> None:
    f = setup.fields
    with gr.Column(elem_classes="block-card", elem_id="amount"):
        html('<div class="card-head"><h2>Material</h2></div>')
        with gr.Column(visible=False) as setup.blocks["material"]:
            with gr.Row(elem_classes="tight"):
                f["material"] = gr.Dropdown(
                    list(catalogue()), value=DEFAULT_MATERIAL, label="Material", elem_id="material", min_width=140
                )
                f["amount"] = gr.Dropdown(
                    [("fraction of the body", "fraction"), ("mass", "mass")],
                    value="fraction",
                    label="Ask for a",
                    min_width=140,
                )
            setup.blocks["material_note"] = html(material_note(DEFAULT_MATERIAL))
        f["volume_percent"] = gr.Slider(
            5, 90, value=round(100 * presets.volume(START["preset"])), step=1, label="Volume fraction [% of the body]",
            elem_id="volume",
        )  # fmt: skip
        f["mass_kg"] = gr.Number(None, label="Mass of the finished part [kg]", visible=False)


def _resolution(setup: Setup) -> None:
    f = setup.fields
    with gr.Column(elem_classes="block-card", elem_id="resolution", visible=False) as setup.blocks["resolution"]:
        html('<div class="card-head"><h2>Resolution</h2></div>')
        with gr.Row(elem_classes="tight"):
            f["voxels"] = gr.Number(60_000, label="Voxels in the body", precision=0, min_width=120, elem_id="voxels")
            f["filter_radius"] = gr.Textbox("auto", label="Filter radius [mm], auto: 2.5 voxels", min_width=120)
        f["symmetry"] = gr.CheckboxGroup(
            ["x", "y", "z"], value=[], label="Symmetric about the middle of the part along", elem_id="symmetry"
        )


def _advanced(setup: Setup) -> None:
    f = setup.fields
    with gr.Accordion("Advanced", open=False, elem_id="advanced"):
        f["name"] = gr.Textbox("", label="Name of the run", placeholder="that of the problem", elem_id="job-name")
        with gr.Row(elem_classes="tight"):
            f["max_iterations"] = gr.Number(
                200, label="Most iterations", precision=0, minimum=1, min_width=110, elem_id="iterations"
            )
            f["penalty"] = gr.Number(3, label="SIMP penalty [–]", minimum=1, min_width=110)
            f["move"] = gr.Number(0.2, label="Move limit [–]", minimum=0.01, maximum=1, min_width=110)
        with gr.Row(elem_classes="tight"):
            f["filter"] = gr.Dropdown(["density", "sensitivity"], value="density", label="Filter", min_width=110)
            f["projection"] = gr.Dropdown(["default", "on", "off"], value="default", label="Projection", min_width=110)
            f["element"] = gr.Dropdown(
                ["default", "incompatible", "standard"], value="default", label="Element", min_width=110
            )
        with gr.Row(elem_classes="tight"):
            f["smoothing"] = gr.Number(10, label="Smoothing steps", precision=0, minimum=0, maximum=50, min_width=110)
            f["tolerance"] = gr.Number(0.05, label="Simplify within [mm]", minimum=0, min_width=110)
            f["thickness"] = gr.Number(5, label="Plate thickness [mm]", minimum=0.01, min_width=110)
        f["preserve"] = gr.Textbox(
            "auto", label="Solid layer behind held and loaded faces [mm], auto: two voxels", visible=False
        )
        f["formats"] = gr.CheckboxGroup(
            [("STL", "stl"), ("3MF", "3mf"), ("GLB", "glb"), ("VTU", "vtu"), ("STEP", "step")],
            value=["stl", "3mf", "glb", "vtu"],
            label="Files to write",
        )
        f["checks"] = gr.CheckboxGroup(
            [("Referee: re-voxelise and solve again", "referee"), ("Re-analysis on tetrahedra", "reanalysis")],
            value=["referee", "reanalysis"],
            label="Second opinions on the exported part",
        )


def material_note(name: str) -> str:
    """The constants of a material, with their source."""
    m = catalogue()[name]
    return (
        f'<p class="quiet facts">E {figure(m.E / 1000)} GPa · ν {figure(m.nu, 3)} · {figure(m.density * 1e12)} kg/m³ · '
        f"yield {figure(m.yield_strength)} MPa<br>{escape(m.source)}</p>"
    )


def sample_job(name: str) -> StructureJob | None:
    """The job that ships with a sample part, if one does."""
    path = ASSETS / "jobs" / f"{name}.yaml"
    return cast(StructureJob, load_job(path)) if name and path.is_file() else None


def size_label(name: str) -> str:
    names = {"nx": "Elements along x", "ny": "Elements along y", "nz": "Elements along z", "n": "Elements per side"}
    return names.get(name, f"{name} [elements]" if name else "")

"""The form answers: fields that belong to the chosen source, rows that come and go, bodies that are uploaded."""

from pathlib import Path
from typing import Any

import gradio as gr

from topopt.errors import DesignError
from ui import bodies
from ui.plain import update
from ui.run_view.shown import QUIET
from ui.structure import presets, problem, setup
from ui.structure.asked import Asked
from ui.structure.tables import filled, outputs
from ui.words import escape


def wire_form(form: setup.Setup, root: Path, asked: Asked) -> None:
    """Connect everything that the form does by itself."""
    _preset_events(form)
    _source_events(form, asked)
    _body_events(form, root, asked)
    form.fields["material"].change(setup.material_note, form.fields["material"], form.blocks["material_note"], **QUIET)
    for table in form.tables.values():
        _row_events(table)


def _preset_events(form: setup.Setup) -> None:
    def on_preset(name: str) -> list[Any]:
        numbers = list(presets.sizes(name).items())
        fields = [
            gr.Number(value=numbers[k][1], label=setup.size_label(numbers[k][0]), visible=True)
            if k < len(numbers)
            else gr.Number(value=None, visible=False)
            for k in range(setup.SIZE_FIELDS)
        ]
        words = presets.choice(name)
        option = (
            gr.Dropdown(words[1], value=words[1][0], visible=True)
            if words
            else gr.Dropdown([""], value="", visible=False)
        )
        return [*fields, option, round(100 * presets.volume(name))]

    f = form.fields
    f["preset"].change(on_preset, f["preset"], [*form.sizes, f["choice"], f["volume_percent"]], **QUIET)


def _source_events(form: setup.Setup, asked: Asked) -> None:
    f, blocks = form.fields, form.blocks
    of_part = [*(blocks[name] for name in ("part", "conditions", "material", "resolution")), asked.body, f["preserve"]]
    of_preset = [blocks["preset"], f["thickness"]]

    def on_source(source: str, amount: str) -> list[Any]:
        part, by_mass = source == "part", source == "part" and amount == "mass"
        shown = [gr.update(visible=part)] * len(of_part) + [gr.update(visible=not part)] * len(of_preset)
        return [*shown, gr.update(visible=not by_mass), gr.update(visible=by_mass)]

    told = [*of_part, *of_preset, f["volume_percent"], f["mass_kg"]]
    for field in (f["source"], f["amount"]):
        field.change(on_source, [f["source"], f["amount"]], told, **QUIET)


def _body_events(form: setup.Setup, root: Path, asked: Asked) -> None:
    def admit(path: Path | None, units: str, sample: str = "") -> list[Any]:
        if path is None:
            return ["", update(""), update(""), *filled(form.tables, None)]
        try:
            card = bodies.admit(root, path, setup.UNITS[units] or None)
        except (DesignError, OSError) as error:
            note = f'<p class="run-error" role="alert">{escape(error)}</p>'
            return ["", update(note), update(""), *filled(form.tables, None)]
        note = f'<p class="quiet">{escape(card.summary)}</p>'
        return [
            card.id,
            update(note),
            update(problem.face_list(card)),
            *filled(form.tables, card, setup.sample_job(sample)),
        ]

    def on_upload(path: str | None, units: str) -> list[Any]:
        return admit(Path(path) if path else None, units)

    def on_sample(name: str) -> list[Any]:
        known = {path.stem: path for path in setup.SAMPLES.glob("*.step")}
        return admit(known.get(name), "as the file says", name)

    blocks = form.blocks
    taken = [form.fields["body_id"], blocks["body_note"], asked.faces, *outputs(form.tables)]
    own = [blocks["upload"], blocks["units"]]
    blocks["upload"].upload(on_upload, own, taken, api_visibility="private")
    blocks["units"].input(on_upload, own, taken, api_visibility="private")
    blocks["upload"].clear(lambda: admit(None, ""), None, taken, **QUIET)
    blocks["sample"].input(on_sample, blocks["sample"], taken, api_visibility="private")


def _row_events(table: setup.Table) -> None:
    def add(shown: list[bool]) -> list[Any]:
        free = next((k for k, on in enumerate(shown) if not on), None)
        shown = [on or k == free for k, on in enumerate(shown)]
        return [shown, *(gr.Row(visible=on) for on in shown)]

    table.add.click(add, table.shown, [table.shown, *table.rows], **QUIET)
    for number, cells in enumerate(table.cells):

        def drop(shown: list[bool], number: int = number) -> list[Any]:
            shown = [on and k != number for k, on in enumerate(shown)]
            return [shown, gr.Row(visible=False), ""]

        cells["drop"].click(
            drop,
            table.shown,
            [table.shown, table.rows[number], cells["face"]],
            **QUIET,
        )

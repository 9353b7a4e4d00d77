"""The rows of the editors as values: emptied for a new body, or filled from the job that comes with a sample part."""

from collections.abc import Mapping
from typing import Any

import gradio as gr

from jobs.structure_spec import StructureJob
from ui.bodies import BodyCard
from ui.faces import matching
from ui.structure.form import FIXES, LOADS
from ui.structure.setup import Table

NO_FACE = ("choose a face", "")
FRESH: dict[str, dict[str, Any]] = {
    "supports": {"face": "", "fix": "all directions"},
    "loads": {"face": "", "kind": "force [N]", "x": 0, "y": 0, "z": 0, "case": "1"},
    "keeps": {"face": "", "thickness": 4},
}


def outputs(tables: Mapping[str, Table]) -> list[Any]:
    """The components that `filled` has values for, in its order."""
    return [part for table in tables.values() for part in (table.shown, *table.rows, *_cells(table))]


def filled(tables: Mapping[str, Table], card: BodyCard | None, job: StructureJob | None = None) -> list[Any]:
    """Updates of every row: the faces of `card` to choose from, and what `job` says about them."""
    faces = [NO_FACE, *((face.words, face.key) for face in card.faces)] if card else [NO_FACE]
    wanted = _rows(card, job) if card and job else {}
    updates: list[Any] = []
    for name, table in tables.items():
        rows = wanted.get(name, [])[: len(table.rows)]
        shown = [k < max(1, len(rows)) for k in range(len(table.rows))]
        updates += [shown, *(gr.Row(visible=on) for on in shown)]
        for k, cells in enumerate(table.cells):
            values = FRESH[name] | (rows[k] if k < len(rows) else {})
            for key in cells:
                if key == "face":
                    updates.append(gr.Dropdown(faces, value=values["face"]))
                elif key != "drop":
                    updates.append(values[key])
    return updates


def _cells(table: Table) -> list[Any]:
    return [component for cells in table.cells for key, component in cells.items() if key != "drop"]


def _rows(card: BodyCard, job: StructureJob) -> dict[str, list[dict[str, Any]]]:
    """What a job says, as rows; what no row can say (regions in space, boxes) is left out."""
    rows: dict[str, list[dict[str, Any]]] = {"supports": [], "loads": [], "keeps": []}
    for support in job.supports:
        words = next((words for words, fix in FIXES.items() if fix == support.fix), "all directions")
        rows["supports"] += [{"face": face.key, "fix": words} for face in _face(card, support.on)]
    for number, case in enumerate(job.loads, start=1):
        for load in case.apply:
            kind = "force" if load.force else "moment" if load.moment else "pressure"
            vector = load.force or load.moment or (load.pressure, 0, 0)
            words = next(words for words, name in LOADS.items() if name == kind)
            values = dict(zip("xyz", vector, strict=True))
            rows["loads"] += [
                {"face": face.key, "kind": words, "case": str(number), **values} for face in _face(card, load.on)
            ]
        if any(case.gravity):
            rows["loads"].append(
                {"kind": "gravity [g]", "case": str(number), **dict(zip("xyz", case.gravity, strict=True))}
            )
    for region in job.keep:
        around = region.get("around") or {}
        rows["keeps"] += [
            {"face": face.key, "thickness": around["thickness"]} for face in _face(card, around.get("on"))
        ]
    return rows


def _face(card: BodyCard, selector: Any) -> list[Any]:
    found = matching(card.faces, selector) if selector else None
    return [found] if found else []

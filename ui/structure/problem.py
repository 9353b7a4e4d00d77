"""The problem as the page shows it before it runs: picture, faces in words, and the same as a job file."""

import json
from collections.abc import Mapping
from typing import Any

from jobs.errors import JobError
from ui.bodies import BodyCard
from ui.job_file import IN_PYTHON, job_file
from ui.structure import presets
from ui.structure.form import job_data
from ui.words import escape


def preset_stage(name: str, body_shown: bool) -> str:
    """The sketch of a textbook problem; empty while a part is shown instead."""
    if body_shown:
        return ""
    sketch = presets.sketch(name)
    return (
        f'<div class="problem"><div class="panel problem-stage">{presets.picture(name)}</div>'
        f'<div class="panel problem-text"><h2>{sketch.title}</h2><p class="quiet">{sketch.sentence} '
        f"Orange: load. Hatching, rollers and pins: supports.</p></div></div>"
    )


def body_source(card: BodyCard | None, form: Mapping[str, Any]) -> str:
    """Tells the viewer which body to show, and which faces are held, loaded or kept."""
    if card is None:
        empty = "Upload a STEP or STL file, or choose a sample part on the left."
        return f'<view-source for="body-view" empty="{empty}"></view-source>'
    roles = escape(json.dumps(face_roles(card, form)))
    return (
        f'<view-source for="body-view" src="/bodies/{card.id}/body.glb" faces="/bodies/{card.id}/faces.json" '
        f'subject="{card.id}" label="{escape(card.summary)}" up="z" roles="{roles}"></view-source>'
    )


def face_roles(card: BodyCard, form: Mapping[str, Any]) -> dict[int, str]:
    """Number of a face -> keep, support or load; a load outranks a support, a support a collar."""
    roles: dict[int, str] = {}
    for table, role in (("keeps", "keep"), ("supports", "support"), ("loads", "load")):
        for row in form[table]:
            face = card.face(row["face"])
            if face and row.get("kind") != "gravity [g]":
                roles |= dict.fromkeys(face.faces, role)
    return roles


def face_list(card: BodyCard | None) -> str:
    """All faces in words. Pointing at one lights it up in the picture, and the other way round."""
    if card is None:
        return ""
    singles = [face for face in card.faces if face.key.startswith("f")]
    rows = [
        f'<li tabindex="0" data-face="{face.faces[0]}"><span class="number">{face.faces[0] + 1}</span>'
        f"{escape(face.words)}</li>"
        for face in singles
    ]
    legend = (
        '<div class="legend"><span><b class="support">S</b>held</span><span><b class="load">L</b>loaded</span>'
        '<span><b class="keep">K</b>collar</span></div>'
    )
    return (
        f'<div class="panel"><div class="panel-title spread">'
        f'Faces of {escape(card.name)}{legend}</div><ul class="faces">{"".join(rows)}</ul></div>'
    )


def job_text(form: Mapping[str, Any], card: BodyCard | None) -> str:
    """The job file that does the same on the command line; a comment while it cannot be written."""
    try:
        data = job_data(form, card)
    except JobError as error:
        return f"# {error}\n"
    if card and "body" in data:
        data["body"] = {**data["body"], "file": card.file.rpartition("/")[2]}
    return job_file(data, ["Save as job.yaml (the part beside it), then:  formgrad run job.yaml", *IN_PYTHON])

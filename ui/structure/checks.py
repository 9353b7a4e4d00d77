"""What can be said about a structure before it runs."""

from collections.abc import Mapping
from math import prod
from typing import Any, cast

from jobs.errors import JobError
from jobs.spec import parse_job
from jobs.structure_spec import StructureJob
from ui.bodies import BodyCard
from ui.faces import NamedFace
from ui.findings import Finding, first_missing, sentence
from ui.structure.form import MOST_VOXELS, job_data, number
from ui.structure.presets import sizes
from ui.words import figure


def checked_job(form: Mapping[str, Any], card: BodyCard | None) -> StructureJob:
    """The job that Run starts.

    Raises:
        JobError: the first thing that is wrong, in one sentence.
    """
    if wrong := first_missing(findings(form, card)):
        raise JobError(wrong.text)
    return cast(StructureJob, parse_job(job_data(form, card)))


def findings(form: Mapping[str, Any], card: BodyCard | None) -> list[Finding]:
    """What is in order, what to know, and what is missing, in the order of the form."""
    lines: list[Finding] = []
    if form["source"] == "part":
        lines += _body_findings(form, card)
    try:
        job = cast(StructureJob, parse_job(job_data(form, card)))
    except JobError as error:
        return (
            [*lines, Finding("missing", sentence(str(error)), _field(str(error)))]
            if not lines or all(line.kind != "missing" for line in lines)
            else lines
        )
    if job.preset:
        lines += _preset_findings(job)
    lines += _amount_findings(job, card)
    return lines


def _body_findings(form: Mapping[str, Any], card: BodyCard | None) -> list[Finding]:
    if card is None:
        return [Finding("missing", "No part yet: upload a STEP or STL file, or take a sample part.", "source-block")]
    lines = [Finding("good", f"Part: {card.summary}.", "source-block")]
    supports = [row for row in form["supports"] if card.face(row["face"])]
    loads = [row for row in form["loads"] if card.face(row["face"]) or row["kind"] == "gravity [g]"]
    if not supports:
        lines.append(Finding("missing", "No support: choose at least one face that is held.", "supports"))
    held = [(card.face(row["face"]), row["fix"]) for row in supports]
    lines += [Finding("good", f"Held: {face.words}, {fix}.", "supports") for face, fix in held if face]
    if not loads:
        lines.append(Finding("missing", "No load: choose a face and a force, pressure or moment, or gravity.", "loads"))
    return lines + [_load_finding(row, card, [face for face, _ in held if face]) for row in loads]


def _load_finding(row: Mapping[str, Any], card: BodyCard, held: list[NamedFace]) -> Finding:
    kind, unit = row["kind"].rstrip("]").split(" [")
    face = card.face(row["face"])
    values = [number(row[axis]) for axis in ("x", "y", "z")]
    if not any(values[:1] if kind == "pressure" else values):
        where = face.words if face and kind != "gravity" else "gravity"
        return Finding("missing", f"The {kind} on {where} is zero: give it a value.", "loads")
    size = figure(values[0]) if kind == "pressure" else "(" + ", ".join(figure(v) for v in values) + ")"
    where = f" on {face.words}" if face and kind != "gravity" else ""
    if face and kind != "gravity" and any(set(face.faces) <= set(other.faces) for other in held):
        return Finding(
            "missing", f"The {kind} acts on a face that is held: {face.words}. Choose another face.", "loads"
        )
    return Finding("good", f"Case {row['case']}: {kind} {size} {unit}{where}.", "loads")


def _preset_findings(job: StructureJob) -> list[Finding]:
    assert job.preset
    numbers = {**sizes(job.preset.name), **{k: v for k, v in job.preset.options.items() if isinstance(v, int)}}
    cells = prod(v for k, v in numbers.items() if k in ("nx", "ny", "nz"))
    cells = cells if "nx" in numbers else numbers.get("n", 1) ** 2
    if not 4 <= cells <= MOST_VOXELS:
        text = f"{figure(cells, 9)} elements: choose between 4 and {figure(MOST_VOXELS, 9)}."
        return [Finding("missing", text, "preset-numbers")]
    shape = " × ".join(str(v) for v in numbers.values())
    return [
        Finding("good", f"Grid {shape}: {figure(cells, 9)} elements of 1 mm.", "preset-numbers"),
        Finding(
            "note", "Unit load and unit modulus, as in the literature: results compare, they are not a real part's."
        ),
    ]


def _amount_findings(job: StructureJob, card: BodyCard | None) -> list[Finding]:
    o = job.optimize
    lines = []
    if o.volume_fraction is not None and not 0.02 <= o.volume_fraction <= 0.95:
        return [Finding("missing", "Volume fraction: choose between 2 % and 95 %.", "amount")]
    if card and job.body and job.voxels.count:
        edge = (card.volume / job.voxels.count) ** (1 / 3)
        lines.append(
            Finding("good", f"About {figure(job.voxels.count, 9)} voxels of {figure(edge, 3)} mm.", "resolution")
        )
        radius = o.filter_radius or 2.5 * edge
        if radius < 1.2 * edge:
            text = f"Filter radius {figure(radius, 3)} mm is below 1.2 voxels: raise it or refine the voxels."
            return [*lines, Finding("missing", text, "resolution")]
        lines.append(
            Finding("note", f"Members come out no thinner than about {figure(2 * radius, 2)} mm.", "resolution")
        )
    if card and o.mass_kg is not None:
        lines += _mass_finding(job, card, o.mass_kg)
    return lines


def _mass_finding(job: StructureJob, card: BodyCard, mass: float) -> list[Finding]:
    from topopt.materials import material

    assert isinstance(job.material, str)
    whole = material(job.material).mass_kg(card.volume)
    if not mass < whole:
        text = f"Mass {figure(mass)} kg: the whole body weighs {figure(whole)} kg; ask for less than that."
        return [Finding("missing", text, "amount")]
    return [Finding("good", f"{figure(mass)} kg is {100 * mass / whole:.0f} % of the body.", "amount")]


def _field(text: str) -> str:
    place = text.split(":", 1)[0]
    fields = {
        "voxels": "resolution",
        "mass": "amount",
        "filter radius": "resolution",
        "solid layer": "advanced",
        "part": "source-block",
        "name": "job-name",
    }
    return fields.get(place.split(".")[0], "preset-numbers" if len(place) < 4 else "advanced")

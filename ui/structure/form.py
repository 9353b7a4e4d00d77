"""From what the form holds to a job, and what can be said about it before it runs."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

from jobs.errors import JobError
from jobs.spec import StructureJob, parse_job
from ui.bodies import BodyCard
from ui.faces import NamedFace
from ui.structure.presets import choice, sizes
from ui.words import figure

SUPPORT_ROWS, LOAD_ROWS, KEEP_ROWS = 6, 8, 5
FIXES: dict[str, Any] = {
    "all directions": "all",
    "x only": ["x"],
    "y only": ["y"],
    "z only": ["z"],
    "x and y": ["x", "y"],
    "y and z": ["y", "z"],
    "x and z": ["x", "z"],
    "roller (along the normal)": "roller",
}
LOADS = {"force [N]": "force", "pressure [MPa]": "pressure", "moment [N mm]": "moment", "gravity [g]": "gravity"}
SMALLEST_VOXELS, MOST_VOXELS = 500, 5_000_000


@dataclass(frozen=True)
class Finding:
    """One line of the list of checks. field: id of the place in the form that it is about."""

    kind: Literal["good", "note", "missing"]
    text: str
    field: str = ""


def job_data(form: Mapping[str, Any], card: BodyCard | None) -> dict[str, Any]:
    """The job as plain data, with only what differs from the defaults.

    Args:
        form: values by name, see `ui.structure.setup`.
        card: the body that was uploaded, for parts.

    Raises:
        JobError: something is missing that the job cannot be written without.
    """
    data: dict[str, Any] = {"job": "structure", "name": (form.get("name") or "").strip() or _default_name(form, card)}
    if form["source"] == "preset":
        data["preset"] = {"name": form["preset"], "options": _options(form)}
    else:
        if card is None:
            raise JobError("part: no body yet; upload a STEP or STL file, or take one of the sample parts")
        data["body"] = {"file": card.file, **({"units": card.units} if card.units else {})}
        data["material"] = form["material"]
        data["voxels"] = {"count": _count(form)}
        data["keep"] = _keeps(form, card)
        if (preserve := _automatic(form["preserve"], "solid layer")) is not None:
            data["preserve"] = preserve
        data["supports"] = _supports(form, card)
        data["loads"] = _cases(form, card)
    data["optimize"] = _optimize(form)
    data["export"] = _export(form)
    data["verify"] = {"referee": "referee" in form["checks"], "reanalysis": "reanalysis" in form["checks"]}
    return {key: value for key, value in data.items() if value not in ({}, [])}


def checked_job(form: Mapping[str, Any], card: BodyCard | None) -> StructureJob:
    """The job that Run starts.

    Raises:
        JobError: the first thing that is wrong, in one sentence.
    """
    wrong = next((finding for finding in findings(form, card) if finding.kind == "missing"), None)
    if wrong:
        raise JobError(wrong.text)
    return parse_job(job_data(form, card))


def findings(form: Mapping[str, Any], card: BodyCard | None) -> list[Finding]:
    """What is in order, what to know, and what is missing, in the order of the form."""
    lines: list[Finding] = []
    if form["source"] == "part":
        lines += _body_findings(form, card)
    try:
        job = parse_job(job_data(form, card))
    except JobError as error:
        return (
            [*lines, Finding("missing", _sentence(str(error)), _field(str(error)))]
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
    values = [_number(row[axis]) for axis in ("x", "y", "z")]
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
    from math import prod

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


def _default_name(form: Mapping[str, Any], card: BodyCard | None) -> str:
    return str(form["preset"]) if form["source"] == "preset" else (card.name if card else "part")


def _options(form: Mapping[str, Any]) -> dict[str, Any]:
    name = form["preset"]
    options: dict[str, Any] = {}
    for (key, default), value in zip(sizes(name).items(), form["sizes"], strict=False):
        if not _given(value) or value != int(value):
            raise JobError(f"{key}: give a whole number, for instance {default}")
        if int(value) < 2:
            raise JobError(f"{key} is {int(value)}: at least 2 elements are needed")
        options[key] = int(value)
    words = choice(name)
    if words and form.get("choice") in words[1]:
        options[words[0]] = form["choice"]
    return options


def _count(form: Mapping[str, Any]) -> int:
    count = _number(form["voxels"])
    if not SMALLEST_VOXELS <= count <= MOST_VOXELS:
        raise JobError(
            f"voxels: choose between {figure(SMALLEST_VOXELS, 9)} and {figure(MOST_VOXELS, 9)}; 100000 is a good start"
        )
    return int(count)


def _supports(form: Mapping[str, Any], card: BodyCard) -> list[dict[str, Any]]:
    rows = [(card.face(row["face"]), FIXES[row["fix"]]) for row in form["supports"]]
    return [{"on": face.selector, "fix": fix} for face, fix in rows if face]


def _keeps(form: Mapping[str, Any], card: BodyCard) -> list[dict[str, Any]]:
    rows = [(card.face(row["face"]), row["thickness"]) for row in form["keeps"]]
    for face, thickness in rows:
        if face and (not _given(thickness) or thickness <= 0):
            raise JobError(f"collar around {face.words}: give a thickness above 0 mm")
    return [{"around": {"on": face.selector, "thickness": thickness}} for face, thickness in rows if face]


def _cases(form: Mapping[str, Any], card: BodyCard) -> list[dict[str, Any]]:
    cases: dict[str, dict[str, Any]] = {}
    for row in form["loads"]:
        kind, face = LOADS[row["kind"]], card.face(row["face"])
        if kind != "gravity" and face is None:
            continue
        vector = [_number(row[axis]) for axis in ("x", "y", "z")]
        if kind == "gravity" and not any(vector):
            continue
        case = cases.setdefault(str(row["case"]), {"name": f"case {row['case']}", "apply": []})
        if kind == "gravity":
            case["gravity"] = [a + b for a, b in zip(case.get("gravity", (0.0, 0.0, 0.0)), vector, strict=True)]
        else:
            assert face
            case["apply"].append({"on": face.selector, kind: vector[0] if kind == "pressure" else vector})
    return [cases[name] for name in sorted(cases)]


def _optimize(form: Mapping[str, Any]) -> dict[str, Any]:
    part = form["source"] == "part"
    wanted: dict[str, Any] = {}
    if part and form["amount"] == "mass":
        if not _given(form.get("mass_kg")) or form["mass_kg"] <= 0:
            raise JobError("mass: give the mass of the finished part in kg, above 0")
        wanted["mass_kg"] = form["mass_kg"]
    else:
        wanted["volume_fraction"] = round(form["volume_percent"] / 100, 4)
    if part and (radius := _automatic(form["filter_radius"], "filter radius")) is not None:
        wanted["filter_radius"] = radius
    if part and form["symmetry"]:
        wanted["symmetry"] = sorted(form["symmetry"])
    wanted |= {"filter": form["filter"], "penalty": form["penalty"], "move": form["move"]}
    wanted["max_iterations"] = int(form["max_iterations"])
    if form["projection"] != "default":
        wanted["projection"] = form["projection"] == "on"
    if form["element"] != "default":
        wanted["element"] = form["element"]
    return wanted


def _export(form: Mapping[str, Any]) -> dict[str, Any]:
    export = {"formats": list(form["formats"]), "smoothing": int(form["smoothing"]), "tolerance": form["tolerance"]}
    return export if form["source"] == "part" else {**export, "thickness": form["thickness"]}


def _automatic(text: str, name: str) -> float | None:
    """`auto` or nothing -> None; a length in mm -> its value."""
    if text.strip().lower() in ("", "auto"):
        return None
    try:
        value = float(text.replace(",", "."))
    except ValueError:
        raise JobError(f"{name}: write a length in mm, or auto") from None
    if not 0 <= value < 1e4:
        raise JobError(f"{name}: {text} mm cannot be; write a length of 0 mm or more, or auto")
    return value


def _number(value: Any) -> float:
    return float(value) if _given(value) else 0.0


def _given(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _sentence(text: str) -> str:
    """`optimize.penalty: Input should be ...` -> a line that starts with a capital and ends with a full stop."""
    return text[:1].upper() + text[1:].rstrip(".") + "."


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

"""From what the form holds to a job."""

from collections.abc import Mapping
from typing import Any

from jobs.errors import JobError
from ui.bodies import BodyCard
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
    count = number(form["voxels"])
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
        vector = [number(row[axis]) for axis in ("x", "y", "z")]
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


def number(value: Any) -> float:
    """A field of a vector; left empty, it is zero."""
    return float(value) if _given(value) else 0.0


def _given(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)

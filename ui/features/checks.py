"""What can be said about a design of features before it runs."""

from collections.abc import Mapping
from typing import Any

from jobs.errors import JobError
from jobs.spec import Job, parse_job
from topopt.features.tasks import TASKS
from ui.features.form import LENGTHS, job_data
from ui.features.outlines import FIXES, LOADS, face_of, file_name
from ui.features.plates import HELD, LOADED
from ui.features.sketches import TITLES
from ui.findings import Finding, first_missing, sentence
from ui.words import figure, percent

FIELDS = {
    "volume": "amount",
    "features along x": "start-grid",
    "features along y": "start-grid",
    "grid": "start-grid",
    "feature": "amount",
    "backend": "advanced",
    "iterations": "advanced",
    "restarts": "advanced",
    "name": "advanced",
    "supports": "own-supports",
    "loads": "own-loads",
    **{f"load {k}": "own-loads" for k in range(1, LOADS + 1)},
    "face": "source-block",
    "rim": "own-loads",
    **{key: "making" for words, name in LENGTHS.items() for key in (words, name.lower())},
}
MOST = 150_000  # triangles


def checked_job(form: Mapping[str, Any]) -> Job:
    """The job that Run starts.

    Raises:
        JobError: the first thing that is wrong, in one sentence.
    """
    if wrong := first_missing(findings(form)):
        raise JobError(wrong.text)
    return parse_job(job_data(form))


def findings(form: Mapping[str, Any]) -> list[Finding]:
    """What is in order, what to know, and what is missing, in the order of the form."""
    try:
        data = job_data(form)
        parse_job(data)
    except JobError as error:
        told = str(error).removeprefix("job: ")
        place = told.partition(":")[0].split(".")[0].lower()
        return [Finding("missing", sentence(told), FIELDS.get(place, "source-block"))]
    nx, ny = data["grid"]
    kind = "voids" if form["feature"] == "void" else "crossed bars"
    volume = Finding("good", f"{percent(data['volume'])} of the domain, from {nx} × {ny} {kind}.", "amount")
    neural = Finding("note", "Shapes come from the trained network that ships with Formgrad.")
    about = {"plate": _plate, "outline": _outline}.get(form["source"], lambda _: _task(data))(form)
    return [*about, volume, *([neural] if form["backend"] == "neural" else [])]


def _task(data: Mapping[str, Any]) -> list[Finding]:
    task = TASKS[data["task"]]
    lines = [Finding("good", f"{TITLES[data['task']]}, elements of {figure(task.h, 3)} mm.", "source-block")]
    if abs(data["volume"] - task.goal) < 1e-4:
        published = f"The best published compliance of the method is {figure(task.published)} N mm."
        lines.append(Finding("note", published))
    return lines


def _outline(form: Mapping[str, Any]) -> list[Finding]:
    card, face = face_of(form)
    pixels = form["cells"] == "pixels"
    first = _cells(face.area, form["h"], 1.0 if pixels else 2.3, "pixels" if pixels else "triangles")
    if first.kind == "missing":
        return [first]
    loads = sum(bool(form[f"load{k}"]) for k in range(1, LOADS + 1))
    cases = len({form[f"case{k}"] for k in range(1, LOADS + 1) if form[f"load{k}"]})
    held = sum(len(form[key]) for key in FIXES)
    told = f"{_count(held, 'edge or hole', 'edges or holes')} held, {_count(loads, 'load', 'loads')} in "
    return [
        Finding("good", f"{file_name(card)}, face {face.words}.", "source-block"),
        first,
        Finding("good", f"{told}{_count(cases, 'case', 'cases')}.", "own-supports"),
    ]


def _count(number: int, one: str, several: str) -> str:
    return f"{number} {one if number == 1 else several}"


def _cells(area: float, h: float, share: float, name: str) -> Finding:
    count = round(share * area / h**2, -2)
    if count > MOST:
        text = f"About {figure(int(count), 9)} {name} are more than {figure(MOST, 9)}: choose larger elements."
        return Finding("missing", text, "source-block")
    return Finding("good", f"About {figure(int(count), 9)} {name} of {figure(float(h), 3)} mm.", "source-block")


def _plate(form: Mapping[str, Any]) -> list[Finding]:
    first = _cells(form["width"] * form["height"], form["h"], 2.3, "triangles")
    if first.kind == "missing":
        return [first]
    words = {name: text for table in (HELD, LOADED) for text, name in table.items()}
    force = f"({figure(form['fx'] or 0)}, {figure(form['fy'] or 0)}) N"
    return [
        first,
        Finding("good", f"Held at {words[form['held']]}; {force} at {words[form['loaded']]}.", "source-block"),
    ]

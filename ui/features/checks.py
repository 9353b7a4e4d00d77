"""What can be said about a design of features before it runs."""

from collections.abc import Mapping
from typing import Any

from jobs.errors import JobError
from jobs.spec import Job, parse_job
from topopt.features.tasks import TASKS
from ui.features.form import LENGTHS, job_data
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
    about = _plate(form) if "domain" in data else _task(data)
    return [*about, volume, *([neural] if form["backend"] == "neural" else [])]


def _task(data: Mapping[str, Any]) -> list[Finding]:
    task = TASKS[data["task"]]
    lines = [Finding("good", f"{TITLES[data['task']]}, elements of {figure(task.h, 3)} mm.", "source-block")]
    if abs(data["volume"] - task.goal) < 1e-4:
        published = f"The best published compliance of the method is {figure(task.published)} N mm."
        lines.append(Finding("note", published))
    return lines


def _plate(form: Mapping[str, Any]) -> list[Finding]:
    count = round(2.3 * form["width"] * form["height"] / form["h"] ** 2, -2)
    if count > MOST:
        text = f"About {figure(int(count), 9)} triangles are more than {figure(MOST, 9)}: choose larger elements."
        return [Finding("missing", text, "source-block")]
    words = {name: text for table in (HELD, LOADED) for text, name in table.items()}
    size = figure(float(form["h"]), 3)
    force = f"({figure(form['fx'] or 0)}, {figure(form['fy'] or 0)}) N"
    return [
        Finding("good", f"About {figure(int(count), 9)} triangles of {size} mm.", "source-block"),
        Finding("good", f"Held at {words[form['held']]}; {force} at {words[form['loaded']]}.", "source-block"),
    ]

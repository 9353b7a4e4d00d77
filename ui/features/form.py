"""From what the form holds to a job of kind `features`."""

import math
from collections.abc import Mapping
from typing import Any

from jobs.errors import JobError
from jobs.features_spec import FeaturesJob
from topopt.features.tasks import TASKS
from ui.features import outlines, plates
from ui.job_file import IN_PYTHON, job_file

START = 3
ITERATIONS = FeaturesJob.model_fields["iterations"].default
SOURCES = {"Test problem": "task", "My plate": "plate", "My outline": "outline"}
BACKENDS = {"Analytic": "analytic", "Neural": "neural"}
KINDS = {"Voids": "void", "Bars": "bar"}
LENGTHS = {"thickness": "Thickness", "min_radius": "Least radius", "bridge": "Least bridge"}
# What goes with a plate: volume in per cent, start grid, and the lengths; with a test problem, none of the lengths.
PLATE, TASK = (45, 5, 3, 6, 1.5, 3), (1, 0, 0)


def fresh(source: str, task: int) -> tuple[float, ...]:
    """Volume in per cent, start grid and `LENGTHS` that go with the source; an outline brings its own when it comes."""
    if source != "task":
        return PLATE
    one = TASKS[int(task)]
    return (round(100 * one.goal, 2), *one.grid, *TASK)


def job_data(form: Mapping[str, Any]) -> dict[str, Any]:
    """The job as plain data, with only what differs from the defaults.

    Args:
        form: values by name, see `ui.features.setup`; `card` is the outline that was uploaded, or None.

    Raises:
        JobError: something is missing that the job cannot be written without.
    """
    data: dict[str, Any] = {"job": "features", "name": (form.get("name") or "").strip() or _usual_name(form)}
    if form["source"] == "plate":
        data["domain"] = plates.domain(form)
    elif form["source"] == "outline":
        data["domain"] = outlines.domain(form)
    else:
        data["task"] = int(form["task"])
    data["volume"] = round(_number("Volume", form["volume_percent"]) / 100, 6)
    data["grid"] = [_count(axis, form[f"n{axis}"]) for axis in "xy"]
    data |= {key: form[key] for key, usual in (("feature", "void"), ("backend", "analytic")) if form[key] != usual}
    lengths = {key: _number(words, form[key]) for key, words in LENGTHS.items()}
    data |= {key: value for (key, value), usual in zip(lengths.items(), TASK, strict=True) if value != usual}
    for key, usual in (("iterations", ITERATIONS), ("restarts", 1)):
        if _number(key.capitalize(), form[key]) != usual:
            data[key] = form[key]
    return data


def job_text(form: Mapping[str, Any]) -> str:
    """The job file that does the same on the command line; a comment while it cannot be written."""
    try:
        data = job_data(form)
    except JobError as error:
        return f"# {error}\n"
    if "file" in data.get("domain", {}):
        data["domain"] = {**data["domain"], "file": outlines.file_name(form["card"])}
        return job_file(data, ["Save as job.yaml, the file beside it, then:  formgrad run job.yaml", *IN_PYTHON])
    return job_file(data, ["Save as job.yaml, then:  formgrad run job.yaml", *IN_PYTHON])


def _usual_name(form: Mapping[str, Any]) -> str:
    if form["source"] == "outline":
        return outlines.face_of(form)[0].name
    return "plate" if form["source"] == "plate" else TASKS[int(form["task"])].name


def _number(words: str, value: Any) -> float:
    if not isinstance(value, int | float) or isinstance(value, bool) or not math.isfinite(value):
        raise JobError(f"{words}: give a number")
    return float(value)


def _count(axis: str, value: Any) -> int:
    count = _number(f"Features along {axis}", value)
    if count != int(count) or count < 1:
        raise JobError(f"Features along {axis}: give a whole number, 1 or more")
    return int(count)

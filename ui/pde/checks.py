"""What can be said about a problem before it runs."""

import re
from collections.abc import Mapping
from typing import Any

from jobs.errors import JobError
from jobs.families import trained
from jobs.pde_spec import PdeJob
from jobs.spec import Job, parse_job
from pde.fem.dolfinx_import import require
from pde.fem.errors import FemUnavailable
from pde.problems import PROBLEMS
from ui.findings import Finding, first_missing, sentence
from ui.pde.form import OF_A_MEMBER, jobs_data, parameters
from ui.pde.methods import choices, family_of, words

FIELDS = {
    "max_iterations": "advanced",
    "checkpoint_every": "advanced",
    "name": "advanced",
    "method": "method-block",
    "second": "method-block",
}


def checked_jobs(form: Mapping[str, Any]) -> list[Job]:
    """The job that Run starts, or the two of a comparison.

    Raises:
        JobError: the first thing that is wrong, in one sentence.
    """
    if wrong := first_missing(findings(form)):
        raise JobError(wrong.text)
    return [parse_job(data) for data in jobs_data(form)]


def findings(form: Mapping[str, Any]) -> list[Finding]:
    """What is in order, what to know, and what is missing, in the order of the form."""
    try:
        jobs = [parse_job(data) for data in jobs_data(form)]
    except JobError as error:
        return [_missing(form["problem"], str(error).removeprefix("job: "))]
    family = family_of(form["problem"])
    lines = [_family_line(family, form) if family else _problem_line(jobs[0]), *_method_lines(form, jobs)]
    shipped = PROBLEMS.get(family or form["problem"])
    if shipped is None or not hasattr(shipped.module, "load"):  # of DOLFINx: this one is solved without it
        return lines
    try:
        require()
    except FemUnavailable as error:
        return [*lines, Finding("missing", sentence(str(error)))]
    return [*lines, Finding("note", "The first run of a problem compiles its forms, which takes some seconds.")]


def _missing(problem: str, told: str) -> Finding:
    if re.split(r"[ :]", told, maxsplit=1)[0] in parameters(problem):
        return Finding("missing", sentence(f"parameter {told}"), "parameters")
    text = told.partition(": ")[2] if told.startswith("second: ") else told
    return Finding("missing", sentence(text), FIELDS.get(told.partition(":")[0], "problem-block"))


def _problem_line(job: Job) -> Finding:
    assert isinstance(job, PdeJob)
    values = ", ".join(f"{key} = {value:g}" for key, value in job.parameters.items())
    return Finding("good", f"{PROBLEMS[job.problem].number}, {job.problem}: {values}.", "parameters")


def _family_line(family: str, form: Mapping[str, Any]) -> Finding:
    values = ", ".join(f"{key} = {form['parameters'][key]:g}".replace("_", " ") for key in OF_A_MEMBER)
    return Finding("good", f"Family {family}: {values}.", "parameters")


def _method_lines(form: Mapping[str, Any], jobs: list[Job]) -> list[Finding]:
    family = family_of(form["problem"])
    method = choices(family is not None)[form["method"]]
    most = getattr(jobs[0], "max_iterations", None)
    limit = f", at most {most} iterations" if most else ""
    lines = [Finding("good", f"Method: {method[:1].lower() if not form['method'] else method[:1]}{method[1:]}{limit}.")]
    if len(jobs) > 1:
        second = words(form["second"])
        lines.append(Finding("good", f"Compared with: {second}, from the same start, one after the other."))
    if family and not trained(family):
        lines.append(Finding("note", "No trained operator comes with this family: choose the solver alone."))
    return lines

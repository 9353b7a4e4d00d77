"""What can be said about a problem before it runs."""

import re
from collections.abc import Mapping
from typing import Any

from jobs.errors import JobError
from jobs.pde_spec import PdeJob
from jobs.spec import Job, parse_job
from pde.fem.dolfinx_import import require
from pde.fem.errors import FemUnavailable
from pde.problems import PROBLEMS
from ui.findings import Finding, first_missing, sentence
from ui.pde.form import CHOICES, job_data

FIELDS = {"max_iterations": "advanced", "checkpoint_every": "advanced", "name": "advanced", "method": "method-block"}


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
        job = parse_job(job_data(form))
    except JobError as error:
        told = str(error).removeprefix("job: ")
        if re.split(r"[ :]", told, maxsplit=1)[0] in PROBLEMS[form["problem"]].parameters:
            return [Finding("missing", sentence(f"parameter {told}"), "parameters")]
        return [Finding("missing", sentence(told), FIELDS.get(told.partition(":")[0], "problem-block"))]
    assert isinstance(job, PdeJob)
    values = ", ".join(f"{key} = {value:g}" for key, value in job.parameters.items())
    lines = [Finding("good", f"{PROBLEMS[job.problem].number}, {job.problem}: {values}.", "parameters")]
    method = CHOICES[job.method or ""]
    most = f", at most {job.max_iterations} iterations" if job.max_iterations else ""
    lines.append(Finding("good", f"Method: {method[:1].lower() if not job.method else method[:1]}{method[1:]}{most}."))
    if not hasattr(PROBLEMS[job.problem].module, "load"):  # of DOLFINx: this one is solved without it
        return lines
    try:
        require()
    except FemUnavailable as error:
        return [*lines, Finding("missing", sentence(str(error)))]
    return [*lines, Finding("note", "The first run of a problem compiles its forms, which takes some seconds.")]

"""From what the form holds to a job of kind `pde`, and the same in words of the command line and of Python."""

import inspect
import math
from collections.abc import Mapping
from typing import Any

from jobs.errors import JobError
from jobs.pde_spec import PdeJob
from pde.problems import METHODS, PROBLEMS
from ui.job_file import job_file

START = "poisson_control"
SAVES = PdeJob.model_fields["checkpoint_every"].default
MOST = max(len(shipped.parameters) for shipped in PROBLEMS.values())  # parameters of one problem
WORDS = {
    "newton_cg": "Newton-CG",
    "lbfgs": "L-BFGS",
    "mma": "MMA",
    "sqp": "SQP",
}
CHOICES = {"": "The one that suits the problem", **{name: WORDS.get(name, name) for name in METHODS}}


def job_data(form: Mapping[str, Any]) -> dict[str, Any]:
    """The job as plain data: all parameters, and of the rest what differs from the defaults.

    Args:
        form: values by name, see `ui.pde.setup`.

    Raises:
        JobError: a field is empty that the job cannot be written without.
    """
    problem = form["problem"]
    name = (form.get("name") or "").strip() or problem
    data: dict[str, Any] = {"job": "pde", "name": name, "problem": problem}
    data["parameters"] = {
        key: _value(key, form["parameters"].get(key), parameter.default)
        for key, parameter in PROBLEMS[problem].parameters.items()
    }
    if form["method"]:
        data["method"] = form["method"]
    if form["max_iterations"]:
        data["max_iterations"] = _whole(form["max_iterations"])
    if form["checkpoint_every"] not in (None, SAVES):
        data["checkpoint_every"] = _whole(form["checkpoint_every"])
    return data


def job_text(form: Mapping[str, Any]) -> str:
    """The job file that does the same on the command line; a comment while it cannot be written."""
    try:
        data = job_data(form)
    except JobError as error:
        return f"# {error}\n"
    own = {**data["parameters"], **{k: data[k] for k in ("method", "max_iterations") if k in data}}
    typed = " ".join(f"{key}={value}" for key, value in own.items())
    given = {**data["parameters"], **({"method": data["method"]} if "method" in data else {})}
    call = ", ".join([repr(data["problem"]), *(f"{key}={value!r}" for key, value in given.items())])
    how = [
        "Save as job.yaml, then:  formgrad run job.yaml",
        f"Or at once:  formgrad pde run {data['problem']} {typed}",
        "In Python:  from pde import problems",
        f"            solution = problems.solve({call})",
    ]
    return job_file(data, how)


def about_parameters(problem: str) -> str:
    """What its parameters are, in the words of the problem's own `pose`."""
    text = inspect.getdoc(PROBLEMS[problem].module.pose) or ""
    return " ".join(text.partition("Args:")[2].partition("Raises:")[0].split())


def _value(key: str, value: Any, default: int | float) -> int | float:
    if not isinstance(value, int | float) or isinstance(value, bool) or not math.isfinite(value):
        raise JobError(f"{key}: give a number, for instance {default:g}")
    return _whole(value) if isinstance(default, int) else float(value)


def _whole(value: float) -> int | float:
    """3.0 -> 3; 3.5 stays, to be refused by the job."""
    return int(value) if value == int(value) else value

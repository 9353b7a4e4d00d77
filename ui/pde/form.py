"""From what the form holds to jobs of the kinds `pde` and `hybrid`, and the same on the command line and in Python."""

import inspect
import math
from collections.abc import Mapping
from typing import Any

from jobs.errors import JobError
from jobs.hybrid_spec import HybridJob
from jobs.pde_spec import PdeJob
from pde.problems import PROBLEMS, Parameter
from ui.job_file import IN_PYTHON, job_file
from ui.pde.methods import family_of

START = "poisson_control"
SAVES = PdeJob.model_fields["checkpoint_every"].default
OF_A_MEMBER = {
    name: Parameter(name, HybridJob.model_fields[name].default, kind)
    for name, kind in (("member", int), ("most_forward", int), ("tolerance", float))
}
MOST = max(len(OF_A_MEMBER), *(len(shipped.parameters) for shipped in PROBLEMS.values()))  # of one problem


def parameters(problem: str) -> dict[str, Parameter]:
    """The numbers of a problem, or of a member of a family."""
    return OF_A_MEMBER if family_of(problem) else PROBLEMS[problem].parameters


def jobs_data(form: Mapping[str, Any]) -> list[dict[str, Any]]:
    """The job as plain data, or the two of a comparison, named after their methods.

    Args:
        form: values by name, see `ui.pde.setup`.

    Raises:
        JobError: a field is empty that the job cannot be written without, or both methods are the same.
    """
    first = job_data(form)
    if not form.get("compare"):
        return [first]
    if form["second"] == form["method"]:
        raise JobError("second: both methods are the same; choose another one to compare with")
    second = job_data({**form, "method": form["second"]})
    return [{**data, "name": f"{data['name'][:60]} {data.get('method', 'usual')}"} for data in (first, second)]


def job_data(form: Mapping[str, Any]) -> dict[str, Any]:
    """One job: all parameters, and of the rest what differs from the defaults."""
    problem, family = form["problem"], family_of(form["problem"])
    name = (form.get("name") or "").strip() or family or problem
    numbers = {
        key: _value(key, form["parameters"].get(key), parameter.default)
        for key, parameter in parameters(problem).items()
    }
    if family:
        return {"job": "hybrid", "name": name, "problem": family, "method": form["method"], **numbers}
    data: dict[str, Any] = {"job": "pde", "name": name, "problem": problem, "parameters": numbers}
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
        data = jobs_data(form)
    except JobError as error:
        return f"# {error}\n"
    first, methods = data[0], [job.get("method", "null") for job in data]
    how = ["Save as job.yaml, then:  formgrad run job.yaml"]
    if len(data) > 1:
        how.append(f"Both methods:  formgrad jobs sweep job.yaml method={','.join(methods)}")
    return job_file(first, [*how, *(_family_calls(first) if first["job"] == "hybrid" else _calls(first))])


def _calls(data: Mapping[str, Any]) -> list[str]:
    own = {**data["parameters"], **{k: data[k] for k in ("method", "max_iterations") if k in data}}
    given = {**data["parameters"], **({"method": data["method"]} if "method" in data else {})}
    call = ", ".join([repr(data["problem"]), *(f"{key}={value!r}" for key, value in given.items())])
    return [
        f"Or at once:  formgrad pde run {data['problem']} {_typed(own)}",
        "In Python:  from pde import problems",
        f"            solution = problems.solve({call})",
    ]


def _family_calls(data: Mapping[str, Any]) -> list[str]:
    own = {key: data[key] for key in (*OF_A_MEMBER, "method")}
    return [f"Or at once:  formgrad pde run {data['problem']} {_typed(own)}", *IN_PYTHON]


def _typed(values: Mapping[str, Any]) -> str:
    return " ".join(f"{key}={value}" for key, value in values.items())


def about_parameters(problem: str) -> str:
    """What its parameters are, in the words of the problem's own `pose`, or of the job."""
    if family_of(problem):
        return (
            "member: number in the family; each has data and a start of its own. most_forward: solves at most. "
            "tolerance: of the gradient, against the largest one seen."
        )
    text = inspect.getdoc(PROBLEMS[problem].module.pose) or ""
    return " ".join(text.partition("Args:")[2].partition("Raises:")[0].split())


def _value(key: str, value: Any, default: int | float) -> int | float:
    if not isinstance(value, int | float) or isinstance(value, bool) or not math.isfinite(value):
        raise JobError(f"{key}: give a number, for instance {default:g}")
    return _whole(value) if isinstance(default, int) else float(value)


def _whole(value: float) -> int | float:
    """3.0 -> 3; 3.5 stays, to be refused by the job."""
    return int(value) if value == int(value) else value

"""The form becomes a job of kind `pde`, or one sentence; equations keep their columns when they are typeset."""

import ast
import shlex
from pathlib import Path
from typing import Any

import gradio as gr
import pytest
from hypothesis import given
from hypothesis import strategies as st
from ruamel.yaml import YAML

from jobs import families
from jobs.errors import JobError
from jobs.families import FAMILIES
from jobs.hybrid_spec import HybridJob
from jobs.pde_spec import PdeJob
from jobs.spec import Job, override, parse_job
from pde.problems import PROBLEMS
from ui.pde import setup
from ui.pde.checks import checked_jobs, findings
from ui.pde.form import about_parameters, job_text, jobs_data
from ui.pde.maths import story_html, typeset
from ui.pde.methods import FAMILY, choices, usual
from ui.pde.stories import story

BASE: dict[str, Any] = {
    "problem": "poisson_control",
    "parameters": {"n": 8, "alpha": 1e-4, "degree": 1},
    "method": "",
    "compare": False,
    "second": "lbfgs",
    "name": "",
    "max_iterations": 0,
    "checkpoint_every": 5,
}
MEMBER: dict[str, Any] = {
    **BASE,
    "problem": f"inversion{FAMILY}",
    "parameters": {"member": 104, "most_forward": 200, "tolerance": 1e-3},
    "method": "hybrid_corrected",
    "second": "solver_only",
}


def checked_job(form: dict[str, Any]) -> Job:
    (job,) = checked_jobs(form)
    return job


def defaults(name: str) -> dict[str, Any]:
    return {**BASE, "problem": name, "parameters": {p.name: p.default for p in PROBLEMS[name].parameters.values()}}


def test_form_becomes_its_job() -> None:
    job = checked_job({**BASE, "method": "lbfgs", "max_iterations": 40, "name": "mine"})
    assert job == PdeJob(
        name="mine",
        problem="poisson_control",
        parameters={"n": 8, "alpha": 1e-4, "degree": 1},
        method="lbfgs",
        max_iterations=40,
    )


@pytest.mark.parametrize("name", list(PROBLEMS))
def test_every_problem_runs_with_its_own_numbers_and_shows_its_equation(name: str) -> None:
    form = defaults(name)
    assert not [line for line in findings(form) if line.kind == "missing"]
    job = checked_job(form)
    assert isinstance(job, PdeJob) and job.problem == name and job.name == name
    shown = story(name)
    assert '<pre class="maths"' in shown and "alpha" not in shown and "^2" not in shown
    assert about_parameters(name).startswith("n")


def test_job_file_command_line_and_python_say_the_same() -> None:
    form = {**BASE, "method": "newton_cg", "max_iterations": 7}
    text, job = job_text(form), checked_job(form)
    assert parse_job(YAML(typ="safe", pure=True).load(text)) == job
    told = next(line.partition("formgrad pde run ")[2] for line in text.splitlines() if "pde run" in line)
    problem, *settings = shlex.split(told)
    typed: dict[str, Any] = {}
    for setting in settings:
        override(typed, setting)
    own = {key: typed.pop(key) for key in ("method", "max_iterations")}
    assert parse_job({"job": "pde", "name": problem, "problem": problem, **own, "parameters": typed}) == job
    call = next(line.partition("solution = ")[2] for line in text.splitlines() if "solution = " in line)
    body = ast.parse(call, mode="eval").body
    assert isinstance(body, ast.Call)
    given = {keyword.arg: ast.literal_eval(keyword.value) for keyword in body.keywords}
    assert given == {"n": 8, "alpha": 1e-4, "degree": 1, "method": "newton_cg"}


@pytest.mark.parametrize(
    ("change", "says"),
    [
        ({"parameters": {"n": None, "alpha": 1e-4, "degree": 1}}, "Parameter n: give a number, for instance 32."),
        ({"parameters": {"n": 2.5, "alpha": 1e-4, "degree": 1}}, "is 2.5: give a positive integer."),
        ({"parameters": {"n": 8, "alpha": -1.0, "degree": 1}}, "Parameter alpha of poisson_control is -1.0"),
        ({"parameters": {"n": 8, "alpha": float("nan"), "degree": 1}}, "Parameter alpha: give a number"),
        ({"max_iterations": -3}, "Max_iterations: "),
        ({"checkpoint_every": 1.5}, "Checkpoint_every: "),
        ({"name": "<b>"}, "Name: "),
        ({"method": "guess"}, "there is no method named 'guess'"),
    ],
)
def test_what_is_wrong_is_said_in_one_sentence(change: dict[str, Any], says: str) -> None:
    (wrong,) = findings({**BASE, **change})
    assert wrong.kind == "missing" and says.lower() in wrong.text.lower() and wrong.text.endswith(".")
    assert wrong.field in ("parameters", "advanced", "problem-block")
    with pytest.raises(JobError):
        checked_job({**BASE, **change})


def test_form_has_the_fields_that_the_job_needs() -> None:
    form = setup.Setup()
    with gr.Blocks(analytics_enabled=False):
        setup.build(form)
    values = form.read({component: component.value for component in form.inputs})
    assert set(values) == set(BASE)
    assert values["parameters"] == {"n": 32, "alpha": 1e-6, "degree": 1}
    assert checked_job(values).name == "poisson_control"


def test_member_of_a_family_becomes_a_hybrid_job() -> None:
    job = checked_job(MEMBER)
    assert job == HybridJob(name="inversion", problem="inversion", member=104, method="hybrid_corrected")
    text = job_text(MEMBER)
    assert parse_job(YAML(typ="safe", pure=True).load(text)) == job
    assert "formgrad pde run inversion member=104 most_forward=200 tolerance=0.001 method=hybrid_corrected" in text


def test_two_methods_become_two_jobs_that_differ_in_nothing_else() -> None:
    first, second = checked_jobs({**MEMBER, "compare": True})
    assert isinstance(first, HybridJob) and isinstance(second, HybridJob)
    assert (first.method, second.method) == ("hybrid_corrected", "solver_only")
    assert first.model_copy(update={"method": second.method, "name": second.name}) == second
    assert first.name == "inversion hybrid_corrected" and second.name == "inversion solver_only"
    assert "formgrad jobs sweep job.yaml method=hybrid_corrected,solver_only" in job_text({**MEMBER, "compare": True})
    usual, lbfgs = checked_jobs({**BASE, "compare": True})
    assert isinstance(usual, PdeJob) and isinstance(lbfgs, PdeJob)
    assert (usual.method, lbfgs.method) == (None, "lbfgs")


def test_a_method_is_not_compared_with_itself() -> None:
    (wrong,) = findings({**MEMBER, "compare": True, "second": "hybrid_corrected"})
    assert (wrong.kind, wrong.field) == ("missing", "method-block")
    assert wrong.text.startswith("Both methods are the same")


def test_without_a_trained_operator_the_solver_is_chosen_and_the_hybrid_refused(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    assert usual(MEMBER["problem"]) == ("hybrid_corrected", "solver_only")
    assert {"hybrid_corrected", "surrogate_only", "solver_only"} < set(choices(True))
    monkeypatch.setattr(families, "WEIGHTS", tmp_path)
    assert usual(MEMBER["problem"])[0] == "solver_only"
    (wrong,) = findings(MEMBER)
    assert (wrong.kind, wrong.field) == ("missing", "method-block") and "comes with the family" in wrong.text
    assert "note" in [line.kind for line in findings({**MEMBER, "method": "solver_only"})]


@pytest.mark.parametrize("name", list(FAMILIES))
def test_every_family_tells_its_equation_and_how_it_is_seen(name: str) -> None:
    shown = story(name + FAMILY)
    assert '<pre class="maths"' in shown and "operator" in shown and "`" not in shown
    form = {**MEMBER, "problem": name + FAMILY, "method": usual(name + FAMILY)[0]}
    assert [line.text for line in findings(form) if line.kind == "missing"] == []
    assert jobs_data(form)[0]["problem"] == name


def test_equation_is_typeset() -> None:
    told = "min  1/2 |u - d|^2 + alpha/2 |f|^2        -Laplace u = f in (0, 1)^2,    u = 0 on its boundary"
    assert typeset(told) == "min   1/2 |u − d|² + α/2 |f|²   −Δu = f in (0, 1)²,   u = 0 on its boundary"
    assert typeset("-div(exp(m) grad u) = 1") == "−∇·(exp(m) ∇u) = 1"
    assert typeset("int alpha_0 theta <= 1") == "∫ α₀ θ ≤ 1"
    # Words of which a sign is only a part, numbers and names stay as they are.
    for plain in ("in the interior", "1e-2", "Crank-Nicolson", "pint", "gradient", "multipipe"):
        assert typeset(plain) == plain


PARTS = st.sampled_from(["int u^2", "alpha/2 |f|^2", "0 <= rho <= 1", "-mu Laplace u + grad p = 0", "u = 0 on the rim"])


@given(st.lists(st.tuples(PARTS, PARTS, PARTS), min_size=1, max_size=4))
def test_what_stood_in_one_column_still_does(rows: list[tuple[str, str, str]]) -> None:
    text = "\n".join(f"{a:<34}{b:<34}{c}" for a, b, c in rows)
    lines = typeset(text).split("\n")
    wide = [max(len(typeset(row[k])) for row in rows) + 3 for k in (0, 1)]
    for row, line in zip(rows, lines, strict=True):
        a, b, c = map(typeset, row)
        assert line == a.ljust(wide[0]) + b.ljust(wide[1]) + c


def test_story_is_escaped() -> None:
    shown = story_html("    min  <script>u</script>\n\nwith {{value}} & 1 < 2")
    assert "<script" not in shown and "{{" not in shown and shown.count("<pre") == 1 and shown.count("<p>") == 1

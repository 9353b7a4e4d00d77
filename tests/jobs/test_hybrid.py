"""The job kind `hybrid`: few solves on the command line, the log in the run folder, and what is refused."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from typer.testing import CliRunner

from jobs import families
from jobs.cli import app
from jobs.commands.pde import _of_a_family
from jobs.errors import JobError
from jobs.families import FAMILIES
from jobs.hybrid_spec import HybridJob
from jobs.launch import prepare
from jobs.observer import Log
from jobs.runner import run_job
from jobs.spec import load_job, parse_job
from jobs.store import Run
from jobs.templates.hybrid_looks import look


def test_families_are_those_of_the_recipes() -> None:
    from operators.recipes import PLACES, WEIGHTS, find

    assert {name: find(name).title for name in PLACES} == FAMILIES
    assert families.WEIGHTS == WEIGHTS and families.trained("inversion")
    assert set(families.ALIASES.values()) <= set(FAMILIES) and not set(families.ALIASES) & set(FAMILIES)


def test_darcy_is_the_inversion() -> None:
    job = parse_job({"job": "hybrid", "problem": "darcy", "member": 3})
    assert isinstance(job, HybridJob) and job.problem == "inversion"


@pytest.mark.parametrize(
    ("problem", "given", "family"),
    [
        ("inversion", {}, True),
        ("darcy", {"method": "hybrid_corrected"}, True),
        ("poisson_control", {"method": "newton_cg"}, False),
        ("reactor", {"n": 6, "method": "mma"}, False),
        ("reactor", {"member": 3}, True),
        ("reactor", {"method": "surrogate_only"}, True),
    ],
)
def test_settings_tell_a_member_from_a_problem_of_the_same_name(
    problem: str, given: dict[str, object], family: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(FAMILIES, "reactor", "as another family")
    assert _of_a_family(problem, given) is family


def test_the_example_is_a_job() -> None:
    job = load_job(Path(families.__file__).parents[1] / "assets" / "jobs" / "hybrid.yaml")
    assert isinstance(job, HybridJob) and job.method == "hybrid_corrected"


def test_a_member_of_a_family_is_solved_with_few_solves(tmp_path: Path) -> None:
    runner, found = CliRunner(), {}
    for method in ("hybrid_corrected", "solver_only"):
        out = tmp_path / method
        ran = runner.invoke(app, ["pde", "run", "inversion", "member=105", f"method={method}", "--out", str(out)])
        assert ran.exit_code == 0, ran.output
        found[method] = json.loads((out / "result.json").read_text())
    ours, alone = found["hybrid_corrected"], found["solver_only"]
    assert ours["objective"] <= 1.01 * alone["objective"]
    log = json.loads((tmp_path / "hybrid_corrected" / "artifacts" / "log.json").read_text())
    # To within 0.5 % of what the solver reaches alone: a fifth of its solves.
    near = next(line for line in log if line["best"] <= 1.005 * alone["objective"])
    assert near["forward"] + near["adjoint"] <= 0.2 * (alone["counts"]["forward"] + alone["counts"]["adjoint"])
    assert log[-1]["forward"] == ours["counts"]["forward"]
    assert min(line["best"] for line in log) == ours["objective"]
    assert alone["believed"] is None and ours["verified"] >= ours["objective"]
    folder = Run(tmp_path / "hybrid_corrected")
    rows = folder.progress()
    assert [row["best"] for row in rows] == [line["best"] for line in log]
    kept = np.load(folder.artifacts / "design.npz")
    assert kept["x"].shape == kept["u"].shape == (625,)
    assert (folder.artifacts / "fields.png").read_bytes().startswith(b"\x89PNG")
    assert "artifacts/fields.png" in ours["artifacts"]


@pytest.mark.parametrize(
    ("changed", "words"),
    [
        ({"problem": "stars"}, "no family 'stars'"),
        ({"method": "magic"}, "method"),
        ({"weights": None, "membr": 3}, "did you mean 'member'"),
    ],
)
def test_what_does_not_exist_is_refused(changed: dict[str, Any], words: str) -> None:
    with pytest.raises(JobError, match=words):
        parse_job({"job": "hybrid", **changed})


def test_without_weights_the_surrogate_is_refused(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(families, "WEIGHTS", tmp_path)
    with pytest.raises(JobError, match="no trained operator comes with the family inversion; take solver_only"):
        parse_job({"job": "hybrid"})
    parse_job({"job": "hybrid", "method": "solver_only"})
    parse_job({"job": "hybrid", "weights": "mine.safetensors"})


def test_a_stop_between_two_solves_ends_it_and_it_begins_anew(tmp_path: Path) -> None:
    job, run = prepare(parse_job({"job": "hybrid", "method": "solver_only", "most_forward": 6}), tmp_path / "run")

    class Stopping(Log):
        def iteration(self, row: dict[str, Any], text: str) -> None:
            if row["iteration"] == 3:
                run.request_stop()

    assert run_job(job, run, Stopping()) is None
    assert run.status()["state"] == "stopped" and run.result() is None
    assert [row["iteration"] for row in run.progress()] == [1, 2, 3]
    result = run_job(job, run, Log(), resume=True)
    assert result and result["counts"]["forward"] == 6 and "6 forward solves are spent" in result["message"]
    assert [row["forward"] for row in run.progress()] == [1, 2, 3, 4, 5, 6]


@pytest.mark.parametrize(("shape", "drawn"), [((8, 4), True), ((4, 2, 2), False)])
def test_densities_are_drawn_in_the_plane(shape: tuple[int, ...], drawn: bool, tmp_path: Path) -> None:
    from operators.problems.compliance import cantilever

    problem = cantilever(shape)
    x = np.full(problem.n, 0.4)
    u = problem.solve(x)
    assert look(problem, x, u, tmp_path / "fields.png") is drawn is (tmp_path / "fields.png").is_file()
    assert problem.spent.forward == 1


@pytest.mark.fem
def test_fields_of_a_form_are_drawn_without_a_solve(tmp_path: Path) -> None:
    from operators.problems.fem import FemProblem
    from pde import problems

    posed = problems.pose("reactor", n=6)
    problem = FemProblem(posed)
    u = problem.solve(posed.x0)
    before = vars(problem.spent)
    assert look(problem, posed.x0, u, tmp_path / "fields.png")
    assert (tmp_path / "fields.png").read_bytes().startswith(b"\x89PNG") and vars(problem.spent) == before

"""The job kind `pde`: from a job file to the known answer, stopped, resumed, and refused."""

import json
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

from jobs.cli import app
from jobs.errors import JobError
from jobs.launch import prepare
from jobs.observer import Log
from jobs.runner import open_run, run_job
from jobs.spec import load_job, parse_job
from jobs.store import Run
from jobs.templates.pde_ending import ending
from optim.result import Stop

pytestmark = pytest.mark.fem

BAR = {"job": "pde", "problem": "bar", "parameters": {"n": 24}, "checkpoint_every": 2}


def test_a_job_file_reaches_the_known_optimum(tmp_path: Path) -> None:
    file = tmp_path / "job.yaml"
    file.write_text("job: pde\nproblem: poisson_control\nparameters: {n: 32, alpha: 1e-4}\nmethod: newton_cg\n")
    job = load_job(file, ["parameters.alpha=1e-2"])
    result = run_job(*prepare(job, tmp_path / "run"), Log())
    assert result and result["status"] == "converged"
    assert result["figures"]["objective"] == pytest.approx(2.55291496e-4, rel=2e-3)
    assert result["known"]["objective"] == pytest.approx(2.55291496e-4, rel=1e-8)
    assert json.loads((tmp_path / "run" / "result.json").read_text())["counts"]["gradients"] >= 1


def test_a_stopped_run_goes_on_to_the_same_bits(tmp_path: Path) -> None:
    job = parse_job(BAR)
    whole = run_job(*prepare(job, tmp_path / "whole"), Log())
    short = parse_job({**BAR, "max_iterations": 4})
    job_again, run = prepare(short, tmp_path / "parts")
    run_job(job_again, run, Log())
    # As if it had been killed: no result, the checkpoint of iteration 4, and the limit of the whole run.
    (run.folder / "result.json").unlink()
    run.config.write_text((tmp_path / "whole" / "config.yaml").read_text())
    parts = run_job(*open_run(run.folder), Log(), resume=True)
    assert whole and parts
    assert parts["iterations"] == whole["iterations"] > 4
    first, second = (np.load(tmp_path / name / "artifacts" / "control.npz")["x"] for name in ("whole", "parts"))
    assert np.array_equal(first, second)
    for name in ("objective", "forward", "adjoint", "tangent"):
        assert [r[name] for r in Run(run.folder).progress()] == [r[name] for r in Run(tmp_path / "whole").progress()]
    assert parts["counts"]["states"] == whole["counts"]["states"] == Run(run.folder).progress()[-1]["forward"]


@pytest.mark.parametrize(
    ("changed", "words"),
    [
        ({"problem": "poison"}, "no problem named 'poison'"),
        ({"parameters": {"m": 3}}, "has no parameter 'm'"),
        ({"parameters": {"n": -3}}, "give a positive integer"),
        ({"parameters": {"n": float("nan")}}, "finite"),
        ({"method": "adam"}, "no method named 'adam'"),
    ],
)
def test_what_does_not_exist_is_said_in_one_sentence(changed: dict[str, object], words: str) -> None:
    with pytest.raises(JobError, match=words):
        parse_job({**BAR, **changed})


def test_the_command_line_lists_shows_and_runs(tmp_path: Path) -> None:
    runner = CliRunner()
    listed = runner.invoke(app, ["pde", "list"])
    assert listed.exit_code == 0 and "poisson_control" in listed.output and "newton_cg" in listed.output
    shown = runner.invoke(app, ["pde", "show", "poisson_control"])
    assert "1 / (1 + 4 alpha pi^4)" in shown.output
    ran = runner.invoke(app, ["pde", "run", "bar", "n=12", "method=mma", "--out", str(tmp_path / "bar")])
    assert ran.exit_code == 0, ran.output
    assert json.loads((tmp_path / "bar" / "result.json").read_text())["method"] == "mma"
    wrong = runner.invoke(app, ["pde", "run", "bar", "k=12"])
    assert wrong.exit_code == 2


def test_small_steps_are_no_optimum() -> None:
    from optim import Problem, minimize
    from optim.design import MMA, ProjectedLBFGS
    from optim.functions import smooth

    bowl = Problem(smooth(lambda x: ((x - 0.3) ** 2).sum(), lambda x: 2 * (x - 0.3)), None, 0.0, 1.0)
    stop = Stop(tol_kkt=None, tol_x=0.5, patience=1)
    far = minimize(bowl, np.array([1.0]), MMA(move=0.1), stop=stop)
    slope = 2 * (far.x[0] - 0.3)
    assert far.status == "converged" and slope > 0.1
    assert ending(far, stop) == f"stopped: steps became small; KKT residual {far.state.history[-1].kkt:.2g}"
    flat = Stop(tol_kkt=None, tol_x=None, tol_f=0.9, patience=1)
    assert ending(minimize(bowl, np.array([1.0]), MMA(move=0.1), stop=flat), flat).startswith(
        "stopped: the objective hardly changed any more; KKT residual"
    )
    close = Stop(tol_kkt=1e-6)
    there = minimize(bowl, np.array([1.0]), ProjectedLBFGS(), stop=close)
    assert ending(there, close).startswith("converged: optimal to")
    short = Stop(tol_kkt=1e-6, max_iter=1)
    assert ending(minimize(bowl, np.array([1.0]), MMA(move=0.1), stop=short), short) == "stopped: 1 iterations are over"


@pytest.mark.parametrize(
    ("problem", "parameters", "files"),
    [
        ("reactor", {"n": 6}, ["control.npz", "fields.png", "fields.vtu"]),
        ("heat_control", {"n": 4, "steps": 4}, ["control.npz", "fields.png", "fields.vtu"]),
        ("disc_shape", {"n": 3}, ["control.npz", "fields.png", "fields.vtu"]),
        ("cantilever", {"n": 10}, ["control.npz", "fields.png"]),
        ("plug_flow", {"n": 8}, ["control.npz", "fields.png"]),
    ],
)
def test_every_sort_of_problem_leaves_its_fields(
    tmp_path: Path, problem: str, parameters: dict[str, int], files: list[str]
) -> None:
    job = parse_job({"job": "pde", "problem": problem, "parameters": parameters, "max_iterations": 2})
    result = run_job(*prepare(job, tmp_path / "run"), Log())
    assert result and [Path(name).name for name in result["artifacts"]] == files
    picture = (tmp_path / "run" / "looks" / "fields.png").read_bytes()
    assert picture.startswith(b"\x89PNG") and len(picture) > 5000
    if "fields.vtu" in files:
        import meshio

        found = meshio.read(tmp_path / "run" / "artifacts" / "fields.vtu")
        fields = {**found.point_data, **found.cell_data_dict}
        assert any(name.startswith(("control", "state")) for name in fields)

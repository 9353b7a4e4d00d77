"""The job kinds `operator_data` and `operator_train`: runs one by one, and a training that goes on to the same bits."""

import csv
import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from typer.testing import CliRunner

from jobs import families
from jobs.batch.sweep import load_sweep
from jobs.cli import app
from jobs.commands.schema import job_schema
from jobs.errors import JobError
from jobs.launch import prepare
from jobs.observer import Log
from jobs.operator_data_spec import OperatorDataJob
from jobs.operator_runs import learnt_and_judged, runs_in
from jobs.operator_train_spec import OperatorTrainJob
from jobs.runner import open_run, run_job
from jobs.spec import load_job, parse_job
from jobs.store import Run

EXAMPLES = Path(families.__file__).parents[1] / "assets" / "jobs"
DATA = {"job": "operator_data", "first": 0, "count": 3, "max_iterations": 6}
TRAIN = {"job": "operator_train", "steps": 12, "validate_every": 3, "sensitivity": 0.5, "keep": 5, "evaluate": 2}


class Stopping(Log):
    """Asks for a stop when an iteration is told."""

    def __init__(self, run: Run, at: int) -> None:
        self.run, self.at = run, at

    def iteration(self, row: dict[str, Any], text: str) -> None:
        if row["iteration"] == self.at:
            self.run.request_stop()


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("made") / "data"
    assert run_job(*prepare(parse_job(DATA), folder), Log())
    return folder


@pytest.fixture(scope="module")
def whole(data: Path, tmp_path_factory: pytest.TempPathFactory) -> Run:
    """A training that nothing has disturbed."""
    job, run = prepare(parse_job({**TRAIN, "data": [data]}), tmp_path_factory.mktemp("trained") / "whole")
    assert run_job(job, run, Log())
    return run


def test_runs_are_those_of_the_recipe(data: Path) -> None:
    from operators.recipes import find
    from operators.trajectories import read

    result = Run(data).result()
    assert result and result["runs"] == 3 and result["artifacts"] == ["artifacts/runs.csv", "artifacts/runs.png"]
    runs = read(data / "artifacts")
    assert [run.number for run in runs] == [0, 1, 2] and result["iterates"] == sum(len(run) for run in runs)
    member = find("inversion").member(1)
    assert np.array_equal(runs[1].design[0], member.start)
    with (data / "artifacts" / "runs.csv").open() as file:
        rows = list(csv.DictReader(file))
    assert [float(row["objective"]) for row in rows] == [run.J[-1] for run in runs]
    assert result["counts"]["forward"] == sum(int(row["forward"]) for row in rows) > 18
    assert (data / "artifacts" / "runs.png").read_bytes().startswith(b"\x89PNG")


def test_runs_that_are_there_are_not_made_again(data: Path, tmp_path: Path) -> None:
    job, run = prepare(parse_job(DATA), tmp_path / "parts")
    assert run_job(job, run, Stopping(run, 2)) is None
    files = {path.name: path.stat().st_mtime_ns for path in run.artifacts.glob("*.h5")}
    assert sorted(files) == ["run-00000.h5", "run-00001.h5"]
    # As if it had been killed after a run was written and before that was noted; and one file is damaged.
    (run.checkpoints / "step-000002.npz").write_bytes(b"half")
    (run.artifacts / "run-00001.h5").write_bytes(b"half")
    result = run_job(*open_run(run.folder), Log(), resume=True)
    assert result and result["runs"] == 3
    assert (run.artifacts / "run-00000.h5").stat().st_mtime_ns == files["run-00000.h5"]
    assert run.progress() == Run(data).progress()


def test_weights_are_the_same_after_a_stop_and_after_a_lost_checkpoint(data: Path, whole: Run, tmp_path: Path) -> None:
    job, run = prepare(parse_job({**TRAIN, "data": [data]}), tmp_path / "parts")
    assert run_job(job, run, Stopping(run, 6)) is None
    assert run.status()["state"] == "stopped"
    (run.checkpoints / "step-000006.npz").write_bytes(b"half")  # the one before it is good
    assert run_job(*open_run(run.folder), Log(), resume=True)
    _same(run, whole)


@pytest.mark.slow
def test_weights_are_the_same_after_kill_9(data: Path, whole: Run, tmp_path: Path) -> None:
    _, run = prepare(parse_job({**TRAIN, "data": [data]}), tmp_path / "killed")
    for _ in range(3):
        worker = subprocess.Popen([sys.executable, "-m", "jobs.worker", str(run.folder)], stdout=subprocess.DEVNULL)
        before = run.latest_checkpoint()
        until = time.monotonic() + 120
        while run.latest_checkpoint() == before and worker.poll() is None and time.monotonic() < until:
            time.sleep(0.02)
        os.kill(worker.pid, signal.SIGKILL)
        worker.wait()
        if run.result() is not None:
            break
    if run.result() is None:
        assert run_job(*open_run(run.folder), Log(), resume=True)
    _same(run, whole)


def _same(run: Run, whole: Run) -> None:
    from safetensors.numpy import load_file

    ours, theirs = (load_file(each.artifacts / "weights.safetensors") for each in (run, whole))
    assert ours.keys() == theirs.keys()
    assert all(np.array_equal(ours[name], theirs[name]) for name in theirs)
    told = [[{k: v for k, v in row.items() if k != "seconds"} for row in each.progress()] for each in (run, whole)]
    assert told[0] == told[1] and [row["iteration"] for row in told[0]] == [3, 6, 9, 12]
    first, second = run.result(), whole.result()
    assert first and second and first["table"] == second["table"]


def test_a_training_leaves_weights_table_and_picture(whole: Run) -> None:
    from operators.models import card, load

    result = whole.result()
    assert result and result["steps"] == 12 and result["learnt"] == 2 and result["judged"] == 1
    assert [row["where"] for row in result["table"]] == ["learnt runs", "unseen runs", "probe step", "random design"]
    assert "unseen runs are those that chose the weights" in result["notes"][0]
    names = ["evaluation.csv", "loss.png", "weights.safetensors"]
    assert [Path(name).name for name in result["artifacts"]] == names
    model = load(whole.artifacts / "weights.safetensors")
    assert model.settings.kind == "fno" and result["training"]["weights"]["sensitivity"] == 0.5
    about = card(whole.artifacts / "weights.safetensors")
    assert about["steps"] == 12 and about["job"]["keep"] == 5
    assert result["validation_error"] == min(row["error"] for row in whole.progress())
    assert (whole.folder / "looks" / "fields.png").read_bytes().startswith(b"\x89PNG")


def test_patience_ends_a_training_and_a_finished_one_is_known_as_such(data: Path, tmp_path: Path) -> None:
    from jobs.templates.operator_train import OperatorTrain

    spec = {**TRAIN, "data": [data], "steps": 300, "patience": 1, "rate": 1e-12}
    job, run = prepare(parse_job(spec), tmp_path / "run")
    assert isinstance(job, OperatorTrainJob)
    result = run_job(job, run, Log())
    # At such a rate nothing improves for long: it ends at the first validation that is no better.
    assert result and result["steps"] < 300
    last = run.latest_checkpoint()
    template = OperatorTrain(job, run, Log())
    template.setup()
    assert last and template.load(last).done


def test_what_it_trained_serves_a_hybrid(whole: Run, tmp_path: Path) -> None:
    weights = whole.artifacts / "weights.safetensors"
    job = parse_job({"job": "hybrid", "weights": weights, "method": "surrogate_only", "member": 101})
    result = run_job(*prepare(job, tmp_path / "run"), Log())
    assert result and result["surrogate"] == "neural operator (weights.safetensors)"
    assert result["counts"]["forward"] == 2 and result["verified"] is not None
    assert result["objective"] <= result["start"]


def test_examples_are_jobs_and_defaults_are_written_back(tmp_path: Path) -> None:
    job = load_job(EXAMPLES / "operator_data.yaml", ["problem=darcy"])
    assert isinstance(job, OperatorDataJob) and job.problem == "inversion"
    train = load_job(EXAMPLES / "operator_train.yaml")
    assert isinstance(train, OperatorTrainJob) and train.data[0].name == "inversion-data"
    _, run = prepare(parse_job({"job": "operator_data"}), tmp_path / "run")
    told = run.config.read_text()
    assert "count: 20" in told and "job: operator_data" in told.splitlines()


def test_a_sweep_shares_the_work_out() -> None:
    sweep = load_sweep(EXAMPLES / "operator_data.yaml", ["first=range(0, 100, 20)", "count=20"])
    jobs = [member.job for member in sweep.members]
    assert [job.first for job in jobs if isinstance(job, OperatorDataJob)] == [0, 20, 40, 60, 80, 100]


def test_a_star_stands_for_all_folders(data: Path, tmp_path: Path) -> None:
    for name in ("part 1", "part 2"):
        (tmp_path / name / "artifacts").mkdir(parents=True)
        (tmp_path / name / "config.yaml").write_text("job: operator_data\n")
        number = int(name[-1]) - 1
        source = data / "artifacts" / f"run-{number:05d}.h5"
        (tmp_path / name / "artifacts" / f"run-{number:05d}.h5").write_bytes(source.read_bytes())
    job = parse_job({**TRAIN, "data": ["part *"]}, base=tmp_path)
    assert [path.name for path in job.files()] == ["part 1", "part 2"]
    assert list(runs_in(job.files())) == [0, 1]
    with pytest.raises(JobError, match=r"none\* does not exist"):
        prepare(parse_job({**TRAIN, "data": ["none*"]}, base=tmp_path), tmp_path / "run")


def test_the_full_size_learns_from_runs_of_its_own(data: Path, tmp_path: Path) -> None:
    job, run = prepare(parse_job({**TRAIN, "data": [data], "size": "full"}), tmp_path / "run")
    with pytest.raises(JobError, match="holds 0 of the runs 120 to 1119"):
        run_job(job, run, Log())


def test_the_last_tenth_judges() -> None:
    learnt, judged = learnt_and_judged(range(100))
    assert learnt == list(range(90)) and judged == list(range(90, 100))
    assert learnt_and_judged([4, 7]) == ([4], [7])


@pytest.mark.parametrize(
    ("job", "words"),
    [
        ({**TRAIN, "data": []}, "data: give a folder of runs"),
        ({**TRAIN, "data": ["x"], "stpes": 3}, "did you mean 'steps'"),
        ({**TRAIN, "data": ["x"], "network": "gino"}, "network"),
        ({**TRAIN, "data": ["x"], "rate": -1}, "rate"),
        ({**DATA, "problem": "stars"}, "no family 'stars'; choose one of inversion"),
        ({**DATA, "cuont": 3}, "did you mean 'count'"),
    ],
)
def test_what_cannot_be_is_said_before_anything_runs(job: dict[str, Any], words: str) -> None:
    with pytest.raises(JobError, match=words):
        parse_job(job)


def test_networks_are_those_that_a_recipe_has_sizes_for() -> None:
    from typing import get_args

    from operators.models import KINDS

    networks = get_args(OperatorTrainJob.model_fields["network"].annotation)
    assert set(networks) == set(KINDS) - {"gino"}


def test_folders_without_runs_and_unknown_optimizers_are_refused(data: Path, tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    out = str(tmp_path / "out")
    file = tmp_path / "job.yaml"
    file.write_text(json.dumps({**TRAIN, "data": [str(tmp_path / "empty")]}))
    ran = CliRunner().invoke(app, ["run", str(file), "--out", out])
    assert ran.exit_code == 2 and "holds no runs" in ran.output
    changes = [f"data=[{data}]", "optimizer=adamant", "--overwrite"]
    ran = CliRunner().invoke(app, ["run", str(file), *changes, "--out", out])
    assert ran.exit_code == 2 and "optimizer is one of adamw, sgd, not 'adamant'" in ran.output


def test_editors_are_told_of_both_kinds() -> None:
    for kind, key in (("operator_data", "count"), ("operator_train", "network")):
        schema = job_schema(kind)
        assert key in schema["properties"] and schema["additionalProperties"] is False

"""`formgrad solve`: one linear problem from a file, alone and on two ranks."""

import json
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

from jobs.cli import app

ROOT = Path(__file__).parents[2]
MPIRUN = shutil.which("mpirun") or str(Path(sys.executable).with_name("mpirun"))
PROBLEM = """
solve: elasticity
grid: {shape: [60, 20, 4]}
material: {element: standard}
supports: [{box: {min: [0, 0, 0], max: [0, 20, 4]}}]
loads: [{box: {min: [60, 0, 0], max: [60, 0, 4]}, force: [0, -5, 0]}]
tolerance: 1e-10
"""


def solve(*words):
    return CliRunner().invoke(app, ["solve", *map(str, words)])


@pytest.fixture
def problem(tmp_path):
    path = tmp_path / "problem.yaml"
    path.write_text(PROBLEM)
    return path


def test_the_literature_value(problem, tmp_path):
    answer = solve(problem, "--out", tmp_path / "u.npz")
    assert answer.exit_code == 0, answer.output
    told = json.loads(answer.stdout.splitlines()[-1])
    assert told["compliance"] == pytest.approx(765.57908376, rel=1e-9)
    with np.load(tmp_path / "u.npz", allow_pickle=False) as data:
        assert data["u"].shape == (61, 21, 5, 3)
        assert np.abs(data["u"][0]).max() == 0


@pytest.mark.fem
def test_two_ranks_give_the_same_answer(problem, tmp_path):
    pytest.importorskip("dolfinx_solver", reason="needs PETSc")
    rng = np.random.default_rng(0)
    np.save(tmp_path / "modulus.npy", 0.1 + rng.random((60, 20, 4)))
    problem.write_text(PROBLEM + "modulus: modulus.npy\n")
    alone = json.loads(solve(problem).stdout.splitlines()[-1])
    command = [MPIRUN, "-n", "2", sys.executable, "-m", "jobs.cli", "solve", str(problem)]
    said = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=300)
    assert said.returncode == 0, said.stderr
    together = json.loads(said.stdout.splitlines()[-1])
    assert together["ranks"] == 2 and alone["ranks"] == 1
    assert together["compliance"] == pytest.approx(alone["compliance"], rel=1e-8)
    assert together["largest"] == pytest.approx(alone["largest"], rel=1e-7)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ("solve: heat", "solve"),
        ("grids: {}", "did you mean 'grid'"),
        ("supports: [{box: {min: [0.4, 0, 0], max: [0.6, 20, 4]}}]", "supports.0.box holds no node"),
        ("loads: [{box: {min: [60, 0], max: [60, 0]}, force: [0, -5, 0]}]", "loads.0.box: min and max need 3"),
        ("loads: [{box: {min: [60, 0, 0], max: [60, 0, 4]}, force: [1]}]", "give 3 numbers"),
        ("modulus: nothing.npy", "no .npy file"),
    ],
)
def test_refusals(problem, change, words):
    key = change.split(":")[0]
    lines = [line for line in PROBLEM.splitlines() if not line.startswith(f"{key}:")]
    problem.write_text("\n".join([*lines, change]) + "\n")
    answer = solve(problem)
    assert answer.exit_code == 2 and words in answer.stderr, answer.output
    assert len(answer.stderr.splitlines()) == 1

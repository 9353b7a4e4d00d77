"""Every shipped problem on one, two and four processes, from Python and on the command line."""

import importlib.util
import json
from pathlib import Path

import pytest

from optim import minimize
from optim.result import Stop
from pde import problems
from tests.pde import parallel

pytestmark = [
    pytest.mark.fem,
    pytest.mark.skipif(importlib.util.find_spec("dolfinx") is None, reason="needs DOLFINx: formgrad[fem]"),
    pytest.mark.skipif(parallel.mpirun() is None, reason="needs mpirun"),
]

CASE = Path(__file__).with_name("parallel_case.py")


@pytest.fixture(scope="module")
def alone(tmp_path_factory):
    return parallel.figures(CASE, 1, tmp_path_factory.mktemp("problems"))


def test_two_processes(alone, tmp_path):
    parallel.compare(alone, parallel.figures(CASE, 2, tmp_path))


@pytest.mark.slow
def test_four_processes(alone, tmp_path):
    parallel.compare(alone, parallel.figures(CASE, 4, tmp_path))


def run(processes, folder, *words):
    done = parallel.started(processes, "-m", "jobs.cli", *words, *(["--out", str(folder)] if words[0] == "pde" else []))
    return done.returncode, done.stdout, done.stderr


def test_the_command_line_writes_one_run_folder(tmp_path):
    code, said, wrong = run(2, tmp_path / "run", "pde", "run", "bar", "n=12", "max_iterations=3")
    assert code == 0, wrong
    assert said.count("searching for the optimum") == 1  # one process speaks
    result = json.loads((tmp_path / "run" / "result.json").read_text())
    posed = problems.pose("bar", n=12)
    alone = minimize(posed.problem, posed.x0, problems.METHODS["mma"](), stop=Stop(3))
    assert result["objective"] == pytest.approx(alone.f, rel=1e-7)
    assert result["iterations"] == 3
    assert result["processes"] == 2
    written = sorted(path.name for path in (tmp_path / "run" / "artifacts").iterdir())
    assert written == ["control.npz", "fields.png", "fields.vtu"]
    assert [path.name for path in tmp_path.iterdir()] == ["run"]


@pytest.mark.slow
def test_the_command_line_refuses_and_resumes_on_all_processes(tmp_path):
    folders = {count: tmp_path / str(count) for count in (1, 2)}
    for count, folder in folders.items():
        code, _, wrong = run(count, folder, "pde", "run", "reactor", "n=6", "max_iterations=6")
        assert code == 0, wrong
    results = [json.loads((folder / "result.json").read_text()) for folder in folders.values()]
    parallel.compare(results[0]["figures"], results[1]["figures"])
    assert results[0]["counts"] == results[1]["counts"]
    # A second run into the same folder is refused, in one sentence, by one process, and all of them end.
    code, _, wrong = run(2, folders[2], "pde", "run", "reactor", "n=6")
    assert code == 2
    assert wrong.count("already holds a run") == 1
    # Its checkpoints number the control as two processes share it.
    (folders[2] / "result.json").unlink()
    code, _, wrong = run(1, folders[2], "resume", str(folders[2]))
    assert code == 2
    assert "made by 2 and not 1 processes: go on with `mpirun -n 2 formgrad resume`" in wrong
    code, _, wrong = run(2, folders[2], "resume", str(folders[2]))
    assert code == 0, wrong
    parallel.compare(results[0]["figures"], json.loads((folders[2] / "result.json").read_text())["figures"])
    # A failure that all processes see: a run that cannot be posed.
    code, _, wrong = run(2, tmp_path / "failed", "pde", "run", "cantilever", "n=4")
    assert code == 2
    assert wrong.count("give a multiple of 10") == 1

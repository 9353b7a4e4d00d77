"""The same numbers on one, two and four processes."""

import importlib.util
import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.fem

CASE = Path(__file__).with_name("parallel_case.py")


def mpirun() -> str | None:
    """That of the MPI which DOLFINx brings along stands beside Python."""
    beside = Path(sys.executable).with_name("mpirun")
    return str(beside) if beside.exists() else shutil.which("mpirun")


def figures(processes: int, folder: Path) -> dict:
    out = folder / f"{processes}.json"
    environment = os.environ | {
        "OMP_NUM_THREADS": "1",
        "PYTHONPATH": str(CASE.parents[3]),
        "MPIR_CVAR_POLLS_BEFORE_YIELD": "1",  # more processes than cores take turns
    }
    start = [str(mpirun()), "-n", str(processes)] if processes > 1 else []
    # mpi4py ends all processes when one raises, where the others would wait for it.
    done = subprocess.run(
        [*start, sys.executable, "-m", "mpi4py", str(CASE), str(out)],
        env=environment,
        capture_output=True,
        text=True,
        timeout=580,
    )
    assert done.returncode == 0, done.stdout[-1500:] + done.stderr[-3000:]
    return json.loads(out.read_text())


def compare(alone: dict, shared: dict) -> None:
    assert set(alone) == set(shared)
    for name, value in alone.items():
        if isinstance(value, str):
            assert shared[name] == value, name
        else:
            assert shared[name] == pytest.approx(value, rel=1e-9), name


@pytest.fixture(scope="module")
def alone(tmp_path_factory):
    if importlib.util.find_spec("dolfinx") is None:
        pytest.skip("needs DOLFINx: pip install 'formgrad[fem]'")
    if mpirun() is None:
        pytest.skip("needs mpirun")
    found = figures(1, tmp_path_factory.mktemp("mpi"))
    assert found["slope"] == pytest.approx(found["square"], rel=1e-12)  # Riesz
    assert found["pulled"] == pytest.approx(found["pushed"] ** 2, rel=1e-10)
    assert found["failure"].startswith("the adjoint solve with 'hasty-cg'")
    assert found["folded"] == float("inf")
    return found


def test_two_processes(alone, tmp_path):
    compare(alone, figures(2, tmp_path))


@pytest.mark.slow
def test_four_processes(alone, tmp_path):
    compare(alone, figures(4, tmp_path))

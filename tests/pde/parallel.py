"""Programs on one process and on several, and whether they find the same numbers."""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


def mpirun() -> str | None:
    """That of the MPI which DOLFINx brings along stands beside Python."""
    beside = Path(sys.executable).with_name("mpirun")
    return str(beside) if beside.exists() else shutil.which("mpirun")


def started(processes: int, *command: str) -> subprocess.CompletedProcess[str]:
    """`python COMMAND`, by mpirun where there are several processes."""
    environment = os.environ | {
        "OMP_NUM_THREADS": "1",
        "PYTHONPATH": str(ROOT),
        "MPIR_CVAR_POLLS_BEFORE_YIELD": "1",  # more processes than cores take turns
    }
    start = [str(mpirun()), "-n", str(processes)] if processes > 1 else []
    return subprocess.run(
        [*start, sys.executable, *command], env=environment, capture_output=True, text=True, timeout=580
    )


def figures(case: Path, processes: int, folder: Path) -> dict:
    """What a case writes."""
    out = folder / f"{processes}.json"
    # mpi4py ends all processes when one raises, where the others would wait for it.
    done = started(processes, "-m", "mpi4py", str(case), str(out))
    assert done.returncode == 0, done.stdout[-1500:] + done.stderr[-3000:]
    return json.loads(out.read_text())


def compare(alone: dict, shared: dict) -> None:
    assert set(alone) == set(shared)
    for name, value in alone.items():
        if isinstance(value, str):
            assert shared[name] == value, name
        else:
            # Steps of optimizers have inner solves of their own, which stop at a tolerance.
            accuracy = 1e-7 if "iterations" in name else 1e-9
            assert shared[name] == pytest.approx(value, rel=accuracy), name

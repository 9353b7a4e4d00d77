"""The same problem on MPI ranks: the same answer as the direct solver, whatever their number."""

import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from pde.grid import Elasticity, GridError
from pde.grid.distributed import solve_on_ranks
from tests.pde.grid.cases import clamped_block

MPIRUN = shutil.which("mpirun", path=str(Path(sys.executable).parent)) or shutil.which("mpirun")

SCRIPT = """
import dolfinx_solver
import numpy as np
from pde.grid import Conduction, Elasticity, System
from pde.grid.distributed import solve_on_ranks
from petsc4py import PETSc
from tests.pde.grid.cases import clamped_block, field_f11

for shape, physics in (((13, 9, 7), Elasticity()), ((24, 10), Elasticity()), ((20, 9), Conduction())):
    case, modulus = clamped_block(shape, physics), field_f11(shape, 1e-3)
    found = solve_on_ranks(case.grid, physics, case.fixed, modulus, case.force, tol=1e-10)
    expected = System(case.grid, physics, case.fixed, "direct").solve(modulus, case.force).u
    assert found.u.shape == expected.shape and found.relative_residual <= 1e-9
    assert np.abs(found.u - expected).max() <= 1e-8 * np.abs(expected).max()
print("ranks:", PETSc.COMM_WORLD.size)
"""


@pytest.mark.fem
@pytest.mark.parametrize("ranks", [1, 2, pytest.param(3, marks=pytest.mark.slow)])
def test_the_answer_does_not_depend_on_the_ranks(ranks: int) -> None:
    pytest.importorskip("dolfinx_solver", reason="needs PETSc: pip install 'formgrad[fem]'")
    if MPIRUN is None:
        pytest.skip("no mpirun here")
    command = [MPIRUN, "-n", str(ranks), sys.executable, "-c", SCRIPT]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 0, done.stderr
    assert done.stdout.count("ranks:") == ranks
    assert f"ranks: {ranks}" in done.stdout


def test_wrong_input_is_refused() -> None:
    pytest.importorskip("dolfinx_solver", reason="needs PETSc: pip install 'formgrad[fem]'")
    case = clamped_block((4, 3), Elasticity())
    with pytest.raises(GridError, match="void a small modulus"):
        solve_on_ranks(case.grid, case.physics, case.fixed, np.zeros((4, 3)), case.force)
    with pytest.raises(GridError, match="this grid needs"):
        solve_on_ranks(case.grid, case.physics, case.fixed, np.ones((3, 4)), case.force)

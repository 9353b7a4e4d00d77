"""The estimate covers what is allocated, and is its own inverse."""

import tracemalloc

import numpy as np
import pytest

from pde.grid import Conduction, Elasticity, Physics, System
from pde.grid.memory import BASE, bytes_needed, elements_that_fit
from tests.pde.grid.cases import clamped_block


@pytest.mark.parametrize("physics", [Elasticity(), Conduction()], ids=str)
@pytest.mark.parametrize("shape", [(64, 32, 32), (320, 200)], ids=str)
@pytest.mark.parametrize("cases", [1, 3])
def test_estimate_covers_a_solve(shape: tuple[int, ...], physics: Physics, cases: int) -> None:
    case = clamped_block(shape, physics)
    modulus = np.ones(shape)
    System(case.grid, physics, case.fixed, "native").solve(modulus, case.force, tol=1e-3)  # compiled and imported now
    tracemalloc.start()
    system = System(case.grid, physics, case.fixed, "native")
    loads = np.stack([case.force] * cases)
    u = system.solve(modulus, loads, tol=1e-3).u
    system.energies(u[0])
    used, _ = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    needed = bytes_needed(case.grid.size, len(shape), physics.dofs_per_node(len(shape)), cases)
    assert used <= needed
    assert needed - BASE <= 1.6 * used


def test_how_many_elements_fit() -> None:
    for dim, dofs in ((2, 1), (2, 2), (3, 1), (3, 3)):
        n = 10**6
        assert elements_that_fit(bytes_needed(n, dim, dofs) + 1, dim, dofs) == pytest.approx(n, abs=1)
    assert elements_that_fit(0, 3, 3) == 0
    # 20 GiB hold some eighty million voxels.
    assert 7e7 < elements_that_fit(20 * 2**30, 3, 3) < 1.1e8

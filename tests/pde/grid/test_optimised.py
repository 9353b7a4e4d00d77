"""Optimised densities, whose members are thin and whose voids are wide: the fast solver against the direct one."""

import numpy as np
import pytest
from numpy.typing import NDArray

from benchmarks import topopt3d
from benchmarks._designs import density
from pde.grid import Elasticity, Grid, System
from topopt import presets

Field = NDArray[np.float64]


def same_answer(system: System, modulus: Field, force: Field) -> None:
    exact = System(system.grid, system.physics, system.fixed, "direct").solve(modulus, force).u
    found = system.solve(modulus, force, tol=1e-10).u
    size = np.abs(exact).max()
    # In the void displacements are of no consequence and hard to know: nodes of the design count.
    solid = np.zeros(system.grid.node_shape, bool)
    for corner in np.ndindex(*(2,) * system.grid.dim):
        part = tuple(slice(c, c + n) for c, n in zip(corner, system.grid.shape, strict=True))
        solid[part] |= modulus > 0.1
    assert np.abs(found - exact)[solid].max() <= 1e-8 * size
    assert (found * force).sum() == pytest.approx((exact * force).sum(), rel=1e-8)


@pytest.mark.parametrize("softest", [1e-3, 1e-6, 1e-9])
def test_a_beam_of_thirty_thousand_pixels(softest: float) -> None:
    problem = presets.mbb_beam(300, 100)
    modulus = softest + density("mbb_300x100") ** 3 * (1 - softest)
    system = System(problem.grid, problem.physics, problem.fixed, "native")
    same_answer(system, modulus, problem.forces[0])


@pytest.mark.parametrize("softest", [1e-3, 1e-6, 1e-9])
def test_a_cantilever_of_voxels(softest: float) -> None:
    fine = density("cantilever_64")
    rho = fine.reshape(32, 2, 16, 2, 16, 2).mean(axis=(1, 3, 5))
    system, force = topopt3d.problem(16, None)
    assert isinstance(system.physics, Elasticity) and isinstance(system.grid, Grid)
    same_answer(system, topopt3d.ordered(softest + rho**3 * (1 - softest)), force)

"""The portable kernels against the compiled ones and the factorisation."""

import numpy as np
import pytest

from pde.grid import Conduction, Elasticity, Physics, SolverError, System
from tests.pde.grid.cases import clamped_block


@pytest.mark.parametrize("physics", [Elasticity(), Conduction()], ids=str)
@pytest.mark.parametrize("shape", [(24, 12, 8), (13, 9, 7), (60, 20), (61, 23), (5, 3, 2)], ids=str)
def test_same_answers(shape: tuple[int, ...], physics: Physics) -> None:
    rng = np.random.default_rng(0)
    case, modulus = clamped_block(shape, physics), 1e-9 + rng.random(shape) ** 3
    modulus[1:-1][rng.random(shape)[1:-1] < 0.05] = 0
    compiled, portable = (System(case.grid, physics, case.fixed, name) for name in ("native", "numba"))
    compiled.update(modulus)
    portable.update(modulus)
    u = rng.normal(size=case.fixed.shape)
    expected = compiled.apply(u)
    assert np.abs(portable.apply(u) - expected).max() <= 1e-13 * np.abs(expected).max()
    assert np.allclose(portable.energies(u), compiled.energies(u), rtol=1e-11)
    a, b = (system.solve(None, case.force, tol=1e-10) for system in (compiled, portable))
    assert (a.u * case.force).sum() == pytest.approx((b.u * case.force).sum(), rel=1e-8)
    assert b.relative_residual <= 1e-10
    # The same cycle, but for the visits of the inner levels.
    assert abs(a.iterations - b.iterations) <= 0.35 * a.iterations
    again = portable.solve(None, case.force, guess=b.u, tol=1e-8)
    assert again.iterations == 0


def test_failures_are_reported_alike() -> None:
    case = clamped_block((12, 6, 6), Elasticity())
    modulus = np.ones(case.grid.shape)
    modulus[5:7] = 0
    with pytest.raises(SolverError, match="connected to no support"):
        System(case.grid, case.physics, case.fixed, "numba").solve(modulus, case.force)

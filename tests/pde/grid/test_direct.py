"""The two factorisations against each other."""

import numpy as np
import pytest

from pde.grid import Conduction, Elasticity, Grid, GridError, Physics, SolverError, System, direct
from pde.grid.direct import Direct
from tests.pde.grid.cases import clamped_block, field_f11


@pytest.mark.parametrize("physics", [Elasticity(), Conduction()], ids=str)
@pytest.mark.parametrize("shape", [(12, 8, 6), (60, 20)], ids=str)
def test_mumps_and_superlu_agree(shape: tuple[int, ...], physics: Physics) -> None:
    """To 1e-10, at a contrast of 1e-6, with springs and with elements that are not there; two loads, one factor."""
    pytest.importorskip("dolfinx_solver", reason="needs PETSc: pip install 'formgrad[fem]'")
    case, modulus = clamped_block(shape, physics), field_f11(shape, 1e-6)
    modulus[-1, :2] = 0
    force = case.force.copy()
    force[-1] = 0
    force[-2] = case.force[-1]
    springs = np.where(case.fixed, 0.0, np.random.default_rng(0).random(force.shape) < 0.1) * 1e-3
    springs[-1] = 0
    for system in (
        System(case.grid, physics, case.fixed, "direct"),
        System(case.grid, physics, case.fixed, "direct", springs=springs),
    ):
        engines = Direct(system, "mumps"), Direct(system, "superlu")
        for engine in engines:
            engine.update(modulus)
        factor = engines[0].factor
        for load in (force, np.roll(force, 1, axis=1)):
            (u, _, residual), (expected, _, _) = (engine.solve(load, None, 1e-8, 0) for engine in engines)
            assert residual <= 1e-8
            assert np.abs(u - expected).max() <= 1e-10 * np.abs(expected).max()
        assert engines[0].factor is factor


def test_which_factorisation_is_taken(monkeypatch: pytest.MonkeyPatch) -> None:
    """SuperLU for what is small and where PETSc is missing, MUMPS for the rest."""
    small, large = clamped_block((8, 4, 4), Elasticity()), clamped_block((32, 16, 12), Elasticity())
    for installed, expected in ((True, "mumps"), (False, "superlu")):
        monkeypatch.setattr(direct, "has_mumps", lambda there=installed: there)
        for case, method in ((small, "superlu"), (large, expected)):
            engine = System(case.grid, case.physics, case.fixed, "direct").engine
            assert isinstance(engine, Direct)
            assert engine.method == method
    system = System(small.grid, small.physics, small.fixed, "direct")
    with pytest.raises(GridError, match="MUMPS needs PETSc"):
        Direct(system, "mumps")


@pytest.mark.parametrize("method", ["superlu", "mumps"])
def test_what_nothing_holds_is_reported(method: str) -> None:
    """Two parts with nothing between them; the loaded one floats."""
    if method == "mumps":
        pytest.importorskip("dolfinx_solver", reason="needs PETSc: pip install 'formgrad[fem]'")
    grid = Grid((9, 4))
    fixed, force = np.zeros((*grid.node_shape, 2), bool), np.zeros((*grid.node_shape, 2))
    fixed[0], force[-1, 2, 0] = True, 1
    modulus = np.ones(grid.shape)
    modulus[4] = 0
    engine = Direct(System(grid, Elasticity(), fixed, "direct"), method)  # type: ignore[arg-type]
    with pytest.raises(SolverError, match="not supported"):
        engine.update(modulus)
        engine.solve(force, None, 1e-8, 0)

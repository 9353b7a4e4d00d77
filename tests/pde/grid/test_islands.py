"""Parts without a support: found, dropped if they carry nothing, reported if they do."""

import numpy as np
import pytest

from pde.grid import Elasticity, Grid, SolverError, System
from pde.grid.islands import corners, floating, touching
from pde.grid.native.engine import Native
from tests.pde.grid.cases import Case

SHAPE = (32, 16, 16)


def beam() -> tuple[Case, np.ndarray]:
    """A solid bar in the middle of a box of void, held at x = 0 and loaded at its end."""
    grid = Grid(SHAPE)
    fixed, force = np.zeros((*grid.node_shape, 3), bool), np.zeros((*grid.node_shape, 3))
    fixed[0] = True
    force[-1, 5:12, 8, 2] = 1
    modulus = np.full(SHAPE, 1e-9)
    modulus[:, 5:11, 5:11] = 1
    return Case(grid, Elasticity(), fixed, force), modulus


def with_islands(modulus: np.ndarray) -> np.ndarray:
    rng = np.random.default_rng(0)
    modulus = modulus.copy()
    for _ in range(30):
        i, j, k = rng.integers(1, 28), rng.integers(0, 13), rng.choice([0, 13])
        modulus[i : i + 3, j : j + 3, k : k + 3] = 1
    return modulus


def test_floating_parts_by_faces() -> None:
    modulus = np.zeros((6, 4))
    modulus[0:3, 0] = modulus[3, 1] = modulus[5, 3] = 1
    anchors = np.zeros((7, 5), bool)
    anchors[0, 0] = True
    expected = np.zeros((6, 4), bool)
    expected[3, 1] = expected[5, 3] = True
    assert np.array_equal(floating(modulus, anchors), expected)
    modulus[3, 0] = 1
    expected[3, 1] = False
    assert np.array_equal(floating(modulus, anchors), expected)


def test_elements_and_their_corners() -> None:
    elements = np.zeros((3, 2, 2), bool)
    elements[1, 0, 1] = True
    nodes = corners(elements)
    assert nodes.shape == (4, 3, 3)
    assert nodes.sum() == 8
    assert nodes[1:3, 0:2, 1:3].all()
    assert touching(nodes).all()


def test_islands_that_carry_nothing_are_left_out() -> None:
    case, modulus = beam()
    system = System(case.grid, case.physics, case.fixed, "native")
    expected = system.solve(modulus, case.force, tol=1e-10).u
    crowded = with_islands(modulus)
    solution = system.solve(crowded, case.force, tol=1e-8)
    assert isinstance(system.engine, Native)
    assert system.engine.dropped is not None
    assert solution.relative_residual <= 1e-8
    c, c0 = (solution.u * case.force).sum(), (expected * case.force).sum()
    assert c == pytest.approx(c0, rel=1e-7)
    # The operator itself still knows them.
    size = system.apply(np.random.default_rng(1).normal(size=case.fixed.shape))
    assert np.abs(size[system.engine.dropped]).max() > 0.1
    # A load on an island brings it back; the next moduli start afresh.
    system.update(modulus)
    assert system.engine.dropped is None


def test_load_on_a_part_without_support() -> None:
    case, modulus = beam()
    modulus[modulus < 1] = 0
    modulus[12:14] = 0
    for backend in ("native", "direct"):
        system = System(case.grid, case.physics, case.fixed, backend)  # type: ignore[arg-type]
        with pytest.raises(SolverError, match=r"connected to no support|not supported"):
            system.solve(modulus, case.force)


def test_supports_that_leave_a_free_motion() -> None:
    case, _ = beam()
    fixed = case.fixed.copy()
    fixed[..., 1:] = False
    system = System(case.grid, case.physics, fixed, "native")
    with pytest.raises(SolverError, match="free motion") as caught:
        system.solve(np.ones(SHAPE), case.force)
    assert len(caught.value.residuals) > 10


def test_isolated_voxels() -> None:
    """One per cent of single voxels in void: the bounds of the smoother are attained, the cycle stays definite."""
    case, modulus = beam()
    modulus[modulus < 1] = 0
    modulus[np.random.default_rng(2).random(SHAPE) < 0.01] = 1
    system = System(case.grid, case.physics, case.fixed, "native")
    assert system.solve(modulus, case.force, tol=1e-8).iterations <= 60


def test_islands_that_matter_are_kept() -> None:
    """Loads in a void that is not so empty (1e-6): what floats there stiffens it, and must not be dropped."""
    shape, rng = (31, 50), np.random.default_rng(3)
    grid = Grid(shape)
    fixed, force = np.zeros((*grid.node_shape, 2), bool), np.zeros((*grid.node_shape, 2))
    fixed[0] = True
    force[rng.random(force.shape) < 0.1] = 1
    modulus = np.where(rng.random(shape) < 0.7, 1.0, 1e-6)
    expected = System(grid, Elasticity(), fixed, "direct").solve(modulus, force).u
    u = System(grid, Elasticity(), fixed, "native").solve(modulus, force, tol=1e-9, max_iterations=1000).u
    assert (u * force).sum() == pytest.approx((expected * force).sum(), rel=1e-8)

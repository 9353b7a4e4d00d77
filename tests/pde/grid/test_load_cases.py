"""Several right-hand sides in one call: the same bits as one by one, and a failure names its load case."""

from typing import Literal

import numpy as np
import pytest

from pde.grid import Conduction, Elasticity, Physics, SolverError, System
from pde.grid.native import engine
from pde.grid.native.engine import Native
from tests.pde.grid.cases import Case, clamped_block, field_f11
from tests.pde.grid.test_islands import beam, with_islands


def loads(case: Case, count: int, seed: int = 0) -> np.ndarray:
    rng = np.random.default_rng(seed)
    return np.stack([case.force, *rng.normal(size=(count - 1, *case.force.shape))])


@pytest.mark.parametrize(
    ("shape", "physics", "backend"),
    [
        *[(n, p, "native") for n in ((24, 12, 8), (13, 9, 7), (60, 20)) for p in (Elasticity(), Conduction())],
        ((6, 4, 4), Elasticity(), "numba"),
        ((12, 5), Conduction(), "numba"),
    ],
    ids=str,
)
def test_columns_do_not_depend_on_each_other(
    shape: tuple[int, ...], physics: Physics, backend: Literal["native", "numba"]
) -> None:
    """Five loads, one of them zero, one ten orders larger: alone, together, in another order and company."""
    case, modulus = clamped_block(shape, physics), field_f11(shape, 1e-6)
    modulus[0, 0] = 0
    system = System(case.grid, physics, case.fixed, backend)
    forces = loads(case, 5)
    forces[:, 0] = 0
    forces[2] = 0
    forces[3] *= 1e10
    guesses = 0.1 * np.random.default_rng(1).normal(size=forces.shape)
    for guess in (None, guesses):
        together = system.solve(modulus, forces, guess, tol=1e-8)
        alone = [system.solve(None, f, None if guess is None else guess[n], tol=1e-8) for n, f in enumerate(forces)]
        assert together.iterations == sum(a.iterations for a in alone)
        assert together.relative_residual == max(a.relative_residual for a in alone)
        assert all(np.array_equal(u, a.u) for u, a in zip(together.u, alone, strict=True))
        order = [4, 1, 3]
        others = system.solve(None, forces[order], None if guess is None else guess[order], tol=1e-8)
        assert np.array_equal(others.u, together.u[order])


def test_more_columns_than_go_together(monkeypatch: pytest.MonkeyPatch) -> None:
    case = clamped_block((12, 8, 6), Elasticity())
    forces, modulus = loads(case, 7), np.ones(case.grid.shape)
    expected = System(case.grid, case.physics, case.fixed, "native").solve(modulus, forces).u
    for most in (1, 3):
        monkeypatch.setattr(engine, "MOST_TOGETHER", most)
        system = System(case.grid, case.physics, case.fixed, "native")
        assert np.array_equal(system.solve(modulus, forces).u, expected)


@pytest.mark.parametrize("shape", [(24, 16, 12), (100, 40)], ids=str)
def test_threads_do_not_change_a_bit(shape: tuple[int, ...], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("pde.grid.native.hierarchy.VALUES_PER_THREAD", 1)
    case = clamped_block(shape, Elasticity())
    modulus, forces = 1e-9 + np.random.default_rng(7).random(shape) ** 3, loads(case, 3)
    one, two, three = (
        System(case.grid, case.physics, case.fixed, "native", threads=n).solve(modulus, forces) for n in (1, 2, 3)
    )
    assert np.array_equal(one.u, two.u)
    assert np.array_equal(one.u, three.u)


def test_columns_with_and_without_floating_parts_in_their_way() -> None:
    """Floating parts are left out for each column that they hinder, as if it were alone."""
    case, modulus = beam()
    modulus = with_islands(modulus)
    forces = np.stack([case.force, np.roll(case.force, 1, axis=-1), 0.5 * case.force])
    answers = []
    for order in ([0, 1, 2], [2, 0], [1]):
        system = System(case.grid, case.physics, case.fixed, "native")
        u = system.solve(modulus, forces[order], tol=1e-8).u
        assert isinstance(system.engine, Native)
        # Alone, the second is done before anything is in its way.
        assert (system.engine.dropped is None) == (order == [1])
        answers.append(dict(zip(order, u, strict=True)))
    for some in answers[1:]:
        for n, u in some.items():
            assert np.array_equal(u, answers[0][n])


@pytest.mark.parametrize("backend", ["native", "numba", "direct", "jax"])
def test_a_failure_names_its_load_case(backend: Literal["native", "numba", "direct", "jax"]) -> None:
    case = clamped_block((12, 6, 6), Elasticity())
    modulus = np.ones(case.grid.shape)
    modulus[9:] = 0
    forces = np.zeros((3, *case.force.shape))
    forces[:2, 8, 3, 3, 2] = 1
    forces[2, 12, 3, 3, 2] = 1
    system = System(case.grid, case.physics, case.fixed, backend)
    with pytest.raises(SolverError, match=r"load case 3 of 3: .*material"):
        system.solve(modulus, forces)
    # The others, and one alone, which has no number.
    assert system.solve(None, forces[:2]).u.shape == (2, *case.force.shape)
    with pytest.raises(SolverError, match=r"^(a load|the direct)"):
        system.solve(None, forces[2])


@pytest.mark.parametrize("backend", ["native", "jax"])
def test_iterations_that_run_out_name_the_load_case(backend: Literal["native", "jax"]) -> None:
    """The first load is solved by its guess; the second is not within one iteration."""
    case = clamped_block((12, 6, 6), Elasticity())
    system, modulus = System(case.grid, case.physics, case.fixed, backend), field_f11((12, 6, 6), 1e-3)
    guess = np.stack([system.solve(modulus, case.force, tol=1e-10).u, np.zeros_like(case.force)])
    with pytest.raises(SolverError, match="load case 2 of 2: no convergence") as caught:
        system.solve(None, np.stack([case.force, case.force]), guess, tol=1e-8, max_iterations=1)
    assert caught.value.residuals[-1] > 1e-8

"""The JAX back-end against the native one."""

import numpy as np
import pytest

from pde.bridges import jax_solve
from pde.grid import Conduction, Elasticity, Grid, GridError, Physics, SolverError, System
from tests.pde.grid.cases import clamped_block, field_f11

jax = pytest.importorskip("jax")


def has_gpu() -> bool:
    try:
        return bool(jax.devices("gpu"))
    except RuntimeError:
        return False


DEVICES = [
    "cpu",
    pytest.param("gpu", marks=[pytest.mark.gpu, pytest.mark.skipif(not has_gpu(), reason="no GPU that JAX can use")]),
]


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("physics", [Elasticity(), Elasticity(0.3, "standard"), Conduction()], ids=str)
@pytest.mark.parametrize(("shape", "spacing"), [((40, 13), 0.5), ((9, 8, 5), (1.0, 2.0, 0.7))])
def test_operator_is_the_native_one(
    shape: tuple[int, ...], spacing: float | tuple[float, ...], physics: Physics, device: str
) -> None:
    case, rng = clamped_block(shape, physics), np.random.default_rng(0)
    grid, modulus = Grid(shape, spacing), rng.random(shape) ** 3
    systems = [
        System(grid, physics, case.fixed, "native"),
        System(grid, physics, case.fixed, "jax", device=device),  # type: ignore[arg-type]
    ]
    u = rng.normal(size=case.fixed.shape)
    for system in systems:
        system.update(modulus)
    native, other = (system.apply(u) for system in systems)
    assert np.abs(native - other).max() <= 1e-12 * np.abs(native).max()
    native, other = (system.energies(u) for system in systems)
    assert np.abs(native - other).max() <= 1e-12 * np.abs(native).max()


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("physics", [Elasticity(), Conduction()], ids=str)
@pytest.mark.parametrize("shape", [pytest.param((24, 13, 10), marks=pytest.mark.slow), (60, 20), (6, 4)], ids=str)
def test_solutions_are_those_of_the_native_engine(shape: tuple[int, ...], physics: Physics, device: str) -> None:
    case = clamped_block(shape, physics)
    modulus = field_f11(shape, 1e-9)
    modulus[-1] = 1
    modulus[2, 3:] = 0
    native = System(case.grid, physics, case.fixed, "native").solve(modulus, case.force, tol=1e-11)
    found = System(case.grid, physics, case.fixed, "jax", device=device).solve(  # type: ignore[arg-type]
        modulus, case.force, tol=1e-11
    )
    assert found.relative_residual <= 1e-11
    assert np.abs(found.u - native.u).max() <= 1e-8 * np.abs(native.u).max()
    assert found.iterations <= 1.5 * native.iterations + 5


def test_several_loads_run_side_by_side() -> None:
    case = clamped_block((12, 6), Elasticity())
    system, modulus = System(case.grid, case.physics, case.fixed, "jax", device="cpu"), field_f11((12, 6), 1e-3)
    loads = np.stack([case.force, -3 * case.force, 0 * case.force, np.roll(case.force, 5)])
    together = system.solve(modulus, loads, tol=1e-10)
    for load, u in zip(loads, together.u, strict=True):
        alone = system.solve(None, load, tol=1e-10).u
        assert np.abs(u - alone).max() <= 1e-8 * np.abs(together.u).max()
    assert not together.u[2].any()
    assert system.solve(None, loads, guess=together.u, tol=1e-9).iterations == 0


def test_the_same_input_gives_the_same_bits() -> None:
    case = clamped_block((6, 5), Elasticity())
    answers = [
        System(case.grid, case.physics, case.fixed, "jax", device="cpu").solve(field_f11(case.grid.shape), case.force).u
        for _ in range(2)
    ]
    assert np.array_equal(answers[0], answers[1])


@pytest.mark.slow
def test_derivatives_stay_on_the_device() -> None:
    """First and second derivatives of the compliance, compiled as one program, against the native engine's."""
    case = clamped_block((12, 8), Elasticity())
    rng = np.random.default_rng(1)
    modulus, v = rng.uniform(0.2, 1, (12, 8)), rng.normal(size=(12, 8))
    values = rng.normal(size=case.force.shape)
    with jax.enable_x64(True):
        results = []
        for backend in ("native", "jax"):
            solve = jax_solve(System(case.grid, case.physics, case.fixed, backend), tol=1e-12)  # type: ignore[arg-type]
            first = jax.grad(lambda m, g, s=solve: (s(m, case.force, g) * case.force).sum(), argnums=(0, 1))
            second = jax.jit(jax.grad(lambda m, f=first: (f(m, values)[0] * v).sum()))
            results.append((*first(modulus, values), second(modulus)))
    for native, other in zip(*results, strict=True):
        assert np.abs(native - other).max() <= 1e-8 * np.abs(native).max()


def test_what_fails_says_so() -> None:
    case = clamped_block((12, 6), Elasticity())
    system = System(case.grid, case.physics, case.fixed, "jax", device="cpu")
    with pytest.raises(SolverError, match="every modulus is zero"):
        system.update(np.zeros((12, 6)))
    with pytest.raises(SolverError, match="no convergence"):
        system.solve(field_f11((12, 6)), case.force, tol=1e-12, max_iterations=1)
    modulus = np.ones((12, 6))
    modulus[-2:] = 0
    with pytest.raises(SolverError, match="without material"):
        system.solve(modulus, case.force)
    with pytest.raises(GridError, match="springs"):
        System(case.grid, case.physics, case.fixed, "jax", springs=np.ones(case.fixed.shape))
    with pytest.raises(GridError, match="belongs to backend='jax'"):
        System(case.grid, case.physics, case.fixed, "native", device="gpu")
    with jax.enable_x64(False), pytest.raises(GridError, match="double precision"):
        jax_solve(system)
    if not has_gpu():
        with pytest.raises(GridError, match="sees no device"):
            System(case.grid, case.physics, case.fixed, "jax", device="gpu")
    with jax.enable_x64(True):
        assert np.isnan(jax_solve(system, tol=1e-12, max_iterations=1)(field_f11((12, 6)), case.force)).all()

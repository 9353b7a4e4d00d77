"""The native back-end against the assembled matrix and its factorisation."""

import ctypes
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import scipy.sparse as sp

from pde.grid import (
    Anisotropic,
    Conduction,
    Elasticity,
    Grid,
    GridError,
    Physics,
    SolverError,
    System,
    orthotropic,
)
from pde.grid.direct import Direct
from pde.grid.native.engine import Native
from pde.grid.native.library import address, room
from pde.grid.native.operator import Operator
from pde.grid.system import Backend
from tests.pde.grid.cases import Case, clamped_block, field_f11

PHYSICS: list[Physics] = [
    Elasticity(0.3, "standard"),
    Elasticity(0.3, "incompatible"),
    Elasticity(0.0, "incompatible"),
    Elasticity(-0.4, "standard"),
    Elasticity(0.45, "incompatible", plane="strain"),
    Conduction(),
]
# Along x four times as stiff as along z, with three different shear moduli; and a crystal of cubic symmetry.
ORTHOTROPIC = Anisotropic(orthotropic((4.0, 2.0, 1.0), (0.2, 0.3, 0.25), (0.9, 0.4, 0.6)))
CUBIC = Anisotropic(orthotropic((1.0, 1.0, 1.0), (0.3, 0.3, 0.3), (0.8, 0.8, 0.8)), "standard")
SHAPES = [(40, 24, 16), (37, 13, 9), (5, 3, 2), (17, 33, 2), (64, 20), (37, 13), (100, 3), (3, 50)]


def systems(case: Case, threads: int = 1) -> tuple[System, System]:
    return (
        System(case.grid, case.physics, case.fixed, "direct"),
        System(case.grid, case.physics, case.fixed, "native", threads=threads),
    )


def assembled(system: System, modulus: np.ndarray) -> sp.csr_matrix:
    """The matrix of `Direct`, without its factorisation."""
    engine = system.engine
    assert isinstance(engine, Direct)
    n = engine.dofs.shape[1]
    rows, cols = np.repeat(engine.dofs, n, axis=1).ravel(), np.tile(engine.dofs, n).ravel()
    values = (modulus.ravel()[:, None] * engine.element_matrix.ravel()).ravel()
    return sp.csr_matrix((values, (rows, cols)), shape=(system.fixed.size,) * 2)


def prepared(case: Case, modulus: np.ndarray, threads: int = 1) -> Operator:
    system = System(case.grid, case.physics, case.fixed, "native", threads=threads)
    system.update(modulus)
    assert isinstance(system.engine, Native)
    return system.engine.operator


@pytest.mark.parametrize("physics", PHYSICS, ids=str)
@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_operator_is_the_assembled_matrix(shape: tuple[int, ...], physics: Physics) -> None:
    rng = np.random.default_rng(1)
    case, modulus = clamped_block(shape, physics), rng.random(shape) ** 3
    modulus[rng.random(shape) < 0.2] = 0
    direct, native = systems(case)
    native.update(modulus)
    u = rng.normal(size=case.fixed.shape)
    expected = (assembled(direct, modulus) @ u.ravel()).reshape(u.shape)
    assert np.abs(native.apply(u) - expected).max() <= 1e-13 * np.abs(expected).max()
    energies = native.energies(u)
    assert energies.shape == shape
    assert np.abs(energies - direct.energies(u)).max() <= 1e-13 * energies.max()
    assert (modulus * energies).sum() == pytest.approx((u * expected).sum(), rel=1e-12)


@pytest.mark.parametrize("physics", [ORTHOTROPIC, CUBIC], ids=["orthotropic", "cubic"])
@pytest.mark.parametrize("backend", ["native", "numba", "jax"])
@pytest.mark.parametrize("spacing", [1.0, (1.0, 2.0, 0.6)], ids=str)
def test_orthotropic_operator(physics: Physics, spacing: float | tuple[float, ...], backend: Backend) -> None:
    """Unequal shear moduli on cubes and boxes: the operator is the assembled matrix, and the cycle solves with it."""
    rng, shape = np.random.default_rng(1), (17, 9, 6)
    case = clamped_block(shape, physics)
    grid, modulus = Grid(shape, spacing), 1e-6 + rng.random(shape) ** 3
    direct, fast = (System(grid, physics, case.fixed, name) for name in ("direct", backend))
    fast.update(modulus)
    u = rng.normal(size=case.fixed.shape)
    expected = (assembled(direct, modulus) @ u.ravel()).reshape(u.shape)
    assert np.abs(fast.apply(u) - expected).max() <= 1e-13 * np.abs(expected).max()
    energies = direct.energies(u)
    assert np.abs(fast.energies(u) - energies).max() <= 1e-13 * energies.max()
    answer, expected = fast.solve(None, case.force, tol=1e-10), direct.solve(modulus, case.force).u
    assert (answer.u * case.force).sum() == pytest.approx((expected * case.force).sum(), rel=1e-8)
    assert answer.iterations <= 70


@pytest.mark.parametrize("physics", [Elasticity(), Conduction()], ids=str)
@pytest.mark.parametrize("shape", [(40, 24, 16), (37, 13, 9), (60, 20)], ids=str)
def test_operator_in_single_precision(shape: tuple[int, ...], physics: Physics) -> None:
    rng = np.random.default_rng(2)
    case, modulus = clamped_block(shape, physics), rng.random(shape)
    modulus.flat[0] = 1.0
    native = prepared(case, modulus)
    level, layout = native.hierarchy.levels[0], native.layout
    u = rng.normal(size=case.fixed.shape).astype(np.float32)
    layout.public(level.z)[...] = u
    out = room(layout.nodal, np.float32)
    native.library.apply_f(native.finest, native.hierarchy.scratch, address(out))
    direct, _ = systems(case)
    expected = (assembled(direct, modulus) @ u.ravel().astype(float)).reshape(u.shape)
    got = layout.public(out)
    assert not got[case.fixed].any()
    free = ~case.fixed
    assert np.abs(got - expected)[free].max() <= 2e-7 * np.abs(expected).max()


@pytest.mark.parametrize(
    ("shape", "physics"),
    [
        *[(n, p) for n in ((32, 16, 16), (48, 32)) for p in (Elasticity(0.3, "standard"), Elasticity(), Conduction())],
        ((32, 16, 16), ORTHOTROPIC),
    ],
    ids=str,
)
def test_coarse_levels_are_the_galerkin_products(
    shape: tuple[int, ...], physics: Physics, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Every level applied to a coarse vector equals P^T ... P^T K P ... P applied to it, and its D^-1 is exact."""
    sizes = [tuple(n >> depth for n in shape) for depth in range(4)]
    monkeypatch.setattr("pde.grid.native.operator.padded_sizes", lambda shape, dofs: sizes)
    rng = np.random.default_rng(3)
    case, modulus = clamped_block(shape, physics), 1e-6 + rng.random(shape) ** 3
    native = prepared(case, modulus)
    direct, _ = systems(case)
    K = assembled(direct, modulus / modulus.max())
    dofs = physics.dofs_per_node(len(shape))
    for depth in range(1, 4):
        level = native.hierarchy.levels[depth]
        P = interpolation(sizes[depth - 1], dofs)
        K = P.T @ K @ P
        u = np.where(level.layout.public(level.fixed), 0, rng.normal(size=level.layout.public(level.z).shape))
        u = u.astype(np.float32).astype(float)
        level.layout.public(level.z)[...] = u
        out = room(level.layout.nodal, np.float32)
        native.library.apply_f(ctypes.pointer(native.hierarchy.array[depth]), native.hierarchy.scratch, address(out))
        free = ~level.layout.public(level.fixed)
        expected = (K @ u.ravel()).reshape(u.shape)
        assert np.abs(level.layout.public(out) - expected)[free].max() <= 1e-6 * np.abs(expected).max()
        diagonal = K.diagonal().reshape(u.shape)
        assert np.abs(level.layout.public(level.dinv) * diagonal - 1)[free].max() <= 2e-5


def interpolation(shape: tuple[int, ...], dofs: int) -> sp.csr_matrix:
    """Linear interpolation to the nodes of `shape` from the grid of half as many elements, dofs interleaved."""
    P = sp.identity(1)
    for n in shape:
        fine = np.arange(n + 1)
        rows, cols = np.concatenate([fine, fine]), np.concatenate([fine // 2, (fine + 1) // 2])
        P = sp.kron(P, sp.csr_matrix((np.full(2 * n + 2, 0.5), (rows, cols)), shape=(n + 1, n // 2 + 1)))
    return sp.csr_matrix(sp.kron(P, sp.identity(dofs)))


@pytest.mark.parametrize("physics", [Elasticity(), Conduction()], ids=str)
@pytest.mark.parametrize("shape", [(40, 24, 16), (90, 40)], ids=str)
def test_cycle_is_symmetric_and_positive(shape: tuple[int, ...], physics: Physics) -> None:
    rng = np.random.default_rng(4)
    native = prepared(clamped_block(shape, physics), 1e-9 + rng.random(shape) ** 3)
    level = native.hierarchy.levels[0]

    def cycle(r: np.ndarray) -> np.ndarray:
        level.b[...] = r
        native.hierarchy.cycle()
        return level.z.astype(float)

    def residual() -> np.ndarray:
        memory = native.layout.vector(rng.normal(size=native.layout.public(level.z).shape))
        memory.reshape(-1)[native.fixed] = 0
        return memory.astype(np.float32).astype(float)

    a, b = residual(), residual()
    va, vb = cycle(a), cycle(b)
    assert (a * va).sum() > 0
    assert (b * vb).sum() > 0
    assert abs((a * vb).sum() - (b * va).sum()) <= 1e-6 * np.sqrt((a * va).sum() * (b * vb).sum())


@pytest.mark.parametrize("softest", [1e-3, 1e-6, 1e-9])
@pytest.mark.parametrize("physics", [Elasticity(0.3, "standard"), Elasticity(), Conduction()], ids=str)
@pytest.mark.parametrize("shape", [(24, 10, 8), (13, 9, 7), (300, 100), (61, 23)], ids=str)
def test_solution_is_that_of_the_factorisation(shape: tuple[int, ...], physics: Physics, softest: float) -> None:
    case = clamped_block(shape, physics)
    direct, native = systems(case)
    for modulus in (softest + np.random.default_rng(5).random(shape) ** 3, field_f11(shape, softest)):
        expected = direct.solve(modulus, case.force).u
        solution = native.solve(modulus, case.force, tol=1e-10)
        assert solution.relative_residual <= 1e-10
        assert (solution.u * case.force).sum() == pytest.approx((expected * case.force).sum(), rel=1e-8)


@pytest.mark.parametrize("shape", [(40, 24, 16), (300, 100)], ids=str)
def test_reactions_balance_the_loads(shape: tuple[int, ...]) -> None:
    case = clamped_block(shape, Elasticity())
    modulus = 1e-9 + np.random.default_rng(6).random(shape) ** 3
    _, native = systems(case)
    u = native.solve(modulus, case.force, tol=1e-12).u
    reactions = np.where(case.fixed, native.apply(u), 0)
    axes = tuple(range(len(shape)))
    assert np.abs(reactions.sum(axes) + case.force.sum(axes)).max() <= 1e-10 * np.abs(case.force).sum()


@pytest.mark.parametrize("physics", [Elasticity(), Conduction()], ids=str)
@pytest.mark.parametrize("shape", [(40, 24, 16), (37, 13, 9), (300, 100)], ids=str)
def test_threads_do_not_change_a_bit(shape: tuple[int, ...], physics: Physics, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("pde.grid.native.hierarchy.VALUES_PER_THREAD", 1)
    case = clamped_block(shape, physics)
    modulus = 1e-9 + np.random.default_rng(7).random(shape) ** 3
    answers = []
    for threads in (1, 2):
        system = System(case.grid, case.physics, case.fixed, "native", threads=threads)
        u = system.solve(modulus, case.force, tol=1e-8).u
        answers.append((u, system.energies(u)))
    for u, energies in answers[1:]:
        assert np.array_equal(u, answers[0][0])
        assert np.array_equal(energies, answers[0][1])


FORKED = """
import os, signal
import numpy as np
import pde.grid.native.hierarchy as hierarchy
from pde.grid import Elasticity, System
from tests.pde.grid.cases import clamped_block

hierarchy.VALUES_PER_THREAD = 1
case = clamped_block((24, 12, 10), Elasticity())
system = System(case.grid, case.physics, case.fixed, "native", threads=2)
modulus = np.ones(case.grid.shape)
expected = system.solve(modulus, case.force).u
child = os.fork()
if child == 0:
    signal.alarm(20)
    again = System(case.grid, case.physics, case.fixed, "native", threads=2)
    same = all(np.array_equal(s.solve(modulus, case.force).u, expected) for s in (system, again))
    os._exit(0 if same else 1)
raise SystemExit(os.waitpid(child, 0)[1])
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system has no fork")
def test_solves_in_a_forked_process() -> None:
    """The threads of the parent are gone in the child, which must not wait for them. In a fresh interpreter, because
    other libraries of the tests must not be forked."""
    root = Path(__file__).parents[3]
    done = subprocess.run([sys.executable, "-c", FORKED], cwd=root, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr


def test_no_material_at_all_around_the_part() -> None:
    """E = 0 exactly, in a frame around the part and in a hole: the same answer as without those elements."""
    inner = clamped_block((24, 12, 10), Elasticity())
    _, alone = systems(inner)
    expected = alone.solve(np.ones(inner.grid.shape), inner.force, tol=1e-11).u
    shape = (31, 19, 15)
    fixed, force = np.zeros((32, 20, 16, 3), bool), np.zeros((32, 20, 16, 3))
    where = np.s_[0:25, 3:16, 2:13]
    fixed[where], force[where] = inner.fixed, inner.force
    modulus = np.zeros(shape)
    modulus[0:24, 3:15, 2:12] = 1
    u = System(Grid(shape), Elasticity(), fixed, "native").solve(modulus, force, tol=1e-11).u
    assert np.abs(u[where] - expected).max() <= 1e-8 * np.abs(expected).max()
    u[where] = 0
    assert not u.any()


def test_supports_anywhere() -> None:
    """Odd strips, a patch in the interior and single values: nothing lies on a coarse grid."""
    shape = (19, 18, 9)
    case = clamped_block(shape, Elasticity())
    fixed = np.zeros_like(case.fixed)
    fixed[0:3, 5, :, 2] = fixed[7:9, 7:10, 3:4] = fixed[1, 1, 1] = fixed[13, 17, 5, 1] = True
    modulus = 1e-6 + np.random.default_rng(8).random(shape)
    supported = Case(case.grid, case.physics, fixed, case.force)
    direct, native = systems(supported)
    expected, solution = direct.solve(modulus, case.force).u, native.solve(modulus, case.force, tol=1e-10)
    assert np.abs(solution.u - expected).max() <= 1e-7 * np.abs(expected).max()
    assert not solution.u[fixed].any()


def test_boxes_that_are_no_cubes() -> None:
    for shape, spacing in (((20, 12, 8), (1.0, 2.0, 0.6)), ((40, 30), (2.0, 1.0))):
        for physics in (Elasticity(0.25), Conduction()):
            case = clamped_block(shape, physics)
            case = Case(Grid(shape, spacing), physics, case.fixed, case.force)
            direct, native = systems(case)
            modulus = field_f11(shape, 1e-6)
            expected = direct.solve(modulus, case.force).u
            u = native.solve(modulus, case.force, tol=1e-10).u
            assert (u * case.force).sum() == pytest.approx((expected * case.force).sum(), rel=1e-8)


def test_units_do_not_matter() -> None:
    """Steel in MPa and mm: the same shape of the answer as for a modulus of 1."""
    case = clamped_block((20, 10, 8), Elasticity())
    modulus = field_f11(case.grid.shape)
    _, native = systems(case)
    u = native.solve(modulus, case.force, tol=1e-9)
    steel = native.solve(210_000 * modulus, 1e6 * case.force, tol=1e-9)
    assert steel.iterations == u.iterations
    assert np.allclose(steel.u, 1e6 / 210_000 * u.u, rtol=1e-6, atol=1e-9 * np.abs(steel.u).max())


def test_warm_start_and_several_loads() -> None:
    case = clamped_block((24, 16, 8), Elasticity())
    _, native = systems(case)
    modulus = 1e-9 + np.random.default_rng(9).random(case.grid.shape)
    cold = native.solve(modulus, case.force, tol=1e-8)
    assert native.solve(None, case.force, guess=cold.u, tol=1e-7).iterations == 0
    loads = np.stack([case.force, 2 * case.force, np.zeros_like(case.force)])
    several = native.solve(None, loads, tol=1e-8)
    assert several.u.shape == loads.shape
    assert np.abs(several.u[1] - 2 * cold.u).max() <= 1e-6 * np.abs(cold.u).max()
    assert not several.u[2].any()
    again = native.solve(None, loads, guess=several.u, tol=1e-7)
    assert again.iterations == 0


def uniform_block_iterations(size: int) -> int:
    grid = Grid((size,) * 3)
    fixed, force = np.zeros((*grid.node_shape, 3), bool), np.zeros((*grid.node_shape, 3))
    fixed[0] = True
    force[-1, :, :, 2] = 1
    system = System(grid, Elasticity(0.3, "standard"), fixed, "native")
    return system.solve(np.ones(grid.shape), force, tol=1e-8).iterations


@pytest.mark.parametrize("size", [64, 96, pytest.param(128, marks=pytest.mark.slow)])
def test_iterations_hardly_grow_with_the_grid(size: int) -> None:
    assert uniform_block_iterations(size) <= 1.5 * uniform_block_iterations(32)


def test_what_cannot_be_solved_says_so() -> None:
    case = clamped_block((20, 10, 8), Elasticity())
    _, native = systems(case)
    with pytest.raises(SolverError, match="every modulus is zero"):
        native.update(np.zeros(case.grid.shape))
    modulus = np.ones(case.grid.shape)
    modulus[-2:] = 0
    with pytest.raises(SolverError, match="node without material"):
        native.solve(modulus, case.force)
    with pytest.raises(SolverError, match="no convergence") as caught:
        native.solve(field_f11(case.grid.shape), case.force, tol=1e-8, max_iterations=3)
    assert len(caught.value.residuals) == 4
    modulus[0, 0, 0] = np.nan
    with pytest.raises(GridError, match="finite"):
        native.solve(modulus, case.force)

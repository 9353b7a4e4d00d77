"""Prescribed values, springs and reactions: bars with known answers, and the fast back-end against the direct one."""

import logging

import numpy as np
import pytest

from pde.grid import Anisotropic, Conduction, Elasticity, Grid, GridError, SolverError, System, orthotropic
from pde.grid.direct import Direct
from pde.grid.springs import Sprung
from tests.pde.grid.cases import clamped_block, field_f11

BACKENDS = ["native", "direct"]


@pytest.mark.parametrize("backend", BACKENDS)
def test_a_pulled_bar_has_a_linear_displacement(backend: str) -> None:
    """Ends moved apart by 0.01 L with nu = 0: strain 0.01 everywhere, reactions E A 0.01 and their opposite."""
    grid = Grid((16, 6, 4), (2.0, 1.0, 1.5))
    fixed, prescribed = np.zeros((*grid.node_shape, 3), bool), np.zeros((*grid.node_shape, 3))
    fixed[0], fixed[-1, ..., 0] = True, True
    prescribed[-1, ..., 0] = 0.32
    system = System(grid, Elasticity(nu=0.0), fixed, backend)  # type: ignore[arg-type]
    force, modulus = np.zeros(fixed.shape), np.full(grid.shape, 200.0)
    u = system.solve(modulus, force, tol=1e-12, prescribed=prescribed).u
    assert np.allclose(u[..., 0], 0.01 * grid.nodes()[..., 0], atol=1e-10)
    assert np.array_equal(u[fixed], prescribed[fixed])
    reactions = system.reactions(u, force)
    pull = 200 * 0.01 * 6 * 6
    assert reactions[-1, ..., 0].sum() == pytest.approx(pull, rel=1e-9)
    assert reactions[0, ..., 0].sum() == pytest.approx(-pull, rel=1e-9)
    assert not reactions[1:-1].any()


@pytest.mark.parametrize("shape", [(24, 10, 8), (61, 23)], ids=str)
def test_prescribed_values_and_loads_together(shape: tuple[int, ...]) -> None:
    case, rng = clamped_block(shape, Elasticity()), np.random.default_rng(1)
    modulus = field_f11(shape, 1e-3)
    prescribed = rng.normal(size=case.fixed.shape)
    answers = []
    for backend in BACKENDS:
        system = System(case.grid, case.physics, case.fixed, backend)  # type: ignore[arg-type]
        u = system.solve(modulus, case.force, tol=1e-11, prescribed=prescribed).u
        answers.append(u)
        balance = (system.reactions(u, case.force) + case.force * ~case.fixed).sum(axis=tuple(range(len(shape))))
        assert (
            np.abs(balance + (case.force * case.fixed).sum(axis=tuple(range(len(shape))))).max()
            <= 1e-9 * np.abs(system.reactions(u, case.force)).sum() + 1e-9 * np.abs(case.force).sum()
        )
    assert np.abs(answers[0] - answers[1]).max() <= 1e-8 * np.abs(answers[1]).max()
    system = System(case.grid, case.physics, case.fixed, "native")
    warm = system.solve(modulus, case.force, tol=1e-8, guess=answers[0], prescribed=prescribed)
    assert warm.iterations == 0
    several = system.solve(
        None, np.stack([case.force] * 2), tol=1e-11, prescribed=np.stack([prescribed, 0 * prescribed])
    )
    assert np.abs(several.u[0] - answers[1]).max() <= 1e-8 * np.abs(answers[1]).max()
    plain = system.solve(None, case.force, tol=1e-11).u
    assert np.abs(several.u[1] - plain).max() <= 1e-8 * np.abs(plain).max()


def test_temperatures_are_prescribed_too() -> None:
    """Between walls at 20 and 80 degrees the temperature is linear whatever the conductivity."""
    grid = Grid((40, 20))
    fixed, wall = np.zeros((*grid.node_shape, 1), bool), np.zeros((*grid.node_shape, 1))
    fixed[[0, -1]] = True
    wall[0], wall[-1] = 20, 80
    system = System(grid, Conduction(), fixed, "native")
    t = system.solve(np.full(grid.shape, 3.0), np.zeros(fixed.shape), tol=1e-12, prescribed=wall).u
    assert np.allclose(t[..., 0], 20 + 1.5 * grid.nodes()[..., 0], atol=1e-9)


def test_without_prescribed_values_nothing_has_changed() -> None:
    case = clamped_block((24, 10, 8), Elasticity())
    system = System(case.grid, case.physics, case.fixed, "native")
    u = system.solve(field_f11(case.grid.shape), case.force, tol=1e-8).u
    again = System(case.grid, case.physics, case.fixed, "native", springs=np.zeros(case.fixed.shape))
    assert np.array_equal(u, again.solve(field_f11(case.grid.shape), case.force, tol=1e-8).u)


@pytest.mark.parametrize("stiffness", [1e-3, 1.0, 1e8])
@pytest.mark.parametrize("backend", BACKENDS)
def test_a_bar_on_a_spring(backend: str, stiffness: float) -> None:
    """100 N through a bar (nu = 0) into springs and nothing else: F (1 / k + L / (E A)) at the far end."""
    grid = Grid((20, 4, 4))
    springs, force = np.zeros((*grid.node_shape, 3)), np.zeros((*grid.node_shape, 3))
    share = np.outer(*[np.array([0.5, 1, 1, 1, 0.5]) / 4] * 2)
    springs[0, ..., 0] = stiffness * share
    force[-1, ..., 0] = 100 * share
    fixed = np.zeros(force.shape, bool)
    fixed[0, 0, 0, 1:] = fixed[0, 0, -1, 1] = fixed[-1, 0, 0, 2] = True
    system = System(grid, Elasticity(nu=0.0), fixed, backend, springs=springs)  # type: ignore[arg-type]
    assert isinstance(system.engine, Sprung if backend == "native" else Direct)
    u = system.solve(np.full(grid.shape, 50.0), force, tol=1e-11).u
    assert np.allclose(u[-1, ..., 0], 100 * (1 / stiffness + 20 / (50 * 16)), rtol=1e-7)
    assert np.allclose(u[0, ..., 0], 100 / stiffness, rtol=1e-7)
    assert (springs * u).sum() == pytest.approx(100, rel=1e-7)


@pytest.mark.parametrize("scale", [1e-3, 1.0, 1e4])
@pytest.mark.parametrize(("shape", "most"), [((24, 12, 10), 120), ((60, 20), 150)], ids=str)
def test_a_body_on_an_elastic_foundation(shape: tuple[int, ...], most: int, scale: float) -> None:
    """Every node of the bottom on springs in all directions, no other support, and voids: the direct answer."""
    grid, physics = Grid(shape), Elasticity()
    springs, force = np.zeros((*grid.node_shape, grid.dim)), np.zeros((*grid.node_shape, grid.dim))
    springs[..., 0, :] = scale * np.random.default_rng(3).uniform(0.5, 2, springs[..., 0, :].shape)
    force[-1, ..., -1, -1] = -1.0
    modulus = field_f11(shape, 1e-2)
    modulus[3:5, 3:6] = 0
    fixed = np.zeros(force.shape, bool)
    expected = System(grid, physics, fixed, "direct", springs=springs).solve(modulus, force).u
    solution = System(grid, physics, fixed, "native", springs=springs).solve(modulus, force, tol=1e-10)
    assert np.abs(solution.u - expected).max() <= 1e-7 * np.abs(expected).max()
    assert solution.iterations <= most


def test_what_cannot_be_held_says_so() -> None:
    grid = Grid((8, 4))
    fixed = np.zeros((*grid.node_shape, 2), bool)
    with pytest.raises(GridError, match="nothing is held"):
        System(grid, Elasticity(), fixed, springs=np.zeros(fixed.shape))
    with pytest.raises(GridError, match="not negative"):
        System(grid, Elasticity(), fixed, springs=-np.ones(fixed.shape))
    with pytest.raises(GridError, match="springs"):
        System(grid, Elasticity(), fixed, springs=np.ones(3))
    fixed[0] = True
    with pytest.raises(GridError, match="prescribed"):
        System(grid, Elasticity(), fixed).solve(np.ones(grid.shape), np.zeros(fixed.shape), prescribed=np.ones(4))
    springs = np.zeros(fixed.shape)
    springs[4, 4, 0] = 1.0
    modulus, force = np.ones(grid.shape), np.zeros(fixed.shape)
    modulus[-2:] = 0
    force[-1, 0, 0] = 1
    with pytest.raises(SolverError, match="without material"):
        System(grid, Elasticity(), fixed, "native", springs=springs).solve(modulus, force)


def test_isotropic_is_a_special_case_of_anisotropic() -> None:
    for dim in (2, 3):
        for element in ("standard", "incompatible"):
            isotropic = Elasticity(0.3, element)  # type: ignore[arg-type]
            general = Anisotropic(isotropic.material_matrix(dim), element)  # type: ignore[arg-type]
            spacing = (1.0, 1.5, 0.5)[:dim]
            assert np.allclose(general.element_matrix(spacing), isotropic.element_matrix(spacing), atol=1e-15)
    assert np.allclose(orthotropic((1, 1, 1), (0.3,) * 3, (1 / 2.6,) * 3), Elasticity(0.3).material_matrix(3))
    assert np.allclose(orthotropic((1, 1), (0.3,), (1 / 2.6,)), Elasticity(0.3).material_matrix(2))


@pytest.mark.parametrize(("axis", "modulus"), [(0, 140.0), (1, 10.0), (2, 8.0)])
def test_a_fibre_composite_is_stiff_along_its_fibres(axis: int, modulus: float) -> None:
    """Tension along each axis: Young's modulus of that axis, and contraction by its Poisson's ratios."""
    material = Anisotropic(orthotropic((140.0, 10.0, 8.0), (0.4, 0.3, 0.25), (3.0, 4.0, 5.0)))
    shape = [6, 6, 6]
    grid = Grid(tuple(shape))
    fixed, prescribed = np.zeros((*grid.node_shape, 3), bool), np.zeros((*grid.node_shape, 3))
    for a in range(3):
        np.moveaxis(fixed, a, 0)[0, ..., a] = True
    np.moveaxis(fixed, axis, 0)[-1, ..., axis] = True
    np.moveaxis(prescribed, axis, 0)[-1, ..., axis] = 0.06
    system = System(grid, material, fixed, "native")
    u = system.solve(np.ones(grid.shape), np.zeros(fixed.shape), tol=1e-11, prescribed=prescribed).u
    pull = np.moveaxis(system.reactions(u, np.zeros(fixed.shape)), axis, 0)[-1, ..., axis].sum()
    assert pull == pytest.approx(0.01 * 36 * modulus, rel=1e-9)


@pytest.mark.parametrize("spacing", [1.0, (1.0, 0.7)])
def test_orthotropic_plates_are_solved_natively(spacing: float | tuple[float, ...]) -> None:
    case = clamped_block((60, 24), Elasticity())
    grid = Grid(case.grid.shape, spacing)
    material = Anisotropic(orthotropic((140.0, 10.0), (0.3,), (5.0,)))
    modulus = field_f11(grid.shape, 1e-4)
    native = System(grid, material, case.fixed, "native").solve(modulus, case.force, tol=1e-10).u
    expected = System(grid, material, case.fixed, "direct").solve(modulus, case.force).u
    assert np.abs(native - expected).max() <= 1e-7 * np.abs(expected).max()


def test_oblique_fibres_are_solved_directly(caplog: pytest.LogCaptureFixture) -> None:
    """Fibres at 30 degrees in the plane couple shear and tension: no reflection symmetry, and no kernels."""
    C, angle = np.array(orthotropic((140.0, 10.0, 8.0), (0.4, 0.3, 0.25), (3.0, 4.0, 5.0))), np.pi / 6
    Q = np.array([[np.cos(angle), -np.sin(angle), 0], [np.sin(angle), np.cos(angle), 0], [0, 0, 1]])
    pairs = [(0, 0), (1, 1), (2, 2), (1, 2), (0, 2), (0, 1)]
    # Stresses turn by T: sigma' = Q sigma Q^T.
    T = np.array([[Q[a, i] * Q[b, j] + (i != j) * Q[a, j] * Q[b, i] for i, j in pairs] for a, b in pairs])
    material = Anisotropic((T @ C @ T.T).tolist())
    case = clamped_block((10, 8, 6), Elasticity())
    with caplog.at_level(logging.WARNING):
        system = System(case.grid, material, case.fixed)
    assert "direct" in caplog.text
    assert isinstance(system.engine, Direct)
    with pytest.raises(GridError, match="symmetry of a box"):
        System(case.grid, material, case.fixed, "native")


def test_a_material_that_cannot_be_says_so() -> None:
    with pytest.raises(GridError, match="positive definite"):
        Anisotropic(((1, 2, 0), (2, 1, 0), (0, 0, 1)))
    with pytest.raises(GridError, match="3 x 3 or 6 x 6"):
        Anisotropic(((1.0, 0.0), (0.0, 1.0)))
    with pytest.raises(GridError, match="needs a material matrix with 3 rows"):
        Anisotropic(np.eye(6)).element_matrix((1.0, 1.0))  # type: ignore[arg-type]
    with pytest.raises(GridError, match="orthotropic"):
        orthotropic((1, 1, 1), (0.3,), (1,))

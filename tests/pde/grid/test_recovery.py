"""Stresses of known fields, of a beam, and of a bracket that another program has solved."""

import numpy as np
import pytest

from pde.grid import Elasticity, Grid, System
from pde.grid.recovery import strain, strain_energy_density, strain_vjp, stress, von_mises
from tests.pde.grid.test_reference_values import l_bracket


@pytest.mark.parametrize("shape", [(4, 3), (4, 3, 2)], ids=str)
def test_linear_field(shape: tuple[int, ...]) -> None:
    grid = Grid(shape, (0.5, 2.0, 1.5)[: len(shape)])
    gradient = np.random.default_rng(0).normal(size=(grid.dim,) * 2)
    got = strain(grid, grid.nodes() @ gradient.T)
    pairs = [(0, 1)] if grid.dim == 2 else [(1, 2), (0, 2), (0, 1)]
    expected = [*np.diag(gradient), *(gradient[a, b] + gradient[b, a] for a, b in pairs)]
    assert got.shape == (*shape, len(expected))
    assert np.allclose(got, expected)


@pytest.mark.parametrize("shape", [(4, 3), (4, 3, 2)], ids=str)
def test_transposed(shape: tuple[int, ...]) -> None:
    grid, rng = Grid(shape, 0.7), np.random.default_rng(1)
    u = rng.normal(size=(*grid.node_shape, grid.dim))
    w = rng.normal(size=(*shape, 3 if grid.dim == 2 else 6))
    assert (w * strain(grid, u)).sum() == pytest.approx((strain_vjp(grid, w) * u).sum())


@pytest.mark.parametrize(("plane", "across"), [("stress", 0.0), ("strain", 0.3)])
def test_uniaxial_tension(plane: str, across: float) -> None:
    physics = Elasticity(0.3, plane=plane)  # type: ignore[arg-type]
    assert von_mises(physics, np.array([2.0, 0, 0])) == pytest.approx(
        np.sqrt((4 + (2 * across) ** 2 + (2 - 2 * across) ** 2) / 2)
    )
    assert von_mises(physics, np.array([5.0, 0, 0, 0, 0, 0])) == 5
    assert von_mises(physics, np.array([0, 0, 0, 0, 0, 2.0])) == pytest.approx(2 * np.sqrt(3))
    assert von_mises(physics, np.array([3.0, 3, 3, 0, 0, 0])) == 0


def test_bar_in_tension() -> None:
    """210 GPa, 100 mm, 10 x 10 mm2, 1000 N: 10 MPa everywhere, and the energy of the load."""
    grid = Grid((20, 4, 4), (5.0, 2.5, 2.5))
    fixed, force = np.zeros((*grid.node_shape, 3), bool), np.zeros((*grid.node_shape, 3))
    fixed[0, ..., 0] = fixed[0, 0, 0] = fixed[0, 0, -1, 1] = True
    share = np.array([0.5, 1, 1, 1, 0.5]) / 4
    force[-1, ..., 0] = 1000 * np.outer(share, share)
    modulus, physics = np.full(grid.shape, 210_000.0), Elasticity(0.3)
    system = System(grid, physics, fixed, "native")
    u = system.solve(modulus, force, tol=1e-11).u
    sigma = stress(grid, physics, u, modulus)
    assert np.allclose(sigma, [10, 0, 0, 0, 0, 0], atol=1e-6)
    density = strain_energy_density(grid, system.energies(u), modulus)
    assert np.allclose(density, 10**2 / (2 * 210_000))
    assert density.sum() * grid.element_volume == pytest.approx((u * force).sum() / 2)


@pytest.mark.parametrize(
    ("n", "arm", "largest", "norm"), [(50, 20, 1.14022601, 1.24421125), (100, 40, 0.77705732, 0.89063937)]
)
def test_stress_of_the_l_bracket(n: int, arm: int, largest: float, norm: float) -> None:
    case, modulus = l_bracket(n, arm)
    u = System(case.grid, case.physics, case.fixed, "native").solve(modulus, case.force, tol=1e-11).u
    assert isinstance(case.physics, Elasticity)
    equivalent = von_mises(case.physics, stress(case.grid, case.physics, u, modulus))
    assert equivalent.max() == pytest.approx(largest, rel=1e-7)
    assert (equivalent**8).sum() ** (1 / 8) == pytest.approx(norm, rel=1e-7)

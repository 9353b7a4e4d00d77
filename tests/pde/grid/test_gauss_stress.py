"""Stresses at Gauss points and at nodes: linear fields, pure bending, energies."""

import numpy as np
import pytest

from pde.grid import Elasticity, Grid, System
from pde.grid.recovery import gauss_stress, nodal_average, stress
from tests.pde.grid.cases import clamped_block


@pytest.mark.parametrize("element", ["standard", "incompatible"])
@pytest.mark.parametrize("shape", [(4, 3), (3, 2, 2)], ids=str)
def test_a_linear_field_has_one_stress(shape: tuple[int, ...], element: str) -> None:
    grid, physics = Grid(shape, (0.5, 2.0, 1.5)[: len(shape)]), Elasticity(0.3, element)  # type: ignore[arg-type]
    u = grid.nodes() @ np.random.default_rng(0).normal(size=(grid.dim,) * 2)
    centre = stress(grid, physics, u)
    assert np.allclose(gauss_stress(grid, physics, u), centre[..., None, :])
    assert np.allclose(nodal_average(grid, centre), centre.reshape(-1, centre.shape[-1])[0])


def test_pure_bending_of_one_layer_of_elements() -> None:
    """u_x = -x y / R, u_y = x^2 / 2 R + nu y^2 / 2 R: sigma_x = -E y / R at the Gauss points, nothing else.

    The incompatible element holds that field exactly; the standard one shears."""
    grid, R = Grid((10, 1), (1.0, 1.0), (0.0, -0.5)), 200.0
    x, y = np.moveaxis(grid.nodes(), -1, 0)
    u = np.stack([-x * y / R, x**2 / (2 * R) + 0.3 * y**2 / (2 * R)], axis=-1)
    sigma = gauss_stress(grid, Elasticity(0.3), u, np.full(grid.shape, 1000.0))
    at = np.array([-0.5, -0.5, 0.5, 0.5]) / np.sqrt(3)
    assert np.allclose(sigma[..., 0], -1000 * at / R)
    assert np.allclose(sigma[..., 1:], 0, atol=1e-12)
    assert np.abs(gauss_stress(grid, Elasticity(0.3, "standard"), u)[..., 2]).max() > 1e-4


@pytest.mark.parametrize("element", ["standard", "incompatible"])
@pytest.mark.parametrize("shape", [(8, 5), (5, 4, 3)], ids=str)
def test_they_hold_the_energy_of_the_elements(shape: tuple[int, ...], element: str) -> None:
    """sigma . C^-1 sigma integrated by the Gauss points is u_e . K_e u_e."""
    physics = Elasticity(0.3, element)  # type: ignore[arg-type]
    case = clamped_block(shape, physics)
    system = System(case.grid, physics, case.fixed, "direct")
    u = system.solve(np.ones(shape), case.force).u
    sigma = gauss_stress(case.grid, physics, u)
    energy = np.einsum("...gv,vw,...gw->...", sigma, np.linalg.inv(physics.material_matrix(len(shape))), sigma)
    assert np.allclose(energy * case.grid.element_volume / 2 ** len(shape), system.energies(u))


def test_void_does_not_count_in_nodal_averages() -> None:
    values, weights = np.array([[1.0, 5.0], [3.0, 7.0]]), np.array([[1.0, 0.0], [1.0, 0.0]])
    average = nodal_average(Grid((2, 2)), values, weights)
    assert np.array_equal(average, [[1, 1, 0], [2, 2, 0], [3, 3, 0]])

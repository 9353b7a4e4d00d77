"""Loads by their resultants and moments, and bodies that are warm or heavy against closed forms."""

import numpy as np
import pytest

from pde.grid import Anisotropic, Elasticity, Grid, GridError, System
from pde.grid.loads import area_load, body_load, line_load, point_load, strain_load, thermal_strain
from pde.grid.recovery import strain, stress


def moment(grid: Grid, force: np.ndarray) -> np.ndarray:
    return np.cross(grid.nodes().reshape(-1, 3), force.reshape(-1, 3)).sum(axis=0)


def test_a_point_load_keeps_its_resultant_and_its_moment() -> None:
    grid, f = Grid((4, 5, 6), (1.0, 0.5, 2.0), (-1.0, 3.0, 0.2)), np.array([1.0, -2, 3])
    for point in ((0.3, 3.9, 7.7), (-1.0, 3.0, 0.2), (3.0, 5.5, 12.2), (0.0, 4.0, 5.0)):
        load = point_load(grid, point, f)
        assert np.allclose(load.sum(axis=(0, 1, 2)), f)
        assert np.allclose(moment(grid, load), np.cross(point, f))
    with pytest.raises(GridError, match="outside"):
        point_load(grid, (9.0, 4.0, 5.0), f)


def test_line_area_and_body_loads_by_their_resultants() -> None:
    grid, f = Grid((4, 5, 6), (1.0, 0.5, 2.0)), np.array([1.0, -2, 3])
    line = line_load(grid, 1, (4, 3), f)
    assert np.allclose(line.sum(axis=(0, 1, 2)), 2.5 * f)
    assert np.allclose(moment(grid, line), np.cross((4, 1.25, 6), 2.5 * f))
    faces = np.zeros((4, 6), bool)
    faces[1:3, 2] = True
    area = area_load(grid, 1, -1, f, faces)
    assert np.allclose(area.sum(axis=(0, 1, 2)), 2 * 2 * f)
    assert np.allclose(moment(grid, area), np.cross((2, 2.5, 5), 4 * f))
    assert not area[:, :-1].any()
    density = np.random.default_rng(0).random(grid.shape)
    body = body_load(grid, density, f)
    assert np.allclose(body.sum(axis=(0, 1, 2)), density.sum() * f)
    centre = (density[..., None] * grid.centers()).sum(axis=(0, 1, 2))
    assert np.allclose(moment(grid, body), np.cross(centre, f))


def test_a_hanging_bar_stretches_by_its_own_weight() -> None:
    """rho g L^2 / (2 E) at the free end (nu = 0; exact at the nodes of a bar of linear elements)."""
    grid = Grid((30, 4, 4), 5.0)
    fixed = np.zeros((*grid.node_shape, 3), bool)
    fixed[0] = True
    system = System(grid, Elasticity(nu=0.0), fixed, "native")
    weight = body_load(grid, 7.85e-9, (9810.0, 0, 0))
    u = system.solve(np.full(grid.shape, 210e3), weight, tol=1e-12).u
    x = grid.nodes()[..., 0]
    assert np.allclose(u[..., 0], 7.85e-9 * 9810 / 210e3 * (150 * x - x**2 / 2), rtol=1e-8, atol=1e-16)
    assert system.reactions(u, weight)[..., 0].sum() == pytest.approx(-7.85e-9 * 9810 * 150 * 400)


@pytest.mark.parametrize("element", ["standard", "incompatible"])
@pytest.mark.parametrize("shape", [(12, 5), (12, 5, 4)], ids=str)
def test_a_warm_body_grows_without_stress(shape: tuple[int, ...], element: str) -> None:
    grid, physics = Grid(shape, (1.0, 0.8, 1.5)[: len(shape)]), Elasticity(0.3, element)  # type: ignore[arg-type]
    fixed = np.zeros((*grid.node_shape, grid.dim), bool)
    for a in range(grid.dim):
        np.moveaxis(fixed, a, 0)[0, ..., a] = True
    modulus = np.random.default_rng(1).uniform(0.1, 1, shape)
    free = thermal_strain(physics, grid.dim, 1.2e-5, np.full(shape, 50.0))
    system = System(grid, physics, fixed, "native")
    u = system.solve(modulus, strain_load(grid, physics, modulus, free), tol=1e-12).u
    assert np.allclose(u, 6e-4 * grid.nodes(), atol=1e-12)
    left = stress(grid, physics, u, modulus) - modulus[..., None] * (free @ physics.material_matrix(grid.dim))
    assert np.abs(left).max() <= 1e-12


def test_a_warm_rail_between_walls() -> None:
    """-E alpha T along a bar that cannot grow (free across)."""
    grid, physics = Grid((16, 4, 4)), Elasticity(0.3)
    fixed = np.zeros((*grid.node_shape, 3), bool)
    fixed[[0, -1], ..., 0] = True
    fixed[:, 0, :, 1] = fixed[:, :, 0, 2] = True
    modulus = np.full(grid.shape, 210e3)
    free = thermal_strain(physics, 3, 1.2e-5, np.full(grid.shape, 40.0))
    u = System(grid, physics, fixed, "native").solve(modulus, strain_load(grid, physics, modulus, free), tol=1e-12).u
    sigma = 210e3 * ((strain(grid, u) - free) @ physics.material_matrix(3))
    assert np.allclose(sigma, [-210e3 * 1.2e-5 * 40, 0, 0, 0, 0, 0], atol=1e-6)


def test_a_long_warm_tunnel_in_plane_strain() -> None:
    """No growth along the tunnel: across it (1 + nu) alpha T."""
    grid, physics = Grid((10, 6)), Elasticity(0.25, plane="strain")
    fixed = np.zeros((*grid.node_shape, 2), bool)
    fixed[0, :, 0] = fixed[:, 0, 1] = True
    free = thermal_strain(physics, 2, 1e-5, np.full(grid.shape, 100.0))
    u = System(grid, physics, fixed).solve(np.ones(grid.shape), strain_load(grid, physics, 1.0, free)).u
    assert np.allclose(u, 1.25e-3 * grid.nodes(), atol=1e-12)


def test_an_anisotropic_body_swells_as_it_is_told() -> None:
    physics = Anisotropic(((3.0, 0.5, 0.4), (0.5, 2.0, 0.1), (0.4, 0.1, 1.0)))
    grid, swelling = Grid((8, 6)), np.array([0.01, -0.02, 0.03])
    fixed = np.zeros((*grid.node_shape, 2), bool)
    fixed[0, 0] = fixed[-1, 0, 1] = True
    u = System(grid, physics, fixed, "direct").solve(np.ones(grid.shape), strain_load(grid, physics, 1.0, swelling)).u
    assert np.allclose(strain(grid, u), swelling, atol=1e-12)

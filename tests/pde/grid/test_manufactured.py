"""Manufactured solutions on the unit square and cube: the error at the nodes falls with the square of the spacing."""

import numpy as np
import pytest

from pde.grid import Conduction, Elasticity, Grid, System


def sines(grid: Grid) -> tuple[list[np.ndarray], list[np.ndarray]]:
    """sin and cos of pi x along each axis at the nodes."""
    axes = np.moveaxis(np.pi * grid.nodes(), -1, 0)
    return [np.sin(a) for a in axes], [np.cos(a) for a in axes]


def error(n: int, dim: int, physics: Conduction | Elasticity) -> float:
    """Largest error at a node for u = sin sin (sin) in the first component, zero in the others and on the boundary.

    Conduction: f = dim pi^2 u. Elasticity: f = -mu Laplace u - (lambda + mu) grad div u (Navier). Nodal loads are
    lumped, which is as exact as the elements are.
    """
    grid = Grid((n,) * dim, 1 / n)
    s, c = sines(grid)
    bump = np.prod(s, axis=0)
    dofs = physics.dofs_per_node(dim)
    u, f = (np.zeros((*grid.node_shape, dofs)) for _ in range(2))
    u[..., 0], f[..., 0] = bump, dim * np.pi**2 * bump
    if isinstance(physics, Elasticity):
        nu = physics.nu
        lam, mu = nu / ((1 + nu) * (1 - 2 * nu)), 1 / (2 * (1 + nu))
        f[..., 0] = (dim * mu + lam + mu) * np.pi**2 * bump
        for b in range(1, dim):
            others = np.prod([s[a] for a in range(1, dim) if a != b], axis=0)
            f[..., b] = -(lam + mu) * np.pi**2 * c[0] * c[b] * others
    fixed = np.zeros(u.shape, bool)
    for axis in range(dim):
        np.moveaxis(fixed, axis, 0)[[0, -1]] = True
    system = System(grid, physics, fixed, "native")
    found = system.solve(np.ones(grid.shape), f * grid.element_volume, tol=1e-10).u
    return float(np.abs(found - u).max())


@pytest.mark.parametrize(("dim", "sizes"), [(2, (16, 32, 64)), (3, (8, 16, 32))])
@pytest.mark.parametrize(
    "physics", [Conduction(), Elasticity(0.3, "standard", "strain"), Elasticity(0.3, "incompatible", "strain")], ids=str
)
def test_the_order_is_two(dim: int, sizes: tuple[int, ...], physics: Conduction | Elasticity) -> None:
    errors = [error(n, dim, physics) for n in sizes]
    orders = np.log2(np.array(errors[:-1]) / errors[1:])
    assert errors[-1] < 5e-3
    assert (np.abs(orders - 2) < 0.1).all(), (errors, orders)

"""Derivatives through the solve, first and second, in torch and in JAX, against finite differences."""

import numpy as np
import pytest

from pde.bridges import Products, jax_from_torch, jax_solve, torch_from_jax, torch_solve
from pde.grid import Conduction, Elasticity, Grid, GridError, Physics, System

torch = pytest.importorskip("torch")


def problem(shape: tuple[int, ...], physics: Physics, backend: str = "direct") -> tuple[System, list[np.ndarray]]:
    """Held at both ends, one with prescribed values, one spring."""
    grid, rng = Grid(shape), np.random.default_rng(0)
    nodal = (*grid.node_shape, physics.dofs_per_node(grid.dim))
    fixed, springs = np.zeros(nodal, bool), np.zeros(nodal)
    fixed[0], fixed[-1, ..., 0] = True, True
    springs[-1, 0, ..., -1] = 0.3
    system = System(grid, physics, fixed, backend, springs=springs)  # type: ignore[arg-type]
    return system, [rng.uniform(0.3, 1, shape), rng.normal(size=nodal), rng.normal(size=nodal)]


@pytest.mark.parametrize("physics", [Elasticity(), Conduction()], ids=str)
@pytest.mark.parametrize("shape", [(3, 2), (2, 2, 1)], ids=str)
@pytest.mark.parametrize("backend", ["direct", "native"])
def test_gradcheck_in_torch(shape: tuple[int, ...], physics: Physics, backend: str) -> None:
    system, values = problem(shape, physics, backend)
    solve = torch_solve(system, tol=1e-13)
    inputs = tuple(torch.tensor(v, requires_grad=True) for v in values)
    assert torch.autograd.gradcheck(solve, inputs, eps=1e-6, atol=1e-7, rtol=1e-5, fast_mode=True)
    assert torch.autograd.gradgradcheck(solve, inputs, eps=1e-6, atol=1e-6, rtol=1e-4, fast_mode=True)


def test_every_entry_of_the_jacobian_in_torch() -> None:
    system, values = problem((3, 2), Elasticity())
    inputs = tuple(torch.tensor(v, requires_grad=True) for v in values)
    assert torch.autograd.gradcheck(torch_solve(system), inputs)
    assert torch.autograd.gradgradcheck(torch_solve(system), inputs)


@pytest.mark.parametrize("physics", [Elasticity(), Conduction()], ids=str)
def test_check_grads_in_jax(physics: Physics) -> None:
    jax = pytest.importorskip("jax")
    from jax.test_util import check_grads

    with jax.enable_x64(True):
        system, values = problem((3, 2), physics)
        solve = jax_solve(system, tol=1e-13)
        check_grads(solve, tuple(values), order=2, modes=["rev"], atol=1e-5, rtol=1e-5)
        check_grads(jax.jit(solve), tuple(values), order=1, modes=["rev"], atol=1e-6, rtol=1e-6)


def test_torch_and_jax_agree_with_the_adjoint_by_hand() -> None:
    """Compliance of several loads: dJ/dE_e = - sum u_e . K_e u_e."""
    jax = pytest.importorskip("jax")
    system, (modulus, force, _) = problem((12, 8), Elasticity(), "native")
    forces = np.stack([force, np.roll(force, 3), 0 * force]) * ~system.fixed
    E, f = torch.tensor(modulus, requires_grad=True), torch.tensor(forces, requires_grad=True)
    (torch_solve(system)(E, f) * f).sum().backward()
    u = system.solve(modulus, forces, tol=1e-11).u
    expected = -sum(system.energies(case) for case in u)
    assert E.grad is not None and f.grad is not None
    assert np.allclose(E.grad.numpy(), expected, rtol=1e-7, atol=1e-9 * np.abs(expected).max())
    assert np.allclose(f.grad.numpy(), 2 * u, rtol=1e-7, atol=1e-8 * np.abs(u).max())
    with jax.enable_x64(True):
        solve = jax_solve(system)
        gradient = jax.jit(jax.grad(lambda m: (solve(m, forces) * forces).sum()))(modulus)
        assert np.allclose(gradient, expected, rtol=1e-7, atol=1e-9 * np.abs(expected).max())


def test_hessian_products_of_compliance() -> None:
    """d2J/dE2 v = 2 (K_e u)^T K^-1 (K(v) u), element by element, from both."""
    jax = pytest.importorskip("jax")
    system, (modulus, force, _) = problem((6, 4), Elasticity(), "native")
    force = force * ~system.fixed
    v = np.random.default_rng(5).normal(size=modulus.shape)
    products = Products(system, tol=1e-12)
    u = products.solve(modulus, force, np.zeros(()))
    expected = 2 * products.mixed(products.solve(modulus, products.product(v, u), np.zeros(())), u)
    E, f = torch.tensor(modulus, requires_grad=True), torch.tensor(force)
    solve = torch_solve(system, tol=1e-12)
    (gradient,) = torch.autograd.grad((solve(E, f) * f).sum(), E, create_graph=True)
    (hvp,) = torch.autograd.grad((gradient * torch.tensor(v)).sum(), E)
    assert np.allclose(hvp.numpy(), expected, rtol=1e-6, atol=1e-8 * np.abs(expected).max())
    with jax.enable_x64(True):
        in_jax = jax_solve(system, tol=1e-12)
        first = jax.grad(lambda m: (in_jax(m, force) * force).sum())
        second = jax.grad(lambda m: (first(m) * v).sum())(modulus)
        assert np.allclose(second, expected, rtol=1e-6, atol=1e-8 * np.abs(expected).max())


def test_a_modulus_changed_in_place_is_noticed() -> None:
    """Optimizers of torch update their parameters in place; and the system may be used elsewhere in between."""
    system, (modulus, force, _) = problem((6, 4), Elasticity(), "native")
    E, f, solve = torch.tensor(modulus), torch.tensor(force * ~system.fixed), torch_solve(system)
    before = solve(E, f)
    system.update(3 * modulus)
    assert torch.equal(solve(E, f), before)
    E *= 2
    after = solve(E, f)
    assert torch.equal(after, torch_solve(problem((6, 4), Elasticity(), "native")[0])(E, f))
    assert not torch.allclose(before, after)


def test_single_precision_stays_single() -> None:
    system, (modulus, force, _) = problem((6, 4), Elasticity())
    E = torch.tensor(modulus, dtype=torch.float32, requires_grad=True)
    f = torch.tensor(force * ~system.fixed, dtype=torch.float32)
    u = torch_solve(system)(E, f)
    u.sum().backward()
    assert E.grad is not None
    assert u.dtype == E.grad.dtype == torch.float32
    assert np.allclose(u.detach().numpy(), system.solve(modulus, force * ~system.fixed).u, rtol=1e-4, atol=1e-5)


def test_errors_come_through() -> None:
    system, (modulus, force, _) = problem((6, 4), Elasticity())
    with pytest.raises(GridError, match="not negative"):
        torch_solve(system)(-torch.tensor(modulus), torch.tensor(force))


def test_memory_is_shared_between_torch_and_jax() -> None:
    jax = pytest.importorskip("jax")
    with jax.enable_x64(True):
        tensor = torch.arange(4096, dtype=torch.float64)
        array = jax_from_torch(tensor)
        assert array.unsafe_buffer_pointer() == tensor.data_ptr()
        assert torch_from_jax(array).data_ptr() == tensor.data_ptr()
        assert np.array_equal(np.asarray(array), np.arange(4096.0))

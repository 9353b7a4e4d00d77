"""A PDE inside torch and JAX: the libraries' own gradient checks, and a network in front."""

import importlib.util

import numpy as np
import pytest

import optim
from pde.fem.bridges import jax_function, jax_state, torch_function, torch_state

ROSENBROCK = optim.smooth(
    lambda x: float(100 * (x[1] - x[0] ** 2) ** 2 + (1 - x[0]) ** 2),
    grad=lambda x: np.array([-400 * x[0] * (x[1] - x[0] ** 2) - 2 * (1 - x[0]), 200 * (x[1] - x[0] ** 2)]),
    hvp=lambda x, v: (
        np.array([[1200 * x[0] ** 2 - 400 * x[1] + 2, -400 * x[0]], [-400 * x[0], 200.0]]) @ np.asarray(v, float)
    ),
)


@pytest.fixture(scope="module")
def permeability():
    """A nonlinear PDE-constrained functional with 25 numbers."""
    if importlib.util.find_spec("dolfinx") is None:
        pytest.skip("needs DOLFINx: pip install 'formgrad[fem]'")
    from pde import problems

    return problems.pose("permeability", n=4, gamma=1e-4).J


class OnlyOnce:
    """Without Hessian actions."""

    def value(self, x):
        return float(x @ x)

    def value_grad(self, x):
        return float(x @ x), 2 * x


def test_torch_first_and_second_derivative():
    import torch

    J = torch_function(ROSENBROCK)
    x = torch.tensor([[0.3, -0.2], [1.1, 0.4]], dtype=torch.float64, requires_grad=True)
    assert J(x).shape == (2,)
    assert torch.autograd.gradcheck(J, x)
    assert torch.autograd.gradgradcheck(J, x)
    single = x.detach().float()[0].requires_grad_()
    J(single).backward()
    assert single.grad is not None
    assert single.grad.dtype == torch.float32
    assert single.grad.numpy() == pytest.approx(ROSENBROCK.value_grad(np.array([0.3, -0.2]))[1], rel=1e-5)


def test_torch_says_when_there_is_no_second_derivative():
    import torch

    x = torch.ones(2, dtype=torch.float64, requires_grad=True)
    (slope,) = torch.autograd.grad(torch_function(OnlyOnce())(x), x, create_graph=True)
    with pytest.raises(RuntimeError, match="no Hessian actions"):
        slope.sum().backward()


def test_jax_first_and_second_derivative():
    import jax
    import jax.numpy as jnp

    with jax.enable_x64(True):
        J = jax_function(ROSENBROCK)
        x = np.array([0.3, -0.2])
        f, df = ROSENBROCK.value_grad(x)
        value, slope = jax.jit(jax.value_and_grad(J))(x)
        assert float(value) == pytest.approx(f, rel=1e-14)
        assert np.asarray(slope) == pytest.approx(df, rel=1e-14)
        bend = jax.grad(lambda y: jnp.vdot(jax.grad(J)(y), jnp.array([1.0, 2.0])))(jnp.asarray(x))
        assert np.asarray(bend) == pytest.approx(ROSENBROCK.hvp(x, np.array([1.0, 2.0])), rel=1e-13)
        batch = np.array([[0.3, -0.2], [1.0, 1.0], [-1.0, 2.0]])
        slopes = jax.vmap(jax.grad(J))(batch)
        assert np.asarray(slopes) == pytest.approx(
            np.array([ROSENBROCK.value_grad(row)[1] for row in batch]), rel=1e-13
        )
        with pytest.raises(TypeError, match="no Hessian actions"):
            jax.grad(lambda y: jax.grad(jax_function(OnlyOnce()))(y).sum())(jnp.ones(2))


@pytest.mark.fem
def test_pde_in_torch_passes_gradcheck(permeability):
    import torch

    x = torch.as_tensor(np.random.default_rng(0).uniform(0.5, 2, (2, permeability.n))).requires_grad_()
    J = torch_function(permeability)

    def scaled(x):
        return 1e4 * J(x)  # J is of size 1e-4, and gradcheck's tolerances are absolute

    assert torch.autograd.gradcheck(scaled, x, atol=1e-8, rtol=1e-6)
    assert torch.autograd.gradgradcheck(scaled, x, atol=1e-7, rtol=1e-5)


@pytest.mark.fem
def test_pde_in_jax_passes_check_grads(permeability):
    import jax
    from jax.test_util import check_grads

    with jax.enable_x64(True):
        J = jax_function(permeability)
        x = np.random.default_rng(1).uniform(0.5, 2, permeability.n)
        check_grads(lambda y: 1e4 * J(y), (x,), order=2, modes=["rev"], atol=1e-5, rtol=1e-5)


@pytest.mark.fem
def test_network_in_front_of_a_pde_learns(permeability):
    import torch

    torch.manual_seed(0)
    points = torch.as_tensor(permeability.controls[0].function_space.tabulate_dof_coordinates()[:, :2])
    net = torch.nn.Sequential(torch.nn.Linear(2, 8), torch.nn.Tanh(), torch.nn.Linear(8, 1)).double()
    J = torch_function(permeability)
    optimizer = torch.optim.Adam(net.parameters(), lr=0.05)
    values = []
    for _ in range(40):
        optimizer.zero_grad()
        loss = 1e4 * J(net(points)[:, 0])
        loss.backward()
        optimizer.step()
        values.append(loss.item())
    assert values[-1] < 0.05 * values[0]


@pytest.fixture(scope="module")
def states():
    """A nonlinear equation with controls in the domain, on the boundary and as a number; 16 numbers in, 25 out."""
    if importlib.util.find_spec("dolfinx") is None:
        pytest.skip("needs DOLFINx: pip install 'formgrad[fem]'")
    from pde.fem.dolfinx_import import load
    from pde.fem.state_map import StateMap

    fe = load()
    ufl, fem = fe.ufl, fe.fem
    mesh = fe.mesh.create_unit_square(fe.MPI.COMM_SELF, 2, 2)
    V, M = fem.functionspace(mesh, ("Lagrange", 2)), fem.functionspace(mesh, ("DG", 0))
    u, m, g, v = fem.Function(V), fem.Function(M), fem.Function(V), ufl.TestFunction(V)
    k = fem.Constant(mesh, (0.5, 0.2, -0.3))
    left = fem.locate_dofs_geometrical(V, lambda x: np.isclose(x[0], 0))
    F = (ufl.exp(m) * (1 + u**2) * ufl.inner(ufl.grad(u), ufl.grad(v)) - (k[0] + k[1] * m) * v) * ufl.dx
    F += ufl.exp(k[2]) * u * v * ufl.ds
    return StateMap(F, u, [m, g, k], [fem.dirichletbc(g, left)], active=[None, left, None])


@pytest.mark.fem
def test_state_derivative_forwards_and_backwards(states):
    assert (states.n, states.size) == (16, 25)
    x, dx = 0.3 * np.random.default_rng(2).standard_normal((2, states.n))
    w = np.random.default_rng(3).standard_normal(states.size)
    du = states.push_forward(x, dx)
    assert states.pull_back(x, w) @ dx == pytest.approx(w @ du, rel=1e-12)
    difference = (states(x + 1e-5 * dx) - states(x - 1e-5 * dx)) / 2e-5
    assert du == pytest.approx(difference, abs=1e-9)


@pytest.mark.fem
def test_state_in_torch_passes_gradcheck_in_batches(states):
    import torch

    u = torch_state(states)
    x = torch.as_tensor(0.3 * np.random.default_rng(4).standard_normal((2, states.n))).requires_grad_()
    assert u(x).shape == (2, states.size)
    assert torch.autograd.gradcheck(u, x, atol=1e-8, rtol=1e-6)
    before = states(x.detach().numpy()[0])
    assert u(x[0].float()).dtype == torch.float32
    assert np.array_equal(states(x.detach().numpy()[0]), before)
    assert u(x[:0]).shape == (0, states.size)


@pytest.mark.fem
def test_state_in_jax_passes_check_grads_under_jit_and_vmap(states):
    import jax
    import jax.numpy as jnp
    from jax.test_util import check_grads

    with jax.enable_x64(True):
        u = jax_state(states)
        x = 0.3 * np.random.default_rng(5).standard_normal((3, states.n))
        check_grads(u, (x[0],), order=1, modes=["rev"], atol=1e-7, rtol=1e-7)
        loss = jax.jit(jax.vmap(jax.grad(lambda m: jnp.sum(jnp.sin(u(m))))))(x)
        rows = [states.pull_back(row, np.cos(states(row))) for row in x]
        assert np.asarray(loss) == pytest.approx(np.array(rows), rel=1e-12)


@pytest.mark.fem
def test_network_behind_a_pde_gets_the_gradient_of_its_input(states):
    import torch

    torch.manual_seed(1)
    net = torch.nn.Sequential(torch.nn.Linear(states.size, 4), torch.nn.Tanh(), torch.nn.Linear(4, 1)).double()
    x = torch.zeros(states.n, dtype=torch.float64, requires_grad=True)
    net(torch_state(states)(x)).sum().backward()
    assert x.grad is not None
    d = torch.as_tensor(np.random.default_rng(6).standard_normal(states.n))
    with torch.no_grad():
        ends = [net(torch_state(states)(x + s * 1e-5 * d)).item() for s in (1, -1)]
    assert float(x.grad @ d) == pytest.approx((ends[0] - ends[1]) / 2e-5, rel=1e-6)

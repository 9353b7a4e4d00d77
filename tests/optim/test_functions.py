"""A function of torch, JAX or NumPy becomes an objective: value, gradient, Hessian action."""

import numpy as np
import pytest

import optim
from optim.space import Hilbert, Weighted, dual_norm
from tests.optim import problems


def fn(x):
    return (x[1:] * x[:-1] ** 3).sum() + (x**4).sum()


X, V = np.array([0.3, -0.7, 1.1]), np.array([1.0, 2.0, -0.5])
GRADIENT = np.array([3 * X[0] ** 2 * X[1], X[0] ** 3 + 3 * X[1] ** 2 * X[2], X[1] ** 3]) + 4 * X**3
HESSIAN = np.array(
    [
        [6 * X[0] * X[1] + 12 * X[0] ** 2, 3 * X[0] ** 2, 0],
        [3 * X[0] ** 2, 6 * X[1] * X[2] + 12 * X[1] ** 2, 3 * X[1] ** 2],
        [0, 3 * X[1] ** 2, 12 * X[2] ** 2],
    ]
)


@pytest.mark.parametrize(("name", "accuracy"), [("torch", 1e-14), ("jax", 1e-14), ("numpy", 1e-6)])
def test_objective(name, accuracy):
    array, _ = problems.library(name)
    f, x, v = optim.smooth(fn), array(X), array(V)
    value, gradient = f.value_grad(x)
    assert value == f.value(x) == pytest.approx(float(fn(X)), rel=1e-15)
    assert np.asarray(gradient) == pytest.approx(GRADIENT, abs=10 * accuracy)
    if name == "numpy":
        f = optim.smooth(
            fn, grad=lambda x: np.array([3 * x[0] ** 2 * x[1], x[0] ** 3 + 3 * x[1] ** 2 * x[2], x[1] ** 3]) + 4 * x**3
        )
    assert np.asarray(f.hvp(x, v)) == pytest.approx(HESSIAN @ V, abs=100 * accuracy)


@pytest.mark.parametrize("name", ["torch", "jax", "numpy"])
def test_constraint(name):
    array, stack = problems.library(name)
    c = optim.constraint(lambda x: stack([x[0] * x[1], x[2] ** 2]))
    x = array(X)
    assert np.asarray(c.value(x)) == pytest.approx([X[0] * X[1], X[2] ** 2])
    assert np.asarray(c.jac(x)) == pytest.approx(np.array([[X[1], X[0], 0], [0, 0, 2 * X[2]]]), abs=1e-9)
    curved = np.asarray(c.hvp(x, array(V), array(np.array([2.0, 3.0]))))
    assert curved == pytest.approx([2 * V[1], 2 * V[0], 6 * V[2]], abs=1e-4)


def test_functions_that_do_not_depend_on_x():
    import torch

    x = torch.ones(2, dtype=torch.float64)
    constant = optim.smooth(lambda x: torch.tensor(3.0))
    assert constant.value_grad(x)[1].equal(torch.zeros(2, dtype=torch.float64))
    linear = optim.smooth(lambda x: x.sum())
    assert linear.hvp(x, x).equal(torch.zeros(2, dtype=torch.float64))


def test_a_jax_function_is_compiled_once():
    array, _ = problems.library("jax")
    traced = []

    def noting(x):
        traced.append(1)
        return (x**2).sum()

    optim.minimize(noting, array(np.array([3.0, -2.0])))
    f = optim.smooth(noting)
    traced.clear()
    for k in range(5):
        f.value_grad(array(np.array([float(k), 1.0])))
    assert len(traced) == 1


def test_a_jax_function_that_cannot_be_traced():
    array, _ = problems.library("jax")
    f = optim.smooth(lambda x: (x**2).sum() if float(x[0]) > 0 else (x**4).sum(), jit=False)
    assert f.value(array(np.array([2.0, 1.0]))) == 5.0


def test_spaces():
    rng = np.random.default_rng(0)
    A = rng.standard_normal((4, 4))
    M = A @ A.T + np.eye(4)
    import scipy.sparse as sp

    a, d = rng.standard_normal((2, 4))
    space = Hilbert.from_matrix(sp.csr_array(M))
    assert space.inner(space.riesz(d), a) == pytest.approx(d @ a), "the gradient represents the derivative"
    assert dual_norm(space, d) == pytest.approx(np.sqrt(d @ np.linalg.solve(M, d)))
    w = np.array([1.0, 2, 3, 4])
    assert Weighted(w).inner(Weighted(w).riesz(d), a) == pytest.approx(d @ a)

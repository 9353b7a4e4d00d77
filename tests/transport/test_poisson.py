"""The inverse Laplacian against the stencil that it inverts."""

import numpy as np
import pytest

from transport import Domain
from transport.poisson import inverse_laplacian


def minus_laplacian(g, steps):
    """The (2d+1)-point stencil with homogeneous Neumann faces."""
    out = np.zeros_like(g)
    for axis, h in enumerate(steps):
        padded = np.pad(g, [(1, 1) if a == axis else (0, 0) for a in range(g.ndim)], mode="edge")
        out -= np.diff(padded, n=2, axis=axis) / h**2
    return out


@pytest.mark.parametrize("domain", [Domain((20, 33)), Domain((7, 12, 9)), Domain((16, 16), (1.0, 3.0))])
def test_inverts_the_stencil(domain):
    r = np.random.default_rng(0).normal(size=(2, *domain.shape))
    r -= r.mean(axis=tuple(range(1, r.ndim)), keepdims=True)
    g, energy = inverse_laplacian(r.copy(), domain)
    for right, solution, e in zip(r, g, energy, strict=True):
        assert np.abs(minus_laplacian(solution, domain.steps) - right).max() < 1e-10 * np.abs(right).max()
        assert abs(solution.mean()) < 1e-14
        assert e == pytest.approx((right * solution).mean(), rel=1e-10)


def test_cosine_is_an_eigenfunction():
    n = 40
    domain = Domain((n, n))
    x = ((np.arange(n) + 0.5) / n)[:, None]
    r = np.cos(3 * np.pi * x) + 0 * x.T
    g, _ = inverse_laplacian(r[None].copy(), domain)
    eigenvalue = 2 * n**2 * (1 - np.cos(3 * np.pi / n))
    assert np.abs(g[0] - r / eigenvalue).max() < 1e-14


def test_mean_of_the_right_hand_side_is_ignored():
    domain = Domain((9, 14))
    r = np.random.default_rng(1).normal(size=(1, *domain.shape))
    g, _ = inverse_laplacian(r.copy(), domain)
    shifted, _ = inverse_laplacian(r + 5, domain)
    assert np.abs(g - shifted).max() < 1e-12


@pytest.mark.parametrize("shape", [(211, 157), (31, 41, 37)])
def test_bits_do_not_depend_on_the_threads(shape):
    domain = Domain(shape)
    r = np.random.default_rng(2).normal(size=(3, *shape))
    for kind in (np.float64, np.float32):
        one = inverse_laplacian(r.astype(kind), domain, threads=1)
        two = inverse_laplacian(r.astype(kind), domain, threads=2)
        assert np.array_equal(one[0], two[0]) and np.array_equal(one[1], two[1])

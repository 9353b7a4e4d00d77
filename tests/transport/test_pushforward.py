"""The push-forward: identity up to the border, mass, exactness on affine maps, independence of threads."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from tests.transport.cases import bump
from transport import Domain
from transport.legendre import c_transform
from transport.pushforward import corner_map, push

SHAPES = [(64, 64), (48, 80), (130, 140), (12, 10, 14), (30, 40, 20)]


@pytest.mark.parametrize("shape", SHAPES)
def test_t9_identity_up_to_every_edge(shape):
    domain = Domain(shape)
    mu = np.random.default_rng(0).random((2, *shape))
    mu[1][(slice(1, -1),) * len(shape)] = 0  # all of its mass touches the border
    mu /= mu.mean(axis=tuple(range(1, mu.ndim)), keepdims=True)
    # Once from the zero potential, once through the conjugate of the identity.
    for f in (np.zeros_like(mu), c_transform(c_transform(np.zeros_like(mu), domain.steps), domain.steps)):
        moved, cost = push(f, mu, domain)
        assert np.abs(moved - mu).max() < 1e-12
        assert cost.max() < 1e-20


@given(arrays(np.float64, (9, 12), elements=st.floats(-0.3, 0.3)), st.integers(0, 2**31))
def test_mass_is_kept_and_never_negative(f, seed):
    domain = Domain(f.shape)
    mu = np.random.default_rng(seed).random((1, *f.shape))
    moved, cost = push(c_transform(f[None], domain.steps), mu, domain)
    assert abs(moved.sum() / mu.sum() - 1) < 1e-12
    assert moved.min() >= 0 and cost[0] >= 0


def test_mass_is_kept_in_three_dimensions():
    domain = Domain((10, 7, 13))
    rng = np.random.default_rng(1)
    mu = rng.random((2, *domain.shape))
    moved, _ = push(c_transform(0.2 * rng.normal(size=mu.shape), domain.steps), mu, domain)
    assert np.abs(moved.sum(axis=(1, 2, 3)) / mu.sum(axis=(1, 2, 3)) - 1).max() < 1e-12


@pytest.mark.parametrize("shape", [(60, 40), (30, 24, 20)])
def test_translation_by_whole_cells_is_exact(shape):
    domain = Domain(shape)
    cells = (3, -2, 4)[: domain.dim]
    mu = np.zeros(shape)
    inner = tuple(slice(8, n - 8) for n in shape)
    mu[inner] = np.random.default_rng(2).random(mu[inner].shape)
    x = np.meshgrid(*[np.arange(n) * h for n, h in zip(shape, domain.steps, strict=True)], indexing="ij")
    f = -sum(k * h * a for k, h, a in zip(cells, domain.steps, x, strict=True))
    moved, cost = push(f[None], mu[None], domain)
    assert np.abs(moved[0] - np.roll(mu, cells, range(len(shape)))).max() < 1e-12
    distance = sum((k * h) ** 2 for k, h in zip(cells, domain.steps, strict=True))
    assert cost[0] == pytest.approx(0.5 * distance * mu.mean(), rel=1e-12)


@pytest.mark.parametrize("factor", [0.5, 0.8, 1.37, 2.6])
def test_uniform_mass_stretched_evenly_stays_uniform(factor):
    # x -> c + factor (x - c) along the first axis; a point deposit would leave stripes here.
    n = 200
    domain = Domain((n, 16))
    x = ((np.arange(n) + 0.5) * domain.steps[0])[:, None]
    c = 0.5 * domain.lengths[0]
    mu = np.zeros(domain.shape)
    mu[80:120] = 1
    moved, _ = push((0.5 * (1 - factor) * (x - c) ** 2 + 0 * mu)[None], mu[None], domain)
    reach = 20 * factor
    inside = np.abs(np.arange(n) + 0.5 - n / 2) < reach - 1
    outside = np.abs(np.arange(n) + 0.5 - n / 2) > reach + 1
    assert np.abs(moved[0][inside] * factor - 1).max() < 1e-12
    assert moved[0][outside].max() < 1e-12


def test_smooth_density_follows_the_change_of_variables_to_first_order():
    # A bump scaled by 1.5 about the centre: mu(T^-1 y) / det T. A cell is uniform inside, so the error is of order h.
    errors = []
    for n in (64, 128):
        x, y = np.meshgrid(*[(np.arange(n) + 0.5) / n] * 2, indexing="ij")
        f = -0.25 * ((x - 0.5) ** 2 + (y - 0.5) ** 2)
        moved, _ = push(f[None], bump((n, n), (0.5, 0.5), 0.08)[None], Domain((n, n)))
        errors.append(np.abs(moved[0] - bump((n, n), (0.5, 0.5), 0.12)).mean())
    assert errors[1] < 0.55 * errors[0]
    assert errors[1] < 0.02


@pytest.mark.parametrize("shape", [(211, 157), (31, 41, 37)])
def test_bits_do_not_depend_on_the_threads(shape):
    domain = Domain(shape)
    rng = np.random.default_rng(3)
    mu = rng.random((3, *shape))
    f = c_transform(1e-3 * rng.normal(size=mu.shape), domain.steps)
    one, two = push(f, mu, domain, threads=1), push(f, mu, domain, threads=2)
    assert np.array_equal(one[0], two[0]) and np.array_equal(one[1], two[1])


def test_corner_map_keeps_the_faces_and_matches_a_linear_map():
    domain = Domain((8, 6, 5), (2.0, 1.0, 1.5))
    axes = [(np.arange(n) + 0.5) * h for n, h in zip(domain.shape, domain.steps, strict=True)]
    f = 0.1 * np.add.outer(np.add.outer(0.5 * axes[0] ** 2, 0 * axes[1]), 0 * axes[2])
    corners = corner_map(f, domain)
    assert corners.shape == (9, 7, 6, 3)
    assert np.abs(corners[1:-1, 0, 0, 0] - 0.9 * np.arange(1, 8) * domain.steps[0]).max() < 1e-12
    assert (corners[0, ..., 0] == 0).all() and (corners[-1, ..., 0] == 2).all()
    assert np.abs(corners[..., 1] - (np.arange(7) * domain.steps[1])[:, None]).max() < 1e-15

"""The c-transform and the Legendre transform against brute force, and the identities they must satisfy."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from transport import Domain, TransportError
from transport.legendre import c_transform, half_square, legendre

SHAPES = [(5, 7), (16, 40), (33, 2), (4, 5, 6), (3, 17, 20)]


def brute_force(f, steps):
    """min_x 1/2 |x - y|^2 - f(x), the squares summed in the order of the passes: last axis first."""
    out = f
    for axis in reversed(range(f.ndim)):
        line = np.moveaxis(out if out is not f else -f, axis, -1)
        i = np.arange(line.shape[-1])
        cost = 0.5 * steps[axis] ** 2 * (i[:, None] - i[None, :]) ** 2
        out = np.moveaxis((line[..., :, None] + cost).min(axis=-2), -1, axis)
    return out


@pytest.mark.parametrize("shape", SHAPES)
def test_equals_brute_force_to_the_last_bit(shape):
    domain = Domain(shape)
    rng = np.random.default_rng(1)
    for size in (0.0, 1e-3, 0.1, 3.0):
        f = size * rng.normal(size=shape)
        assert np.array_equal(c_transform(f, domain.steps), brute_force(f, domain.steps))


def test_equals_brute_force_over_all_pairs_of_points():
    domain = Domain((9, 6, 5), (1.0, 2.0, 0.5))
    f = 0.1 * np.random.default_rng(2).normal(size=domain.shape)
    axes = [(np.arange(n) + 0.5) * h for n, h in zip(domain.shape, domain.steps, strict=True)]
    x = np.stack(np.meshgrid(*axes, indexing="ij"), -1).reshape(-1, 3)
    pairs = 0.5 * ((x[:, None] - x[None]) ** 2).sum(-1) - f.reshape(-1, 1)
    assert np.abs(c_transform(f, domain.steps).ravel() - pairs.min(axis=0)).max() < 1e-15


def test_a_stack_is_its_members():
    domain = Domain((12, 19))
    f = np.random.default_rng(3).normal(size=(4, *domain.shape))
    assert np.array_equal(c_transform(f, domain.steps), np.stack([c_transform(g, domain.steps) for g in f]))


@given(arrays(np.float64, (6, 11), elements=st.floats(-2, 2)))
def test_third_transform_is_the_first_and_the_second_lies_above(f):
    steps = Domain(f.shape).steps
    once = c_transform(f, steps)
    twice = c_transform(once, steps)
    assert (twice >= f - 1e-14).all()
    assert np.abs(c_transform(twice, steps) - once).max() < 1e-14


@given(arrays(np.float64, (5, 8), elements=st.floats(-2, 2)), st.floats(-3, 3))
def test_a_constant_changes_sides(f, c):
    steps = Domain(f.shape).steps
    assert np.abs(c_transform(f + c, steps) - (c_transform(f, steps) - c)).max() < 1e-14


@pytest.mark.parametrize("shape", [(311, 257), (47, 53, 41)])
def test_bits_do_not_depend_on_the_threads(shape):
    steps = Domain(shape).steps
    f = 0.01 * np.random.default_rng(4).normal(size=(3, *shape))
    assert np.array_equal(c_transform(f, steps, threads=1), c_transform(f, steps, threads=2))


def test_half_the_square_is_its_own_conjugate():
    for shape in SHAPES:
        domain = Domain(shape)
        half = half_square(domain.shape, domain.steps)
        assert np.abs(legendre(half, domain.steps) - half).max() < 1e-15


def test_conjugate_of_a_scaled_square():
    # u = 1/2 a x^2 has u* = 1/2 p^2 / a where the maximiser p / a lies inside, up to (h/2)^2 a / 2 for the grid.
    n, a = 200, 2.0
    domain = Domain((n, n))
    half = half_square(domain.shape, domain.steps)
    u = legendre(a * half, domain.steps)
    assert (u <= half / a + 1e-15).all()
    assert np.abs(u - half / a).max() <= 2 * a / 2 * (0.5 / n) ** 2 + 1e-15


def test_refuses_what_is_not_finite():
    with pytest.raises(TransportError, match="finite"):
        legendre(np.full((4, 4), np.nan), (0.25, 0.25))

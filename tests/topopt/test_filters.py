"""The cone filter against its definition, element by element."""

import numpy as np
import pytest

from topopt.errors import DesignError
from topopt.filters import ConeFilter, cone, convolve


def by_definition(x, radius, spacing, body):
    out = np.zeros_like(x)
    places = [np.array(p) for p in np.ndindex(*x.shape) if body[p]]
    for e in places:
        weights = [max(0.0, radius - np.linalg.norm((e - i) * spacing)) for i in places]
        values = [x[tuple(i)] for i in places]
        out[tuple(e)] = np.dot(weights, values) / np.sum(weights)
    return out


@pytest.mark.parametrize(
    ("shape", "spacing"), [((7, 5), (1.0, 1.0)), ((6, 5, 4), (1.0, 1.0, 1.0)), ((5, 6), (1.0, 0.7))]
)
def test_is_the_weighted_mean_over_the_body(shape, spacing):
    rng = np.random.default_rng(0)
    body = rng.random(shape) < 0.8
    x = rng.random(shape)
    found = ConeFilter(2.3, spacing, body)(x)
    assert found == pytest.approx(by_definition(x * body, 2.3, np.array(spacing), body), abs=1e-14)


def test_keeps_a_constant_and_its_transpose_keeps_the_pairing():
    rng = np.random.default_rng(1)
    body = rng.random((9, 8, 7)) < 0.7
    cone_filter = ConeFilter(2.6, (1.0, 1.0, 1.0), body)
    assert cone_filter(np.ones(body.shape))[body] == pytest.approx(1.0, abs=1e-14)
    x, y = rng.random((2, *body.shape))
    assert np.vdot(cone_filter(x), y) == pytest.approx(np.vdot(x, cone_filter.vjp(y)), rel=1e-13)


def test_a_radius_of_one_element_does_nothing():
    x = np.random.default_rng(2).random((5, 4))
    assert np.array_equal(ConeFilter(1.0, (1.0, 1.0), np.ones_like(x, bool))(x), x)


def test_convolution_agrees_with_scipy():
    from scipy.ndimage import convolve as reference

    x = np.random.default_rng(3).random((11, 9, 8))
    weights = cone(3.1, (1.0, 1.0, 1.0))
    assert convolve(x, weights) == pytest.approx(reference(x, weights, mode="constant"), rel=1e-13)


@pytest.mark.parametrize("radius", [0.0, -1.0, float("nan")])
def test_a_radius_must_be_a_length(radius):
    with pytest.raises(DesignError, match="radius"):
        ConeFilter(radius, (1.0, 1.0), np.ones((3, 3), bool))

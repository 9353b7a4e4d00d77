"""Unions: range, derivatives, the ligament that the product hides, and the smoke test of the published assembly."""

import numpy as np
import pytest

from topopt.features.analytic import Analytic
from topopt.features.errors import FeatureError
from topopt.features.shapes import square
from topopt.features.union import Union


@pytest.mark.parametrize("n", range(1, 31))
def test_the_maximum_spans_the_whole_range(n):
    union = Union("max", rho_min=1e-3)
    h = np.zeros((n, 3))
    h[:, 1] = 1.0
    h[n // 2, 2] = 1.0
    assert union.density(h) == pytest.approx([1.0, 1e-3, 1e-3], abs=1e-9)
    assert Union("max", rho_min=1e-3, solid=True).density(h) == pytest.approx([1e-3, 1.0, 1.0], abs=1e-9)


@pytest.mark.parametrize(("n", "gamma", "most"), [(4, 40.0, 0.98212), (7, 80.0, 0.98379)])
def test_the_published_union_never_reaches_solid(n, gamma, most):
    # The maxima that are stored with the published runs.
    assert Union("ks", rho_min=0.0, gamma=gamma).density(np.zeros((n, 1)))[0] == pytest.approx(most, abs=1e-5)


@pytest.mark.parametrize("kind", ["max", "product", "ks"])
@pytest.mark.parametrize("solid", [False, True])
def test_derivative_agrees_with_differences(kind, solid):
    rng = np.random.default_rng(0)
    union = Union(kind, solid=solid)
    h, w = rng.uniform(size=(5, 8)), rng.normal(size=8)
    found = union.vjp(h, w)
    expected = np.empty_like(h)
    for place in np.ndindex(h.shape):
        step = np.zeros_like(h)
        step[place] = 1e-6
        expected[place] = (w @ union.density(h + step) - w @ union.density(h - step)) / 2e-6
    assert found == pytest.approx(expected, abs=1e-7)


def test_product_derivative_with_factors_of_zero():
    h = np.array([[1.0, 1.0], [0.5, 1.0], [0.2, 0.3]])
    assert Union("product", rho_min=0.0).vjp(h, np.ones(2)) == pytest.approx(
        np.array([[-0.4, 0.0], [0.0, 0.0], [0.0, 0.0]]), abs=1e-15
    )


def test_a_ligament_of_a_fifth_of_an_element_stays_in_the_field():
    # Two unit squares with a gap of 0.2 h between them, h = 1/20, at k h = 1.
    h = 0.05
    squares = (square((-0.5 - 0.1 * h, 0), 1.0, 0.05), square((0.5 + 0.1 * h, 0), 1.0, 0.05))
    line = np.stack([np.zeros(41), np.linspace(-0.3, 0.3, 41)], 1)
    values = Analytic(squares).heaviside(line, Analytic(squares).variables(squares), 1 / h)
    assert (Union("max").density(values) > 0.5).all()
    assert (Union("product").density(values) < 0.5).all()


def test_wrong_unions_are_refused():
    with pytest.raises(FeatureError, match="choose"):
        Union("sum")  # type: ignore[arg-type]
    with pytest.raises(FeatureError, match="gamma"):
        Union("ks", gamma=0)

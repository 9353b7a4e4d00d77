"""The projection and its threshold."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from topopt.projection import Tanh, grey_measure, volume_preserving


@given(beta=st.floats(0.5, 128), eta=st.floats(0.05, 0.95))
def test_maps_the_ends_to_themselves_and_rises(beta, eta):
    step = Tanh(beta, eta)
    x = np.linspace(0, 1, 101)
    rho = step(x)
    assert rho[0] == pytest.approx(0, abs=1e-14) and rho[-1] == pytest.approx(1, abs=1e-14)
    assert (np.diff(rho) >= 0).all()


@pytest.mark.parametrize("beta", [1.0, 8.0, 32.0])
def test_derivatives_agree_with_differences(beta):
    x, h = np.linspace(0.05, 0.95, 31), 1e-6
    step = Tanh(beta, 0.45)
    assert step.derivative(x) == pytest.approx((step(x + h) - step(x - h)) / (2 * h), rel=1e-5, abs=1e-8)
    by_eta = (Tanh(beta, 0.45 + h)(x) - Tanh(beta, 0.45 - h)(x)) / (2 * h)
    assert step.eta_derivative(x) == pytest.approx(by_eta, rel=1e-5, abs=1e-8)


@given(seed=st.integers(0, 10**6), beta=st.sampled_from([1.0, 4.0, 16.0, 64.0]))
def test_projection_preserves_the_volume(seed, beta):
    rng = np.random.default_rng(seed)
    x, weights = rng.random(400), rng.uniform(0.1, 1, 400)
    assert weights @ volume_preserving(x, weights, beta)(x) == pytest.approx(weights @ x, rel=1e-10)


def test_grey_measure_of_black_white_and_grey():
    assert grey_measure(np.array([0.0, 1.0])) == 0
    assert grey_measure(np.array([0.5, 0.5])) == 1
    assert grey_measure(np.array([0.0, 0.5])) == 0.5

"""Half the squared Wasserstein distance against closed forms."""

import numpy as np
import pytest
from scipy.ndimage import gaussian_filter

from tests.transport import cases
from transport import Domain, Settings, TransportError, w2
from transport.pushforward import push

N = (128, 128)


def blurred_error(a, b):
    return np.abs(gaussian_filter(a, 1) - gaussian_filter(b, 1)).mean()


def _scaled_bumps():
    m, s = np.array([[0.30, 0.32], [0.490, 0.505]]), (0.045, 0.065)
    return cases.bump(N, m[0], s[0]), cases.bump(N, m[1], s[1]), 0.0353929


def _disk_to_ring():
    mu = cases.t4(N).measures
    return mu[0], mu[1], 0.0158678200


def _translated_disk():
    return cases.disk(N, (0.25, 0.25), 0.125), cases.disk(N, (0.75, 0.75), 0.125), 0.25


@pytest.mark.parametrize("make", [_scaled_bumps, _disk_to_ring, _translated_disk])
def test_closed_forms(make):
    mu, nu, exact = make()
    found = w2(mu, nu)
    assert found.half_squared == pytest.approx(exact, rel=1e-3)
    assert found.plan_cost == pytest.approx(exact, rel=3e-3)
    assert found.value == pytest.approx(np.sqrt(2 * exact), rel=1e-3)
    # The image that the map makes of mu is nu, up to the grid.
    image, _ = push(found.conjugate[None], mu[None], found.domain)
    assert blurred_error(image[0], nu) < 0.08


def test_t7_translated_disk_at_full_size():
    n = (512, 512)
    found = w2(cases.disk(n, (0.25, 0.25), 0.125), cases.disk(n, (0.75, 0.75), 0.125), settings=Settings((6, 20, 60)))
    assert found.half_squared == pytest.approx(0.25, rel=1e-4)


def test_turned_gaussians():
    # Bures: 1/2 W2^2 = 1/2 |m_1 - m_2|^2 + 1/2 tr(A + B - 2 (A^1/2 B A^1/2)^1/2); here 4 F of the midpoint.
    case = cases.t5(N)
    assert w2(*case.measures).half_squared == pytest.approx(4 * case.value, rel=1e-3)


def test_back_and_forth_as_published_gives_the_same_value():
    mu, nu, exact = _disk_to_ring()
    found = w2(mu, nu, "back-and-forth", settings=Settings((60,)))
    assert found.half_squared == pytest.approx(exact, rel=1e-3)
    assert found.half_squared == pytest.approx(w2(mu, nu).half_squared, rel=1e-3)


def test_symmetry_and_zero():
    mu, nu, _ = _scaled_bumps()
    assert w2(mu, nu).half_squared == pytest.approx(w2(nu, mu).half_squared, rel=1e-4)
    same = w2(mu, mu)
    assert abs(same.half_squared) < 1e-14 and same.residual < 1e-10


def test_lengths_set_the_unit():
    mu, nu, _ = _scaled_bumps()
    small = w2(mu[:, 16:112], nu[:, 16:112], settings=Settings((40, 60)))
    large = w2(mu[:, 16:112], nu[:, 16:112], lengths=(50.0, 37.5), settings=Settings((40, 60)))
    assert large.half_squared == pytest.approx(2500 * small.half_squared, rel=1e-9)


def test_gaussians_in_three_dimensions():
    a, b = np.array([0.06, 0.10, 0.08]), np.array([0.10, 0.06, 0.08])
    exact, errors = 0.5 * 0.1**2 + 0.5 * ((a - b) ** 2).sum(), []
    for n in (16, 32):
        mu = cases.gaussian((n, n, n), (0.45, 0.5, 0.5), np.diag(a**2))
        nu = cases.gaussian((n, n, n), (0.55, 0.5, 0.5), np.diag(b**2))
        found = w2(mu, nu, settings=Settings((100, 80), coarsest=8))
        errors.append(abs(found.half_squared - exact))
        assert found.map_from_mu().shape == (n + 1, n + 1, n + 1, 3)
    # Mass goes from point to point of the grid: the error falls with the square of h.
    assert errors[1] < errors[0] / 3.5


def test_threads_give_the_same_bits_and_a_start_is_taken_up():
    n = (280, 260)
    mu, nu = cases.disk(n, (0.3, 0.4), 0.1), cases.disk(n, (0.6, 0.6), 0.2)
    quick = Settings((5, 10, 20))
    one, two = w2(mu, nu, settings=quick, threads=1), w2(mu, nu, settings=quick, threads=2)
    assert np.array_equal(one.potential, two.potential) and one.half_squared == two.half_squared
    again = w2(mu, nu, settings=Settings((3,)), start=one.potential)
    assert again.half_squared >= one.half_squared - 1e-12
    assert again.domain == Domain(n)


def test_what_cannot_be_asked_is_refused():
    with pytest.raises(TransportError, match="resize"):
        w2(np.ones((4, 4)), np.ones((4, 5)))
    with pytest.raises(TransportError, match="method must be"):
        w2(np.ones((4, 4)), np.ones((4, 4)), "guess")
    with pytest.raises(TransportError, match="start has shape"):
        w2(np.ones((4, 4)), np.ones((4, 4)), start=np.ones((3, 3)))

"""Bounds of F from both sides, against exact linear programming (POT's network simplex)."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.transport import cases
from transport import Domain, Settings, barycenter
from transport.barycenter import distances_to, upper_value
from transport.coupling import plan_costs
from transport.flows import SWEEPS, even_out
from transport.kernels import Compiled
from transport.legendre import c_transform
from transport.levels import places

ot = pytest.importorskip("ot")


def exact_costs(measures, nu, domain):
    """1/2 W2^2 of every measure to nu, exactly."""
    x = np.stack(places(domain), -1).reshape(-1, domain.dim)
    cost = 0.5 * ((x[:, None] - x[None]) ** 2).sum(-1)
    masses = [a.ravel() / a.sum() for a in (*measures, nu)]
    return np.array([ot.emd2(m, masses[-1], cost, numItermax=10**6) for m in masses[:-1]])


def by_way_of_a_map(mu, f, nu, domain):
    on = Compiled(1)
    images, _ = on.push(f, mu, domain)
    moments = np.stack([on.push(f, mu * x, domain)[0] for x in places(domain)], axis=1)
    return plan_costs(mu, images, moments, nu, domain)


@settings(max_examples=15)
@given(
    st.integers(0, 2**31), st.sampled_from([(6, 9), (12, 12), (16, 7), (4, 5, 6)]), st.sampled_from([0.0, 0.02, 0.5])
)
def test_any_map_gives_an_upper_bound(seed, shape, size):
    # However wrong the map: the plan is feasible, so it costs no less than the optimum.
    rng, domain = np.random.default_rng(seed), Domain(shape)
    mu = rng.random((2, *shape)) ** 6
    nu = rng.random(shape) ** 6 * (rng.random(shape) < 0.5) + 1e-12
    mu /= mu.mean(axis=tuple(range(1, mu.ndim)), keepdims=True)
    nu /= nu.mean()
    found = by_way_of_a_map(mu, c_transform(size * rng.normal(size=mu.shape), domain.steps), nu, domain)
    exact = exact_costs(mu, nu, domain)
    assert (found >= exact - 1e-12).all()
    # Nor is it absurd: independent mass would cost this much.
    x = np.stack(places(domain), -1).reshape(-1, domain.dim)
    c = 0.5 * ((x[:, None] - x[None]) ** 2).sum(-1)
    independent = [m.ravel() @ c @ nu.ravel() / nu.size**2 for m in mu]
    assert (found <= np.array(independent) * 1.5 + 1e-3).all()


def _translations(n):
    return cases.Case(np.stack([np.roll(cases.bump((n, n), (0.35, 0.35), 0.08), k, (0, 1)) for k in (0, n // 4)]),
                      np.array([0.5, 0.5]), 0.5 * 0.5**2 * 2 * (0.25 / 1) ** 2, None)  # fmt: skip


def _gaussians(n):
    mu = [cases.gaussian((n, n), (0.4, 0.45), np.diag([0.1**2, 0.06**2])),
          cases.gaussian((n, n), (0.6, 0.55), np.diag([0.06**2, 0.12**2]))]  # fmt: skip
    return cases.Case(np.stack(mu), np.array([0.3, 0.7]), 0.0, None)


def _floor(n):
    return cases.Case((cases.t2((n, n)).measures + 0.01) / 1.01, np.full(4, 0.25), 0.0, None)


@pytest.mark.parametrize(
    "make", [_translations, _gaussians, _floor, lambda n: cases.t1((n, n)), lambda n: cases.t6((n, n))]
)
def test_bound_truth_and_upper_bound_are_in_order(make):
    case, domain = make(16), Domain((16, 16))
    found = barycenter(case.measures, case.weights, settings=Settings((80,), coarsest=8))
    truth = float(found.weights @ exact_costs(case.measures, found.density, domain))
    assert found.dual_value - 1e-12 <= found.primal_value <= truth + 1e-9
    assert truth <= found.upper_value + 1e-12
    assert found.shape_bound <= truth - found.centroid_value + 1e-12 <= found.shape_upper + 2e-12
    # And the bounds are of use: within a tenth of F, which is a few cells' worth here.
    assert found.upper_value - found.dual_value < 0.1 * truth + 0.1 * domain.steps[0] ** 2


def test_translation_by_whole_cells_is_met_exactly():
    n, domain = 32, Domain((32, 32))
    mu = np.stack([np.roll(cases.bump((n, n), (0.3, 0.3), 0.05), k, (0, 1)) for k in (0, 8)])
    x = places(domain)
    # The map of a translation, both ways: what arrives is what is wanted, so nothing is handed over.
    f = np.stack([-0.125 * (x[0] + x[1]), 0.125 * (x[0] + x[1])])
    nu = np.roll(mu[0], 4, (0, 1))
    assert by_way_of_a_map(mu, f, nu, domain) == pytest.approx([0.125**2, 0.125**2], rel=1e-12)


@pytest.mark.parametrize("make", [cases.t1, cases.t2, cases.t4])
def test_the_upper_bound_is_within_four_per_cent_of_the_shape_part(make):
    case = make((128, 128))
    found = barycenter(case.measures, case.weights)
    assert 0 <= found.certified_gap < 0.04
    assert found.gap <= found.certified_gap
    one, two = (upper_value_again(found, case, threads) for threads in (1, 2))
    assert one == two == pytest.approx(found.upper_value, rel=1e-12)


def upper_value_again(found, case, threads):
    from transport.ascent import Ascent

    ascent = Ascent(case.measures, found.weights, found.domain, threads=threads)
    near = distances_to(found.density, case.measures, found.domain, found.potentials, threads=threads)
    return upper_value(ascent, found.density, near)


@pytest.mark.parametrize("shape", [(16, 24), (8, 16, 8)])
def test_evening_out_keeps_mass_and_moments_and_brings_the_goal_nearer(shape):
    rng, domain = np.random.default_rng(0), Domain(shape)
    nu = rng.random(shape)
    stack = np.stack([rng.random(shape), *rng.random((domain.dim, *shape))])
    stack[0] *= nu.sum() / stack[0].sum()
    found = even_out(stack.copy(), nu, domain)
    flat = tuple(range(1, stack.ndim))
    assert found.sum(axis=flat) == pytest.approx(stack.sum(axis=flat), rel=1e-13)
    assert found.min() >= 0
    assert np.abs(found[0] - nu).sum() < 0.05 * np.abs(stack[0] - nu).sum()
    assert max(SWEEPS) == 3  # sides are multiples of 8


def test_without_upper_bound_it_is_infinite():
    found = barycenter(cases.t2((32, 32)).measures, upper_bound=False)
    assert found.upper_value == found.shape_upper == found.certified_gap == np.inf

"""Topology problems as `optim` sees them: derivatives of every order, and the textbook's runs."""

from dataclasses import replace

import numpy as np
import pytest

import optim
from optim import Stop
from optim.design import MMA, OptimalityCriteria, TrustRegionNewton
from pde.functional import ReducedFunctional, TwiceReducedFunctional, taylor_test
from tests.topopt.test_density import SHARP, two_cases
from topopt import Continuation, Settings, optimize, presets
from topopt.density import DensityDesign, State
from topopt.errors import DesignError
from topopt.functional import ComplianceFunctional, posed


def functional(problem, **settings):
    return ComplianceFunctional(DensityDesign(problem, Settings(**settings)))


def test_value_gradient_and_hessian_action_of_two_cases_with_self_weight():
    J = functional(two_cases(), radius=2.0)
    x = np.random.default_rng(1).uniform(0.3, 0.7, J.x0.size)
    result = taylor_test(J, x, show=False, steps=(4e-2, 2e-2, 1e-2, 5e-3))
    assert result.passed, str(result)
    assert result.rates[2][-1] == pytest.approx(3, abs=0.15)
    assert isinstance(J, ReducedFunctional) and isinstance(J, TwiceReducedFunctional)


def test_gradient_through_a_projection():
    J = functional(two_cases(), radius=2.0, projection=SHARP)
    x = np.random.default_rng(1).uniform(0.3, 0.7, J.x0.size)
    assert taylor_test(J, x, order=1, show=False).passed
    with pytest.raises(DesignError, match="without projection"):
        J.hvp(x, x)


def test_a_taylor_test_leaves_no_trace():
    J = functional(presets.cantilever(12, 8), radius=2.0)
    first, seen = J.value_grad(J.x0), J.last
    taylor_test(J, J.x0, order=1, show=False)
    assert J.last is seen
    again = J.value_grad(J.x0)
    assert again[0] == first[0] and np.array_equal(again[1], first[1])


SETTLED = {"max_iter": 200, "tol_x": 0.01, "tol_kkt": None, "patience": 1}


def test_mbb_beam_by_optimality_criteria():
    """The standard run (Andreassen et al. 2011) with an exact volume."""
    J = functional(presets.mbb_beam(60, 20), radius=2.4)
    result = optim.minimize(posed(J), J.x0, OptimalityCriteria(tolerance=1e-12), stop=Stop(**SETTLED))
    assert J.value(J.x0) == pytest.approx(1007.022101, abs=1e-6)
    c = result.history["f"]
    # After 1, 4, 9, 49 and 99 updates.
    assert c[[0, 3, 8]] == pytest.approx([579.240, 342.164, 306.591], abs=1e-3)
    assert c[[48, 98]] == pytest.approx([236.728, 234.393], abs=1e-3)
    assert result.iterations == 146
    assert result.f == pytest.approx(233.7099, abs=1e-3)


def test_mbb_beam_by_moving_asymptotes():
    J = functional(presets.mbb_beam(60, 20), radius=2.4)
    result = optim.minimize(posed(J), J.x0, MMA(move=0.2), stop=Stop(**SETTLED))
    assert result.status == "converged" and result.iterations < 80
    assert result.f <= 233.60
    assert result.history["feas"][-1] < 1e-6


def test_method_mma_of_the_settings():
    history = optimize(presets.mbb_beam(60, 20), radius=2.4, method="mma").history
    # Svanberg's method with the objective at 10 and the volume relative to its limit.
    assert [history[k].compliance for k in (1, 4, 9)] == pytest.approx([679.497, 364.321, 316.798], rel=1e-4)
    assert history[-1].compliance <= 233.60 and len(history) < 80


@pytest.mark.parametrize("at", [1, 5, 9])
def test_mma_resumed_equals_uninterrupted_bit_for_bit(tmp_path, at):
    problem = presets.cantilever_3d(24, 12, 12)
    settings = Settings(method="mma", projection=SHARP, tolerance=1e-3, max_iterations=12)
    whole = DensityDesign(problem, settings)
    state = whole.start()
    while not state.done:
        state, info = whole.step(state)
        if info.iteration == at:
            state.save(tmp_path / "state.npz")
    again, resumed = DensityDesign(problem, settings), State.load(tmp_path / "state.npz")
    while not resumed.done:
        resumed, _ = again.step(resumed)
    assert np.array_equal(resumed.x, state.x) and np.array_equal(resumed.u, state.u)
    assert again.finish(resumed).compliance == whole.finish(state).compliance


def test_mma_with_everything_at_once():
    problem = two_cases()
    result = optimize(problem, radius=2.0, projection=Continuation(), method="mma")
    assert (result.rho[problem.kept] == 1).all() and (result.rho[problem.filled == 0] == 0).all()
    assert 0.499 < result.volume_fraction < 0.5 + 1e-6
    assert result.compliance < 1.02 * optimize(problem, radius=2.0, projection=Continuation()).compliance


def test_mma_keeps_symmetry():
    result = optimize(presets.cantilever(30, 20), radius=1.5, symmetry=(1,), max_iterations=20, method="mma")
    assert np.abs(result.rho - result.rho[:, ::-1]).max() < 1e-14


def test_newton_on_a_heat_sink_with_a_price_on_material():
    """Second-order steps on a real problem: convex for penalty 1, so Newton ends where first order does."""
    problem = replace(presets.cantilever(16, 8), volume_fraction=0.5)
    J = functional(problem, radius=1.5, penalty=1.0, e_min=1e-2)

    class Priced:
        def value(self, x):
            return J.value(x) + x.sum()

        def value_grad(self, x):
            c, g = J.value_grad(x)
            return c + x.sum(), g + 1

        def hvp(self, x, v):
            return J.hvp(x, v)

    stop = Stop(tol_kkt=1e-5, max_iter=60)
    newton = optim.minimize(Priced(), J.x0, TrustRegionNewton(), bounds=(0, 1), stop=stop)
    lbfgs = optim.minimize(Priced(), J.x0, bounds=(0, 1), stop=Stop(tol_kkt=1e-5))
    assert newton.status == "converged" and lbfgs.status == "converged"
    assert newton.f == pytest.approx(lbfgs.f, rel=1e-8)
    assert newton.iterations < lbfgs.iterations

"""B2, heating in time: the exact optimum, the order of every scheme and element, and the tape."""

import importlib.util

import numpy as np
import pytest

from optim import minimize
from optim.design import ProjectedLBFGS, TrustRegionNewton
from pde import problems
from pde.fem import FemError
from pde.fem.roughness import SmoothInTime
from pde.fem.schemes import SCHEMES
from pde.problems.heat_control import posed_with
from pde.tape import keep_all, revolve
from tests.pde.fem import protocol

pytestmark = [
    pytest.mark.fem,
    pytest.mark.skipif(importlib.util.find_spec("dolfinx") is None, reason="needs DOLFINx: formgrad[fem]"),
]

BEST = {1e-2: 2.29939163e-3, 1e-3: 6.04939163e-5}


def solved(scheme="crank-nicolson", **parameters):
    posed = posed_with(scheme, **parameters)
    return problems.Solution(
        posed, r := minimize(posed.problem, posed.x0, TrustRegionNewton(), stop=posed.stop), posed.measure(r.x)
    )


def rate(coarse, fine):
    return np.log2(abs(coarse / fine))


@pytest.mark.parametrize("alpha", BEST)
def test_crank_nicolson_has_the_exact_control_and_the_midpoint_rule_of_the_exact_objective(alpha):
    steps, c = 50, 2 * np.pi**2
    found = solved(n=4, degree=4, alpha=alpha, steps=steps)
    assert found.posed.known["objective"] == pytest.approx(BEST[alpha], rel=2e-9)
    # j along the optimum is quadratic in time: the midpoint rule is below its integral by j'' / (24 steps^2).
    expected = BEST[alpha] - (alpha**2 * c**2 + alpha) / 4 / (24 * steps**2)
    assert found.figures["objective"] == pytest.approx(expected, rel=1e-5)
    assert found.figures["control_error"] < 2e-5
    assert found.result.status == "converged"
    assert found.posed.J.counts.factorisations == 1  # of all states, adjoints and tangents of all iterations
    if alpha == 1e-2:
        assert found.figures["objective"] == pytest.approx(2.299188e-3, abs=3e-9)  # of an independent spectral program


@pytest.mark.parametrize(("degree", "n"), [(1, 8), (2, 4)])
def test_order_in_space(degree, n):
    coarse, fine = (solved(n=n * k, degree=degree, steps=10).figures for k in (1, 2))
    for name in ("control_error", "state_error"):
        assert rate(coarse[name], fine[name]) > degree + 0.9, name


@pytest.mark.parametrize(("scheme", "order"), [("implicit-euler", 1), ("crank-nicolson", 2), ("bdf2", 2)])
def test_order_in_time(scheme, order):
    found = [solved(scheme, n=3, degree=3, steps=steps).figures for steps in (12, 24, 48)]
    J = [figures["objective"] for figures in found]
    assert rate(J[0] - J[1], J[1] - J[2]) > order - 0.1  # differences: the error in space is the same in all


@pytest.mark.parametrize("scheme", SCHEMES)
def test_protocol(scheme):
    J = posed_with(scheme, n=3, steps=6, degree=1).J
    x = np.sin(1 + 2.3 * np.arange(J.n))
    protocol.check(J, x, protocol.three(np.linspace(0, 1, J.n)[:, None]), quadratic=True, first_step=1e-2)


@pytest.mark.parametrize("scheme", SCHEMES)
def test_derivatives_with_and_without_checkpoints(scheme):
    plain = posed_with(scheme, n=3, steps=40, degree=1).J
    x = np.sin(np.arange(plain.n))
    for schedule in (keep_all(), revolve(10), keep_all("disk")):
        J = posed_with(scheme, schedule, n=3, steps=40, degree=1).J
        for point in (x, 0.5 * x[::-1]):
            (f, df), (expected, slope) = J.value_grad(point), plain.value_grad(point)
            assert f == expected
            assert np.abs(df - slope).max() <= 1e-13 * np.abs(slope).max()
            assert np.array_equal(df, slope)


def test_lbfgs_with_bounds_and_checkpoints_ends_where_newton_does():
    posed = posed_with("crank-nicolson", revolve(4), n=4, steps=12, degree=1)
    newton = solved(n=4, steps=12, degree=1)
    lbfgs = minimize(posed.problem, posed.x0, ProjectedLBFGS(), stop=posed.stop)
    assert lbfgs.f == pytest.approx(newton.result.f, rel=1e-9)
    assert posed.measure(lbfgs.x)["control_error"] == pytest.approx(newton.figures["control_error"], rel=1e-2)


def test_by_name():
    found = problems.solve("heat_control", n=4, steps=10, alpha=1e-3)
    assert found.figures["objective"] == pytest.approx(found.posed.known["objective"], rel=0.1)
    assert problems.PROBLEMS["heat_control"].number == "B2"


def test_the_dearer_its_change_the_smoother_the_heating_and_the_larger_the_misfit():
    found = [problems.solve("heat_smoothing", n=4, alpha=alpha).figures for alpha in (1e-4, 1e-2, 1e-1)]
    roughness, misfit = ([figures[name] for figures in found] for name in ("roughness", "misfit"))
    assert roughness[0] > roughness[1] > roughness[2]
    assert misfit[0] < misfit[1] < misfit[2]
    assert misfit[2] < problems.pose("heat_smoothing", n=4).J.value(np.zeros(20 * 25))  # of no heating at all


def test_cheap_change_finds_the_heating_that_makes_the_state():
    # Without diffusion y_t = u, and d can be followed by u = d_t up to the rim and the rule of the middle.
    problem = problems.solve("heat_smoothing", n=4, alpha=1e-7, steps=20)
    centre = problem.x.reshape(20, -1).max(axis=1), problem.x.reshape(20, -1).min(axis=1)
    wave = np.pi * np.cos(np.pi * problem.posed.J.J.times)
    assert np.where(wave > 0, *centre) == pytest.approx(wave, abs=0.35)


def test_protocol_with_a_price_on_change():
    J = problems.pose("heat_smoothing", n=3, steps=6, alpha=0.1).J
    x = np.sin(1 + 2.3 * np.arange(J.n))
    protocol.check(J, x, protocol.three(np.linspace(0, 1, J.n)[:, None]), quadratic=True, first_step=2e-3)
    with pytest.raises(FemError, match="positive number"):
        SmoothInTime(J.J, 0.0)
    constant = np.ones(J.n)
    assert J.roughness(constant) == 0
    ramp = np.repeat(np.arange(6.0), J.n // 6) / 3  # u = t: |u_t|^2 = 1 between the first and the last middle
    assert J.roughness(ramp) == pytest.approx(2 * 5 / 6, rel=1e-12)

"""MMA and GCMMA against verified iterates and closed-form optima."""

import numpy as np
import pytest
from scipy.optimize import minimize as scipy_minimize

import optim
from optim import Stop
from optim.design import GCMMA, MMA
from optim.design.mma import approximation, asymptotes
from optim.prepared import prepare
from tests.optim import problems

# k: x1 x2 x3, f0, g1, g2 (None: about zero)
TOY = [
    ([2.3902981, 1.8057194, 0.9928649], 9.9599287, -2.151660, 0.215195),
    ([2.0384520, 1.7623589, 1.2417067], 8.8030313, -0.114338, 0.023207),
    ([2.0177933, 1.7785570, 1.2391827], 8.7703288, -1.98e-4, 1.6e-5),
    ([2.0176257, 1.7793692, 1.2382573], 8.7702496, 0, 0),
    ([2.0175544, 1.7797962, 1.2377584], 8.7702466, 0, 0),
]
BEAM = [
    (1.2758902, 0.167016, [5.6966006, 5.1409744, 4.3964706, 3.3532994, 1.8596112]),
    (1.3268650, 0.039865, [5.8375475, 5.1815401, 4.3913246, 3.4434624, 2.4099855]),
    (1.3360868, 0.009906, [6.0071008, 5.3199673, 4.5235674, 3.5002464, 2.0607635]),
    (1.3396360, 7.21e-4, [6.0131579, 5.3033004, 4.4970452, 3.4995093, 2.1555124]),
    (1.3399561, 7.8e-7, [6.0162685, 5.3079746, 4.4952538, 3.5007958, 2.1533620]),
]


def iterates(problem, x0, method, **stop):
    kept = []
    result = optim.minimize(
        problem, x0, method, scale=False, stop=Stop(**stop), callbacks=[lambda k, snapshot, info: kept.append(snapshot)]
    )
    return kept, result


def test_iterates_on_the_toy():
    problem, x0 = problems.toy()
    kept, _ = iterates(problem, x0, MMA(), max_iter=5)
    for snapshot, (x, f, *g) in zip(kept, TOY, strict=True):
        assert snapshot.x == pytest.approx(x, abs=1e-5)
        assert snapshot.state.now.f == pytest.approx(f, abs=1e-6)
        assert snapshot.state.now.c == pytest.approx(g, abs=5e-6)
    assert kept[0].state.low == pytest.approx([1.5, 0.5, -0.5]) and kept[0].state.upp == pytest.approx([6.5, 5.5, 4.5])
    assert kept[0].multipliers == pytest.approx([0.201959, 0.396845], abs=1e-6)
    assert kept[1].multipliers == pytest.approx([0.346893, 0.736939], abs=1e-6)


def test_iterates_on_the_beam():
    problem, x0 = problems.beam()
    kept, _ = iterates(problem, x0, MMA(), max_iter=5)
    for snapshot, (f, g, x) in zip(kept, BEAM, strict=True):
        assert snapshot.x == pytest.approx(x, abs=1e-5)
        assert snapshot.state.now.f == pytest.approx(f, abs=1e-6)
        assert snapshot.state.now.c == pytest.approx([g], abs=3e-6)
    assert kept[0].multipliers == pytest.approx([0.398375], abs=1e-6)
    assert kept[1].multipliers == pytest.approx([0.407133], abs=1e-6)


def test_gcmma_on_the_toy_takes_12_outer_4_inner_iterations_and_17_evaluations():
    problem, x0 = problems.toy()
    kept, result = iterates(problem, x0, GCMMA(), tol_kkt=None, tol_x=1e-7, patience=1)
    assert kept[0].x == pytest.approx([2.5550373, 1.8906221, 1.0765471], abs=1e-5)
    assert kept[1].x == pytest.approx([2.0721735, 1.7958761, 1.1910269], abs=1e-5)
    assert kept[2].x == pytest.approx([2.0161841, 1.7913649, 1.2243525], abs=1e-5)
    assert kept[3].x == pytest.approx([2.0169502, 1.7834789, 1.2334957], abs=1e-5)
    assert list(result.history["inner"][:4]) == [0, 1, 0, 1]
    assert result.iterations == 12
    assert result.history["inner"].sum() == 4
    assert result.history["n_f"][-1] == 17
    assert result.history["feas"].max() < 1e-8, "feasible from the first iterate on"
    assert (np.diff(result.history["f"]) < 1e-8).all()


@pytest.mark.parametrize("method", [MMA(), GCMMA()])
@pytest.mark.parametrize(
    ("make", "x", "f", "lam"),
    [
        (problems.toy, problems.TOY, 8.7702459, [0.426240, 0.759573]),
        (problems.beam, [6.01601589, 5.30917386, 4.49432957, 3.50147497, 2.15266533], 1.3399563606, [0.4466521202]),
        (problems.truss, [1.41163114, 0.37707243], 1.5086524175, [1.508652, 0]),
    ],
)
def test_optima(method, make, x, f, lam):
    problem, x0 = make()
    result = optim.minimize(problem, x0, method, stop=Stop(tol_kkt=1e-8))
    assert result.status == "converged"
    assert result.f == pytest.approx(f, rel=1e-8 if method == MMA() else 1e-7)
    assert result.x == pytest.approx(x, abs=1e-6)
    assert result.multipliers == pytest.approx(lam, abs=1e-5)


def test_the_beam_in_closed_form():
    S = (problems.K**0.25).sum()
    problem, x0 = problems.beam()
    result = optim.minimize(problem, x0, MMA(), stop=Stop(tol_kkt=1e-9))
    assert result.f == pytest.approx(0.0624 * S ** (4 / 3), rel=1e-10)
    assert result.x == pytest.approx(problems.K**0.25 * S ** (1 / 3), rel=1e-7)


@pytest.mark.parametrize("method", [MMA(), GCMMA()])
def test_infeasible_start_in_a_corner(method):
    f = optim.smooth(lambda x: (((x - 1) ** 2).sum(), 2 * (x - 1)))
    g = optim.constraint(lambda x: (np.array([x.sum() - 1]), np.ones((1, 2))))
    result = optim.minimize(optim.Problem(f, None, 0.0, 1.0, (g,)), np.array([0.25, 1.0]), method)
    assert result.status == "converged"
    assert result.x == pytest.approx([0.5, 0.5], abs=1e-6)


def many(n, m, seed=0):
    """sum c / x with m random volume constraints."""
    rng = np.random.default_rng(seed)
    c, W = rng.uniform(0.5, 2, n) / n, rng.uniform(0, 2, (m, n)) / n
    f = optim.smooth(lambda x: ((c / x).sum(), -c / x**2))
    g = optim.constraint(lambda x: (W @ x - 0.4, W))
    return optim.Problem(f, None, 1e-3, 1.0, (g,)), np.full(n, 0.5), (c, W)


def test_many_constraints_take_the_interior_point_and_reach_the_same_point():
    problem, x0, (c, W) = many(40, 60)
    result = optim.minimize(problem, x0, MMA(), stop=Stop(tol_kkt=1e-7))
    reference = scipy_minimize(
        lambda x: ((c / x).sum(), -c / x**2),
        x0,
        jac=True,
        method="SLSQP",
        bounds=[(1e-3, 1)] * 40,
        constraints={"type": "ineq", "fun": lambda x: 0.4 - W @ x, "jac": lambda x: -W},
        options={"ftol": 1e-14, "maxiter": 500},
    )
    assert result.status == "converged"
    assert result.f == pytest.approx(reference.fun, rel=1e-8)


def test_dual_and_interior_point_agree():
    problem, x0, _ = many(300, 5)
    ready = prepare(problem, x0)
    method = MMA()
    state = method.init(ready, x0)
    low, upp = asymptotes(method, ready, state)
    rho = np.full(6, method.rho)
    sub = approximation(method, ready, state, low, upp, rho)
    x, lam = sub.solve(None)
    from optim.design.interior import solve

    other = solve(sub, *sub._coefficients())
    assert other == pytest.approx(lam, abs=1e-6)
    assert sub.primal(other) == pytest.approx(x, abs=1e-7)
    # Optimal: primal feasible, complementary, and no dual slope left.
    at = sub.dual(lam)
    assert (at.slope < 1e-10).all() and np.abs(lam * at.slope).max() < 1e-10


def test_compiled_and_plain_sums_agree():
    problem, x0, _ = many(5000, 3)
    ready = prepare(problem, x0)
    state = MMA().init(ready, x0)
    low, upp = asymptotes(MMA(), ready, state)
    sub = approximation(MMA(), ready, state, low, upp, np.array([1e-5, 1e-3, 2e-3, 3e-3]))
    lam = np.array([0.3, 0.0, 2.0])
    compiled = sub.dual(lam)
    sub._p, sub._q = sub._coefficients()
    g, H = sub._dual(np.concatenate([[1.0], lam]))
    assert compiled.slope == pytest.approx(g - sub.b, rel=1e-12, abs=1e-13)
    assert compiled.curvature == pytest.approx(H, rel=1e-11)


def test_a_million_variables_need_few_looks_at_the_dual():
    problem, x0, _ = many(1_000_000, 5)
    result = optim.minimize(problem, x0, MMA(move=0.2), stop=Stop(max_iter=3))
    assert result.history["dual_looks"].max() <= 20
    assert result.history["feas"][-1] < 1e-9


def test_infinite_bounds_are_refused():
    problem, x0 = problems.on_a_line()
    with pytest.raises(optim.OptimError, match="finite lower and upper bound"):
        optim.minimize(problem, x0, MMA())


def test_equations_are_refused():
    problem, x0 = problems.hs71()
    with pytest.raises(optim.OptimError, match="inequalities only"):
        optim.minimize(problem, x0, MMA())

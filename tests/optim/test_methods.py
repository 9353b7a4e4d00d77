"""The other methods on problems with known optima, and the words with which hard problems end."""

from dataclasses import replace

import numpy as np
import pytest
from scipy.optimize import minimize as scipy_minimize
from scipy.optimize import rosen, rosen_der

import optim
from optim import Stop
from optim.design import GCMMA, MMA, SQP, AugmentedLagrangian, OptimalityCriteria, ProjectedLBFGS, TrustRegionNewton
from tests.optim import problems

NEWTON_INSIDE = AugmentedLagrangian(inner=TrustRegionNewton())
CONSTRAINED = [AugmentedLagrangian(), NEWTON_INSIDE, SQP(), SQP(hessian="none", move=0.5)]


@pytest.mark.parametrize("method", CONSTRAINED, ids=["al", "al-newton", "sqp", "slp"])
@pytest.mark.parametrize(
    ("make", "f"),
    [(problems.toy, 8.7702459), (problems.beam, 1.3399563606), (problems.truss, 1.5086524)],
    ids=["toy", "beam", "truss"],
)
def test_svanbergs_problems(method, make, f):
    problem, x0 = make()
    result = optim.minimize(problem, x0, method, stop=Stop(tol_kkt=1e-6, tol_feas=1e-8))
    assert result.status in ("converged", "stalled"), result.message
    assert result.f == pytest.approx(f, rel=1e-7)
    assert result.history["kkt"][-1] < 5e-6


@pytest.mark.parametrize("method", [AugmentedLagrangian(), AugmentedLagrangian(rho=0.0), SQP()])
def test_hock_schittkowski_71(method):
    problem, x0 = problems.hs71()
    result = optim.minimize(problem, x0, method, stop=Stop(tol_feas=1e-9, tol_kkt=1e-8))
    assert result.status == "converged"
    assert result.x == pytest.approx([1, 4.74299964, 3.82114998, 1.37940829], abs=1e-6)
    assert result.f == pytest.approx(17.0140173, abs=1e-7)
    assert result.multipliers == pytest.approx([0.55229366, 0.16146857], abs=1e-6)


HS = {
    # Hock and Schittkowski (1981): number -> (f, constraints (fn, kind), lower, upper, x0, x*, f*)
    6: (
        lambda x: (1 - x[0]) ** 2,
        [(lambda x: np.array([10 * (x[1] - x[0] ** 2)]), "eq")],
        None,
        None,
        [-1.2, 1.0],
        [1, 1],
        0.0,
    ),
    7: (
        lambda x: np.log(1 + x[0] ** 2) - x[1],
        [(lambda x: np.array([(1 + x[0] ** 2) ** 2 + x[1] ** 2 - 4]), "eq")],
        None,
        None,
        [2.0, 2.0],
        [0, np.sqrt(3)],
        -np.sqrt(3),
    ),
    26: (
        lambda x: (x[0] - x[1]) ** 2 + (x[1] - x[2]) ** 4,
        [(lambda x: np.array([(1 + x[1] ** 2) * x[0] + x[2] ** 4 - 3]), "eq")],
        None,
        None,
        [-2.6, 2.0, 2.0],
        None,
        0.0,
    ),
    35: (
        lambda x: (
            9
            - 8 * x[0]
            - 6 * x[1]
            - 4 * x[2]
            + 2 * x[0] ** 2
            + 2 * x[1] ** 2
            + x[2] ** 2
            + 2 * x[0] * x[1]
            + 2 * x[0] * x[2]
        ),
        [(lambda x: np.array([x[0] + x[1] + 2 * x[2] - 3]), "ineq")],
        0.0,
        10.0,
        [0.5, 0.5, 0.5],
        [4 / 3, 7 / 9, 4 / 9],
        1 / 9,
    ),
    43: (
        lambda x: x[0] ** 2 + x[1] ** 2 + 2 * x[2] ** 2 + x[3] ** 2 - 5 * x[0] - 5 * x[1] - 21 * x[2] + 7 * x[3],
        [
            (
                lambda x: np.array(
                    [
                        (x * x).sum() + x[0] - x[1] + x[2] - x[3] - 8,
                        x[0] ** 2 + 2 * x[1] ** 2 + x[2] ** 2 + 2 * x[3] ** 2 - x[0] - x[3] - 10,
                        2 * x[0] ** 2 + x[1] ** 2 + x[2] ** 2 + 2 * x[0] - x[1] - x[3] - 5,
                    ]
                ),
                "ineq",
            )
        ],
        -10.0,
        10.0,
        [0.0, 0, 0, 0],
        [0, 1, 2, -1],
        -44.0,
    ),
}


@pytest.mark.parametrize("method", [AugmentedLagrangian(), SQP()], ids=["al", "sqp"])
@pytest.mark.parametrize("number", HS)
def test_hock_schittkowski_with_differences(number, method):
    f, conditions, lower, upper, x0, x, best = HS[number]
    constraints = tuple(optim.constraint(fn, kind) for fn, kind in conditions)
    problem = optim.Problem(optim.smooth(f), None, lower, upper, constraints)
    result = optim.minimize(problem, np.array(x0), method, stop=Stop(tol_kkt=1e-5, tol_feas=1e-7))
    assert result.status in ("converged", "stalled"), result.message
    assert result.f == pytest.approx(best, abs=2e-5)
    if x is not None:
        assert result.x == pytest.approx(x, abs=2e-3)


@pytest.mark.parametrize("method", [AugmentedLagrangian(), AugmentedLagrangian(rho=0.0), SQP()])
def test_multiplier_of_an_equation(method):
    problem, x0 = problems.on_a_line()
    result = optim.minimize(problem, x0, method, stop=Stop(tol_feas=1e-9))
    assert result.x == pytest.approx([0.5, 0.5], abs=1e-7)
    assert result.multipliers == pytest.approx([-1], abs=1e-7)


def test_second_order_correction_where_constraints_curve():
    """Maratos (1978): full steps are good, but raise both objective and violation; without the correction they fail."""
    f = optim.smooth(lambda x: (2 * (x @ x - 1) - x[0], 4 * x - np.array([1, 0])))
    h = optim.constraint(lambda x: (np.array([x @ x - 1]), 2 * x[None]), "eq")
    x0 = np.array([np.cos(1.0), np.sin(1.0)])
    result = optim.minimize(optim.Problem(f, constraints=(h,)), x0, SQP(), stop=Stop(tol_kkt=1e-8, tol_feas=1e-8))
    assert result.status == "converged" and result.iterations < 30
    assert result.x == pytest.approx([1, 0], abs=1e-7)
    assert result.multipliers == pytest.approx([-1.5], abs=1e-6)
    assert result.history["corrected"].sum() >= 1


@pytest.mark.parametrize("n", [2, 20])
@pytest.mark.parametrize(
    "method", [ProjectedLBFGS(), TrustRegionNewton(), SQP(move=0.5)], ids=["lbfgs", "newton", "sqp"]
)
def test_rosenbrock(method, n):
    problem, x0 = problems.rosenbrock(n)
    result = optim.minimize(problem, x0, method)
    assert result.status == "converged"
    assert result.x == pytest.approx(np.ones(n), abs=1e-5)


@pytest.mark.parametrize("method", [ProjectedLBFGS(), TrustRegionNewton()], ids=["lbfgs", "newton"])
def test_rosenbrock_in_a_box(method):
    problem, x0 = problems.rosenbrock(20, lower=-1.5, upper=0.8)
    seen = []
    f = problem.f

    class Watched:
        def value(self, x):
            seen.append(x)
            return f.value(x)

        def value_grad(self, x):
            seen.append(x)
            return f.value_grad(x)

        def hvp(self, x, v):
            return f.hvp(x, v)

    result = optim.minimize(replace(problem, f=Watched()), x0, method, stop=Stop(tol_kkt=1e-8))
    reference = scipy_minimize(
        rosen, x0, jac=rosen_der, method="L-BFGS-B", bounds=[(-1.5, 0.8)] * 20, options={"ftol": 1e-16, "gtol": 1e-9}
    )
    assert result.status == "converged"
    assert result.f == pytest.approx(reference.fun, rel=1e-10)
    assert all((x >= -1.5).all() and (x <= 0.8).all() for x in seen), "nothing is evaluated outside the bounds"


def test_gradient_counts_compare_with_scipy():
    problem, x0 = problems.rosenbrock(20)
    ours = optim.minimize(problem, x0, ProjectedLBFGS(), stop=Stop(tol_kkt=1e-6)).history["n_g"][-1]
    theirs = scipy_minimize(rosen, x0, jac=rosen_der, method="L-BFGS-B", options={"ftol": 0, "gtol": 1e-6}).nfev
    assert ours < 1.5 * theirs


def test_nearest_point_of_a_box_in_three_iterations():
    a = np.array([-3.0, 0.3, 0.9, 4.0])
    f = optim.smooth(lambda x: (0.5 * (x - a) @ (x - a), x - a))
    result = optim.minimize(optim.Problem(f, None, 0.0, 1.0), np.full(4, 0.5), ProjectedLBFGS())
    assert result.iterations <= 3
    assert result.x == pytest.approx(np.clip(a, 0, 1), abs=1e-12)


def test_optimality_criteria_meet_the_volume_and_the_condition():
    """sum c / x with a volume: x ~ sqrt(c) in closed form, multiplier (sum sqrt c)^2 / V^2."""
    c = np.array([1.0, 4.0, 9.0]) / 100
    f = optim.smooth(lambda x: ((c / x).sum(), -c / x**2))
    g = optim.constraint(lambda x: (np.array([x.sum() - 1.2]), np.ones((1, 3))))
    method = OptimalityCriteria(tolerance=1e-13)
    result = optim.minimize(optim.Problem(f, None, 1e-3, 1.0, (g,)), np.full(3, 0.4), method, stop=Stop(tol_kkt=1e-10))
    assert result.status == "converged"
    assert result.x == pytest.approx(1.2 * np.sqrt(c) / np.sqrt(c).sum(), rel=1e-9)
    assert result.multipliers == pytest.approx([np.sqrt(c).sum() ** 2 / 1.44], rel=1e-9)


def impossible():
    f = optim.smooth(lambda x: (x @ x, 2 * x))
    g = optim.constraint(lambda x: (np.array([5 - x.sum()]), -np.ones((1, 2))))
    return optim.Problem(f, None, 0.0, 1.0, (g,)), np.array([0.25, 1.0])


@pytest.mark.parametrize("method", [MMA(), GCMMA(), SQP(), AugmentedLagrangian()], ids=["mma", "gcmma", "sqp", "al"])
def test_an_infeasible_problem_says_so(method):
    result = optim.minimize(*impossible(), method)
    assert result.status == "infeasible"
    assert "violated by 3" in result.message
    assert result.x == pytest.approx([1, 1], abs=1e-6), "the least violation"


def test_a_problem_without_multipliers():
    """min x + y with x^2 + y^2 <= 0: the only feasible point is 0, and no finite multiplier balances it."""
    f = optim.smooth(lambda x: (x.sum(), np.ones(2)))
    g = optim.constraint(lambda x: (np.array([x @ x]), 2 * x[None]))
    problem, x0 = optim.Problem(f, None, -1.0, 1.0, (g,)), np.array([0.25, 1.0])
    result = optim.minimize(problem, x0, SQP())
    assert result.status == "converged" and result.x == pytest.approx([0, 0], abs=1e-5)
    result = optim.minimize(problem, x0, MMA())
    assert result.status == "infeasible" and "raise penalty" in result.message


def test_an_unbounded_problem_says_so():
    f = optim.smooth(lambda x: (-(x**2).sum(), -2 * x))
    result = optim.minimize(f, np.array([1.0, 2.0]), ProjectedLBFGS())
    assert result.status == "unbounded"


def test_two_variables_fixed_by_their_bounds():
    problem, x0 = problems.beam()
    lower, upper = np.ones(5), np.full(5, 10.0)
    lower[1] = upper[1] = 5.0
    fixed = replace(problem, lower=lower, upper=upper)
    mma, sqp = (optim.minimize(fixed, x0, m, stop=Stop(tol_kkt=1e-8)) for m in (MMA(), SQP()))
    assert mma.x[1] == 5.0 and sqp.x[1] == 5.0
    assert mma.f == pytest.approx(sqp.f, rel=1e-8)

"""What can be stated wrongly is told before the first step, in one sentence that names it."""

import numpy as np
import pytest

import optim
from optim.design import MMA, SQP, OptimalityCriteria, ProjectedLBFGS, TrustRegionNewton

SQUARE = optim.smooth(lambda x: (x @ x, 2 * x))
X0 = np.array([0.5, 0.5, 0.5])


def refused(match, problem, x0, method=None, **options):
    with pytest.raises(optim.OptimError, match=match) as caught:
        optim.minimize(problem, x0, method, **options)
    message = str(caught.value)
    assert "\n" not in message and len(message) < 200


@pytest.mark.parametrize(
    ("bounds", "match"),
    [
        ((1, 0), r"lower\[0\] = 1 is above upper\[0\] = 0"),
        ((np.array([0, 0, 2.0]), 1.0), r"lower\[2\] = 2 is above"),
        ((np.zeros(2), 1), r"lower has shape \(2,\), x0 has \(3,\)"),
        ((0, np.nan), "not a number"),
        ((0.6, 1), r"x0\[0\] = 0.5 is outside its bounds \[0.6, 1\] \(3 of 3 are\): clip x0"),
    ],
)
def test_bounds(bounds, match):
    refused(match, SQUARE, X0, bounds=bounds)


@pytest.mark.parametrize(
    ("x0", "match"),
    [
        (np.array([0.5, np.nan]), "x0 holds a value that is not finite"),
        (np.array([1, 2]), "x0 is int64: give floating point"),
        (np.zeros((2, 2)), r"x0 has shape \(2, 2\): give a flat vector"),
        (np.zeros(0), r"shape \(0,\)"),
        ("0.5", "x0 is a str"),
    ],
)
def test_start(x0, match):
    refused(match, SQUARE, x0)


def test_nan_at_the_start():
    refused("x0: the objective is not a finite number", optim.smooth(lambda x: (np.nan, x)), X0)
    refused("x0: the gradient holds a value", optim.smooth(lambda x: (1.0, x * np.inf)), X0)
    bad = optim.constraint(lambda x: (np.array([np.nan]), np.ones((1, 3))))
    refused("x0: a constraint or its Jacobian", SQUARE, X0, bounds=(0, 1), constraints=[bad])


def test_zero_gradient_at_the_start_is_answered_in_a_sentence():
    for f in (optim.smooth(lambda x: (1.0, 0 * x)), optim.smooth(lambda x: ((x - 0.5) @ (x - 0.5), 2 * (x - 0.5)))):
        result = optim.minimize(f, X0)
        assert result.status == "stationary" and result.iterations == 0
        assert result.message.startswith("the gradient is zero at x0") and result.x == pytest.approx(X0)


def test_zero_gradient_with_a_violated_constraint_is_a_question_like_any_other():
    flat = optim.smooth(lambda x: (0.0, 0 * x))
    g = optim.constraint(lambda x: (np.array([x.sum() - 1]), np.ones((1, 3))))
    result = optim.minimize(flat, X0, MMA(), bounds=(0, 1), constraints=[g])
    assert result.status == "converged" and result.x.sum() <= 1 + 1e-6


def test_shapes():
    refused(
        r"gradient of the objective has shape \(2,\), this problem needs \(3,\)",
        optim.smooth(lambda x: (0.0, x[:2])),
        X0,
    )
    for J, shape in [(np.ones((3, 1)), r"\(3, 1\)"), (np.ones((2, 3)), r"\(2, 3\)")]:
        g = optim.constraint(lambda x, J=J: (np.array([x.sum() - 1]), J))
        refused(
            rf"Jacobian of constraint 0 has shape {shape}, this problem needs \(1, 3\)",
            SQUARE,
            X0,
            constraints=[g],
            bounds=(0, 1),
        )
    two = optim.constraint(lambda x: (np.zeros(2), np.ones((2, 3))), m=1)
    refused("constraint 0 has 2 values, it promised 1", SQUARE, X0, constraints=[two], bounds=(0, 1))
    refused(r"returned an array of shape \(3,\): return one number", lambda x: x, X0)


def test_types():
    import torch

    refused(
        "gradient of the objective is float32, but x0 is float64", optim.smooth(lambda x: (1.0, x.astype("f4"))), X0
    )
    g = optim.constraint(lambda x: (np.zeros(1), np.ones((1, 3), "f4")))
    refused("Jacobian of constraint 0 is float32", SQUARE, X0, constraints=[g], bounds=(0, 1))
    mixed = optim.smooth(lambda x: (x * x).sum(), grad=lambda x: np.ones(3))
    refused("is a numpy array, but x0 is a torch array", mixed, torch.full((3,), 0.5, dtype=torch.float64))


def test_a_large_numpy_function_without_derivative():
    refused("NumPy function of 101 variables without derivatives", lambda x: (x * x).sum(), np.ones(101))


def test_methods_say_what_they_need():
    g = optim.constraint(lambda x: (np.array([x.sum() - 1]), np.ones((1, 3))))
    falling = optim.constraint(lambda x: (np.array([1 - x.sum()]), -np.ones((1, 3))))
    refused("ProjectedLBFGS takes bounds but no other", SQUARE, X0, ProjectedLBFGS(), constraints=[g])
    refused("rises with every variable", SQUARE, X0, OptimalityCriteria(), bounds=(0, 1), constraints=[falling])
    refused("exactly one constraint, not 2", SQUARE, X0, OptimalityCriteria(), bounds=(0, 1), constraints=[g, g])
    refused("up to 2000 variables", SQUARE, np.ones(3000), SQP())

    class NoHessian:
        def value(self, x):
            return float(x @ x)

        def value_grad(self, x):
            return float(x @ x), 2 * x

    refused("needs Hessian actions", NoHessian(), X0, TrustRegionNewton())
    refused("no psi", optim.Problem(SQUARE, psi=object()), X0)
    refused("belong into the Problem", optim.Problem(SQUARE), X0, bounds=(0, 1))

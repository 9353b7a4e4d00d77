"""The Taylor test finds what is right and what is wrong, and leaves no trace."""

import numpy as np
import pytest

import optim
from pde.functional import ReducedFunctional, TwiceReducedFunctional, taylor_test

X = np.array([0.3, -0.7, 1.1])


def sines(gradient=1.0, hessian=1.0):
    return optim.smooth(
        lambda x: np.sin(x).prod() + (x**4).sum(),
        grad=lambda x: gradient * (np.sin(x).prod() / np.tan(x) + 4 * x**3),
        hvp=lambda x, v: (
            hessian * (np.sin(x).prod() * ((v / np.tan(x)).sum() / np.tan(x) - v / np.tan(x) ** 2 - v) + 12 * x**2 * v)
        ),
    )


def test_right_derivatives_pass_with_the_right_rates():
    result = taylor_test(sines(), X, show=False)
    assert result.passed
    assert result.rates[:, -1] == pytest.approx([1, 2, 3], abs=0.05)
    assert result.rates.shape == (3, 4) and result.residuals.shape == (3, 5)


def test_wrong_derivatives_fail_at_the_order_that_is_wrong():
    wrong = taylor_test(sines(gradient=1.01), X, show=False)
    assert not wrong.passed and wrong.order_passed(0) and not wrong.order_passed(1)
    wrong = taylor_test(sines(hessian=1.1), X, show=False)
    assert not wrong.passed and wrong.order_passed(1) and not wrong.order_passed(2)


def test_a_quadratic_is_exact_at_order_two_and_passes():
    quadratic = optim.smooth(lambda x: x @ x, grad=lambda x: 2 * x, hvp=lambda x, v: 2 * v)
    assert taylor_test(quadratic, X, show=False).passed


def test_the_table_is_printed(capsys):
    taylor_test(sines(), X)
    out = capsys.readouterr().out
    assert "order 2   rate" in out and out.rstrip().endswith("derivative: right; Hessian action: right")
    taylor_test(sines(gradient=2.0), X, order=1)
    assert "derivative: WRONG" in capsys.readouterr().out


class Remembering:
    """Starts its 'solve' from the last answer, as iterative solvers do."""

    def __init__(self):
        self.last, self.looks = None, 0

    def value(self, x):
        return self.value_grad(x)[0]

    def value_grad(self, x):
        self.last, self.looks = x.copy(), self.looks + 1
        return float((x**3).sum()), 3 * x**2


def test_what_the_functional_remembers_stays():
    functional = Remembering()
    before = functional.value_grad(X)
    anchor = functional.last
    assert taylor_test(functional, X + 0.1, show=False).passed
    assert functional.last is anchor and functional.looks == 1
    after = functional.value_grad(X)
    assert before[0] == after[0] and np.array_equal(before[1], after[1])


def test_contracts():
    assert isinstance(sines(), ReducedFunctional) and isinstance(sines(), TwiceReducedFunctional)
    assert isinstance(Remembering(), ReducedFunctional) and not isinstance(Remembering(), TwiceReducedFunctional)


def test_order_two_needs_hessian_actions():
    with pytest.raises(optim.OptimError, match="order 2 needs Hessian actions"):
        taylor_test(Remembering(), X, order=2)


@pytest.mark.parametrize("library", ["torch", "jax"])
def test_functions_of_other_libraries(library):
    from tests.optim.problems import library as load

    array, _ = load(library)
    assert taylor_test(optim.smooth(lambda x: (x**3).sum() * x[0]), array(X), show=False).passed

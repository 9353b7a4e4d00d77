"""The hybrid with surrogates of known quality: what it finds, what it spends, and what it writes down."""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from operators.errors import OperatorError
from operators.hybrid import SOLVED, HybridResult, HybridSettings, Mode, hybrid
from operators.model import Model
from operators.surrogates import Pull, Vector
from operators.surrogates.galerkin import PodGalerkin
from pde.grid.errors import SolverError
from pde.problems.inversion import Inversion
from tests.operators.hybrid_cases import Constant, Local, Perfect, member, optimum

MEMBERS = (0, 1, 2)


def to_target(number: int, surrogate: Any = None, **changes: Any) -> HybridResult:
    """Until J is within half a percent of the optimum."""
    problem, start = member(number)
    settings = HybridSettings(target=1.005 * optimum(number), **changes)
    return hybrid(problem, start, surrogate, settings)


def alone(number: int) -> HybridResult:
    return to_target(number, mode="solver_only")


def gap(result: HybridResult, number: int) -> float:
    return result.J / optimum(number) - 1


def lowest(result: HybridResult) -> float:
    return min(line.J for line in result.log if line.event in SOLVED)


# -- surrogates of known quality --------------------------------------------------------------------------------------


@pytest.mark.parametrize("number", MEMBERS)
def test_a_perfect_surrogate_needs_four_solves(number: int) -> None:
    result = to_target(number, Perfect(member(number)[0]))
    assert gap(result, number) <= 0.005
    assert result.spent.forward <= 4
    assert result.spent.adjoint <= 2
    assert alone(number).spent.forward >= 20


@pytest.mark.parametrize("number", MEMBERS)
def test_an_adversary_costs_little_more_than_no_surrogate(number: int) -> None:
    result, solver = to_target(number, Perfect(member(number)[0], sign=-1.0)), alone(number)
    assert gap(result, number) <= 0.005
    assert result.spent.solves <= 1.5 * solver.spent.solves + 30
    assert any(line.event == "the solver goes on alone" for line in result.log)


@pytest.mark.parametrize("number", MEMBERS)
def test_a_constant_surrogate_costs_its_patience(number: int) -> None:
    result, solver = to_target(number, Constant()), alone(number)
    assert gap(result, number) <= 0.005
    assert result.spent.solves <= solver.spent.solves + 2 * HybridSettings().patience + 10


@pytest.mark.parametrize("number", MEMBERS)
def test_a_surrogate_that_is_right_near_the_anchor_helps(number: int) -> None:
    result, solver = to_target(number, Local(member(number)[0])), alone(number)
    assert gap(result, number) <= 0.005
    assert result.spent.solves < solver.spent.solves


def test_a_reduced_model_beats_the_solver_alone() -> None:
    states = []
    for number in range(20, 26):
        problem, start = member(number)
        run = hybrid(problem, start, Perfect(member(number)[0]), HybridSettings(most_forward=4))
        states += [problem.solve(t * start + (1 - t) * run.x) for t in np.linspace(0, 1, 8)]
    for number in MEMBERS:
        result = to_target(number, PodGalerkin.of(member(number)[0], np.array(states), 25))
        assert gap(result, number) <= 0.005
        assert result.spent.solves <= 0.5 * alone(number).spent.solves


@pytest.mark.parametrize("correction", ["additive", "rank_one"])
def test_both_corrections_reach_the_optimum(correction: Any) -> None:
    result = to_target(0, Perfect(member(0)[0]), correction=correction)
    assert gap(result, 0) <= 0.005
    assert result.spent.forward <= 4


# -- the model --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("correction", ["additive", "rank_one"])
def test_value_and_gradient_are_right_at_the_anchor(correction: Any) -> None:
    problem, x = member(3)
    u = problem.solve(x)
    g = problem.adjoint_gradient(x, u)
    model = Model(problem, Perfect(member(3)[0], sign=-1.0), x, u, g, correction)
    value, slope = model.value_grad(x)
    assert value == pytest.approx(problem.objective(u, x), rel=1e-12)
    np.testing.assert_allclose(slope, g, rtol=1e-9, atol=1e-9 * np.abs(g).max())


def test_the_models_gradient_is_its_own_derivative() -> None:
    problem, x = member(3)
    u = problem.solve(x)
    for correction in ("additive", "rank_one"):
        model = Model(problem, Local(member(3)[0]), x, u, problem.adjoint_gradient(x, u) * 1.3, correction)
        y, d = x + 0.3, np.sin(np.arange(problem.n))
        difference = (model.value(y + 1e-6 * d) - model.value(y - 1e-6 * d)) / 2e-6
        assert model.value_grad(y)[1] @ d == pytest.approx(difference, rel=1e-6)


# -- the modes --------------------------------------------------------------------------------------------------------


def test_the_surrogate_alone_solves_twice_and_tells_what_it_believed() -> None:
    problem, start = member(0)
    result = hybrid(problem, start, Perfect(member(0)[0]), HybridSettings(mode="surrogate_only"))
    assert (result.spent.forward, result.spent.adjoint) == (2, 0)
    assert result.believed == pytest.approx(result.J, rel=1e-9)


def test_without_correction_no_adjoint_is_spent() -> None:
    for mode in ("hybrid_reference", "hybrid_every_k"):
        result = to_target(0, Perfect(member(0)[0]), mode=mode)
        assert gap(result, 0) <= 0.005
        assert result.spent.adjoint == 0


def test_the_reference_hybrid_ends_by_itself_with_a_bad_surrogate() -> None:
    problem, start = member(0)
    result = hybrid(problem, start, Constant(), HybridSettings(mode="hybrid_reference", radius=1.0))
    assert "surrogate leads no further" in result.message or "promises nothing" in result.message
    assert lowest(result) == result.J


def test_every_k_follows_without_a_test_and_returns_the_best() -> None:
    problem, start = member(0)
    result = hybrid(problem, start, Constant(), HybridSettings(mode="hybrid_every_k", inner_steps=5, radius=4.0))
    assert lowest(result) == result.J
    assert {line.event for line in result.log} <= {"start", "accepted"}


@pytest.mark.parametrize("mode", ["surrogate_only", "hybrid_reference", "hybrid_corrected", "hybrid_every_k"])
@pytest.mark.parametrize("sign", [1.0, -1.0])
def test_never_worse_than_the_best_that_was_solved(mode: Mode, sign: float) -> None:
    problem, start = member(1)
    settings = HybridSettings(mode=mode, most_forward=12)
    result = hybrid(problem, start, Perfect(member(1)[0], sign), settings)
    assert lowest(result) == result.J
    assert problem.objective(problem.solve(result.x), result.x) == pytest.approx(result.J, rel=1e-12)


# -- stopping, counting, failing --------------------------------------------------------------------------------------


def test_it_stops_where_the_true_gradient_vanishes() -> None:
    problem, start = member(2)
    result = hybrid(problem, start, Perfect(member(2)[0]), HybridSettings(tolerance=1e-3))
    assert "optimal" in result.message
    assert gap(result, 2) <= 5e-4


def test_the_budget_is_kept() -> None:
    for surrogate in (Constant(), Perfect(member(0)[0], -1.0)):
        for most in (1, 2, 5, 17):
            problem, start = member(0)
            result = hybrid(problem, start, surrogate, HybridSettings(most_forward=most))
            assert problem.spent.forward == result.spent.forward <= most
            assert lowest(result) == result.J


@pytest.mark.parametrize("sign", [1.0, -1.0])
def test_the_log_has_every_solve_and_every_adjoint_is_used(sign: float) -> None:
    problem, start = member(1)
    result = hybrid(problem, start, Perfect(member(1)[0], sign), HybridSettings(most_forward=40))
    lines = [line for line in result.log if line.event in SOLVED]
    assert [line.forward for line in lines] == list(range(1, len(lines) + 1))
    assert result.spent.forward == len(lines) == problem.spent.forward
    assert result.spent.adjoint <= sum(line.event in ("start", "accepted", "solver step", "solver") for line in lines)
    assert all(a.best >= b.best for a, b in zip(result.log, result.log[1:], strict=False))
    assert result.rows()[0]["event"] == "start"


def test_counts_begin_with_the_run() -> None:
    problem, start = member(0)
    problem.solve(start + 1)
    result = hybrid(problem, start, Perfect(member(0)[0]), HybridSettings(most_forward=3))
    assert result.spent.forward == problem.spent.forward - 1 <= 3


def test_two_runs_have_the_same_bits() -> None:
    def run(sign: float) -> HybridResult:
        return to_target(2, Perfect(member(2)[0], sign))

    for sign in (1.0, -1.0):
        first, second = run(sign), run(sign)
        assert np.array_equal(first.x, second.x)
        assert [replace(a, seconds=0) for a in first.log] == [replace(b, seconds=0) for b in second.log]


class Brittle(Inversion):
    """A solver that fails at every third design, the first trial among them."""

    def solve(self, x: Vector) -> Vector:
        u = super().solve(x)
        if self.spent.forward % 3 == 2:
            raise SolverError("no solution here")
        return u


def test_a_solver_that_fails_is_a_rejection() -> None:
    easy, start = member(0)
    problem = Brittle(easy.square, easy.data, easy.sigma)
    result = hybrid(problem, start, Perfect(easy), HybridSettings(target=1.005 * optimum(0)))
    assert gap(result, 0) <= 0.005
    assert any(line.event == "failed" and np.isinf(line.J) for line in result.log)


class Failing(Constant):
    """A surrogate with no state away from the anchors."""

    def state(self, x: Vector) -> tuple[Vector, Pull]:
        u, pull = super().state(x)
        return (u, pull) if np.array_equal(x, self.x) else (np.full_like(u, np.nan), pull)

    def anchor(self, x: Vector, u: Vector) -> None:
        super().anchor(x, u)
        self.x = x


def test_a_surrogate_without_states_leaves_it_to_the_solver() -> None:
    result = to_target(0, Failing())
    assert gap(result, 0) <= 0.005
    assert result.spent.solves <= 1.5 * alone(0).spent.solves + 30


def test_what_cannot_be_is_refused() -> None:
    problem, start = member(0)
    with pytest.raises(OperatorError, match="mode is one of"):
        HybridSettings(mode="best")  # pyright: ignore[reportArgumentType]
    with pytest.raises(OperatorError, match="radius is 0"):
        HybridSettings(radius=0)
    with pytest.raises(OperatorError, match="needs a surrogate"):
        hybrid(problem, start)
    with pytest.raises(OperatorError, match="81 finite numbers"):
        hybrid(problem, start[:-1], Constant())

"""Problems with the state in sight, and reduced bases of them: exact derivatives, exact counts, feasible ways."""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pytest

from operators.errors import OperatorError
from operators.hybrid import HybridSettings, hybrid, violation
from operators.inner_loop import Ball, covector
from operators.model import Model
from operators.problems.compliance import Compliance, cantilever, cone_filter
from operators.solver import Solver
from operators.stationarity import stationarity
from operators.surrogates import Vector
from operators.surrogates.frozen import MeanJacobian
from operators.surrogates.reduced_basis import ReducedBasis
from optim.functions import Linear
from optim.space import Euclidean, Weighted
from pde.fem.product import Together
from pde.functional import Solved, taylor_test
from pde.grid import Grid

FEM = {"cantilever": {"n": 10}, "reactor": {"n": 8}, "double_pipe": {"n": 6, "first_iterations": 1}}


@pytest.fixture(scope="module", params=["voxels", *FEM])
def problem(request: pytest.FixtureRequest) -> Any:
    return posed(request.param)


def posed(name: str) -> Any:
    if name == "voxels":
        return cantilever((8, 4))
    pytest.importorskip("dolfinx_solver", reason="DOLFINx is not installed")
    from operators.problems.fem import FemProblem
    from pde import problems

    return FemProblem(problems.pose(name, **FEM[name]))


def design(problem: Any, seed: int = 0) -> Vector:
    return np.random.default_rng(seed).uniform(0.25, 0.35, problem.n)


def test_the_adjoint_gradient_is_right(problem: Any) -> None:
    assert taylor_test(Solved(problem), design(problem), accuracy=1e-11, show=False).passed


def test_partials_and_pull_back_make_the_gradient(problem: Any) -> None:
    x = design(problem)
    u = problem.solve(x)
    rng = np.random.default_rng(1)
    Ju, Jx = problem.partials(u, x)
    du, dx, h = problem.partials(u, x)[0], rng.standard_normal(problem.n), 1e-6
    slope = (problem.objective(u + h * du, x) - problem.objective(u - h * du, x)) / (2 * h)
    assert Ju @ du == pytest.approx(slope, rel=1e-5)
    slope = (problem.objective(u, x + h * dx) - problem.objective(u, x - h * dx)) / (2 * h)
    assert Jx @ dx == pytest.approx(slope, rel=1e-5, abs=1e-6 * abs(problem.objective(u, x)))


def test_the_adjoint_serves_a_design_that_was_not_solved_last(problem: Any) -> None:
    x, y = design(problem), design(problem, 1)
    u = problem.solve(x)
    g = problem.adjoint_gradient(x, u)
    problem.solve(y)
    before = problem.spent
    forward = before.forward
    np.testing.assert_allclose(problem.adjoint_gradient(x, u), g, rtol=1e-9, atol=1e-12 * np.abs(g).max())
    assert problem.spent.forward == forward


def test_a_basis_that_holds_the_state_is_exact(problem: Any) -> None:
    """State, value and gradient, by a surrogate that never saw the adjoint equation's solution but spans all."""
    x = design(problem)
    states = np.array([problem.solve(design(problem, seed)) for seed in range(2, 9)])
    u = problem.solve(x)
    surrogate = ReducedBasis.of(problem, states, 5)
    surrogate.anchor(x, u)
    guess, pull = surrogate.state(x)
    np.testing.assert_allclose(guess, u, rtol=1e-6, atol=1e-7 * np.abs(u).max())
    # The pull-back is the derivative of the surrogate's own state.
    w, d = problem.partials(u, x)[0], np.random.default_rng(3).standard_normal(problem.n)
    difference = (surrogate.state(x + 1e-5 * d)[0] - surrogate.state(x - 1e-5 * d)[0]) / 2e-5
    assert pull(w) @ d == pytest.approx(w @ difference, rel=1e-4)


@pytest.mark.parametrize("name", ["voxels", "cantilever"])
def test_compliance_is_learnt_with_its_gradient(name: str) -> None:
    """The state is its own adjoint, so a basis that has learnt it has the true gradient there, without an adjoint."""
    problem = posed(name)
    x = design(problem)
    u = problem.solve(x)
    surrogate = ReducedBasis.of(problem, np.array([problem.solve(design(problem, k)) for k in range(2, 6)]), 3)
    surrogate.anchor(x, u)
    model = Model(problem, surrogate, x, u)
    g = problem.adjoint_gradient(x, u)
    np.testing.assert_allclose(model.slope, g, rtol=1e-6, atol=1e-8 * np.abs(g).max())


def test_a_full_basis_forgets_the_oldest() -> None:
    problem = cantilever((8, 4))
    states = np.array([problem.solve(design(problem, k)) for k in range(2, 6)])
    surrogate = replace(ReducedBasis.of(problem, states, 2), room=2)
    designs = [design(problem, k) for k in range(10, 13)]
    for x in designs:
        surrogate.learn(x, problem.solve(x))
    errors = [float(np.abs(surrogate.state(x)[0] - u).max() / np.abs(u).max()) for x, u in solved(problem, designs)]
    assert errors[0] > 1e-6 > max(errors[1:])


def solved(problem: Compliance, designs: list[Vector]) -> list[tuple[Vector, Vector]]:
    return [(x, problem.solve(x)) for x in designs]


def test_counts_are_those_of_the_run(problem: Any) -> None:
    solver = Solver(problem, 10)
    one = solver.solve(design(problem, 4))
    assert (solver.spent.forward, solver.spent.adjoint) == (1, 0)
    factorised = solver.spent.factorisations
    solver.gradient(one)
    solver.gradient(one)
    assert solver.spent.adjoint == (0 if isinstance(problem, Compliance) else 1)
    assert solver.spent.factorisations == factorised >= 1


def test_the_jacobian_is_that_of_the_state() -> None:
    for name in ("cantilever", "reactor"):
        problem = posed(name)
        x, d = design(problem), np.random.default_rng(0).standard_normal(problem.n)
        B = problem.jacobian(x, problem.solve(x))
        difference = (problem.solve(x + 1e-5 * d) - problem.solve(x - 1e-5 * d)) / 2e-5
        np.testing.assert_allclose(B @ d, difference, rtol=1e-4, atol=1e-6 * np.abs(difference).max())
        assert problem.spent.tangent == problem.n


# -- bounds and a volume constraint -----------------------------------------------------------------------------------


class Watched(Compliance):
    """Remembers every design that was solved."""

    def solve(self, x: Vector) -> Vector:
        self.__dict__.setdefault("seen", []).append(x.copy())
        return super().solve(x)


def watched(volume: float = 0.4) -> Watched:
    p = cantilever((16, 8), volume)
    return Watched(p.system, p.force, p.volume, p.filter)


def start(problem: Compliance, seed: int) -> Vector:
    x = np.random.default_rng(seed).uniform(0, 1, problem.n)
    return x * problem.volume / float((problem.filter @ x).mean())


@pytest.mark.parametrize("name", ["reduced", "mean Jacobian", "adversary"])
def test_every_design_on_the_way_is_feasible(name: str) -> None:
    problem = watched()
    surrogate = ReducedBasis.of(problem, np.array([problem.solve(start(problem, k)) for k in range(6)]), 4)
    x0, n = start(problem, 10), problem.n
    other: Any = surrogate
    if name != "reduced":
        u = problem.solve(x0)
        sign = 1e-3 if name == "adversary" else -1e-3
        other = MeanJacobian(sign * np.outer(u, np.ones(n)))
    problem.__dict__["seen"] = []
    alone = hybrid(watched(), x0, None, HybridSettings(mode="solver_only", most_forward=30))
    result = hybrid(problem, x0, other, HybridSettings(radius=0.5 * n**0.5, most_forward=60))
    assert all(violation(problem, x) <= 1e-6 for x in problem.__dict__["seen"][: _trials(result)])
    assert violation(problem, result.x) <= 1e-6
    assert result.J <= 1.01 * alone.J


def _trials(result: Any) -> int:
    """Solves before the solver went on alone: MMA may leave the feasible set on its way."""
    return sum(line.phase != "S" and line.event in ("start", "accepted", "rejected") for line in result.log)


def test_a_learning_basis_needs_fewer_solves_than_mma() -> None:
    problem, x0 = watched(), start(watched(), 10)
    states = np.array([problem.solve(start(problem, k)) for k in range(6)])
    alone = hybrid(watched(), x0, None, HybridSettings(mode="solver_only", most_forward=60))
    target = 1.01 * alone.J
    needed = next(line.forward for line in alone.log if line.best <= target)
    surrogate = ReducedBasis.of(problem, states, 5)
    result = hybrid(problem, x0, surrogate, HybridSettings(radius=0.5 * problem.n**0.5, target=target))
    assert target >= result.J
    assert result.spent.forward < needed


@dataclass
class Knapsack:
    """min g . x with x_1 + x_2 + x_3 <= 1.5 in the box: the cheapest are full, one is half full."""

    lower = np.zeros(3)
    upper = np.ones(3)
    constraints = (Linear(np.ones((1, 3)), np.array([1.5])),)
    space = Euclidean()


def test_stationarity_vanishes_at_the_optimum_only() -> None:
    problem: Any = Knapsack()
    g = np.array([-3.0, -2.0, -1.0])
    assert stationarity(problem, np.array([1.0, 0.5, 0.0]), g) == pytest.approx(0, abs=1e-12)
    # The multiplier is 2: what is left pulls the first up and the third down.
    assert stationarity(problem, np.full(3, 0.5), g) == pytest.approx(2**0.5)
    # No constraint is active: nothing holds the gradient back.
    assert stationarity(problem, np.full(3, 0.1), g) == pytest.approx(14**0.5)


def test_the_filter_keeps_a_constant_and_reaches_no_farther() -> None:
    W = cone_filter(Grid((6, 5)), 1.5)
    np.testing.assert_allclose(W @ np.ones(30), 1, rtol=1e-12)
    spread = (W @ np.eye(30)[12]).reshape(6, 5)
    assert np.count_nonzero(spread) == 9
    assert spread.max() == spread[2, 2]


def test_the_ball_knows_every_inner_product() -> None:
    a = np.arange(1.0, 6.0)
    together = Together((Weighted(np.array([2.0, 3.0])), Euclidean()), (0, 2, 5))
    for space in (Euclidean(), Weighted(a), together):
        product = [float(space.inner(e, a)) for e in np.eye(5)]
        np.testing.assert_allclose(covector(space, a), product)
    with pytest.raises(OperatorError, match="apply"):
        covector(object(), a)


def test_the_ball_is_a_constraint_with_its_derivative() -> None:
    problem = cantilever((4, 2))
    ball, x = Ball(problem, np.zeros(8), 2.0), np.full(8, 1.0)
    assert ball.value(x)[0] == pytest.approx(8 / 4 - 1)
    np.testing.assert_allclose(ball.jac(x), np.full((1, 8), 2 / 4))

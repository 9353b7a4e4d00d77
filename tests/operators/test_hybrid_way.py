"""The smoothed basis, the adjoint that need not be solved for, and the inner loop on MMA's way."""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pytest

from operators.errors import OperatorError
from operators.hybrid import HybridSettings, hybrid
from operators.inner_loop import FIRST, InnerLoop
from operators.model import Model
from operators.problems.compliance import Compliance, cantilever
from operators.surrogates import Pull, Vector
from operators.surrogates.reduced_basis import ReducedBasis
from operators.surrogates.smoothed import LEAST, MOST, SmoothedBasis, unconnected
from optim import minimize
from optim.design import MMA
from optim.problem import Problem
from optim.result import Stop
from pde.functional import Solved


def design(problem: Any, seed: int = 0) -> Vector:
    return np.random.default_rng(seed).uniform(0.25, 0.35, problem.n)


def fem(name: str, **options: Any) -> Any:
    pytest.importorskip("dolfinx_solver", reason="DOLFINx is not installed")
    from operators.problems.fem import FemProblem
    from pde import problems

    return FemProblem(problems.pose(name, **options))


@pytest.fixture(scope="module", params=["voxels", "cantilever"])
def problem(request: pytest.FixtureRequest) -> Any:
    return cantilever((8, 4)) if request.param == "voxels" else fem("cantilever", n=10)


def basis(problem: Any, rank: int = 4) -> ReducedBasis:
    return ReducedBasis.of(problem, np.array([problem.solve(design(problem, k)) for k in range(2, 9)]), rank)


# -- the matrix that a problem shows ----------------------------------------------------------------------------------


def test_the_matrix_is_that_of_the_residual(problem: Any) -> None:
    x, rng = design(problem), np.random.default_rng(1)
    u, d = problem.solve(x), rng.standard_normal(len(problem.solve(x)))
    R, K = problem.linearised(x, u)
    K = K.copy()
    assert np.abs(R).max() <= 1e-7 * np.abs(K @ u).max()
    assert not R[problem.fixed].any()
    moved = problem.linearised(x, u + d)[0] - R
    expected = K @ d
    expected[problem.fixed] = 0
    np.testing.assert_allclose(moved, expected, rtol=1e-9, atol=1e-9 * np.abs(expected).max())


def test_groups_cover_all_and_connect_nothing(problem: Any) -> None:
    x = design(problem)
    K = problem.linearised(x, problem.solve(x))[1].copy()
    groups = unconnected(K)
    assert sorted(np.concatenate(groups)) == list(range(K.shape[0]))
    # Bilinear squares: four colours of nodes, two directions.
    assert len(groups) == 8
    for group in groups:
        block = K.tocsr()[group][:, group].toarray()
        assert not (block - np.diag(block.diagonal())).any()


# -- the smoothed basis -----------------------------------------------------------------------------------------------


def test_a_sweep_leaves_less_of_the_error(problem: Any) -> None:
    x = design(problem, 20)
    u, plain = problem.solve(x), basis(problem)
    smoothed = SmoothedBasis(problem, plain, weight=1.0)
    J = problem.objective(u, x)
    before, after = (J - problem.objective(s.state(x)[0], x) for s in (plain, smoothed))
    # A basis is too stiff; one sweep of weight 1 takes a good part of the error away, and not more than all of it.
    assert 0 < after < 0.8 * before


def test_the_pull_back_is_the_derivative_of_the_smoothed_state(problem: Any) -> None:
    smoothed, x = SmoothedBasis(problem, basis(problem)), design(problem, 21)
    rng = np.random.default_rng(3)
    u, pull = smoothed.state(x)
    w, d = rng.standard_normal(len(u)), rng.standard_normal(problem.n)
    w[problem.fixed] = 0
    difference = (smoothed.state(x + 1e-6 * d)[0] - smoothed.state(x - 1e-6 * d)[0]) / 2e-6
    assert pull(w) @ d == pytest.approx(w @ difference, rel=1e-5)


def test_it_is_exact_where_it_was_anchored(problem: Any) -> None:
    smoothed, x = SmoothedBasis(problem, basis(problem)), design(problem)
    u = problem.solve(x)
    smoothed.anchor(x, u)
    np.testing.assert_allclose(smoothed.state(x)[0], u, rtol=1e-6, atol=1e-8 * np.abs(u).max())
    g = problem.adjoint_gradient(x, u)
    slope = Model(problem, smoothed, x, u).slope
    np.testing.assert_allclose(slope, g, rtol=1e-6, atol=1e-8 * np.abs(g).max())


def test_the_weight_is_the_one_that_the_last_solve_asked_for(problem: Any) -> None:
    smoothed = SmoothedBasis(problem, basis(problem))
    for seed in (30, 31):
        x = design(problem, seed)
        u = problem.solve(x)
        J, before = problem.objective(u, x), problem.objective(smoothed.base.state(x)[0], x)
        tried = problem.objective(replace(smoothed, weight=1.0).state(x)[0], x)
        smoothed.learn(x, u)
    # With it the compliance at the last design would have been right: it is linear in the weight.
    assert smoothed.weight == pytest.approx(np.clip((J - before) / (tried - before), LEAST, MOST), rel=1e-6)


def test_an_equation_that_is_not_linear_is_refused() -> None:
    problem = fem("reactor", n=8)
    with pytest.raises(OperatorError, match="linear in the state"):
        SmoothedBasis(problem, basis(problem))


# -- adjoints that need not be solved for -----------------------------------------------------------------------------


def test_compliance_shows_that_it_needs_no_adjoint_and_the_yield_does_not() -> None:
    own, other = fem("cantilever", n=10), fem("reactor", n=8)
    for problem, certain in ((own, True), (other, False)):
        surrogate, x = basis(problem), design(problem)
        u = problem.solve(x)
        surrogate.anchor(x, u)
        doubt = surrogate.doubt(x, u, problem.partials(u, x)[0])
        assert (doubt <= 1e-8) is certain
        assert certain or doubt > 1e-3


def test_no_adjoint_is_charged_where_the_state_is_its_own() -> None:
    problem = fem("cantilever", n=10)
    surrogate = SmoothedBasis(problem, basis(problem))
    x0 = np.full(problem.n, 0.3)
    result = hybrid(problem, x0, surrogate, HybridSettings(radius=20.0, inner_steps=30, most_forward=14))
    assert any(line.phase == "B" for line in result.log)
    assert result.spent.adjoint == 0
    assert all(line.cosine is None or line.cosine > 1 - 1e-6 for line in result.log)


# -- on MMA's way -----------------------------------------------------------------------------------------------------


@dataclass
class Perfect:
    """The solver itself, on its own account; pulls back multiples of the load: compliance asks for no other."""

    problem: Compliance
    name: str = "perfect"

    def anchor(self, x: Vector, u: Vector) -> None:
        pass

    def state(self, x: Vector) -> tuple[Vector, Pull]:
        u = self.problem.solve(x)
        return u, lambda w: self.problem.pulled(x, u, u * float(w @ u) / float(self.problem.load @ u))


def alone(problem: Compliance, x0: Vector, steps: int) -> list[Vector]:
    """The designs of MMA alone."""
    seen: list[Vector] = []
    stated = Problem(Solved(problem), None, problem.lower, problem.upper, problem.constraints, problem.space)
    stop = Stop(max_iter=steps, tol_kkt=None, tol_x=None)
    minimize(stated, x0, MMA(), stop=stop, callbacks=[lambda k, snapshot, info: seen.append(np.array(snapshot.x))])
    return seen


def test_with_a_perfect_model_it_walks_as_mma_alone() -> None:
    problem = cantilever((16, 8))
    x0 = np.random.default_rng(5).uniform(0.2, 0.35, problem.n)
    path, inner, x = alone(problem, x0, 9), InnerLoop(30, first=3), x0
    for trial in range(3):
        model = Model(problem, Perfect(cantilever((16, 8))), x, problem.solve(x))
        x, promised = inner.lower(model, radius=np.inf)
        np.testing.assert_allclose(x, path[3 * trial + 2], atol=1e-6)
        assert promised == pytest.approx(problem.objective(problem.solve(x), x), rel=1e-8)


def test_a_rejected_trial_goes_back_to_where_the_path_came_to_the_anchor() -> None:
    problem = cantilever((16, 8))
    x0 = np.random.default_rng(5).uniform(0.2, 0.35, problem.n)
    inner = InnerLoop(30, first=4)

    def model(x: Vector) -> Model:
        return Model(problem, Perfect(cantilever((16, 8))), x, problem.solve(x))

    x, _ = inner.lower(model(x0), np.inf)
    far, _ = inner.lower(model(x), np.inf)
    again, _ = inner.lower(model(x), np.inf)
    assert np.array_equal(far, again)
    inner.judged(-1.0)
    nearer, _ = inner.lower(model(x), np.inf)
    np.testing.assert_allclose(nearer, alone(problem, x0, 6)[-1], atol=1e-6)


def test_runs_grow_where_models_prove_right_and_shrink_where_not() -> None:
    inner = InnerLoop.of(cantilever((4, 2)), 10)
    lengths = []
    for ratio in (1.0, 1.0, 0.5, 1.0, 1.0, 1.0, 0.1, 0.1, 0.1, 0.1):
        inner.judged(ratio)
        lengths.append(inner.steps)
    assert FIRST == 2
    assert lengths == [3, 5, 5, 8, 10, 10, 5, 2, 1, 1]
    assert inner.longer()
    assert inner.steps == 2
    assert not InnerLoop(10, first=10).longer()


def test_it_stays_in_the_ball_and_feasible() -> None:
    problem = cantilever((16, 8))
    x0 = np.random.default_rng(5).uniform(0.2, 0.35, problem.n)
    for radius in (3.0, 0.3, 1e-3):
        inner = InnerLoop(30, first=30)
        x, promised = inner.lower(Model(problem, Perfect(cantilever((16, 8))), x0, problem.solve(x0)), radius)
        assert 0 < float(np.linalg.norm(x - x0)) <= radius * (1 + 1e-9)
        assert max(float(c.value(x).max()) for c in problem.constraints) <= 1e-6
        assert promised < problem.objective(problem.solve(x0), x0)


def test_from_an_optimum_under_constraints_it_draws_back_once() -> None:
    problem = cantilever((12, 6))
    surrogate = SmoothedBasis(problem, basis(problem))
    x0 = np.full(problem.n, 0.3)
    result = hybrid(problem, x0, surrogate, HybridSettings(radius=4.0, tolerance=0.02, most_forward=80))
    events = [line.event for line in result.log]
    assert events.count("drawn back") == 1
    drawn = events.index("drawn back")
    # It costs one solve, goes up, comes down again, and what it had found before is not lost.
    assert result.log[drawn - 1].best < result.log[drawn].J
    assert any(line.event == "accepted" for line in result.log[drawn:])
    assert result.log[drawn].best >= result.J

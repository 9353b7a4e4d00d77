"""Evaluation finds nothing wrong with a perfect surrogate and the exact error of a known one; views and anchors."""

from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import pytest
import torch

from operators.errors import OperatorError
from operators.evaluation import WAYS, Accuracy, along, as_rows, beside, judged, probes, table
from operators.models import load, save
from operators.recipes import find
from operators.surrogates import Pull, Vector
from operators.surrogates.neural import Viewed
from operators.training import TrainingSettings, train
from operators.view import Anchor, predict
from pde.problems.inversion import Inversion
from tests.operators.small import CELLS, SQUARE, data, member, operator, runs, view


@dataclass
class Scaled:
    """The solver's state times a factor."""

    factor: float
    problem: Inversion = field(default_factory=lambda: member(0).problem)  # pyright: ignore[reportAssignmentType]
    name: str = "scaled"

    def anchor(self, x: Vector, u: Vector) -> None: ...

    def state(self, x: Vector) -> tuple[Vector, Pull]:
        u = self.problem.solve(x)
        return self.factor * u, lambda w: self.factor * self.problem.state_pullback(x, u, w)


def test_a_perfect_surrogate_has_no_error_anywhere() -> None:
    found = table(Scaled(1.0), member, runs(0, 2), runs(6, 8), probe=2.0)
    assert tuple(found) == WAYS
    for accuracy in found.values():
        assert accuracy.state < 1e-10
        assert accuracy.gradient < 1e-6
        assert accuracy.low_cosine > 1 - 1e-9
    assert [row["where"] for row in as_rows(found)] == list(WAYS)


def test_the_error_of_a_state_that_is_one_percent_off() -> None:
    assert along(Scaled(1.01), member, runs(0, 2)).state == pytest.approx(0.01, rel=1e-9)
    assert beside(Scaled(0.99), member, runs(0, 2), 2.0).state == pytest.approx(0.01, rel=1e-9)


def test_questions_that_were_solved_once_are_put_to_several() -> None:
    asked = probes(member, runs(0, 2), 2.0, each=3)
    assert len(asked) == 6
    for q in asked:
        step = q.x - q.x_r
        assert q.problem.space.inner(step, step) ** 0.5 == pytest.approx(2.0, rel=1e-12)
    for factor in (0.99, 1.02):
        assert judged(Scaled(factor), asked) == beside(Scaled(factor), member, runs(0, 2), 2.0, each=3)


def test_medians_and_emptiness() -> None:
    found = Accuracy.of([(0.1, 1.0, 0.0), (0.3, 3.0, 1.0), (0.2, 2.0, 0.5)])
    assert (found.state, found.gradient, found.cosine, found.count) == (0.2, 2.0, 0.5, 3)
    with pytest.raises(OperatorError, match="nothing to evaluate"):
        Accuracy.of([])


@pytest.mark.parametrize("coarsening", [1, 2])
def test_the_surrogate_is_exact_at_its_anchor_and_its_pull_back_is_the_derivative(coarsening: int) -> None:
    surrogate = Viewed(operator().double(), view(coarsening).to(torch.float64))
    problem, start = member(9).problem, member(9).start
    u = problem.solve(start)
    surrogate.anchor(start, u)
    np.testing.assert_allclose(surrogate.state(start)[0], u, rtol=1e-12)
    rng = np.random.default_rng(0)
    x, h, w = start + 0.3 * rng.standard_normal(problem.n), rng.standard_normal(problem.n), rng.standard_normal(len(u))
    _, pull = surrogate.state(x)
    e = 1e-5
    central = (surrogate.state(x + e * h)[0] - surrogate.state(x - e * h)[0]) / (2 * e)
    assert float(pull(w) @ h) == pytest.approx(float(w @ central), rel=1e-6)
    guess = surrogate.state(x)[0]
    rim = np.setdiff1d(np.arange(len(u)), SQUARE.inner)
    np.testing.assert_array_equal(guess[rim], 0)


def test_the_coarse_view_prolongs_cubics_exactly() -> None:
    seen = view(2)
    x, y = SQUARE.points.T
    field = torch.as_tensor(x * (1 - x**2) * y * (1 - y)).float()
    torch.testing.assert_close(seen.up(seen.down(field[None]))[0], field, rtol=1e-5, atol=1e-6)
    with pytest.raises(OperatorError, match="coarsened"):
        type(seen).of(SQUARE, 3)


def test_prediction_turns_with_the_square() -> None:
    """Restriction, prolongation and the objective know the symmetries, so that samples may be turned."""
    seen, (learnt, _) = view(2), data()
    assert seen.turns is not None
    plain = learnt.take([3, 5])
    for turn in range(8):
        turned = learnt.take([3, 5], seen.turns, turn)
        order = seen.turns[turn]
        J = seen.objective(1.1 * plain.state, plain.design, plain.known)
        torch.testing.assert_close(seen.objective(1.1 * turned.state, turned.design, turned.known), J)
        kept = seen.up(seen.down(plain.state))
        torch.testing.assert_close(seen.up(seen.down(turned.state)), kept[:, order], rtol=1e-5, atol=1e-7)
        m = (plain.design @ torch.as_tensor(SQUARE.prior, dtype=torch.float32).T)[:, order]
        whole = view(1).features(turned.design)[..., 3]
        torch.testing.assert_close(whole, m, rtol=1e-4, atol=1e-5)


def test_a_trained_operator_comes_back_from_its_file_with_its_view(tmp_path: Path) -> None:
    learnt, judged = data()
    found = train(operator(), view(), learnt, judged, TrainingSettings(steps=5, validate_every=5)).model
    save(found, tmp_path / "small.safetensors")
    back = load(tmp_path / "small.safetensors")
    anchor = Anchor(learnt.design[:1], learnt.state[:1])
    before, after = (predict(model, view(), learnt.design[1:2], anchor) for model in (found, back))
    assert torch.equal(before, after)


def test_the_recipe_states_its_family() -> None:
    recipe = find("inversion")
    given = recipe.member(100)
    again = recipe.member(100)
    np.testing.assert_array_equal(given.start, again.start)
    np.testing.assert_array_equal(given.known["data"], again.known["data"])
    sizes = recipe.settings("virtual_fourier", "state")
    assert sizes.output == "state"
    assert recipe.view().features(torch.zeros(2, given.problem.n)).shape == (2, 169, sizes.inputs)
    assert not set(recipe.runs) & set(recipe.unseen)
    with pytest.raises(OperatorError, match="no recipe for 'unknown'"):
        find("unknown")
    assert CELLS == 8

"""Every family as an operator sees it: objective and derivative are the solver's, and what is learnt is exact at a
reference."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from importlib import import_module
from typing import Any

import numpy as np
import pytest
import torch

from operators.errors import OperatorError
from operators.hybrid import hybrid, violation
from operators.losses import Weights
from operators.models import build
from operators.recipes import PLACES, Recipe, find
from operators.recipes.rectangle import Rectangle
from operators.samples import samples
from operators.settings import Settings
from operators.solver import FEASIBLE
from operators.surrogates.neural import Viewed
from operators.training import TrainingSettings, train
from operators.trajectories import Member, record
from operators.view import Anchor, View, predict
from optim.result import Stop

SMALL = {"cantilever": 10, "double_pipe": 6, "reactor": 8}


@dataclass(frozen=True)
class Family:
    """One family, on a coarse mesh where it has meshes."""

    recipe: Recipe
    view: View
    settings: Callable[[str], Settings]
    members: Callable[[int], Member]

    def member(self, number: int) -> Member:
        return self.members(number)


@pytest.fixture(scope="module", params=["compliance", *SMALL])
def family(request: pytest.FixtureRequest) -> Family:
    return small(request.param)


def small(name: str) -> Family:
    if name in SMALL:
        pytest.importorskip("dolfinx_solver", reason="DOLFINx is not installed")
    recipe, place = find(name), import_module(PLACES[name])
    if name not in SMALL:
        return Family(recipe, recipe.view(), place.settings, recipe.member)
    n = SMALL[name]
    return Family(
        recipe, place.view(n=n), lambda kind: place.settings(kind, n=n), lambda number: place.member(number, n=n)
    )


def tensor(values: Any, dtype: torch.dtype = torch.float64) -> torch.Tensor:
    return torch.as_tensor(np.asarray(values)[None], dtype=dtype)


def test_members_differ_and_are_the_same_again(family: Family) -> None:
    one, same, other = family.member(7), family.member(7), family.member(8)
    np.testing.assert_array_equal(one.start, same.start)
    assert np.abs(one.start - other.start).max() > 0.1
    for given in (one, other):
        assert violation(given.problem, given.start) <= FEASIBLE


def test_the_objective_is_the_solvers(family: Family) -> None:
    """To single precision in the solver's own state and in any other; what the state does not enter is left out."""
    given, view = family.member(3), family.view
    problem, x = given.problem, given.start
    price = float(getattr(problem, "price", np.zeros(len(x))) @ x)
    known = {name: tensor(value, torch.float32) for name, value in given.known.items()}
    u = problem.solve(x)
    for state in (u, 0.9 * u):
        found = view.objective(tensor(state, torch.float32), tensor(x, torch.float32), known)
        assert float(found) == pytest.approx(problem.objective(state, x) - price, rel=1e-5)


def test_its_derivative_by_the_state_is_the_solvers(family: Family) -> None:
    """Where the state is not fixed, at a state that is not quite solved."""
    given, view = family.member(4), family.view.to(torch.float64)
    problem, x = given.problem, given.start
    known = {name: tensor(value) for name, value in given.known.items()}
    u = 0.5 * problem.solve(x) + 0.5 * problem.solve(0.5 * x + 0.25)
    state = tensor(u).requires_grad_()
    (slope,) = torch.autograd.grad(view.objective(state, tensor(x), known).sum(), state)
    true = problem.partials(u, x)[0]
    free = true != 0
    np.testing.assert_allclose(slope[0].numpy()[free], true[free], rtol=1e-4, atol=1e-5 * np.abs(true).max())


def test_values_at_the_nodes_come_back(family: Family) -> None:
    """Up and down again is what it was wherever nothing is fixed; the fixed numbers of the state do not change."""
    view, given = family.view.to(torch.float64), family.member(5)
    u = tensor(given.problem.solve(given.start))
    values = view.down(u)
    change = torch.as_tensor(np.random.default_rng(0).standard_normal(values.shape))
    lifted = view.up(change)
    assert lifted.shape == u.shape
    again = view.down(lifted)
    np.testing.assert_allclose(view.down(view.up(again)), again, atol=1e-5)
    problem: Any = given.problem
    fixed = np.flatnonzero(problem.system.fixed) if hasattr(problem, "system") else problem.fixed
    assert len(fixed) > 0
    np.testing.assert_array_equal(lifted[0].numpy()[fixed], 0.0)


def test_features_and_states_have_the_operators_sizes(family: Family) -> None:
    given, view, sizes = family.member(6), family.view, family.settings("fno")
    assert sizes.grid is not None
    features = view.features(tensor(given.start, torch.float32))
    values = view.down(tensor(given.problem.solve(given.start), torch.float32))
    points = int(np.prod(sizes.grid))
    assert features.shape == (1, points, sizes.inputs)
    assert values.shape == (1, points, sizes.outputs)


def test_what_is_learnt_is_exact_at_the_reference_and_serves_the_hybrid(family: Family) -> None:
    """Two short runs, four steps with the losses of the recipe, and a hybrid run that ends no worse than it began."""
    runs = [record(family.member(k), k, stop=Stop(max_iter=3), **family.recipe.record) for k in (0, 1)]
    sensitivity = family.recipe.training.weights.sensitivity
    given = TrainingSettings(
        steps=4, batch=2, validate_every=4, augment=False, weights=Weights(5.0, sensitivity, quiet=0.25, ramp=0.0)
    )
    model = build(family.settings("virtual_fourier"), family.recipe.kept)
    before = [p.detach().clone() for p in model.parameters()]
    found = train(model, family.view, samples(runs[:1]), samples(runs[1:]), given)
    assert 0 < found.history[-1].error < np.inf
    assert (found.history[-1].parts.get("sensitivity", 0.0) > 0) is (sensitivity > 0)
    assert any(not torch.equal(a, b) for a, b in zip(before, found.model.parameters(), strict=True))
    x, u = tensor(runs[1].design[0], torch.float32), tensor(runs[1].state[0], torch.float32)
    again = predict(found.model, family.view, x, Anchor(x, u)).detach()
    np.testing.assert_allclose(again, u, rtol=1e-5, atol=1e-5 * float(u.abs().max()))
    member = family.member(100)
    settings = replace(family.recipe.hybrid, inner_steps=2, most_forward=3)
    result = hybrid(member.problem, member.start, Viewed(found.model, family.view), settings)
    assert result.J <= result.log[0].J
    assert violation(member.problem, result.x) <= FEASIBLE


def test_an_objective_that_is_not_bilinear_is_refused() -> None:
    pytest.importorskip("dolfinx_solver", reason="DOLFINx is not installed")
    from operators.problems.tensors import bilinear_objective
    from operators.recipes import double_pipe

    with pytest.raises(OperatorError, match="not linear in the state"):
        bilinear_objective(double_pipe.problem(n=6))


# -- grids ------------------------------------------------------------------------------------------------------------


def test_splines_of_a_rectangle_carry_cubics() -> None:
    grid = Rectangle((0.0, 1.0), (2.0, 2.0), (7, 5))
    points = np.random.default_rng(0).uniform([0, 1], [2, 2], (20, 2))

    def cubic(p: Any) -> Any:
        return p[:, 0] ** 3 - 2 * p[:, 0] * p[:, 1] ** 2 + p[:, 1] ** 3

    np.testing.assert_allclose(grid.spline(points) @ cubic(grid.points), cubic(points), atol=1e-10)
    np.testing.assert_array_equal(grid.at(grid.points[::-1]), np.arange(35)[::-1])
    with pytest.raises(OperatorError, match="divisor"):
        grid.at(points)


def test_means_keep_a_constant_and_are_local() -> None:
    grid = Rectangle((0.0, 0.0), (4.0, 2.0), (5, 3))
    fine = Rectangle((0.0, 0.0), (4.0, 2.0), (9, 5)).points
    means = grid.mean(fine)
    np.testing.assert_allclose(means.sum(axis=1), 1)
    far = np.abs(grid.points[:, None] - fine).max(axis=-1) >= 1
    assert not means[far].any()

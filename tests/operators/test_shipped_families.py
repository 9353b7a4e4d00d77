"""The weights of the families: made by the command on their card, small, and worth their place in the hybrid."""

from dataclasses import replace

import numpy as np
import pytest

from operators.evaluation import along
from operators.hybrid import hybrid
from operators.hybrid_settings import HybridSettings
from operators.models import card
from operators.recipes import WEIGHTS, find, shipped
from operators.trajectories import record
from optim.result import Stop

SHIPPED = sorted(path.stem for path in WEIGHTS.glob("*.safetensors") if path.stem != "inversion")
STATE = {"double_pipe": 0.03, "reactor": 0.03}
EARLY = {"double_pipe": 0.025, "reactor": 0.05}


@pytest.mark.parametrize("name", SHIPPED)
def test_the_card_tells_how_the_weights_were_made_and_that_they_are_small(name: str) -> None:
    path, recipe = WEIGHTS / f"{name}.safetensors", find(name)
    assert path.stat().st_size < 5e6
    about = card(path)
    assert f"formgrad operator train {name}" in about["command"]
    assert about["runs"][2] == len(recipe.runs) * 9 // 10  # the rest chose the best weights
    assert about["cpu_seconds"] < 1800


@pytest.mark.parametrize("name", SHIPPED)
def test_states_at_the_beginning_of_unseen_paths(name: str) -> None:
    """Where states change most: the first iterates of short runs, each from a neighbour."""
    pytest.importorskip("dolfinx_solver", reason="DOLFINx is not installed")
    recipe = find(name)
    begun = [record(recipe.member(n), n, stop=Stop(max_iter=6), **recipe.record) for n in (110, 111, 112)]
    assert along(shipped(name), recipe.member, begun).state <= EARLY[name]


@pytest.mark.slow
@pytest.mark.parametrize("name", SHIPPED)
def test_few_solves_on_unseen_members(name: str) -> None:
    """Within 1 % of what the solver alone ends with, and in less than half of its solves to there."""
    pytest.importorskip("dolfinx_solver", reason="DOLFINx is not installed")
    recipe, ratios = find(name), []
    for number in range(100, 103):
        given = recipe.member(number)
        alone = hybrid(given.problem, given.start, None, HybridSettings("solver_only", most_forward=100))
        target = alone.J + 0.01 * abs(alone.J)
        needed = next(line.forward + line.adjoint for line in alone.log if line.best <= target)
        given = recipe.member(number)
        settings = replace(recipe.hybrid, target=target, most_forward=60)
        found = hybrid(given.problem, given.start, shipped(name), settings)
        assert target >= found.J
        ratios.append((found.spent.forward + found.spent.adjoint) / needed)
    assert np.median(ratios) <= 0.5


@pytest.mark.slow
@pytest.mark.parametrize("name", SHIPPED)
def test_states_on_unseen_paths(name: str) -> None:
    pytest.importorskip("dolfinx_solver", reason="DOLFINx is not installed")
    recipe = find(name)
    unseen = [record(recipe.member(n), n, **recipe.record).thinned(recipe.keep) for n in range(100, 106)]
    assert along(shipped(name), recipe.member, unseen).state <= STATE[name]

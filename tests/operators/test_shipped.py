"""The weights that come with Formgrad: what they are worth in the hybrid and beside it, on runs they have not seen."""

import numpy as np
import pytest

from operators.evaluation import along, beside
from operators.hybrid import hybrid
from operators.hybrid_settings import HybridSettings
from operators.models import card
from operators.recipes import WEIGHTS, find, shipped
from operators.trajectories import record

# Best of L-BFGS from the members' starts, 135 to 184 forward solves each, to a relative change of 1e-10.
OPTIMA = {
    100: 234.5252616,
    101: 288.1122632,
    102: 277.5471894,
    103: 227.2041055,
    104: 291.5844808,
    105: 271.3750362,
    106: 295.1202282,
    107: 273.4448176,
    108: 289.6028799,
    109: 262.3914092,
}


def test_the_card_tells_how_the_weights_were_made_and_that_they_are_small() -> None:
    path = WEIGHTS / "inversion.safetensors"
    assert path.stat().st_size < 5e6
    about = card(path)
    assert "formgrad operator train inversion" in about["command"]
    assert about["steps"] == about["training"]["steps"]
    assert about["cpu_seconds"] < 600


@pytest.mark.slow
def test_few_solves_on_ten_unseen_members() -> None:
    """Within 0.5 % everywhere, median forward <= 10 and adjoint <= 6, total at most a fifth of L-BFGS's."""
    recipe, rows, alone = find("inversion"), [], []
    surrogate = shipped("inversion")
    for number, best in OPTIMA.items():
        given = recipe.member(number)
        settings = HybridSettings(target=1.004 * best, resolution=1e-6)
        found = hybrid(given.problem, given.start, surrogate, settings)
        assert found.J / best <= 1.005
        rows.append((found.spent.forward, found.spent.adjoint))
        given = recipe.member(number)
        solver = hybrid(given.problem, given.start, None, HybridSettings(mode="solver_only", target=1.004 * best))
        alone.append(solver.spent.solves)
    forward, adjoint = np.median(rows, axis=0)
    assert forward <= 10
    assert adjoint <= 6
    assert np.sum(rows) <= 0.2 * np.sum(alone)


@pytest.mark.slow
def test_accuracy_on_unseen_runs() -> None:
    recipe, surrogate = find("inversion"), shipped("inversion")
    unseen = [record(recipe.member(n), n, **recipe.record).thinned(recipe.keep) for n in range(100, 106)]
    path, probe = along(surrogate, recipe.member, unseen), beside(surrogate, recipe.member, unseen, recipe.probe)
    assert path.state <= 0.03
    assert probe.gradient <= 0.2
    assert probe.cosine >= 0.98

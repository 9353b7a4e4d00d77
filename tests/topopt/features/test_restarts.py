"""Several starts: what is shifted, what is kept, and going on after an interruption."""

from dataclasses import replace

import numpy as np
import pytest

from topopt.features import FeatureDesign, Settings, optimize
from topopt.features.errors import FeatureError
from topopt.features.restarts import SHIFT, Restarts, Series, jittered
from topopt.features.state import State

SHORT = Settings(iterations=6, soft=1, sharp=4, steady=3)


def test_the_first_start_is_as_it_was_given_and_the_others_are_shifted(problem):
    assert jittered(problem.start, 0, seed=5) == problem.start
    shifted = jittered(problem.start, 1, seed=5)
    assert shifted == jittered(problem.start, 1, seed=5)
    assert shifted != jittered(problem.start, 2, seed=5)
    assert shifted != jittered(problem.start, 1, seed=6)
    for before, after in zip(problem.start, shifted, strict=True):
        assert after.area == pytest.approx(before.area, rel=1e-12)
        moved = np.mean(after.bounds - before.bounds, axis=0)
        assert 0 < np.abs(moved).max() <= SHIFT * np.ptp(before.bounds, axis=0).max()


def test_the_best_start_is_kept(problem):
    starts = [replace(problem, start=jittered(problem.start, k, seed=3)) for k in range(3)]
    alone = [optimize(start, SHORT) for start in starts]
    best = min((r for r in alone if not r.invalid), key=lambda r: r.thresholded)
    found = optimize(problem, SHORT, restarts=3, seed=3)
    assert found.thresholded == best.thresholded
    assert found.shapes == best.shapes


def test_a_series_that_was_saved_goes_on_to_the_same_bits(problem, tmp_path):
    runs = Restarts(problem, SHORT, starts=2, seed=1)
    series, saved = runs.start(), None
    while not series.done:
        series, _ = runs.step(series)
        if series.iteration == 8:  # within the second start
            series.save(tmp_path / "series.npz")
            saved = Series.load(tmp_path / "series.npz")
    assert saved is not None and len(saved.states) == 2 and not saved.done
    while not saved.done:
        saved, _ = runs.step(saved)
    assert saved.iteration == series.iteration == 12
    for a, b in zip(saved.states, series.states, strict=True):
        assert (a.x == b.x).all()


def test_one_start_is_a_plain_run(problem):
    design = FeatureDesign(problem, SHORT)
    state = design.start()
    while not state.done:
        state, _ = design.step(state)
    assert optimize(problem, SHORT).thresholded == design.finish(state).thresholded


def test_what_cannot_be_is_said(problem, tmp_path):
    with pytest.raises(FeatureError, match="restarts is 0"):
        optimize(problem, SHORT, restarts=0)
    state: State = FeatureDesign(problem, SHORT).start()
    with pytest.raises(FeatureError, match="resume goes on with one start"):
        optimize(problem, SHORT, restarts=2, resume=state)
    (tmp_path / "no.npz").write_text("nothing")
    with pytest.raises(FeatureError, match="not a saved feature design"):
        Series.load(tmp_path / "no.npz")

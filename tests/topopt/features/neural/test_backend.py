"""The neural back-end: placements, derivatives, latent limits, and the call it shares with the analytic one."""

import numpy as np
import pytest
import torch

from topopt.features.backend import Backend, heaviside
from topopt.features.errors import FeatureError
from topopt.features.neural import placement
from topopt.features.neural.backend import Neural
from topopt.features.neural.model import Model
from topopt.features.shapes import Ellipse, Triangle, square
from topopt.features.validity import Rules

SHAPES = (square((0.3, 0.4), 0.2), Ellipse((0.7, 0.6), 0.1, 0.12, 0.3), Triangle(((0.6, 0.1), (0.9, 0.1), (0.7, 0.3))))


@pytest.fixture
def untrained():
    torch.manual_seed(3)
    model = Model.fresh(24, 4).eval()
    with torch.no_grad():
        model.limits.copy_(torch.tensor([[-2.0], [3.0]]).repeat(1, 15))
    return Neural(model, double=True)


def points(count=60, seed=0):
    return np.random.default_rng(seed).uniform(0, 1, (count, 2))


@pytest.mark.parametrize("published", [False, True])
def test_derivatives(untrained, published):
    backend = Neural(untrained.model, published=published, double=True)
    rng = np.random.default_rng(1)
    at, x = points(), backend.variables(SHAPES)
    x = x + 0.05 * rng.standard_normal(x.shape)
    weights = rng.standard_normal((3, len(at)))
    exact = backend.pullback(at, x, 30.0, weights)
    step = 1e-6
    for i in range(len(x)):
        e = step * np.eye(len(x))[i]
        ahead, behind = (float((weights * backend.heaviside(at, x + s * e, 30.0)).sum()) for s in (1, -1))
        assert exact[i] == pytest.approx((ahead - behind) / (2 * step), rel=2e-5, abs=2e-6), i


def test_chunks_do_not_matter(untrained):
    at, x = points(), untrained.variables(SHAPES)
    small = Neural(untrained.model, double=True, chunk=7)
    weights = np.random.default_rng(2).standard_normal((3, len(at)))
    assert small.heaviside(at, x, 40.0) == pytest.approx(untrained.heaviside(at, x, 40.0), abs=1e-14)
    assert small.pullback(at, x, 40.0, weights) == pytest.approx(untrained.pullback(at, x, 40.0, weights), abs=1e-11)


def test_placement_moves_turns_and_scales_the_field(untrained):
    x = untrained.variables(SHAPES[:1])
    local = points(50) - 0.5
    angle, scale, offset = 0.7, 3.0, np.array([5.0, -2.0])
    # xi = Q(t) (x - o) / s: a feature with rotation t is turned by -t in the plane.
    c, s = np.cos(angle), np.sin(angle)
    moved = scale * local @ np.array([[c, s], [-s, c]]) + offset
    first, second = x.copy(), x.copy()
    first[:4] = 0, 0, 0.4, 0
    second[:4] = *offset, 0.4 * scale, -angle
    assert untrained.heaviside(moved, second, 20 / scale) == pytest.approx(
        untrained.heaviside(local, first, 20.0), abs=1e-12
    )


def test_far_away_is_nothing_and_the_way_there_is_continuous(untrained):
    x = untrained.variables(SHAPES[:1])
    x[:4] = 0, 0, 0.2, 0
    line = np.stack([np.linspace(0, 2, 4001), np.zeros(4001)], 1)
    h = untrained.heaviside(line, x, 50.0)[0]
    assert h[-1] == 0
    border = np.abs(line[:, 0] - 0.2) < 0.01
    assert np.abs(np.diff(h[border])).max() < 0.01  # slope at most k / 4 = 12.5 per mm, steps of 0.0005 mm
    published = Neural(untrained.model, published=True, double=True).heaviside(line, x, 50.0)[0]
    assert (published[line[:, 0] > 0.2 + 1e-9] == 0).all()
    assert (published[line[:, 0] < 0.2 - 1e-9] > 0).all()


def test_it_is_a_backend(untrained):
    assert isinstance(untrained, Backend)
    h = heaviside(points(), SHAPES, untrained, 30.0)
    assert h.shape == (3, 60)
    assert h.min() >= 0 and h.max() <= 1
    assert untrained.heaviside(points(), np.zeros(0), 30.0).shape == (0, 60)
    shapes = untrained.shapes(untrained.variables(SHAPES))
    assert len(shapes) == 3


def test_bounds_hold_latents_to_the_limits_and_a_fifth_more(untrained):
    x = untrained.variables(SHAPES)
    box = untrained.box(x, np.zeros(2), np.array([2.0, 1.0]), 0.02)
    assert box.lower.shape == box.upper.shape == box.move.shape == x.shape
    assert (box.lower <= x).all() and (x <= box.upper).all()
    rows = box.lower.reshape(3, 19), box.upper.reshape(3, 19)
    assert rows[0][:, 4:] == pytest.approx(np.full((3, 15), -2.4))
    assert rows[1][:, 4:] == pytest.approx(np.full((3, 15), 3.6))
    assert rows[0][0, :4] == pytest.approx([-0.12, -0.12, 0.06, -np.pi])
    assert rows[1][0, :4] == pytest.approx([2.12, 1.12, 1.5, np.pi])
    assert (box.move > 0).all()


def test_large_features_turn_and_bend_less_in_one_step(untrained):
    small, large = square((0.5, 0.5), 0.1), square((0.5, 0.5), 0.8)
    x, h = untrained.variables([small, large]), 0.01
    move = untrained.box(x, np.zeros(2), np.ones(2), h).move.reshape(2, 19)
    assert move[0, :3] == pytest.approx(move[1, :3])
    assert move[0, 3:] == pytest.approx(8 * move[1, 3:])
    # The farthest point of a square is 0.71 of its edge from the middle: turning moves it by less than an element.
    assert (move[:, 3] * np.array([0.1, 0.8]) * 0.71 < h).all()


def test_corrections_draw_towards_encodings(untrained):
    x = untrained.variables(SHAPES) + 0.1
    rules = Rules(edge=0.03, radius=0.01)
    model = untrained.model
    assert Neural(model, pull=0.0, double=True).corrected(x, rules) == pytest.approx(x)
    assert Neural(model, pull=1.0, tolerance=1e3, double=True).corrected(x, rules) == pytest.approx(x)
    whole = Neural(model, pull=1.0, tolerance=0.0, double=True).corrected(x, rules)
    half = Neural(model, pull=0.5, tolerance=0.0, double=True).corrected(x, rules)
    assert half == pytest.approx(0.5 * (x + whole))
    assert whole.reshape(3, 19)[:, :4] == pytest.approx(x.reshape(3, 19)[:, :4])


def test_only_some_of_the_features(untrained):
    x = untrained.variables(SHAPES)
    fewer, which = untrained.kept(x, np.array([True, False, True]))
    assert which.sum() == 38
    at = points()
    assert fewer.heaviside(at, x[which], 30.0) == pytest.approx(untrained.heaviside(at, x, 30.0)[[0, 2]])


def test_wrong_pull():
    with pytest.raises(FeatureError, match="between 0 and 1"):
        Neural(pull=1.5)


def test_free_numbers_stay_within_bounds():
    low, high = np.array([-1.0, 0.05, 2.0]), np.array([1.0, 1.5, 3.0])
    value = np.array([0.3, 0.2, 2.9])
    assert placement.bounded(placement.free(value, low, high), low, high) == pytest.approx(value)
    assert placement.bounded(np.zeros(3), low, high) == pytest.approx([0.0, 0.775, 2.5])
    extreme = placement.bounded(np.array([-1e3, 1e3, 0.0]), low, high)
    assert (extreme >= low).all() and (extreme <= high).all()
    assert np.isfinite(placement.free(low, low, high)).all()


def test_limits_are_checked():
    with pytest.raises(FeatureError, match="each below its high"):
        placement.Limits((0, 0, 1, 0), (1, 1, 1, 1))
    with pytest.raises(FeatureError, match="positive"):
        placement.Limits((0, 0, -1, 0), (1, 1, 1, 1))

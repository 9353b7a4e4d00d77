"""Validity: what is wrong is named, corrected with little change, and stays as it is when it is valid."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from topopt.features import Capsule, Ellipse, Quadrilateral, RoundedPolygon, Slot
from topopt.features.bridges import bridges, widened
from topopt.features.errors import FeatureError
from topopt.features.shapes import flat, square, unflat
from topopt.features.validity import Rules, constraints, corrected, violations

RULES = Rules(edge=0.3, radius=0.1, length=0.15)
BOX = np.array([[(0, 0), (4, 0)], [(4, 0), (4, 3)], [(4, 3), (0, 3)], [(0, 3), (0, 0)]], float)


def test_a_valid_shape_is_returned_as_it_is():
    shapes = (square((0, 0), 1.0, 0.25), Ellipse((0, 0), 1, 0.5), Capsule((0, 0), (1, 0), 0.2))
    assert corrected(shapes, RULES) == shapes
    assert not any(violations(shape, RULES) for shape in shapes)


@pytest.mark.parametrize(
    ("shape", "word"),
    [
        (square((0, 0), 0.2, 0.45), "an edge is 0.2 mm"),
        (square((0, 0), 1.0, 0.05), "a radius is 0.05 mm"),
        (RoundedPolygon(((0, 0), (2, 0), (1.2, 0.8), (2, 2), (0, 2)), 0.3), "turning angle"),
        (Quadrilateral(((0, 0), (0, 1), (1, 1), (1, 0)), 0.25), "clockwise"),
        (RoundedPolygon([(np.cos(a), np.sin(a)) for a in 4 * np.pi / 5 * np.arange(5)], 0.2), "crosses itself"),  # type: ignore[arg-type]
        (Ellipse((0, 0), 2, 0.2), "a radius is 0.02 mm"),
        (Capsule((0, 0), (1, 0), 0.05), "a radius is 0.05 mm"),
    ],
)
def test_what_is_wrong_is_named(shape, word):
    assert any(word in reason for reason in violations(shape, RULES))


@given(st.lists(st.floats(-0.25, 0.25), min_size=8, max_size=8), st.floats(0.3, 1.0))
@settings(max_examples=60, deadline=None)
def test_disturbed_squares_are_mended(disturbance, side):
    bad = square((1, 1), side, 0.25)
    vertices = np.array(bad.vertices) + np.reshape(disturbance, (4, 2))
    (mended,) = corrected([Quadrilateral(tuple(map(tuple, vertices.tolist())), 0.1)], RULES, 2000)
    assert not violations(mended, RULES, 0.999)


def test_correction_is_small_where_little_is_wrong():
    bad = square((0, 0), 0.298, 0.4)
    (mended,) = corrected([bad], RULES)
    assert 0 < np.abs(mended.parameters - bad.parameters).max() < 0.003


def test_bars_slots_and_ellipses_become_wide_enough():
    shapes = (Capsule((0, 0), (1, 0), 0.05), Slot((0, 0), 1, 0.1), Ellipse((0, 0), 2, 0.2), Ellipse((0, 0), 0.02, 0.05))
    for shape in corrected(shapes, RULES):
        assert not violations(shape, RULES, 1 - 1e-12)


def test_constraint_rows_agree_with_differences():
    shapes = (
        Quadrilateral(((0, 0), (0.5, 0.1), (0.45, 0.4), (0.05, 0.5)), (0.1, 0.2, 0.3, 0.4)),
        Capsule((0, 0), (1, 0), 0.2),
        RoundedPolygon(((2, 0), (3, 0.1), (3.2, 1), (2.5, 1.4), (2, 0.9)), 0.2),
    )
    values, rows = constraints(shapes, RULES, 1e9)
    assert rows.shape == (12 + 15, 12 + 5 + 15)
    x = flat(shapes)

    def value(x):
        return constraints(unflat(x, shapes), RULES, 1e9)[0]

    expected = np.stack([(value(x + e) - value(x - e)) / 2e-6 for e in 1e-6 * np.eye(len(x))], 1)
    assert rows == pytest.approx(expected, abs=1e-5 * np.abs(expected).max())
    near, _ = constraints(shapes, RULES, 0.1)
    assert len(near) == (values > -0.1).sum() < len(values)


def test_bridges_are_found_with_their_width():
    shapes = (square((1, 1), 1.0, 0.1), square((2.25, 1), 1.0, 0.1), square((1.5, 2.2), 1.0, 0.1))
    found = bridges(shapes, BOX, 0.28)
    widths = {(b.first, b.second): b.width for b in found}
    assert widths == pytest.approx(
        {(0, 1): 0.25, (1, 0): 0.25, (0, 2): 0.2, (2, 0): 0.2, (1, 2): 0.2, (2, 1): 0.2}, abs=1e-12
    )
    assert bridges((square((0.8, 1), 1.0),), BOX, 0.4)[0].width == pytest.approx(0.3)
    assert bridges((square((0.4, 1), 1.0),), BOX, 0.4) == []  # it opens the border
    assert bridges((square((1, 1), 1.0), square((1.9, 1), 1.0)), BOX, 0.4) == []  # they overlap


def test_narrow_bridges_are_widened_without_a_change_of_form():
    shapes = (square((1, 1), 1.0, 0.1), square((2.1, 1.05), 1.0, 0.1), Ellipse((1.6, 2.3), 0.5, 0.3))
    apart = widened(shapes, BOX, 0.25, 20)
    assert bridges(apart, BOX, 0.249) == []
    assert [s.area for s in apart] == pytest.approx([s.area for s in shapes], rel=1e-12)


def test_impossible_rules_are_refused():
    with pytest.raises(FeatureError, match="fractions"):
        Rules(1, 1, fractions=(0.4, 0.3))
    with pytest.raises(FeatureError, match="sine"):
        Rules(1, 1, sine=0.9)

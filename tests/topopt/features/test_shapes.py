"""Shapes: parameters to and fro, radii, areas and outlines."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from topopt.cad.edges import Arc
from topopt.features import Capsule, Ellipse, Quadrilateral, RoundedPolygon, Slot, Triangle
from topopt.features.errors import FeatureError
from topopt.features.offset import grown
from topopt.features.shapes import flat, square, unflat

CONCAVE = RoundedPolygon(((0, 0), (4, 0.1), (4, 4.2), (2, 1.5), (0, 4)), (0.1, 0.3, 0.4, 0.2, 0.45))
ALL = (
    Quadrilateral(((0, 0), (4, 0.3), (3.5, 3), (0.2, 2.5)), (0.1, 0.3, 0.4, 0.2)),
    Triangle(((0, 0), (3, 0), (1, 2)), 0.2),
    CONCAVE,
    Ellipse((1, 1), 2, 0.5, 0.4),
    Ellipse((1, 1), 0.5, 2, 0.4),
    Capsule((0, 0), (3, 1), 0.5),
    Slot((1, 1), 3, 1, 0.3),
)


def test_parameters_return_the_same_shapes():
    x = flat(ALL)
    assert unflat(x, ALL) == ALL
    assert len(x) == 12 + 9 + 15 + 4 * 5


@pytest.mark.parametrize("shape", ALL, ids=lambda s: type(s).__name__)
def test_area_is_that_of_the_outline(shape):
    assert shape.area == pytest.approx(shape.wires().area, rel=1e-12)


def test_areas_have_their_closed_forms():
    r = 0.25 * 2.0  # corner radius of a square of side 2 with tangent length a quarter of the side
    assert square((1, 1), 2.0).area == pytest.approx(4 - (4 - np.pi) * r**2, rel=1e-14)
    assert square((1, 1), 2.0).radii == pytest.approx([r] * 4, rel=1e-14)
    assert Slot((0, 0), 5, 2).area == pytest.approx(np.pi + 6, rel=1e-14)


@given(st.lists(st.floats(0, 0.5), min_size=5, max_size=5))
@settings(max_examples=30, deadline=None)
def test_radii_and_fractions_are_inverse(fractions):
    shape = RoundedPolygon(CONCAVE.vertices, tuple(fractions))
    again = RoundedPolygon.with_radii(shape.vertices, shape.radii)
    assert again.fractions == pytest.approx(shape.fractions, abs=1e-12)


def test_outline_is_tangent_everywhere_and_keeps_its_radii():
    wire = CONCAVE.wires()
    assert np.abs(wire.turns).max() < 1e-9
    assert wire.is_simple()
    assert sorted(edge.radius for edge in wire.edges if isinstance(edge, Arc)) == pytest.approx(sorted(CONCAVE.radii))


def test_fraction_of_one_half_makes_a_square_a_circle():
    circle = square((0, 0), 2.0, 0.5)
    assert circle.area == pytest.approx(np.pi, rel=1e-12)
    assert len(circle.wires().edges) == 4


def test_growing_moves_every_edge():
    big = grown(square((0, 0), 2.0), 0.1)
    assert np.ptp(big.bounds, axis=0) == pytest.approx([2.2, 2.2], rel=1e-12)
    assert grown(Ellipse((0, 0), 2, 1), 0.5).area == pytest.approx(2.5 * 1.5 * np.pi)
    assert grown(Slot((0, 0), 3, 1), 0.1).area == pytest.approx(grown(Slot((0, 0), 3, 1).capsule, 0.1).area)


@pytest.mark.parametrize(
    ("make", "word"),
    [
        (lambda: RoundedPolygon(((0, 0), (1, 0))), "three points"),
        (lambda: Triangle(((0, 0), (1, 0), (1, 1), (0, 1))), "RoundedPolygon"),
        (lambda: square((0, 0), 1.0, 0.6), "between 0 and 0.5"),
        (lambda: square((0, np.nan), 1.0), "finite"),
        (lambda: RoundedPolygon.with_radii(((0, 0), (1, 0), (0, 1)), 5.0), "radius 5 mm at vertex 0"),
        (lambda: Ellipse((0, 0), 1, -1), "must be positive"),
        (lambda: Slot((0, 0), 1, 2), "swap"),
        (lambda: unflat([1.0, 2.0], ALL), "parameters"),
    ],
)
def test_wrong_shapes_say_what_to_change(make, word):
    with pytest.raises(FeatureError, match=word):
        make()

"""The shape code: its layout, what counts as a shape, and the way from any fifteen numbers to one."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from topopt.features.errors import FeatureError
from topopt.features.neural import codes, outlines
from topopt.features.neural.codes import Kind
from topopt.features.shapes import Capsule, Ellipse, Quadrilateral, RoundedPolygon, Triangle, square

SQUARE = np.array([[-0.5, -0.5], [0.5, -0.5], [0.5, 0.5], [-0.5, 0.5]])


def test_layout_of_a_quadrilateral():
    code = codes.pack_polygon(SQUARE, np.array([0.03, 0.06, 0.09, 0.12]))
    # The first radius entry rounds the second vertex, the last one the first; entries are a third of the radius.
    expected = [1, 0, 0, 0, 0, 0, 0, 0.5, 0.5, -0.5, 0.5, 0.02, 0.03, 0.04, 0.01]
    assert code == pytest.approx(expected)
    vertices, radii = codes.polygon_of(code, Kind.QUADRILATERAL)
    assert vertices == pytest.approx(SQUARE)
    assert radii == pytest.approx([0.03, 0.06, 0.09, 0.12])


def test_layout_of_a_triangle_and_an_ellipse():
    triangle = codes.pack_polygon(np.vstack([codes.BASE, [[0.1, 0.4]]]), np.array([0.03, 0.06, 0.09]))
    assert triangle == pytest.approx([0.5, 0, 0.1, 0.4, 0.02, 0.03, 0.01, 0, 0, 0, 0, 0, 0, 0, 0])
    assert codes.pack_ellipse(1.2)[:3] == pytest.approx([0, 0.8, 0])
    assert [codes.kind_of(np.full(15, c)) for c in (0.2, 0.3, 0.8)] == list(Kind)


def test_other_polygons_have_no_code():
    with pytest.raises(codes.DesignError, match="5 vertices"):
        codes.pack_polygon(np.zeros((5, 2)), np.zeros(5))
    with pytest.raises(codes.DesignError, match="base edge"):
        codes.pack_polygon(SQUARE + 1, np.zeros(4))


def test_tangent_of_half_the_angle():
    # Right angles: 1. An equilateral triangle: tan 30 degrees.
    assert codes.half_tangents(SQUARE) == pytest.approx(np.ones(4))
    equilateral = np.array([[0, 0], [1, 0], [0.5, np.sqrt(3) / 2]])
    assert codes.half_tangents(equilateral) == pytest.approx(np.full(3, 1 / np.sqrt(3)))


def test_an_arc_that_cuts_off_the_opposite_corner_is_not_simple():
    # A dart: the tip at the lower left would be rounded beyond the reflex vertex.
    dart = np.array([[-0.5, -0.5], [0.5, -0.5], [-0.2, -0.2], [-0.5, 0.5]])
    assert codes.is_simple(dart, np.array([0.05, 0.01, 0.01, 0.01]))
    assert not codes.is_simple(dart, np.array([0.75, 0.01, 0.01, 0.01]))
    bow = SQUARE[[0, 1, 3, 2]]
    assert not codes.is_simple(bow, np.full(4, 0.01))


@settings(max_examples=150, deadline=None)
@given(st.lists(st.floats(-3, 3), min_size=15, max_size=15))
def test_any_numbers_have_a_valid_code_nearby_which_stays(numbers):
    found = outlines.nearest_code(np.array(numbers))
    assert codes.is_valid(found)
    assert outlines.nearest_code(found) == pytest.approx(found, abs=1e-9)


@pytest.mark.parametrize(
    "shape",
    [
        square((0.3, -2.0), 0.7, 0.3),
        Quadrilateral(((1.0, 1.0), (3.0, 1.2), (2.8, 2.6), (0.9, 2.7)), (0.1, 0.2, 0.3, 0.4)),
        Triangle(((0.0, 0.0), (-2.0, 0.5), (-0.7, -1.4)), (0.2, 0.1, 0.3)),
        Ellipse((4.0, 1.0), 2.0, 1.5, 0.4),
        Ellipse((4.0, 1.0), 1.5, 2.1, -1.2),
    ],
)
def test_a_shape_comes_back_from_its_code(shape):
    placement, code = outlines.placed(shape)
    again = outlines.outline(placement, code)
    assert again.area == pytest.approx(shape.area, rel=1e-12)
    assert again.bounds == pytest.approx(shape.bounds, abs=1e-12)
    if isinstance(shape, RoundedPolygon):
        assert sorted(again.radii) == pytest.approx(sorted(shape.radii))


def test_a_long_ellipse_keeps_its_area():
    slender = Ellipse((0.0, 0.0), 3.0, 1.0, 0.2)
    assert outlines.outline(*outlines.placed(slender)).area == pytest.approx(slender.area)


def test_bars_and_hexagons_are_refused():
    with pytest.raises(FeatureError, match="not a Capsule: use the analytic one"):
        outlines.placed(Capsule((0, 0), (1, 0), 0.1))
    hexagon = RoundedPolygon(tuple((float(np.cos(a)), float(np.sin(a))) for a in np.arange(6)), 0.1)
    with pytest.raises(FeatureError, match="RoundedPolygon"):
        outlines.placed(hexagon)

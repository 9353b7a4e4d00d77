"""Outlines fitted to fields: known shapes are found again from beside them."""

import numpy as np
import pytest
from scipy.special import expit

from topopt.features.distance import signed_distance
from topopt.features.neural import codes, fitting, outlines, samples
from topopt.features.neural.codes import Kind
from topopt.features.shapes import Ellipse, RoundedPolygon


def field(shape):
    return expit(fitting.SLOPE * signed_distance(fitting.grid(), [shape])[0])


@pytest.mark.parametrize("kind", [Kind.TRIANGLE, Kind.QUADRILATERAL])
def test_polygons_are_found_again(kind):
    rng = np.random.default_rng(21)
    found = 0
    for code in samples.draw_codes(rng, 6, kind):
        shape = outlines.local_outline(code)
        assert isinstance(shape, RoundedPolygon)
        beside = shape.with_parameters(
            np.r_[
                np.ravel(shape.vertices) + 0.03 * rng.standard_normal(2 * len(shape.vertices)),
                np.clip(np.array(shape.fractions) + 0.05, 0, 0.5),
            ]
        )
        again = fitting.fitted(beside, field(shape))
        assert np.mean((field(again) - field(shape)) ** 2) < 0.02 * np.mean((field(beside) - field(shape)) ** 2)
        found += abs(again.area - shape.area) < 2e-3
    assert found >= 5


def test_ellipses_are_found_again():
    shape, beside = Ellipse((0.02, -0.03), 0.5, 0.35, 0.1), Ellipse((0.0, 0.0), 0.45, 0.4, 0.0)
    again = fitting.fitted(beside, field(shape))
    assert isinstance(again, Ellipse)
    assert again.centre == pytest.approx(shape.centre, abs=1e-3)
    assert (again.a, again.b) == pytest.approx((0.5, 0.35), abs=1e-3)


def test_a_field_of_nothing_leaves_the_shape_sound():
    shape = outlines.local_outline(codes.pack_polygon(np.vstack([codes.BASE, [[0.0, 0.5]]]), np.full(3, 0.05)))
    again = fitting.fitted(shape, np.zeros(len(fitting.grid())))
    assert again.area > 0


def test_moving_a_shape():
    shape = Ellipse((0.0, 0.0), 0.5, 0.3, 0.2)
    moved = outlines.moved(shape, np.array([1.0, 2.0, 3.0, 0.5]))
    assert moved == Ellipse((1.0, 2.0), 1.5, 0.3 * 3, 0.2 - 0.5)
    corner = outlines.local_outline(codes.pack_polygon(np.vstack([codes.BASE, [[0.0, 0.5]]]), np.full(3, 0.05)))
    turned = outlines.moved(corner, np.array([1.0, 2.0, 2.0, -np.pi / 2]))
    # v = (-.5, -.5), turned by 90 degrees to (.5, -.5), doubled and moved.
    assert turned.vertices[0] == pytest.approx((2.0, 1.0))

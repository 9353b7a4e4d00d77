"""The training data: reproducible, valid, spread as stated, and its H that of the exact outlines."""

import numpy as np
import pytest

from topopt.features.distance import signed_distance
from topopt.features.neural import codes, outlines, samples
from topopt.features.neural.codes import Kind

HOME = np.array([0.0, 0.0, 1.0, 0.0])
POLYGONS = (Kind.TRIANGLE, Kind.QUADRILATERAL)


def test_the_same_state_draws_the_same_data():
    first, second, other = (samples.draw(np.random.default_rng(seed), 5, 7) for seed in (3, 3, 4))
    assert all(np.array_equal(a, b) for a, b in zip(first, second, strict=True))
    assert not np.array_equal(first[0], other[0])
    assert [part.shape for part in first] == [(15, 15), (15, 7, 2), (15, 7)]


@pytest.mark.parametrize("kind", list(Kind))
def test_every_shape_is_valid(kind):
    drawn = samples.draw_codes(np.random.default_rng(0), 400, kind)
    assert drawn.shape == (400, 15)
    assert all(codes.is_valid(code) and codes.kind_of(code) is kind for code in drawn)


@pytest.mark.parametrize("kind", POLYGONS)
def test_arcs_never_overlap(kind):
    vertices, radii = codes.polygon_of(samples.draw_codes(np.random.default_rng(1), 2000, kind), kind)
    tangent = radii / codes.half_tangents(vertices)
    edge = np.linalg.norm(np.roll(vertices, -1, 1) - vertices, axis=-1)
    assert (tangent + np.roll(tangent, -1, 1) <= edge + 1e-12).all()
    assert (codes.fractions(vertices, radii) <= 0.5 + 1e-12).all()
    assert radii.min() >= codes.SMALLEST_RADIUS
    assert radii.max() <= codes.LARGEST_RADIUS


def test_quadrilaterals_fill_their_ranges():
    drawn = samples.draw_codes(np.random.default_rng(2), 4000, Kind.QUADRILATERAL)
    vertices, _ = codes.polygon_of(drawn, Kind.QUADRILATERAL)
    assert codes.area(vertices).min() >= codes.SMALLEST_AREA
    box = codes.BOXES[Kind.QUADRILATERAL]
    free = drawn[:, 7:11]
    assert (free >= box[:, 0]).all() and (free <= box[:, 1]).all()
    assert (np.ptp(free, axis=0) > 0.97 * (box[:, 1] - box[:, 0])).all()


def test_half_of_the_corners_are_sharp():
    # A radius is in the lowest fifth of its range with probability 1/2 + 1/2 x 1/5.
    rng = np.random.default_rng(3)
    triangles = codes.polygon_of(samples.draw_codes(rng, 4000, Kind.TRIANGLE), Kind.TRIANGLE)
    largest = codes.half_tangents(triangles[0]) * 0.5 * codes.shorter_edges(triangles[0])
    share = (triangles[1] - codes.SMALLEST_RADIUS) / (largest - codes.SMALLEST_RADIUS)
    # The range itself is random and ends at `largest` or before.
    assert 0.6 < (share < 0.2).mean() < 0.75
    assert share.max() > 0.9


@pytest.mark.parametrize("kind", list(Kind))
def test_the_field_is_that_of_the_exact_outline(kind):
    rng = np.random.default_rng(4)
    drawn = samples.draw_codes(rng, 20, kind)
    points = samples.draw_points(rng, drawn, kind, 300)
    h = samples.target(drawn, kind, points)
    for code, place, value in zip(drawn, points, h, strict=True):
        d = signed_distance(place, [outlines.outline(HOME, code)])[0]
        if kind is Kind.ELLIPSE:  # an approximation, except for its zero
            assert ((value > 0.5) == (d > 0)).all()
        else:
            assert value == pytest.approx(1 / (1 + np.exp(-20 * d)), abs=1e-6)


def test_where_the_points_are():
    rng = np.random.default_rng(5)
    drawn = samples.draw_codes(rng, 200, Kind.QUADRILATERAL)
    points = samples.draw_points(rng, drawn, Kind.QUADRILATERAL, 300)
    assert np.abs(points).max() <= 1
    vertices, _ = codes.polygon_of(drawn, Kind.QUADRILATERAL)
    around = points[:, 100:200] - vertices.mean(1, keepdims=True)
    to_vertex = np.linalg.norm(points[:, 100:200, None] - vertices[:, None], axis=-1).min(-1)
    # Rayleigh with sigma 0.2: 86 of 100 within two sigma of their own vertex; the box and other vertices only help.
    assert (to_vertex < 0.4).mean() > 0.86
    assert np.linalg.norm(around, axis=-1).mean() > 0.4
    spread = (points[:, :100] - vertices.mean(1, keepdims=True)).std((0, 1))
    assert (spread > 0.38).all() and (spread < 0.5).all()  # 0.5, less what the box cuts
    assert points[:, 200:].var((0, 1)) == pytest.approx([1 / 3, 1 / 3], rel=0.03)

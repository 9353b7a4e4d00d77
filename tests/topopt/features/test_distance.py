"""Distances are exact: against dense outlines, closed forms, finite differences, and torch."""

import numpy as np
import pytest
from scipy.spatial import KDTree

from tests.topopt.features.test_shapes import ALL, CONCAVE
from topopt.features import Capsule, Ellipse, RoundedPolygon
from topopt.features.corners import corners, corners_vjp
from topopt.features.distance import distance_vjp, signed_distance
from topopt.features.errors import FeatureError
from topopt.features.shapes import flat, square, unflat

CLOCKWISE = RoundedPolygon(CONCAVE.vertices[::-1], tuple(np.ravel(CONCAVE.fractions)[::-1]))


@pytest.mark.parametrize("shape", [*ALL, CLOCKWISE], ids=lambda s: type(s).__name__)
def test_distance_is_that_of_a_dense_outline(shape):
    wire = shape.wires()
    share = np.linspace(0, 1, 4000, endpoint=False)
    outline = np.array([edge.point(float(s)) for edge in wire.edges for s in share])
    points = np.random.default_rng(0).uniform(-2, 6, (1500, 2))
    away, _ = KDTree(outline).query(points)
    expected = np.where(wire.contains(points), away, -away)
    error = np.abs(signed_distance(points, [shape])[0] - expected)
    assert error.max() < 1e-3 * wire.size
    assert signed_distance(outline, [shape]) == pytest.approx(0, abs=1e-9)


def test_closed_forms():
    points = np.array([[0.0, 0.0], [3.0, 0.0], [0.5, 0.0], [0.0, 2.0]])
    assert signed_distance(points, [Ellipse((0, 0), 1, 1)])[0] == pytest.approx([1, -2, 0.5, -1], abs=1e-15)
    assert signed_distance(points, [Ellipse((0, 0), 2, 1)])[0] == pytest.approx(
        [1, -1, np.sqrt((2 / 3 - 0.5) ** 2 + 1 - 1 / 9), -1], abs=1e-15
    )
    assert signed_distance(points, [square((0, 0), 2.0, 0.0)])[0] == pytest.approx([1, -2, 0.5, -1], abs=1e-15)
    assert signed_distance(points, [Capsule((0, 0), (2, 0), 0.5)])[0] == pytest.approx([0.5, -0.5, 0.5, -1.5], abs=0)


@pytest.mark.parametrize("ratio", [1.0, 1.0000001, 3.0, 1e3, 1e6])
def test_ellipse_survives_its_extremes(ratio):
    a, b = ratio, 1.0
    s = np.linspace(0, 2 * np.pi, 401)
    on = np.stack([a * np.cos(s), b * np.sin(s)], 1)
    normal = np.stack([np.cos(s) / a, np.sin(s) / b], 1)
    normal /= np.hypot(*normal.T)[:, None]
    for away in (1e-8, 0.5, 40.0):
        assert signed_distance(on + away * normal, [Ellipse((0, 0), a, b)])[0] == pytest.approx(
            -away, rel=1e-6, abs=2e-10 * ratio
        )


def test_corner_derivative_agrees_with_differences():
    rng = np.random.default_rng(3)
    for n in (3, 4, 6):
        v, f, w = rng.normal(size=(n, 2)), rng.uniform(0.05, 0.45, n), rng.normal(size=(n, 7))
        found = np.r_[corners_vjp(v, f, w)[0].ravel(), corners_vjp(v, f, w)[1]]
        x = np.r_[v.ravel(), f]

        def value(x, n=n, w=w):
            return (corners(x[: 2 * n].reshape(n, 2).copy(), x[2 * n :].copy())[:, :7] * w).sum()

        expected = [(value(x + e) - value(x - e)) / 2e-6 for e in 1e-6 * np.eye(3 * n)]
        assert found == pytest.approx(expected, rel=1e-6, abs=1e-6 * np.abs(expected).max())


def test_distance_derivative_agrees_with_differences():
    rng = np.random.default_rng(1)
    points, weights = rng.uniform(-2, 6, (60, 2)), rng.normal(size=(len(ALL), 60))
    x = flat(ALL)

    def value(x):
        return (signed_distance(points, unflat(x, ALL)) * weights).sum()

    found = distance_vjp(points, ALL, weights)
    expected = np.array([(value(x + e) - value(x - e)) / 2e-6 for e in 1e-6 * np.eye(len(x))])
    assert np.abs(found - expected).max() < 1e-5 * np.abs(expected).max()


def test_nearly_straight_corners_stay_finite():
    for bend in (0.0, 1e-12, 1e-6, -1e-9):
        shape = RoundedPolygon(((0, 0), (1, -bend), (2, 0), (2, 2), (0, 2)), 0.3)
        points = np.array([[1.0, 0.5], [1.0, -0.5]])
        assert signed_distance(points, [shape])[0] == pytest.approx([0.5, -0.5], abs=1e-5)
        assert np.isfinite(distance_vjp(points, [shape], np.ones((1, 2)))).all()


def test_points_of_a_wrong_shape_are_refused():
    with pytest.raises(FeatureError, match="points"):
        signed_distance(np.zeros((3, 3)), ALL)


class TestTorch:
    points = np.random.default_rng(2).uniform(-2, 6, (7, 2))

    @staticmethod
    def cases():
        import torch

        from topopt.features import torch_distance as t

        torch.set_num_threads(1)
        ellipse, capsule = ALL[3], ALL[5]
        polygon = (torch.tensor(np.array(CONCAVE.vertices)), torch.tensor(np.array(CONCAVE.fractions)))
        return [
            (t.polygon_distance, polygon, CONCAVE),
            (t.ellipse_distance, (torch.tensor(ellipse.parameters),), ellipse),
            (t.capsule_distance, (torch.tensor(capsule.parameters),), capsule),
        ]

    def test_agrees_with_the_compiled_loops(self):
        import torch

        for function, parameters, shape in self.cases():
            found = function(torch.tensor(self.points), *parameters).numpy()
            assert found == pytest.approx(signed_distance(self.points, [shape])[0], abs=1e-14)

    def test_batches(self):
        import torch

        function, parameters, _ = self.cases()[0]
        many = [torch.stack([p, p + 0.01, p]) for p in parameters]
        found = function(torch.tensor(self.points), *many)
        assert found.shape == (3, 7)
        assert torch.equal(found[0], found[2])
        assert torch.equal(found[0], function(torch.tensor(self.points), *parameters))

    def test_is_differentiable_twice(self):
        import torch

        for function, parameters, _ in self.cases():
            inputs = [t.clone().requires_grad_() for t in (torch.tensor(self.points[:3]), *parameters)]
            assert torch.autograd.gradcheck(function, inputs)
            assert torch.autograd.gradgradcheck(function, inputs)


@pytest.mark.parametrize("turn", [0.0, 0.25 * np.pi, 0.5 * np.pi])
def test_points_on_the_chords_of_rounded_corners_are_inside(turn):
    # The parity of crossings and the segment between chord and arc must agree on which side such a point lies.
    c, s = np.cos(turn), np.sin(turn)
    at = np.array([[-7, -5], [7, -5], [7, 5], [-7, 5]]) @ np.array([[c, s], [-s, c]]) + [11, 10]
    shape = RoundedPolygon(tuple(map(tuple, at.tolist())), (0.1,) * 4)
    corner = shape.corners
    share = np.linspace(0.05, 0.95, 19)[:, None, None]
    points = ((1 - share) * corner[:, 0:2] + share * corner[:, 2:4]).reshape(-1, 2)
    d = signed_distance(points, [shape])[0]
    assert (d > 0).all()
    torch = pytest.importorskip("torch")
    from topopt.features.torch_distance import polygon_distance

    given = [torch.as_tensor(np.array(v), dtype=torch.float64) for v in (points, shape.vertices, shape.fractions)]
    assert polygon_distance(*given).numpy() == pytest.approx(d, abs=1e-12)
    grid = np.stack(np.meshgrid(np.arange(22) + 0.5, np.arange(20) + 0.5, indexing="ij"), -1).reshape(-1, 2)
    shaken = signed_distance(grid + np.array([1e-7, 2e-7]), [shape])
    assert signed_distance(grid, [shape]) == pytest.approx(shaken, abs=1e-6)

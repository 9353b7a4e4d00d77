"""Lighter meshes say how far they are off, and bridges how narrow they are."""

import numpy as np
import pytest

from topopt.cad.body import Surface
from topopt.cad.bridge import narrowest_bridge
from topopt.cad.decimate import decimated
from topopt.cad.measure import open_edges
from topopt.cad.region import Region
from topopt.cad.wires import circle, rectangle
from topopt.errors import ExportError


def _ball(radius: float) -> Surface:
    from manifold3d import Manifold

    from topopt.cad.solid import to_surface

    return to_surface(Manifold.sphere(radius, 128))


def test_a_ball_with_fewer_triangles() -> None:
    ball = _ball(10.0)
    light = decimated(ball, 600)
    assert len(ball.faces) > 5000 and 300 < len(light.surface.faces) <= 600
    assert open_edges(light.surface.faces) == 0 and 0 < light.deviation < 0.6
    assert light.volume_error == pytest.approx(light.surface.volume / ball.volume - 1)
    radius = np.linalg.norm(light.surface.corners.mean(axis=1), axis=1)
    assert 10 - radius.min() == pytest.approx(light.deviation, rel=0.3)
    assert light.label.startswith("decimated triangle mesh") and light.label.endswith("not CAD")


def test_what_is_light_enough_is_left_alone() -> None:
    ball = _ball(3.0)
    same = decimated(ball, len(ball.faces))
    assert len(same.surface.faces) == len(ball.faces) and same.deviation < 1e-9
    with pytest.raises(ExportError, match="triangles"):
        decimated(ball, 3)


def test_the_narrowest_bridge() -> None:
    plate = Region(rectangle((0, 0), (40, 20)), (circle((10, 10), 4), circle((19, 10), 4), circle((33, 10), 5)))
    found = narrowest_bridge(plate)
    assert found and found.width == pytest.approx(1.0, abs=1e-4)
    assert found.start == pytest.approx((14, 10), abs=0.1) and found.end == pytest.approx((15, 10), abs=0.1)
    assert narrowest_bridge(Region(circle((0, 0), 1))) is None

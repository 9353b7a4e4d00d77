"""Edges of an outline named by points on them: found exactly, told from their neighbours, wrapped by strips."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from topopt.cad.edges import Arc, EllipseArc, Line
from topopt.cad.places import edges_at, on_edges, strips
from topopt.cad.region import Region
from topopt.cad.wires import circle, ellipse, rectangle, rounded_polygon
from topopt.errors import OutlineError

PLATE = Region(
    rounded_polygon([(0, 0), (60, 0), (60, 30), (0, 30)], [0, 5, 5, 0]),
    (circle((15, 15), 4.0), ellipse((40, 15), 6.0, 3.0, 0.5)),
)


def test_a_point_names_the_edge_that_it_lies_on():
    (left,) = edges_at(PLATE, [(0, 12)])
    assert isinstance(left, Line) and {left.start, left.end} == {(0, 0), (0, 30)}
    (corner,) = edges_at(PLATE, [(55 + 5 / math.sqrt(2), 5 - 5 / math.sqrt(2))])
    assert isinstance(corner, Arc) and corner.radius == pytest.approx(5)
    upper, lower = edges_at(PLATE, [(15, 19), (15, 11)])
    assert upper != lower and isinstance(upper, Arc) and upper.centre == lower.centre == (15, 15)
    assert edges_at(PLATE, [(0, 12), (0, 20)]) == (left,)
    with pytest.raises(OutlineError, match=r"passes through \(8, 15\): the nearest is 3 mm away"):
        edges_at(PLATE, [(8, 15)])


@pytest.mark.parametrize("wire", range(3))
def test_all_points_of_an_edge_are_on_it_and_none_beside_it(wire):
    for edge in PLATE.wires[wire].edges:
        where = on_edges([edge], 1e-6)
        on = np.array([edge.point(t) for t in np.linspace(0, 1, 41)])
        assert where(on).all()
        along = np.array([edge.direction(t) for t in np.linspace(0, 1, 41)])
        beside = on + 1e-4 * np.stack([-along[:, 1], along[:, 0]], 1)
        assert not where(beside).any()
        others = [other for other in PLATE.wires[wire].edges if other != edge]
        assert not where([other.point(0.5) for other in others]).any()


@given(st.floats(0.3, 6.2), st.floats(-3, 3), st.floats(0.2, 1.0))
def test_arcs_of_ellipses_are_told_by_their_angle(turn, first, ratio):
    def at(t):
        return 2 * math.cos(t), 2 * ratio * math.sin(t)

    edge = EllipseArc(at(first), at(first + turn), (0.0, 0.0), 2.0, 2 * ratio, 0.0, True)
    where = on_edges([edge], 1e-7)
    assert where([at(first + 0.5 * turn)]).all()
    assert not where([at(first + turn + 0.5 * (2 * math.pi - turn))]).any()


def test_strips_hold_what_lies_near_and_nothing_else():
    rng = np.random.default_rng(1)
    points = rng.uniform((-8, -8), (68, 38), (4000, 2))
    groups = [*((edge,) for wire in PLATE.wires for edge in wire.edges), PLATE.holes[0].edges, PLATE.holes[1].edges]
    for edges in groups:
        chords = np.array([edge.point(t) for edge in edges for t in np.linspace(0, 1, 400)])
        away = np.array([np.hypot(*(chords - p).T).min() for p in points])
        inside = np.any([wire.contains(points) for wire in strips(edges, 2.0)], axis=0)
        hollow = np.any([wire.contains(points) for wire in PLATE.holes], axis=0)  # a circle's strip is a disc
        ends = np.min([np.hypot(*(points - end).T) for edge in edges for end in (edge.start, edge.end)], axis=0) < 2.1
        assert (inside | ends)[away < 1.9].all()
        assert not (inside & ~hollow)[away > 2.35].any()


def test_a_round_hole_has_one_circle_and_a_sector_keeps_its_radii():
    (ring,) = strips(PLATE.holes[0].edges, 2.0)
    assert ring.is_full_turn and abs(ring.area) == pytest.approx(36 * math.pi)
    (corner,) = edges_at(PLATE, [(55 + 5 / math.sqrt(2), 5 - 5 / math.sqrt(2))])
    (sector,) = strips([corner], 2.0)
    assert abs(sector.area) == pytest.approx(math.pi / 4 * (49 - 9))
    (slice_,) = strips([corner], 6.0)
    assert abs(slice_.area) == pytest.approx(math.pi / 4 * 121)
    (bar,) = strips(edges_at(Region(rectangle((0, 0), (10, 10))), [(5, 0)]), 1.0)
    assert abs(bar.area) == pytest.approx(20 + math.pi)

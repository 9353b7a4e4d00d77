"""Wires against areas, lengths and boxes that are known, and against their own fine samples."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.topopt.cad.shapes import rounded_polygons
from topopt.cad.wires import (
    Arc,
    EllipseArc,
    Line,
    Wire,
    circle,
    ellipse,
    polygon,
    rectangle,
    rounded_polygon,
    slot,
)
from topopt.errors import OutlineError


def test_circle_ellipse_and_slot_have_their_known_measures() -> None:
    assert circle((3, -2), 5).area == pytest.approx(25 * math.pi, rel=1e-15)
    assert circle((3, -2), 5).length == pytest.approx(10 * math.pi, rel=1e-15)
    assert ellipse((1, 1), 2, 6, 0.3).area == pytest.approx(12 * math.pi, rel=1e-15)
    # Perimeter of an ellipse with semi-axes 1 and 2: 4 * 2 * E(m = 3/4), E = 1.2110560275684594.
    assert ellipse((0, 0), 1, 2).length == pytest.approx(8 * 1.2110560275684594, rel=1e-12)
    assert slot((0, 0), (8, 6), 2).area == pytest.approx(10 * 4 + 4 * math.pi, rel=1e-14)
    assert slot((0, 0), (8, 6), 2).length == pytest.approx(20 + 4 * math.pi, rel=1e-14)


def test_box_of_a_turned_ellipse() -> None:
    a, b, angle = 6.0, 3.0, math.radians(25)
    half_x = math.hypot(a * math.cos(angle), b * math.sin(angle))
    half_y = math.hypot(a * math.sin(angle), b * math.cos(angle))
    lower, upper = ellipse((10, 20), a, b, angle).bounds
    assert (*lower, *upper) == pytest.approx((10 - half_x, 20 - half_y, 10 + half_x, 20 + half_y), rel=1e-14)


def test_rounded_rectangle() -> None:
    wire = rounded_polygon([(0, 0), (60, 0), (60, 20), (0, 20)], [1.5, 2.0, 2.5, 0.0])
    missing = (1 - math.pi / 4) * (1.5**2 + 2.0**2 + 2.5**2)
    assert wire.area == pytest.approx(1200 - missing, rel=1e-14)
    assert [type(e) for e in wire.edges].count(Arc) == 3
    turns = np.abs(wire.turns)
    assert np.count_nonzero(turns > 1e-9) == 1 and turns.max() == pytest.approx(math.pi / 2)


def test_reflex_corner_is_rounded_inwards() -> None:
    wire = rounded_polygon([(0, 0), (3, 0), (3, 1), (1, 1), (1, 3), (0, 3)], [0, 0, 0, 0.5, 0, 0])
    assert wire.area == pytest.approx(5 + (1 - math.pi / 4) * 0.25, rel=1e-14)
    (arc,) = [e for e in wire.edges if isinstance(e, Arc)]
    assert not arc.ccw and arc.centre == pytest.approx((1.5, 1.5))


def test_arcs_that_use_up_an_edge_leave_no_line() -> None:
    wire = rounded_polygon([(0, 0), (2, 0), (2, 2), (0, 2)], 1.0)
    assert len(wire.edges) == 4 and wire.area == pytest.approx(math.pi, rel=1e-14)


@settings(max_examples=60, deadline=None)
@given(rounded_polygons(), st.floats(-3, 3))
def test_measures_agree_with_a_fine_polygon(wire: Wire, angle: float) -> None:
    fine = polygon(wire.sample(1e-4))
    assert wire.area == pytest.approx(fine.area, rel=1e-4)
    assert fine.length <= wire.length * (1 + 1e-12) and fine.length == pytest.approx(wire.length, rel=1e-4)
    sharp = np.abs(wire.turns) > 1e-6
    assert np.abs(wire.turns)[sharp].max(initial=0) < 1e-3  # where the corner was too straight to round
    moved = wire.moved(2.0, angle, (5.0, -3.0))
    assert moved.area == pytest.approx(4 * wire.area, rel=1e-12)
    assert wire.reversed().area == pytest.approx(-wire.area, rel=1e-12)
    assert wire.oriented(False).area < 0 < wire.oriented(True).area


@settings(max_examples=15, deadline=None)
@given(st.one_of(rounded_polygons(), st.builds(ellipse, st.just((1.0, 2.0)), st.floats(3, 9), st.floats(3, 9),
                                               st.floats(-4, 4))), st.integers(0, 2**32 - 1))  # fmt: skip
def test_inside_agrees_with_a_fine_polygon(wire: Wire, seed: int) -> None:
    lower, upper = np.array(wire.bounds)
    points = np.random.default_rng(seed).uniform(lower - 1, upper + 1, (150, 2))
    fine = wire.sample(1e-4)
    # Points within 1e-3 of the border may differ between the wire and the polygon: they say nothing.
    segment = np.roll(fine, -1, axis=0) - fine
    arm = points[:, None] - fine
    t = np.clip((arm * segment).sum(-1) / (segment**2).sum(-1), 0, 1)
    clear = np.linalg.norm(arm - t[..., None] * segment, axis=-1).min(axis=1) > 1e-3
    assert np.array_equal(wire.contains(points)[clear], polygon(fine).contains(points)[clear])
    assert wire.contains(np.array([wire.bounds[0]]) - 1).tolist() == [False]


@settings(max_examples=40, deadline=None)
@given(st.floats(0.5, 50), st.floats(0.05, 1), st.floats(-4, 4), st.floats(1e-3, 1e-1))
def test_chords_stay_within_the_tolerance(semi: float, ratio: float, angle: float, tolerance: float) -> None:
    for wire in (ellipse((0, 0), semi, ratio * semi, angle), circle((1, 1), semi)):
        for edge in wire.edges:
            chain = np.vstack([edge.sample(tolerance), edge.end])
            near = np.array([edge.point(t) for t in np.linspace(0, 1, 400)])
            segment = chain[1:] - chain[:-1]
            arm = near[:, None] - chain[:-1]
            t = np.clip((arm * segment).sum(-1) / (segment**2).sum(-1), 0, 1)
            miss = np.linalg.norm(arm - t[..., None] * segment, axis=-1).min(axis=1)
            assert miss.max() <= tolerance * (1 + 1e-9)


def test_crossing_itself_is_seen() -> None:
    assert rectangle((0, 0), (2, 1)).is_simple()
    assert circle((0, 0), 1).is_simple()
    assert not polygon([(0, 0), (2, 2), (2, 0), (0, 2)]).is_simple()


def test_what_is_no_wire_is_refused() -> None:
    with pytest.raises(OutlineError, match=r"edge 1 of 2 ends at \(1, 0\), 1 mm from where the next"):
        Wire((Line((0, 0), (1, 0)), Line((1, 1), (0, 0))))
    with pytest.raises(OutlineError, match="at least one edge"):
        Wire(())
    with pytest.raises(OutlineError, match="starts and ends at"):
        Arc((1, 0), (1, 0), (0, 0), 1, True)
    with pytest.raises(OutlineError, match="beside its circle"):
        Arc((1, 0), (0, 1.1), (0, 0), 1, True)
    with pytest.raises(OutlineError, match="the larger one first"):
        EllipseArc((1, 0), (-1, 0), (0, 0), 1, 2, 0, True)
    with pytest.raises(OutlineError, match="reduce the radii"):
        rounded_polygon([(0, 0), (2, 0), (2, 2), (0, 2)], 1.2)
    with pytest.raises(OutlineError, match="finite points"):
        polygon([(0, 0), (1, float("nan")), (1, 1)])

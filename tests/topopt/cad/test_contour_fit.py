"""Contours redrawn: what was made of lines and arcs is found again, everything else within the tolerance, tangent."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pde.grid import Grid
from tests.topopt.cad.shapes import rounded_polygons
from topopt.cad.biarc import arc_from, biarc, distance
from topopt.cad.contour_fit import deviation, fit_polygon
from topopt.cad.density_outline import outline_of_density
from topopt.cad.edges import Arc, Line
from topopt.cad.planar_cut import polygon_area
from topopt.cad.region import Region
from topopt.cad.wires import Wire, circle, ellipse, polygon, rectangle, rounded_polygon, slot
from topopt.errors import ExportError, OutlineError

unit = st.floats(-3, 3).map(lambda a: (math.cos(a), math.sin(a)))


def _kinds(wire: Wire) -> str:
    return "".join(type(edge).__name__[0] for edge in wire.edges)


@settings(max_examples=100, deadline=None)
@given(unit, unit, st.floats(-3, 3), st.floats(0.2, 5))
def test_biarcs_meet_points_and_tangents(t0: tuple, t1: tuple, turn: float, ratio: float) -> None:
    end = (7 * math.cos(turn), 7 * math.sin(turn))
    pieces = biarc((0.0, 0.0), t0, end, t1, ratio)
    if pieces is None:
        return
    first, second = pieces
    assert first.start == (0, 0) and second.end == end and first.end == second.start
    assert np.allclose(first.direction(0), t0, atol=1e-7) and np.allclose(second.direction(1), t1, atol=1e-7)
    assert np.allclose(first.direction(1), second.direction(0), atol=1e-6)


def test_a_biarc_on_a_circle_is_that_circle() -> None:
    pieces = biarc((5.0, 0.0), (0.0, 1.0), (0.0, 5.0), (-1.0, 0.0))
    assert pieces and all(
        isinstance(e, Arc) and np.allclose(e.centre, 0) and e.radius == pytest.approx(5) for e in pieces
    )
    assert isinstance(arc_from((0, 0), (1, 0), (3, 0)), Line)


def test_distance_to_an_arc_and_beyond_its_ends() -> None:
    arc = Arc((1, 0), (0, 1), (0, 0), 1, True)
    points = np.array([(2.0, 0.0), (0.1, 0.1), (-3.0, 1.0), (1.0, -4.0)])
    wanted = [1, 1 - math.hypot(0.1, 0.1), 3, 4]
    assert distance(points, [arc]) == pytest.approx(wanted)
    assert distance(points, [arc.reversed()]) == pytest.approx(wanted)


@pytest.mark.parametrize(
    ("wire", "kinds"),
    [
        (circle((3, 3), 5), "AA"),
        (rounded_polygon([(30, 4), (50, 5), (48, 16), (33, 14)], [1.5, 2, 2.5, 1]), "LALALALA"),
        (slot((0, 0), (20, 5), 3), "LALA"),
        (rectangle((0, 0), (10, 10)), "LLLL"),
        (rounded_polygon([(0, 0), (30, 0), (30, 10), (10, 10), (10, 30), (0, 30)], [0, 2, 0, 4, 0, 3]), "LALLALLAL"),
    ],
)
def test_lines_and_arcs_are_found_again(wire: Wire, kinds: str) -> None:
    found = fit_polygon(wire.sample(1e-3), 0.1)
    assert _kinds(found.wire) in [kinds[k:] + kinds[:k] for k in range(len(kinds))]
    assert found.error < 0.01 and found.wire.area == pytest.approx(wire.area, rel=5e-4)
    assert found.corners == int((np.abs(wire.turns) > 1e-6).sum())
    radii = sorted(e.radius for e in wire.edges if isinstance(e, Arc))
    assert sorted(e.radius for e in found.wire.edges if isinstance(e, Arc)) == pytest.approx(radii, rel=0.02)


def test_an_ellipse_and_a_flower_stay_within_the_tolerance() -> None:
    angle = np.linspace(0, 2 * np.pi, 400, endpoint=False)
    radius = 10 + 2 * np.cos(5 * angle) + np.sin(2 * angle)
    flower = np.column_stack([radius * np.cos(angle), radius * np.sin(angle)])
    for points in (flower, flower[::-1], ellipse((0, 0), 20, 8, 0.3).sample(1e-3)):
        found = fit_polygon(points, 0.1)
        assert found.error <= 0.1 and found.corners == 0
        assert found.wire.ccw == polygon(points).ccw and len(found.wire.edges) < 60
        assert np.abs(found.wire.turns).max() < 1e-6
        # Measured once more, from points that the fit has not seen.
        s = found.wire.sample(1e-4)
        assert np.abs(deviation(polygon(points), s)) <= 0.1 * (1 + 1e-6)


@settings(max_examples=8, deadline=None)
@given(rounded_polygons(lower=20), st.floats(0.05, 0.3))
def test_random_outlines_are_redrawn(wire: Wire, tolerance: float) -> None:
    found = fit_polygon(wire.sample(1e-3), tolerance)
    assert found.error <= tolerance and found.wire.is_simple()
    assert abs(found.wire.area - wire.area) <= tolerance * wire.length


def test_a_smooth_density_is_cut_out_of_the_exact_domain() -> None:
    grid = Grid((60, 40), 0.5, (10.0, -3.0))
    x, y = np.meshgrid(*grid.center_axes(), indexing="ij")
    # Signed distances of a round void and of one that opens the right border, turned into a graded density.
    d = np.minimum(np.hypot(x - 20, y - 7) - 4, np.hypot(x - 40, y - 5) - 5)
    rho = 1 / (1 + np.exp(-5 * d))
    found = outline_of_density(rho, grid, smoothing=0.0)
    assert len(found.voids) == 2 and found.error <= 0.35 * 0.5 and found.island_area == 0
    round_one = min(found.voids, key=lambda wire: wire.size)
    # The integral of a logistic step of slope k over a disc is pi R2 + pi3 / (3 k2).
    more = math.pi**3 / 75
    assert _kinds(round_one) == "AA" and round_one.area == pytest.approx(16 * math.pi + more, rel=0.02)
    area, _ = polygon_area(found.domain, found.voids, None, [])
    assert area == pytest.approx(rho.sum() * 0.25, rel=5e-4)
    assert area == pytest.approx(600 - 16 * math.pi - 12.5 * math.pi - 1.5 * more, rel=2e-3)
    cut = found.design(2.0).cut()
    assert np.allclose(cut.body.bounds, ((10, -3), (40, 17)), rtol=1e-14) and cut.area == pytest.approx(area, rel=1e-5)


def test_islands_and_pinholes_are_left_away() -> None:
    grid = Grid((40, 40))
    x, y = np.meshgrid(*grid.center_axes(), indexing="ij")
    r = np.hypot(x - 20, y - 20)
    rho = np.clip(np.minimum(np.abs(r - 8) - 4, np.hypot(x - 4, y - 4) - 0.4) + 0.5, 0, 1)
    found = outline_of_density(rho, grid, smoothing=0.0)
    assert len(found.voids) == 1 and found.island_area == pytest.approx(16 * math.pi, rel=0.02)
    assert found.design(1.0, "ring").name == "ring"


def test_a_domain_keeps_its_own_holes() -> None:
    grid = Grid((40, 20))
    domain = Region(rectangle((0, 0), (40, 20)), (circle((30, 10), 3),))
    found = outline_of_density(np.ones((40, 20)), grid, domain=domain, volume=domain.area)
    assert found.voids == () and found.domain.holes[0].is_full_turn


def test_what_cannot_be_redrawn_is_refused() -> None:
    with pytest.raises(OutlineError, match="at least three finite points"):
        fit_polygon([(0, 0), (1, 1)], 0.1)
    with pytest.raises(OutlineError, match="tolerance of a contour must be a positive number"):
        fit_polygon([(0, 0), (1, 1), (1, 0)], 0.0)
    with pytest.raises(OutlineError, match="no lines and arcs within"):
        fit_polygon([(0, 0), (20, 20), (20, 0), (0, 20)], 0.1)
    with pytest.raises(ExportError, match="no contour encloses"):
        outline_of_density(np.ones((4, 4)), Grid((4, 4)), volume=3.0)
    with pytest.raises(ExportError, match="2-D grid"):
        outline_of_density(np.ones((4, 4)), Grid((4, 5)))

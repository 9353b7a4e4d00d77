"""Overlapping voids cut out of a domain: areas that are known, borders that stay lines and arcs, failures in words."""

import math

import numpy as np
import pytest

from topopt.cad.edges import Arc, Line
from topopt.cad.joints import sharpen
from topopt.cad.planar_boolean import material
from topopt.cad.planar_cut import cut_outline, polygon_area
from topopt.cad.region import Region
from topopt.cad.wire_arrays import regions_from, regions_table, wires_from, wires_table
from topopt.cad.wires import Wire, circle, ellipse, polygon, rectangle, rounded_polygon, slot
from topopt.errors import ExportError, OutlineError

PLATE = Region(rectangle((0, 0), (60, 20)))


def _lens(r: float, d: float) -> float:
    """Common area of two circles of radius r at distance d."""
    return 2 * r**2 * math.acos(d / (2 * r)) - d / 2 * math.sqrt(4 * r**2 - d**2)


def test_two_circles_that_overlap() -> None:
    (piece,) = material(PLATE, [circle((20, 10), 4), circle((25, 10), 4)], None, [])
    assert piece.area == pytest.approx(1200 - 32 * math.pi + _lens(4, 5), rel=1e-12)
    (hole,) = piece.holes
    assert {type(e) for e in hole.edges} == {Arc} and {e.radius for e in hole.edges if isinstance(e, Arc)} == {4.0}
    meet = sorted(e.start for e in hole.edges)[len(hole.edges) // 2]
    assert abs(meet[0] - 22.5) < 1e-12 and abs(abs(meet[1] - 10) - math.sqrt(16 - 6.25)) < 1e-12


def test_voids_across_the_border_and_beyond_it() -> None:
    voids = [circle((60, 10), 5), circle((0, 0), 3), rectangle((70, 0), (80, 5)), slot((30, 18), (30, 30), 2)]
    (piece,) = material(PLATE, voids, None, [])
    assert piece.area == pytest.approx(1200 - 12.5 * math.pi - 2.25 * math.pi - (2 * math.pi + 8), rel=1e-12)
    assert not piece.holes and {type(e) for e in piece.outer.edges} == {Line, Arc}


def test_keep_and_bars() -> None:
    kept = rectangle((0, 18), (60, 20))
    (piece,) = material(PLATE, [rectangle((10, 10), (20, 25))], None, [kept])
    assert piece.area == pytest.approx(1200 - 80, rel=1e-12)
    (bars,) = material(PLATE, [], [slot((0, 10), (60, 10), 2), slot((30, 10), (30, 40), 1)], [])
    assert bars.area == pytest.approx(240 + 2 * 8, rel=1e-12)
    pieces = material(PLATE, [circle((30, 10), 3)], [slot((10, 10), (50, 10), 2)], [])
    assert len(pieces) == 2


def test_small_domains_are_as_exact_as_large_ones() -> None:
    voids = [ellipse((20, 10), 8, 4, 0.3), rounded_polygon([(22, 4), (40, 5), (38, 16), (25, 14)], [1.5, 2, 2.5, 1])]
    (large,) = material(PLATE, voids, None, [])
    (small,) = material(PLATE.moved(1e-3), [v.moved(1e-3) for v in voids], None, [])
    assert small.area == pytest.approx(1e-6 * large.area, rel=1e-12)
    area, error = polygon_area(PLATE, voids, None, [])
    assert abs(large.area - area) <= error < 1e-4 * area


@pytest.mark.parametrize("seed", range(3))
def test_many_voids_agree_with_the_second_program(seed: int) -> None:
    rng = np.random.default_rng(seed)
    voids = []
    for _ in range(12):
        angle = np.arange(4) * np.pi / 2 + rng.uniform(-0.4, 0.4, 4)
        p = rng.uniform((0, 0), (60, 20)) + rng.uniform(2, 6) * np.column_stack([np.cos(angle), np.sin(angle)])
        voids.append(rounded_polygon(p, 0.4))
    pieces = material(PLATE, voids, None, [])
    area, error = polygon_area(PLATE, voids, None, [])
    assert abs(sum(piece.area for piece in pieces) - area) <= error < 1e-3 * area
    points = rng.uniform((0, 0), (60, 20), (500, 2))
    wanted = ~np.any([void.contains(points) for void in voids], axis=0)
    assert np.array_equal(np.any([piece.contains(points) for piece in pieces], axis=0), wanted)


def test_the_safe_cut_reports_pieces_and_drops_slivers() -> None:
    wall = [rectangle((19, -1), (21, 21)), rectangle((39, -1), (41, 21)), rectangle((19.5, 5), (20.5, 5.00001))]
    cut = cut_outline(PLATE, wall)
    assert [round(piece.area, 9) for piece in cut.pieces] == [380, 380, 360]
    assert cut.dropped == 1 and cut.dropped_area == pytest.approx(1e-5)
    assert cut.loose_area == pytest.approx(740) and cut.contains([(5, 5), (20, 5)]).tolist() == [True, False]
    with pytest.raises(ExportError, match="falls into 3 pieces of 380, 380, 360 mm2"):
        _ = cut.body


def test_thin_pieces_are_dropped() -> None:
    cut = cut_outline(PLATE, [rectangle((-1, 19.9), (61, 19.98)), rectangle((5, 5), (9, 5.01))], sliver=0.05)
    assert len(cut.pieces) == 1 and cut.dropped == 2 and cut.dropped_area == pytest.approx(1.2 + 0.04)
    assert cut.body.area == pytest.approx(60 * 19.9, rel=1e-12)


def test_what_cannot_be_cut_is_refused() -> None:
    with pytest.raises(OutlineError, match="void 2 crosses itself"):
        cut_outline(PLATE, [circle((5, 5), 1), polygon([(10, 5), (20, 15), (20, 5), (10, 15)])])
    with pytest.raises(ExportError, match="no material is left"):
        cut_outline(PLATE, [rectangle((-1, -1), (61, 21))])


def test_a_kernel_that_does_not_answer_is_ended() -> None:
    voids = [circle((2 + 0.5 * k, 10), 1.0 + 0.01 * k) for k in range(100)]
    with pytest.raises(ExportError, match="not combined within"):
        cut_outline(PLATE, voids, seconds=0.2)


def test_tables_keep_every_bit() -> None:
    wires = [ellipse((1, 2), 3, 5, 0.7), rounded_polygon([(0, 0), (9, 1), (4, 8)], [1, 0, 0.5]), circle((4, 4), 0.1)]
    assert wires_from(wires_table(wires)) == wires
    regions = [Region(wires[1], (wires[2],)), Region(wires[0])]
    assert regions_from(*regions_table(regions)) == regions
    assert wires_from(wires_table([])) == []


def test_joints_move_to_where_curves_cross() -> None:
    off = 1e-8
    corner = (3.0 + off, 4.0 - off)
    wire = Wire((Line((3.0, -4.0), corner), Arc(corner, (3.0, -4.0), (0, 0), 5.0, True)))
    moved = sharpen(Region(wire)).outer.edges[0].end
    assert math.hypot(*moved) == pytest.approx(5, abs=1e-14) and moved == pytest.approx((3, 4), abs=2e-8)

"""Any outline with holes on the grid engine: area, supports and loads along edges, stiffness as on triangles."""

import numpy as np
import pytest

from topopt.cad.outline import PlanarLoad, PlanarSupport
from topopt.cad.places import edges_at, on_edges, strips
from topopt.cad.region import Region
from topopt.cad.wires import circle, rectangle, rounded_polygon
from topopt.features import Settings, optimize
from topopt.features.domain import Domain, within
from topopt.features.errors import FeatureError
from topopt.features.layout import squares
from topopt.features.pixel_domain import pixel_problem

PLATE = Region(rounded_polygon([(0, 0), (60, 0), (60, 30), (0, 30)], [0, 8, 8, 0]), (circle((45, 15), 5.0),))


@pytest.fixture(scope="module")
def domain() -> Domain:
    """Held along its left edge, pulled down and outward in its bore."""
    left, bore = edges_at(PLATE, [(0, 15)]), PLATE.holes[0].edges
    supports = (PlanarSupport(on_edges(left, 1e-5)),)
    down, out = (PlanarLoad(on_edges(bore, 1e-5), force) for force in ((0.0, -100.0), (200.0, 0.0)))
    return Domain(PLATE, supports, ((down,), (out,)), (1.0, 0.5), tuple(strips(bore, 2.0)), 2e5, 0.3, "stress", 3.0)


def test_pixels_fill_the_outline(domain):
    problem = pixel_problem(domain, 1.0)
    assert problem.grid.shape == (60, 30)
    assert problem.filled.sum() == pytest.approx(PLATE.area, rel=3e-3)
    assert problem.filled[45, 15] == 0 and problem.filled[0, 0] == 1 and 0 < problem.filled[56, 1] < 1
    assert problem.thickness == 3.0 and problem.modulus == 6e5


def test_supports_and_loads_are_those_that_were_stated(domain):
    problem = pixel_problem(domain, 1.0)
    held = problem.fixed.any(-1)
    assert held[0].all() and held.sum() == 31
    assert problem.forces.sum((1, 2)) == pytest.approx(np.array([[0, -100], [200, 0]]), abs=1e-9)
    x, y = problem.grid.nodes()[np.abs(problem.forces[0]).any(-1)].T
    assert np.abs(np.hypot(x - 45, y - 15) - 5).max() < 1
    # The resultant passes through the middle of the bore.
    arms = problem.grid.nodes() - (45, 15)
    moment = (arms[..., 0] * problem.forces[0, ..., 1]).sum()
    assert abs(moment) < 100 * 0.1


def test_the_solid_plate_is_as_stiff_as_on_triangles(domain):
    pixels, triangles = domain.pixels(0.75), domain.plate(1.0)
    found = pixels.response(np.ones(len(pixels.areas))).compliance
    assert found == pytest.approx(triangles.response(np.ones(len(triangles.areas))).compliance, rel=0.03)
    assert pixels.thickness == 3.0
    assert pixels.areas.sum() == pytest.approx(PLATE.area, rel=3e-3)


def test_a_design_on_pixels_leaves_as_an_exact_outline(domain):
    plate = domain.pixels(1.25)
    problem = domain.problem(plate, 0.6, squares(plate, 5, 3))
    assert problem.kept.any()
    result = optimize(problem, Settings(iterations=30, soft=5, sharp=25, steady=15))
    assert result.invalid == {}
    outline = domain.reanalysed(result, 1.25)
    assert outline.sound
    assert outline.volume_fraction == pytest.approx(result.thresholded_volume, abs=0.015)
    assert outline.compliance == pytest.approx(result.thresholded, rel=0.08)


def test_pieces_that_hang_by_nothing_are_left_out_and_odd_places_are_told(domain):
    with pytest.raises(FeatureError, match="support 1 meets no node"):
        pixel_problem(Domain(PLATE, (PlanarSupport(within(((90, 0), (91, 1)))),), domain.cases), 1.0)
    nowhere = (PlanarLoad(within(((90, 0), (91, 1))), (1.0, 0.0)),)
    with pytest.raises(FeatureError, match="a load of case 1"):
        pixel_problem(Domain(PLATE, domain.supports, (nowhere,)), 1.0)


def test_a_load_within_the_plate_is_shared_evenly():
    plate = Region(rectangle((0, 0), (20, 10)))
    inner = PlanarLoad(within(((9.5, 4.5), (11.5, 5.5))), (0.0, 6.0))
    problem = pixel_problem(Domain(plate, (PlanarSupport(within(((0, 0), (0, 10)))),), ((inner,),)), 1.0)
    loaded = problem.forces[0, ..., 1]
    assert sorted(loaded[loaded != 0]) == pytest.approx([3.0, 3.0])
    assert loaded[10, 5] == loaded[11, 5] == 3.0

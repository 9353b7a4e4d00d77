"""Area and count of cells brought together where an edge runs along rows of cells; left alone where they agree."""

import numpy as np
import pytest

from topopt.cad.outline import PlanarLoad, PlanarSupport
from topopt.cad.region import Region
from topopt.cad.wires import rectangle
from topopt.features import Settings
from topopt.features.balance import REACH, balanced, outline_share
from topopt.features.design import FeatureDesign
from topopt.features.domain import Domain, within
from topopt.features.finish import MISFIT, _evened, material
from topopt.features.shapes import RoundedPolygon

H = 1.0


def box(x0: float, y0: float, x1: float, y1: float) -> RoundedPolygon:
    return RoundedPolygon(((x0, y0), (x1, y0), (x1, y1), (x0, y1)), (0.05,) * 4)


@pytest.fixture(scope="module")
def domain() -> Domain:
    hold = PlanarSupport(within(((0, 0), (0, 20))))
    pull = PlanarLoad(within(((40, 8), (40, 12))), (0.0, -1.0))
    return Domain(Region(rectangle((0, 0), (40, 20))), (hold,), ((pull,),))


def share(problem, shapes) -> float:
    areas = problem.plate.areas
    return float(areas @ material(problem, shapes) / areas.sum())


def exact(shapes) -> float:
    """Of voids within the plate that do not overlap."""
    return 1 - sum(shape.area for shape in shapes) / 800


@pytest.mark.parametrize("at", np.linspace(0, 0.9, 7))
def test_the_ramp_measures_the_area_wherever_an_edge_runs(domain, at):
    for plate in (domain.pixels(H), domain.plate(H)):
        shapes = (box(4.0 + at, 5.0 + 0.7 * at, 18.0 + 0.3 * at, 15.0 + at), box(24, 5, 36 + at, 15 - at))
        problem = domain.problem(plate, 0.5, shapes)
        # Within a hundredth of a cell along every edge; counting misses by up to half of one.
        assert outline_share(problem, shapes) == pytest.approx(exact(shapes), abs=1.5e-3)


def test_bars_are_measured_as_material(domain):
    shapes = (box(4.2, 5.3, 18.4, 15.1),)
    problem = domain.problem(domain.pixels(H), 0.5, shapes, solid=True)
    assert outline_share(problem, shapes) == pytest.approx(1 - exact(shapes), abs=1.5e-3)


def test_an_edge_between_rows_moves_to_where_both_volumes_agree(domain):
    # Points of pixels lie at halves: these edges leave .2 of a row that is not counted, all around both voids.
    shapes = (box(3.8, 4.8, 18.2, 15.2), box(22.8, 4.8, 36.2, 15.2))
    plate = domain.pixels(H)
    goal = share(domain.problem(plate, 0.5, shapes), shapes)
    problem = domain.problem(plate, goal, shapes)
    assert abs(exact(shapes) - goal) > 0.01
    found = balanced(problem, shapes, goal)
    assert exact(found) == pytest.approx(goal, abs=2e-3) and share(problem, found) == pytest.approx(goal, abs=2e-3)
    for one, new in zip(shapes, found, strict=True):
        assert np.abs(np.array(one.vertices) - np.array(new.vertices)).max() <= REACH * H + 1e-12
    assert balanced(problem, shapes, goal) == found


def test_a_design_whose_volumes_agree_is_left_as_it_is(domain):
    shapes = (box(4.0, 5.0, 18.0, 15.0), box(23.0, 5.0, 36.0, 15.0))
    plate = domain.pixels(H)
    goal = share(domain.problem(plate, 0.5, shapes), shapes)
    design = FeatureDesign(domain.problem(plate, goal, shapes), Settings())
    assert abs(outline_share(design.problem, shapes) - goal) <= MISFIT
    assert _evened(design, shapes, goal) is shapes

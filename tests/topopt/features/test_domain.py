"""A face with a hole, set up by place, designed, exported as editable parameters and analysed again on its outline."""

import numpy as np
import pytest

from topopt.cad.outline import PlanarLoad, PlanarSupport
from topopt.cad.parameters import PlanarDesign
from topopt.cad.region import Region
from topopt.cad.wires import circle, rectangle
from topopt.features import Settings, optimize
from topopt.features.domain import Domain
from topopt.features.errors import FeatureError
from topopt.features.layout import crossed_bars, squares
from topopt.features.tasks import TASKS, store_meshes

SHORT = Settings(iterations=40, soft=5, sharp=30, steady=20)


def left(points):
    return points[:, 0] < 1e-6


def tip(points):
    return (points[:, 0] > 60 - 1e-6) & (np.abs(points[:, 1] - 15) <= 2 + 1e-6)


def bore(points):
    return np.abs(np.hypot(points[:, 0] - 45, points[:, 1] - 15) - 4) < 1e-6


@pytest.fixture(scope="module")
def domain() -> Domain:
    """A plate of steel, 60 x 30 x 3 mm, with a bore that keeps a rim of 2 mm; loaded at its tip and in the bore."""
    region = Region(rectangle((0, 0), (60, 30)), (circle((45, 15), 4.0),))
    down = PlanarLoad(tip, (0.0, -100.0), ((60.0, 13.0), (60.0, 17.0)))
    pull = PlanarLoad(bore, (200.0, 0.0))
    keep = (circle((45, 15), 6.0), rectangle((57, 12), (61, 18)))
    return Domain(region, (PlanarSupport(left),), ((down,), (pull,)), (1.0, 0.5), keep, 210000.0, 0.3, "stress", 3.0)


@pytest.fixture(scope="module")
def plate(domain):
    return domain.plate(1.5)


def test_loads_act_as_stated(domain, plate):
    assert plate.forces.sum(1) == pytest.approx(np.array([[0, -100], [200, 0]]), abs=1e-9)
    loaded = plate.mesh.nodes[np.abs(plate.forces[0]).any(1)]
    assert loaded[:, 1].min() == pytest.approx(13)
    assert loaded[:, 1].max() == pytest.approx(17)
    assert plate.areas.sum() == pytest.approx(1800 - np.pi * 16, rel=5e-3)
    assert plate.thickness == 3.0
    # Twice the bore's rim less the chords of its mesh.
    assert plate.areas[domain.kept(plate.points)].sum() == pytest.approx(np.pi * 20 + 3 * 6, rel=0.06)


def test_compliance_is_that_of_a_finer_and_an_independent_analysis(domain, plate):
    solid = plate.response(np.ones(len(plate.areas))).compliance
    from topopt.cad.outline import outline_compliance

    other = outline_compliance(
        domain.region,
        [],
        domain.supports,
        domain.cases,
        h=1.5,
        weights=(1.0, 0.5),
        E=210000.0,
        plane="stress",
        thickness=3.0,
    )
    assert solid == pytest.approx(other.compliance, rel=1e-9)


def test_a_part_with_a_bore_from_set_up_to_outline(domain, plate):
    problem = domain.problem(plate, 0.55, squares(plate, 5, 3), "lug")
    result = optimize(problem, SHORT)
    assert result.invalid == {}
    assert result.thresholded_volume <= 0.55
    outline = domain.reanalysed(result, plate.h)
    assert outline.sound
    assert outline.volume_fraction == pytest.approx(result.thresholded_volume, abs=0.01)
    assert outline.compliance == pytest.approx(result.thresholded, rel=0.08)
    again = PlanarDesign.from_json(domain.design(result).to_json())
    assert again.name == "lug"
    assert again.cut().area == pytest.approx(outline.area, rel=1e-9)


def test_bars_leave_as_slots(domain, plate):
    problem = domain.problem(plate, 0.55, crossed_bars(plate, 2, 1, 2.0), "bars", solid=True)
    result = optimize(problem, SHORT, iterations=20)
    design = domain.design(result)
    assert design.voids == ()
    assert design.bars is not None
    assert {bar.kind for bar in design.bars} == {"slot"}
    assert domain.reanalysed(result, plate.h).volume_fraction == pytest.approx(result.thresholded_volume, abs=0.01)


def test_a_load_beside_the_part_is_told(domain):
    from dataclasses import replace

    away = replace(domain, cases=((PlanarLoad(lambda p: p[:, 0] > 100, (1.0, 0.0)),),))
    with pytest.raises(FeatureError, match="a load of case 1"):
        away.plate(4.0)


@pytest.mark.slow
def test_stored_meshes_are_those_that_gmsh_makes(tmp_path, monkeypatch):
    stored = {number: one.mesh() for number, one in TASKS.items()}
    monkeypatch.setattr("topopt.features.tasks.MESHES", tmp_path)
    store_meshes()
    for number, one in TASKS.items():
        assert np.array_equal(one.mesh().nodes, stored[number].nodes)
        assert np.array_equal(one.mesh().triangles, stored[number].triangles)

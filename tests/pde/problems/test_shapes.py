"""The shape problems against what is known of their answers."""

import importlib.util

import numpy as np
import pytest

from pde import problems
from pde.problems.obstacle_drag import wedge

pytestmark = [
    pytest.mark.fem,
    pytest.mark.skipif(importlib.util.find_spec("dolfinx") is None, reason="needs DOLFINx: formgrad[fem]"),
]


def test_b6a_disc_grows_to_root_two():
    found = [problems.solve("disc_shape", n=n) for n in (4, 8, 16)]
    assert all(s.result.status == "converged" for s in found)
    assert found[0].posed.known["objective"] == pytest.approx(-np.pi / 6, rel=1e-15)
    gaps = [abs(s.figures["objective"] + np.pi / 6) for s in found]
    starts = [abs(s.figures["start"] + np.pi / 12) for s in found]
    for coarse, fine in zip([*gaps[:-1], *starts[:-1]], [*gaps[1:], *starts[1:]], strict=True):
        assert np.log2(coarse / fine) > 1.9  # a polygon is a disc up to O(h^2)
    assert gaps[-1] < 1e-4
    assert found[-1].figures["radius"] == pytest.approx(np.sqrt(2), rel=1e-3)
    assert found[-1].figures["roundness"] > 0.995
    # Newton's method does not mind the mesh.
    assert max(s.result.iterations for s in found) <= 10


def test_b6c_starts_from_the_published_disc_with_its_constraints_kept():
    posed = problems.pose("obstacle_drag", n=4)
    assert [g.value(posed.x0)[0] for g in posed.constraints] == pytest.approx([0, 0, 0], abs=1e-12)
    assert {g.kind for g in posed.constraints} == {"eq"}
    x, d = 0.05 * np.random.default_rng(3).standard_normal((2, posed.J.n))
    for g in posed.constraints:
        slope = (g.value(x + 1e-4 * d) - g.value(x - 1e-4 * d)) / 2e-4
        assert g.jac(x) @ d == pytest.approx(slope, rel=1e-6, abs=1e-12)
        bend = (g.jac(x + 1e-4 * d) - g.jac(x - 1e-4 * d))[0] / 2e-4
        assert g.hvp(x, d, np.ones(1)) == pytest.approx(bend, rel=1e-6, abs=1e-8)


def test_wedge_measures_the_angle_of_a_tip():
    side = np.linspace(0, 1, 50)
    for degrees in (60.0, 90.0):
        flank = np.column_stack([-side * np.cos(np.radians(degrees / 2)), side * np.sin(np.radians(degrees / 2))])
        assert wedge(np.concatenate([flank, flank[1:] * [1, -1]])) == pytest.approx(degrees, abs=1e-9)


@pytest.mark.slow
def test_b6c_least_drag_has_wedges_of_ninety_degrees():
    for n, best in ((8, 21.4286), (16, 21.4397)):
        found = problems.solve("obstacle_drag", n=n)
        assert found.result.status == "converged"
        # Our own figures, recorded; what the literature knows is the shape.
        assert found.figures["objective"] == pytest.approx(best, rel=1e-4)
        assert found.figures["front_angle"] == pytest.approx(90, abs=6)
        assert found.figures["back_angle"] == pytest.approx(90, abs=6)
        assert found.figures["objective"] < 0.9 * found.figures["start"]
        assert abs(found.figures["area_change"]) < 1e-8

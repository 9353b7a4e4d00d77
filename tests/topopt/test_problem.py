"""Everything a person can state wrongly is found before the first solve, and told with its remedy."""

from dataclasses import replace

import numpy as np
import pytest

from topopt import presets
from topopt.errors import DesignError
from topopt.interpolation import RAMP, SIMP
from topopt.problem import check


@pytest.mark.parametrize("preset", presets.PRESETS.values(), ids=lambda f: f.__name__)
def test_presets_are_sound(preset):
    check(preset())


def beam(**changes):
    return replace(presets.cantilever(12, 6), **changes)


@pytest.mark.parametrize("V", [0.0, 1.0, -0.2, 30.0, float("nan")])
def test_volume_fraction_outside_its_range(V):
    with pytest.raises(DesignError, match=r"volume_fraction"):
        check(beam(volume_fraction=V))


def test_no_support():
    with pytest.raises(DesignError, match="no support"):
        check(beam(fixed=np.zeros((13, 7, 2), bool)))


def test_a_support_that_leaves_the_body_turning():
    fixed = np.zeros((13, 7, 2), bool)
    fixed[0, 3] = True
    with pytest.raises(DesignError, match="1 rigid motion of"):
        check(beam(fixed=fixed))
    fixed[:] = False
    fixed[:, 0, 1] = True
    with pytest.raises(DesignError, match="1 rigid motion of"):
        check(beam(fixed=fixed))


def test_no_load():
    with pytest.raises(DesignError, match="no load"):
        check(beam(forces=np.zeros((1, 13, 7, 2))))


def test_a_load_on_nothing():
    void = np.zeros((12, 6), bool)
    void[-3:] = True
    with pytest.raises(DesignError, match="load acts on nothing"):
        check(beam(void=void))


def test_a_load_where_the_body_is_held():
    forces = np.zeros((1, 13, 7, 2))
    forces[0, 0, 3, 1] = 1
    with pytest.raises(DesignError, match="held"):
        check(beam(forces=forces))


def test_a_disconnected_load_path():
    void = np.zeros((12, 6), bool)
    void[6] = True
    with pytest.raises(DesignError, match="disconnected load path"):
        check(beam(void=void))


def test_a_floating_part():
    void = np.zeros((12, 6), bool)
    void[3:6, 2], void[3:6, 4], void[3, 3], void[5, 3] = True, True, True, True
    with pytest.raises(DesignError, match="floating part: a piece of 1 voxels"):
        check(beam(void=void))


def test_not_a_number():
    forces = presets.cantilever(12, 6).forces.copy()
    forces[0, 3, 3, 0] = np.nan
    with pytest.raises(DesignError, match="not a number"):
        check(beam(forces=forces))
    with pytest.raises(DesignError, match="modulus"):
        check(beam(modulus=float("inf")))


def test_more_kept_than_allowed():
    keep = np.zeros((12, 6), bool)
    keep[:8] = True
    with pytest.raises(DesignError, match=r"kept regions alone are 66.7% of the body"):
        check(beam(keep=keep))


def test_nothing_left_to_design():
    with pytest.raises(DesignError, match="nothing is left to design"):
        check(beam(keep=np.ones((12, 6), bool)))


@pytest.mark.parametrize("law", [SIMP(3, 1e-9), SIMP(1, 1e-3), RAMP(3, 1e-9)])
def test_interpolations_run_from_void_to_solid(law):
    assert law(np.array([0.0, 1.0])) == pytest.approx([law.e_min, 1.0])
    x, h = np.linspace(0.1, 0.9, 9), 1e-6
    assert law.derivative(x) == pytest.approx((law(x + h) - law(x - h)) / (2 * h), rel=1e-7)


@pytest.mark.parametrize("make", [lambda: SIMP(0.5), lambda: SIMP(3, 1.0), lambda: RAMP(-1)])
def test_interpolations_refuse_what_cannot_be(make):
    with pytest.raises(DesignError):
        make()

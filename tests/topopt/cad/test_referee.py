"""The second opinion on an exported body, against the theory of bars and beams and against its own voxels."""

import numpy as np
import pytest

from pde.grid.grid import Grid
from topopt.cad.body import Surface
from topopt.cad.patch import Patch
from topopt.cad.referee import referee
from topopt.cad.solid import box, to_manifold, to_surface
from topopt.cad.surface import form_surface
from topopt.errors import DesignError
from topopt.loads import Force, LoadCase, Support

E = 70_000.0


def bar(length: float, width: float, height: float) -> Surface:
    return to_surface(box(np.zeros(3), np.array([length, width, height])))


def end(surface: Surface, x: float, name: str) -> Patch:
    corners = surface.corners
    return Patch(corners[(np.abs(corners[:, :, 0] - x) < 1e-9).all(axis=1)], name)


def test_bar_in_tension_is_exact_and_cases_are_weighted() -> None:
    # nu = 0: a clamped bar is in uniform tension. c = F^2 L / (E A), u = F L / (E A).
    surface = bar(20.0, 4.0, 6.0)
    held, pulled = Support(end(surface, 0.0, "left")), end(surface, 20.0, "right")
    cases = [
        LoadCase("pull", (Force(pulled, (120.0, 0.0, 0.0)),), weight=0.5),
        LoadCase("push", (Force(pulled, (-240.0, 0.0, 0.0)),), weight=2.0),
    ]
    look = referee(surface, [held], cases, E, 0.0, 1.0)
    pull = 120.0**2 * 20 / (E * 24)
    assert look.per_case == pytest.approx({"pull": pull, "push": 4 * pull}, rel=1e-6)
    assert look.compliance == pytest.approx(0.5 * pull + 2.0 * 4 * pull, rel=1e-6)
    assert look.max_displacement == pytest.approx(240.0 * 20 / (E * 24), rel=1e-6)
    assert look.voxels == 20 * 4 * 6 and look.seconds > 0


def test_section_between_voxels_counts_by_its_fraction() -> None:
    # 4.3 x 5.6 mm on voxels of 1 mm: whole voxels would be off by 17 % of the area and more.
    surface = bar(30.0, 4.3, 5.6)
    cases = [LoadCase("pull", (Force(end(surface, 30.0, "right"), (100.0, 0.0, 0.0)),))]
    look = referee(surface, [Support(end(surface, 0.0, "left"))], cases, E, 0.0, 1.0)
    assert look.compliance == pytest.approx(100.0**2 * 30 / (E * 4.3 * 5.6), rel=0.02)


def test_slender_beam_bends_as_timoshenko_says() -> None:
    length, width, height = 60.0, 4.0, 6.0
    surface = bar(length, width, height)
    cases = [LoadCase("bend", (Force(end(surface, length, "right"), (0.0, 0.0, -50.0)),))]
    look = referee(surface, [Support(end(surface, 0.0, "left"))], cases, E, 0.3, 2.0)
    inertia, shear = width * height**3 / 12, E / 2.6 * 5 / 6 * width * height
    deflection = 50.0 * (length**3 / (3 * E * inertia) + length / shear)
    assert look.compliance == pytest.approx(50.0 * deflection, rel=0.03)


def test_formed_body_keeps_the_stiffness_of_its_design() -> None:
    # A beam with a round window, formed from graded densities, against the same beam made exactly.
    from manifold3d import Manifold

    grid = Grid((40, 6, 16))
    x, _, z = np.moveaxis(grid.centers(), -1, 0)
    density = np.clip(0.5 + np.hypot(x - 20, z - 8) - 5, 0, 1)
    formed = form_surface(density, np.ones(grid.shape), grid, None, volume=40 * 6 * 16 - np.pi * 25 * 6)
    window = Manifold.cylinder(10.0, 5.0, 5.0, 96).rotate([-90, 0, 0]).translate([20, -1, 8])
    made = to_surface(to_manifold(bar(40.0, 6.0, 16.0)) - window)
    supports = [Support(end(made, 0.0, "left"))]
    cases = [LoadCase("bend", (Force(end(made, 40.0, "right"), (0.0, 0.0, -100.0)),))]
    exact, ours = (referee(s, supports, cases, E, 0.3, 1.0).compliance for s in (made, formed.surface))
    assert ours == pytest.approx(exact, rel=0.01)
    # The same window two voxels out of place, with the volume and everything else right, is found out.
    shifted = to_surface(to_manifold(bar(40.0, 6.0, 16.0)) - window.translate([0, 0, 2]))
    assert referee(shifted, supports, cases, E, 0.3, 1.0).compliance > 1.05 * exact


def test_bad_questions_are_named() -> None:
    surface = bar(4.0, 2.0, 2.0)
    held = [Support(end(surface, 0.0, "left"))]
    case = LoadCase("pull", (Force(end(surface, 4.0, "right"), (1.0, 0.0, 0.0)),))
    with pytest.raises(DesignError, match="at least one load case"):
        referee(surface, held, [], E, 0.3, 1.0)
    with pytest.raises(DesignError, match="Young's modulus must be positive"):
        referee(surface, held, [case], -1.0, 0.3, 1.0)

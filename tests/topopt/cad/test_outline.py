"""The outline judged again: patch tests, a known plate, the reference value of a solid beam, loads that hang on."""

import math

import numpy as np
import pytest

from topopt.cad.outline import PlanarLoad, PlanarSupport, analyse_outline, outline_compliance
from topopt.cad.planar_cut import CutOutline
from topopt.cad.planar_elasticity import elasticity_matrix, solve_plane, strain_matrices
from topopt.cad.planar_mesh import mesh_region
from topopt.cad.region import Region
from topopt.cad.wires import circle, ellipse, rectangle, rounded_polygon, slot
from topopt.errors import ReanalysisError

BEAM = Region(rectangle((0, 0), (1.2, 0.4)))
SUPPORTS = (
    PlanarSupport(lambda p: np.abs(p[:, 0]) < 1e-6, (True, False)),
    PlanarSupport(lambda p: (np.abs(p[:, 0] - 1.2) < 1e-6) & (np.abs(p[:, 1]) < 1e-6), (False, True)),
)
LOAD = PlanarLoad(lambda p: (np.abs(p[:, 0]) < 1e-6) & (np.abs(p[:, 1] - 0.4) < 1e-6), (0, -0.0025), ((0, 0.4),))
HOLED = Region(rectangle((0, 0), (6, 4)), (ellipse((2, 2), 1, 0.6, 0.4), circle((4.4, 2), 0.7)))


@pytest.mark.parametrize("order", [1, 2])
def test_the_mesh_fits_and_has_the_area(order: int) -> None:
    mesh = mesh_region(HOLED, 0.25, order=order, anchors=[(0, 1.234), (3, 3)])
    assert mesh.order == order and mesh.components == 1 and (mesh.areas > 0).all()
    _, _, weight = strain_matrices(mesh)
    assert weight.sum() == pytest.approx(HOLED.area, rel=5e-3 if order == 1 else 2e-5)
    assert np.linalg.norm(mesh.nodes - (0, 1.234), axis=1).min() < 1e-12
    radius = np.linalg.norm(mesh.nodes[np.unique(mesh.border)] - (4.4, 2), axis=1)
    on_hole = radius < 0.8
    assert on_hole.sum() >= 12 and radius[on_hole] == pytest.approx(0.7, abs=1e-9)
    again = mesh_region(HOLED, 0.25, order=order, anchors=[(0, 1.234), (3, 3)])
    assert np.array_equal(mesh.nodes, again.nodes) and np.array_equal(mesh.triangles, again.triangles)


@pytest.mark.parametrize("order", [1, 2])
@pytest.mark.parametrize("plane", ["strain", "stress"])
def test_a_uniform_pull_is_exact(order: int, plane: str) -> None:
    E, nu, pull = 210.0, 0.3, 3.0
    held = (
        PlanarSupport(lambda p: p[:, 0] < 1e-9, (True, False)),
        PlanarSupport(lambda p: (p[:, 0] < 1e-9) & (p[:, 1] < 1e-9), (False, True)),
    )
    region = Region(rectangle((0, 0), (5, 2)))
    mesh = mesh_region(region, 0.5, order=order)
    fixed = np.zeros((len(mesh.nodes), 2), bool)
    for support in held:
        fixed[support.where(mesh.nodes)] |= support.components
    # Consistent forces of a uniform traction on the right side.
    forces = np.zeros((1, len(mesh.nodes), 2))
    sides = mesh.border[(mesh.nodes[mesh.border, 0] > 5 - 1e-9).all(axis=1)]
    share = [1 / 2, 1 / 2] if order == 1 else [1 / 6, 1 / 6, 4 / 6]
    for side in sides:
        forces[0, side, 0] += pull * np.ptp(mesh.nodes[side, 1]) * np.array(share)
    found = solve_plane(mesh, fixed, forces, E=E, nu=nu, plane=plane)  # pyright: ignore[reportArgumentType]
    stiff = E if plane == "stress" else E / (1 - nu**2)
    assert found.displacement[0, :, 0] == pytest.approx(pull / stiff * mesh.nodes[:, 0], abs=1e-12)
    assert found.compliance[0] == pytest.approx(pull**2 / stiff * 10, rel=1e-12)
    assert found.reaction[0] == pytest.approx([-6, 0], abs=1e-9)
    across = 0.0 if plane == "stress" else nu * pull
    mises = math.sqrt((pull**2 + across**2 + (pull - across) ** 2) / 2)
    assert found.von_mises == pytest.approx(mises, rel=1e-9)


def test_the_solid_beam_has_the_published_compliance() -> None:
    cut = CutOutline((BEAM,))
    linear = analyse_outline(cut, SUPPORTS, [[LOAD]], h=0.01, domain_area=0.48)
    assert linear.compliance == pytest.approx(7.256e-4, rel=5e-3)  # 7.256e-4 and 7.258e-4 on two other meshes
    assert linear.sound and linear.attached == 1 and linear.volume_fraction == 1
    quadratic = analyse_outline(cut, SUPPORTS, [[LOAD]], h=0.02, domain_area=0.48, order=2)
    assert quadratic.compliance > linear.compliance  # linear triangles are too stiff


def test_a_plate_with_a_hole_shows_kirsch_stress() -> None:
    # Hole of radius 1 in a quarter of a wide plate under tension 1: about 3 at its side, plane stress.
    quarter = rounded_polygon([(0, 0), (10, 0), (10, 10), (0, 10)], 0)
    cut = CutOutline((_less(Region(quarter), circle((0, 0), 1)),))
    held = (
        PlanarSupport(lambda p: p[:, 0] < 1e-9, (True, False)),
        PlanarSupport(lambda p: p[:, 1] < 1e-9, (False, True)),
    )
    pull = PlanarLoad(lambda p: p[:, 0] > 10 - 1e-9, (10, 0))
    found = analyse_outline(cut, held, [[pull]], h=0.25, domain_area=100, plane="stress", order=2)
    near = np.linalg.norm(found.mesh.nodes[found.mesh.triangles[:, :3]].mean(axis=1) - (0, 1), axis=1) < 0.2
    assert 2.4 < found.von_mises[0, near].max() < 3.1
    assert 100 < found.compliance < 105


def test_voids_are_cut_and_loads_counted() -> None:
    voids = [ellipse((0.3, 0.2), 0.1, 0.06, 0.4), slot((0.95, 0.2), (1.3, 0.5), 0.05)]
    found = outline_compliance(BEAM, voids, SUPPORTS, [[LOAD], [LOAD]], h=0.02, weights=(1, 2))
    assert found.pieces == 1 and found.sound and found.anchors == 2
    assert found.per_case[0] == found.per_case[1] and found.compliance == pytest.approx(3 * found.per_case[0])
    assert found.per_case[0] > 7.3e-4 and found.area == pytest.approx(found.cut.area)
    assert found.volume_fraction == pytest.approx(1 - (math.pi * 0.006 + voids_area()) / 0.48, abs=2e-4)


def voids_area() -> float:
    """Of the slot within the beam, by counting."""
    x, y = np.meshgrid(np.linspace(0.8, 1.2, 1601)[:-1] + 1.25e-4, np.linspace(0, 0.4, 1601)[:-1] + 1.25e-4)
    inside = slot((0.95, 0.2), (1.3, 0.5), 0.05).contains(np.column_stack([x.ravel(), y.ravel()]))
    return float(inside.mean()) * 0.16


def test_what_cannot_be_judged_is_refused() -> None:
    cut = CutOutline((BEAM,))
    nowhere = PlanarLoad(lambda p: p[:, 0] > 2, (0, 1))
    with pytest.raises(ReanalysisError, match="a load lies where the design has no material"):
        analyse_outline(cut, SUPPORTS, [[nowhere]], h=0.05, domain_area=0.48)
    with pytest.raises(ReanalysisError, match="support 1 lies where"):
        analyse_outline(cut, [PlanarSupport(nowhere.where)], [[LOAD]], h=0.05, domain_area=0.48)
    with pytest.raises(ReanalysisError, match="1 of the plate's three rigid motions free"):
        analyse_outline(cut, SUPPORTS[:1], [[LOAD]], h=0.05, domain_area=0.48)
    with pytest.raises(ReanalysisError, match="size h of triangles must be positive"):
        mesh_region(BEAM, 0.0)
    with pytest.raises(ReanalysisError, match="Poisson's ratio"):
        elasticity_matrix(1, 0.5, "strain")


def _less(region: Region, wire) -> Region:
    from topopt.cad.planar_boolean import material

    return material(region, [wire], None, [])[0]

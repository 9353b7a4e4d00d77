"""Faces found again on a mesh by place and direction, and loaded exactly."""

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.pde.fem.bars import box, facets_at, nodes_at
from topopt.cad.loads_on_mesh import nodal_forces, total_wrench, tractions
from topopt.cad.patch import Patch
from topopt.cad.patch_on_mesh import find_patch
from topopt.errors import ReanalysisError
from topopt.loads import Force, LoadCase, Moment, Pressure

MESH = box((6, 4, 2), (60.0, 40.0, 20.0), jitter=0.0)
EPSILON = 0.1


def rectangle(low, high, z=20.0, up=True, name="pad") -> Patch:
    (x0, y0), (x1, y1) = low, high
    corners = np.array([[x0, y0, z], [x1, y0, z], [x1, y1, z], [x0, y1, z]])
    order = [[0, 1, 2], [0, 2, 3]] if up else [[0, 2, 1], [0, 3, 2]]
    return Patch(corners[order], name)


def test_whole_face_is_found_to_the_facet():
    found = find_patch(rectangle((0, 0), (60, 40)), MESH, EPSILON)
    assert np.array_equal(np.sort(found.facets), facets_at(MESH, 2, 20.0))
    assert found.inside.all()
    assert found.area == pytest.approx(2400)
    assert np.array_equal(found.nodes, np.flatnonzero(nodes_at(MESH, 2, 20.0)))


def test_face_moved_by_the_mesher_is_found_and_the_opposite_one_is_not():
    found = find_patch(rectangle((0, 0), (60, 40), z=20.12), MESH, EPSILON)
    assert found.miss == pytest.approx(0, abs=1e-12)
    # A thin plate: the underside is near, but looks the other way.
    plate = box((6, 4, 1), (60.0, 40.0, 0.1))
    found = find_patch(rectangle((0, 0), (60, 40), z=0.0, up=False), plate, EPSILON)
    assert np.array_equal(np.sort(found.facets), facets_at(plate, 2, 0.0))


def test_rim_cuts_through_facets():
    # Facets are 10 mm wide; the rim runs through the middle of them.
    patch = rectangle((5, 5), (43, 27))
    found = find_patch(patch, MESH, EPSILON)
    assert not found.inside.all()
    assert found.miss == pytest.approx(0, abs=0.05)
    held = MESH.nodes[found.nodes]
    assert held[:, 0].min() >= 5 - 0.15
    assert held[:, 1].max() <= 27 + 0.15
    assert np.array_equal(np.unique(held[:, 2]), [20.0])


def test_patch_smaller_than_a_facet():
    # It lies between all nodes, so it can be loaded but not held; if no sample point sees it, it is told.
    patch = rectangle((15.5, 10.5), (19.5, 14.5), name="spot")
    found = find_patch(patch, MESH, EPSILON)
    assert not len(found.nodes)
    assert found.area == pytest.approx(16, rel=0.1)
    nodal = MESH.facet_forces(found.facets, tractions(found, np.array([0, 0, 7.0]), np.zeros(3), patch.centroid))
    assert nodal.sum(axis=0) == pytest.approx([0, 0, 7], abs=1e-10)
    with pytest.raises(ReanalysisError, match="'dot' was not found again"):
        find_patch(rectangle((12, 15), (12.2, 15.2), name="dot"), MESH, EPSILON)


def test_missing_face_is_told_by_name():
    with pytest.raises(ReanalysisError, match="'lug' was not found again"):
        find_patch(rectangle((0, 0), (60, 40), z=35.0, name="lug"), MESH, EPSILON)


vectors = st.tuples(*[st.floats(-1e4, 1e4)] * 3).map(np.array)


@given(vectors, vectors)
def test_force_and_moment_are_exact_even_where_a_rim_cuts(force, moment):
    patch = rectangle((5, 5), (43, 27))
    found = find_patch(patch, MESH, EPSILON)
    t = tractions(found, force, moment, patch.centroid)
    nodal = MESH.facet_forces(found.facets, t)
    size = np.linalg.norm(force) + np.linalg.norm(moment) + 1e-6
    assert nodal.sum(axis=0) == pytest.approx(force, abs=1e-10 * size)
    arms = MESH.nodes - patch.centroid
    assert np.cross(arms, nodal).sum(axis=0) == pytest.approx(moment, abs=1e-8 * size)


def test_loads_amount_to_what_was_stated():
    top, side = rectangle((0, 0), (60, 40), name="top"), rectangle((0, 0), (20, 40), name="third")
    case = LoadCase("all", (Force(top, (1.0, 2.0, -3.0)), Pressure(side, 0.5), Moment(top, (10.0, 0.0, -20.0))))
    patches = {id(p): find_patch(p, MESH, EPSILON) for p in (top, side)}
    nodal = nodal_forces(MESH, case, patches)
    # Pressure on 800 mm2 pushes down with 400 N at (10, 20).
    assert nodal.sum(axis=0) == pytest.approx([1, 2, -403], abs=1e-9)
    by_hand = np.cross([30, 20, 20], [1, 2, -3]) + np.cross([10, 20, 20], [0, 0, -400]) + [10, 0, -20]
    assert np.cross(MESH.nodes, nodal).sum(axis=0) == pytest.approx(by_hand, abs=1e-8)
    wrench, size = total_wrench(MESH, case, np.zeros(3))
    assert wrench == pytest.approx([1, 2, -403, *by_hand])
    assert size > 400


def test_pressure_acts_along_the_normal_of_a_curved_face():
    # A half cylinder of radius 10 under the mesh of a bent box: the pressure on it lifts with 2 r L p exactly.
    flat = box((1, 16, 3), (1.0, 1.0, 12.0))
    r, angle = 10 + 5 * flat.vertices[:, 0], np.pi * flat.vertices[:, 1]
    vertices = np.stack([r * np.cos(angle), r * np.sin(angle), flat.vertices[:, 2]], axis=1)
    arch = type(flat)(vertices, flat.cells)
    turn = np.linspace(0, np.pi, 65)
    ring = np.stack([10 * np.cos(turn), 10 * np.sin(turn)], axis=1)
    strip = []
    for a, b in itertools.pairwise(ring):
        p, q, s, t = [*a, 0.0], [*b, 0.0], [*b, 12.0], [*a, 12.0]
        strip += [[p, s, q], [p, t, s]]  # seen from the axis: outside of the body
    patch = Patch(np.array(strip), "inner face")
    assert np.einsum("ij,ij->i", patch.normals, patch.triangles.mean(axis=1) * [1, 1, 0]).max() < 0
    found = find_patch(patch, arch, EPSILON)
    case = LoadCase("p", (Pressure(patch, 2.0),))
    nodal = nodal_forces(arch, case, {id(patch): found})
    assert nodal.sum(axis=0) == pytest.approx([0, 2.0 * 2 * 10 * 12, 0], rel=1e-9, abs=1e-8)
    # Nearly all of it comes from the normal itself, not from the correction.
    pushes = -2.0 * (found.areas.sum(axis=1)[:, None] * found.normals).sum(axis=0)
    assert pushes[1] == pytest.approx(480, rel=1e-9)

"""Quadratic tetrahedra: numbering, boundary, and what tractions are worth."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pde.fem import FemError
from pde.fem.quadratic import QuadraticTetrahedra, triangle_rule
from tests.pde.fem.bars import box, facets_at

ONE = np.array([[0.0, 0, 0], [1, 0, 0], [0, 1, 0], [0, 0, 1]])


def test_single_tetrahedron_has_ten_nodes_in_the_stated_order():
    mesh = QuadraticTetrahedra(ONE, np.array([[0, 1, 2, 3]]))
    middles = mesh.nodes[mesh.cell_nodes[0, 4:]]
    pairs = [(2, 3), (1, 3), (1, 2), (0, 3), (0, 2), (0, 1)]
    assert np.array_equal(middles, [ONE[list(pair)].mean(axis=0) for pair in pairs])
    assert mesh.volumes == pytest.approx([1 / 6], rel=1e-15)


def test_boundary_of_a_jittered_box_is_closed_and_has_its_area_and_volume():
    mesh = box((3, 2, 4), (3.0, 2.0, 5.0), jitter=0.2)
    assert mesh.boundary_normals.sum(axis=0) == pytest.approx(np.zeros(3), abs=1e-12)
    assert np.linalg.norm(mesh.boundary_normals, axis=1).sum() == pytest.approx(2 * (6 + 15 + 10), rel=1e-12)
    # Divergence theorem: outward normals, or the sign is wrong.
    centres = mesh.vertices[mesh.boundary].mean(axis=1)
    assert np.vdot(centres, mesh.boundary_normals) / 3 == pytest.approx(30, rel=1e-12)
    assert mesh.volumes.sum() == pytest.approx(30, rel=1e-12)


def test_facet_nodes_are_corners_then_middles_opposite_to_them():
    mesh = box((2, 1, 1), (2.0, 1.0, 1.0))
    corners, middles = mesh.nodes[mesh.boundary_nodes[:, :3]], mesh.nodes[mesh.boundary_nodes[:, 3:]]
    assert middles == pytest.approx((corners.sum(axis=1, keepdims=True) - corners) / 2, abs=1e-15)


def test_uniform_traction_loads_edge_middles_only():
    # int N_corner dS = 0 and int N_edge dS = A / 3 on a flat quadratic triangle.
    mesh = QuadraticTetrahedra(ONE, np.array([[0, 1, 2, 3]]))
    facet = facets_at(mesh, 2, 0.0)
    forces = mesh.facet_forces(facet, np.array([0.0, 0.0, 6.0]))[:, 2]
    assert forces[mesh.boundary_nodes[facet[0]]] == pytest.approx([0, 0, 0, 1, 1, 1], abs=1e-14)


@settings(max_examples=25, deadline=None)
@given(st.lists(st.floats(-5, 5), min_size=12, max_size=12))
def test_linear_traction_keeps_force_and_moment(numbers):
    c, slope = np.array(numbers[:3]), np.array(numbers[3:]).reshape(3, 3)
    mesh = box((2, 2, 1), (2.0, 3.0, 1.0))
    facets = facets_at(mesh, 2, 1.0)
    points, areas = mesh.facet_points(facets)
    tractions = c + points @ slope.T
    forces = mesh.facet_forces(facets, tractions)
    # Exact over [0, 2] x [0, 3] at z = 1: the mean of a linear field is its value in the middle.
    middle = np.array([1.0, 1.5, 1.0])
    assert areas.sum() == pytest.approx(6)
    assert forces.sum(axis=0) == pytest.approx(6 * (c + slope @ middle), abs=1e-11)
    second = 6 * np.diag([2**2 / 12, 3**2 / 12, 0.0])
    about_middle = np.array([np.sum([second[i, i] * np.cross(np.eye(3)[i], slope[:, i]) for i in range(2)], axis=0)])
    assert np.cross(mesh.nodes - middle, forces).sum(axis=0) == pytest.approx(about_middle[0], abs=1e-11)


def test_rule_is_of_degree_two():
    L, w = triangle_rule()
    assert L.sum(axis=1) == pytest.approx(np.ones(len(L)))
    assert w.sum() == pytest.approx(1)
    # int L_a L_b dA = A (1 + delta_ab) / 12
    assert np.einsum("q,qa,qb->ab", w, L, L) == pytest.approx((1 + np.eye(3)) / 12, rel=1e-13)


@pytest.mark.parametrize(
    ("vertices", "cells", "word"),
    [
        (ONE, [[0, 1, 3, 2]], "inside-out"),
        (np.vstack([ONE, [[5.0, 5, 5]]]), [[0, 1, 2, 3]], "belong to a cell"),
        (ONE[:, :2], [[0, 1, 2, 3]], "vertices"),
        (ONE * [1, 1, 0], [[0, 1, 2, 3]], "flat"),
    ],
)
def test_refuses_what_is_no_mesh(vertices, cells, word):
    with pytest.raises(FemError, match=word):
        QuadraticTetrahedra(vertices, np.array(cells))

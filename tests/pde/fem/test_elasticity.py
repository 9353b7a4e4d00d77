"""Elasticity on quadratic tetrahedra against exact solutions."""

import subprocess
import sys

import numpy as np
import pytest

from pde.fem import FemError, FemSolverError
from pde.fem.elasticity import ElasticSolution, solve_elasticity
from pde.fem.elasticity_worker import solve_elasticity_in_child
from pde.fem.quadratic import QuadraticTetrahedra
from tests.pde.fem.bars import box, facets_at, nodes_at

E, NU = 210e3, 0.3


def rollers(mesh: QuadraticTetrahedra) -> np.ndarray:
    """Planes of symmetry at x = 0, y = 0 and z = 0."""
    return np.stack([nodes_at(mesh, axis, 0.0) for axis in range(3)], axis=1)


@pytest.fixture(scope="module")
def dolfinx():
    return pytest.importorskip("dolfinx_solver", reason="needs DOLFINx: pip install 'formgrad[fem]'")


@pytest.mark.fem
def test_uniaxial_bar_is_exact_on_a_distorted_mesh(dolfinx):
    # The patch test: sigma = t e_x e_x and a linear displacement lie in the space of any mesh.
    mesh, t = box((4, 2, 3), (40.0, 10.0, 15.0), jitter=0.25), 80.0
    pull = mesh.facet_forces(facets_at(mesh, 0, 40.0), np.array([t, 0, 0]))
    found = solve_elasticity(mesh, E, NU, rollers(mesh), pull[None])
    exact = mesh.nodes * np.array([1, -NU, -NU]) * t / E
    assert found.displacement[0] == pytest.approx(exact, abs=2e-7 * exact.max())
    assert found.stress[0] == pytest.approx(np.full_like(found.stress[0], t), rel=1e-5)
    assert found.corner_stress[0] == pytest.approx(np.full(len(mesh.vertices), t), rel=1e-5)
    assert found.stress_volume.sum() == pytest.approx(6000, rel=1e-12)
    assert found.compliance[0] == pytest.approx(t * 150 * t / E * 40, rel=1e-7)


@pytest.mark.fem
def test_hanging_bar_is_exact(dolfinx):
    # u = g (L z - z^2 / 2) / E with nu = 0: quadratic, so in the space; stress at the top is g L.
    mesh, g, L = box((2, 2, 4), (3.0, 4.0, 20.0), jitter=0.2), 2e-3, 20.0
    found = solve_elasticity(mesh, E, 0.0, rollers(mesh), np.zeros((1, len(mesh.nodes), 3)), np.array([[0, 0, g]]))
    z = mesh.nodes[:, 2]
    assert found.displacement[0, :, 2] == pytest.approx(g * (L * z - z**2 / 2) / E, abs=1e-7 * g * L**2 / E)
    assert found.corner_stress.max() == pytest.approx(g * L, rel=1e-4)
    assert found.reaction[0, :3] == pytest.approx([0, 0, -g * 240], abs=1e-7)


@pytest.mark.fem
def test_cantilever_bends_like_timoshenko(dolfinx):
    L, b, h, F = 100.0, 10.0, 10.0, 100.0
    mesh = box((30, 3, 3), (L, b, h))
    held = np.repeat(nodes_at(mesh, 0, 0.0)[:, None], 3, axis=1)
    push = mesh.facet_forces(facets_at(mesh, 0, L), np.array([0, 0, -F / (b * h)]))
    found = solve_elasticity(mesh, E, NU, held, push[None])
    kappa = 10 * (1 + NU) / (12 + 11 * NU)  # Cowper 1966, rectangle
    deflection = F * L**3 / (3 * E * b * h**3 / 12) + F * L / (kappa * E / (2 * (1 + NU)) * b * h)
    tip = -found.displacement[0, nodes_at(mesh, 0, L), 2].mean()
    assert tip == pytest.approx(deflection, rel=0.01)
    assert found.compliance[0] == pytest.approx(F * tip, rel=1e-3)
    # Root moment about the origin: F acts at x = L, z-force -F, so M_y = +F L; the support gives the opposite.
    assert found.load[0] == pytest.approx([0, 0, -F, -F * b / 2, F * L, 0], abs=1e-6)
    assert found.reaction[0] == pytest.approx(-found.load[0], abs=1e-5)


@pytest.mark.fem
def test_thick_cylinder_under_pressure_matches_lame(dolfinx):
    # A quarter ring, a = 10, b = 20, plane strain by rollers at both ends; Timoshenko and Goodier, art. 28.
    a, b, p, width = 10.0, 20.0, 50.0, 2.0
    flat = box((8, 16, 1), (1.0, 1.0, width))
    r, angle = a + (b - a) * flat.vertices[:, 0], flat.vertices[:, 1] * np.pi / 2
    mesh = QuadraticTetrahedra(
        np.stack([r * np.cos(angle), r * np.sin(angle), flat.vertices[:, 2]], axis=1), flat.cells
    )
    held = rollers(mesh)
    held[nodes_at(mesh, 2, width), 2] = True
    inner = np.flatnonzero(np.abs(np.hypot(*mesh.vertices[mesh.boundary][:, :, :2].T) - a).max(axis=0) < 1e-6)
    normals = mesh.boundary_normals[inner] / np.linalg.norm(mesh.boundary_normals[inner], axis=1)[:, None]
    found = solve_elasticity(mesh, E, NU, held, mesh.facet_forces(inner, -p * normals[:, None, :])[None])
    c = p * a**2 / (b**2 - a**2)
    exact = (1 + NU) / E * c * ((1 - 2 * NU) * a + b**2 / a)
    corners = np.abs(np.hypot(*mesh.nodes[: len(mesh.vertices), :2].T) - a) < 1e-6
    radial = np.linalg.norm(found.displacement[0, : len(mesh.vertices)][corners], axis=1)
    assert radial == pytest.approx(np.full(corners.sum(), exact), rel=5e-3)
    hoop, across = c * (1 + b**2 / a**2), -p
    along = NU * (hoop + across)
    mises = np.sqrt(((hoop - across) ** 2 + (across - along) ** 2 + (along - hoop) ** 2) / 2)
    assert found.corner_stress[0][corners].mean() == pytest.approx(mises, rel=0.03)


@pytest.mark.fem
def test_cases_superpose_and_the_child_finds_the_same(dolfinx):
    mesh = box((3, 2, 2), (30.0, 10.0, 10.0))
    held = np.repeat(nodes_at(mesh, 0, 0.0)[:, None], 3, axis=1)
    end = facets_at(mesh, 0, 30.0)
    forces = np.stack([mesh.facet_forces(end, np.array(t)) for t in ([1.0, 0, 0], [0, 2.0, 0], [1.0, 2.0, 0])])
    found = solve_elasticity(mesh, E, NU, held, forces)
    u = found.displacement
    assert u[2] == pytest.approx(u[0] + u[1], abs=1e-7 * np.abs(u[2]).max())
    child = solve_elasticity_in_child(mesh, E, NU, held, forces)
    assert np.array_equal(child.displacement, u)
    assert np.array_equal(child.stress, found.stress)


@pytest.mark.fem
def test_errors_of_the_child_are_those_of_the_solver(dolfinx):
    mesh = box((1, 1, 1), (1.0, 1.0, 1.0))
    nothing = np.zeros((len(mesh.nodes), 3), bool)
    with pytest.raises(FemError, match="leave 6 of the six rigid motions"):
        solve_elasticity_in_child(mesh, E, NU, nothing, np.ones((1, len(mesh.nodes), 3)))
    with pytest.raises(FemSolverError, match="ended after"):
        solve_elasticity_in_child(mesh, E, NU, ~nothing, np.ones((1, len(mesh.nodes), 3)), seconds=0.05)


def test_quantiles_are_weighted_by_volume():
    stress = np.array([[[1.0, 2.0, 3.0, 100.0]]])
    volume = np.array([[50.0, 40.0, 9.0, 1.0]])
    nothing = np.zeros(0)
    found = ElasticSolution(nothing, nothing, nothing, nothing, stress, volume, nothing, np.zeros(0, int), nothing)
    assert [found.stress_quantile(0, s) for s in (0.5, 0.9, 0.95, 0.995, 1.0)] == [1.0, 2.0, 3.0, 100.0, 100.0]


def test_refuses_before_it_solves():
    mesh = box((1, 1, 1), (1.0, 1.0, 1.0))
    n = len(mesh.nodes)
    held, forces = np.ones((n, 3), bool), np.ones((1, n, 3))
    one_line = np.zeros((n, 3), bool)
    one_line[(mesh.nodes[:, 0] == 0) & (mesh.nodes[:, 1] == 0)] = True  # an edge along z: a hinge
    twice = QuadraticTetrahedra(
        np.vstack([mesh.vertices, mesh.vertices + 5]), np.vstack([mesh.cells, mesh.cells + len(mesh.vertices)])
    )
    for arguments, word in [
        ((mesh, E, 0.5, held, forces), "Poisson"),
        ((mesh, -E, NU, held, forces), "modulus"),
        ((mesh, E, NU, held[:-1], forces), "held must be"),
        ((mesh, E, NU, held, forces * np.nan), "finite"),
        ((mesh, E, NU, one_line, forces), "leave 1 of the six rigid motions"),
        ((twice, E, NU, np.ones((2 * n, 3), bool), np.ones((1, 2 * n, 3))), "2 pieces"),
    ]:
        with pytest.raises(FemError, match=word):
            solve_elasticity(*arguments)


def test_without_dolfinx_one_sentence_says_how_to_get_it():
    code = (
        "import sys; sys.modules['dolfinx'] = None\n"
        "from pde.fem import FemUnavailable\nfrom pde.fem.dolfinx_import import load\n"
        "try:\n    load()\nexcept FemUnavailable as reason:\n    print(reason)"
    )
    told = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    assert "pip install 'formgrad[fem]'" in told
    assert "conda-forge" in told
    assert told.count("\n") == 1


def test_without_a_compiler_one_sentence_says_so():
    pytest.importorskip("dolfinx", reason="needs DOLFINx: pip install 'formgrad[fem]'")
    code = (
        "import os; os.environ['CC'] = 'no-such-compiler'\n"
        "from pde.fem import FemUnavailable\nfrom pde.fem.dolfinx_import import require\n"
        "try:\n    require()\nexcept FemUnavailable as reason:\n    print(reason)"
    )
    told = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    assert "no-such-compiler" in told
    assert "CC" in told

"""Several controls at once, and the shape of the mesh among them."""

import importlib.util
from types import SimpleNamespace

import numpy as np
import pytest

import optim
from optim.design import TrustRegionNewton
from pde.fem import FemError
from pde.fem.reduced import Reduced
from tests.pde.fem import protocol

pytestmark = pytest.mark.fem


@pytest.fixture(scope="module")
def fe():
    if importlib.util.find_spec("dolfinx") is None:
        pytest.skip("needs DOLFINx: pip install 'formgrad[fem]'")
    from pde.fem.dolfinx_import import load

    return load()


@pytest.fixture(scope="module")
def motion():
    from pde.fem.motion import MeshMotion

    return MeshMotion


def everywhere(x):
    return np.full(x.shape[1], True)


def plate(fe, n=4):
    """State, source, coefficient, boundary value and number on a unit square."""
    ufl, fem = fe.ufl, fe.fem
    mesh = fe.mesh.create_unit_square(fe.MPI.COMM_SELF, n, n)
    V, M, D = (fem.functionspace(mesh, e) for e in (("Lagrange", 2), ("Lagrange", 1), ("DG", 0)))
    W = fem.functionspace(mesh, ("Lagrange", 1, (2,)))
    u, m, q, g, Phi = (fem.Function(space) for space in (V, M, D, V, W))
    return SimpleNamespace(
        mesh=mesh, V=V, M=M, D=D, W=W, u=u, m=m, q=q, g=g, Phi=Phi, k=fem.Constant(mesh, 0.3), v=ufl.TestFunction(V),
        x=ufl.SpatialCoordinate(mesh), left=fem.locate_dofs_geometrical(V, lambda x: np.isclose(x[0], 0)),
    )  # fmt: skip


def posed(fe, s, **more):
    """A quasilinear equation that all four enter, each in its own way."""
    ufl = fe.ufl
    F = ufl.exp(s.q) * (1 + s.u**2) * ufl.inner(ufl.grad(s.u), ufl.grad(s.v)) * ufl.dx
    F += -(1 + s.m) * s.v * ufl.dx + ufl.exp(s.k) * s.u * s.v * ufl.ds
    J = ((s.u - s.x[0] * s.x[1]) ** 2 + 0.1 * s.m**2 + 0.1 * s.q**2) * ufl.dx
    J += 0.1 * s.g**2 * ufl.ds + 0.01 * (s.k - 0.2) ** 2 * ufl.dx
    return Reduced(F, J, s.u, [s.m, s.q, s.k, s.g], [fe.fem.dirichletbc(s.g, s.left)], **more)


def on_boundary(fe):
    return lambda a, b: a * b * fe.ufl.ds


def test_four_controls_in_four_spaces_pass_the_protocol(fe):
    s = plate(fe)
    inner = ["L2", "H1", "l2", on_boundary(fe)]
    with pytest.raises(FemError, match="inner product named"):
        posed(fe, s, inner=["L2", "H2", "l2", "l2"])
    J = posed(fe, s, active=[None, None, None, s.left], inner=inner)
    sizes = [len(part) for part in J.split(J.x0)]
    assert sizes == [25, 32, 1, 9]
    assert J.n == sum(sizes)
    points = np.linspace(0, 1, J.n)[:, None]
    protocol.check(J, 0.3 * np.sin(1 + 2.3 * np.arange(J.n)), protocol.three(points), first_step=2e-3)


def test_each_part_of_the_gradient_is_that_of_the_control_alone(fe):
    s = plate(fe)
    J = posed(fe, s, active=[None, None, None, s.left], inner=["L2", "L2", "l2", on_boundary(fe)])
    x = 0.3 * np.sin(1 + 2.3 * np.arange(J.n))
    parts, gradients = J.split(J.value_grad(x)[1]), J.split(J.gradient(x))
    ufl = fe.ufl
    at = J.split(x)
    for function, values in ((s.m, at[0]), (s.q, at[1])):
        function.x.array[:] = values
    s.k.value, s.g.x.array[s.left] = at[2][0], at[3]
    F = ufl.exp(s.q) * (1 + s.u**2) * ufl.inner(ufl.grad(s.u), ufl.grad(s.v)) * ufl.dx
    F += -(1 + s.m) * s.v * ufl.dx + ufl.exp(s.k) * s.u * s.v * ufl.ds
    misfit = (s.u - s.x[0] * s.x[1]) ** 2 * ufl.dx + 0.1 * s.g**2 * ufl.ds + 0.1 * s.m**2 * ufl.dx
    alone = Reduced(F, misfit, s.u, s.m, [fe.fem.dirichletbc(s.g, s.left)])
    assert alone.value_grad(at[0])[1] == pytest.approx(parts[0], rel=1e-9, abs=1e-14)
    assert alone.gradient(at[0]) == pytest.approx(gradients[0], rel=1e-9, abs=1e-12)
    # <a, b> is the sum over the parts, and Riesz' map is its inverse.
    assert J.space.inner(J.gradient(x), x) == pytest.approx(J.value_grad(x)[1] @ x, rel=1e-11)


def test_newton_finds_the_common_optimum(fe):
    s = plate(fe)
    J = posed(fe, s, active=[None, None, None, s.left], inner=["L2", "L2", "l2", on_boundary(fe)])
    result = optim.minimize(J, J.x0, TrustRegionNewton(), stop=optim.Stop(tol_kkt=1e-9))
    assert result.status == "converged"
    assert result.f < 0.75 * J.value(J.x0)
    assert all(np.abs(part).max() < 1e-9 for part in J.split(J.gradient(result.x)))


def test_integral_over_two_controls(fe):
    s = plate(fe)
    J = posed(fe, s)
    g = J.at_most((s.m * s.q + s.k) * fe.ufl.dx, 0.25)
    x, d = np.random.default_rng(0).uniform(0, 1, (2, J.n))
    f = J.value(x)
    slope = (g.value(x + 1e-3 * d) - g.value(x - 1e-3 * d)) / 2e-3
    assert g.jac(x) @ d == pytest.approx(slope, rel=1e-10)
    bend = (g.jac(x + 1e-3 * d) - g.jac(x - 1e-3 * d))[0] / 2e-3
    assert g.hvp(x, d, np.ones(1)) == pytest.approx(bend, abs=1e-10)
    assert J.value(x) == f
    with_state = J.at_most(s.u * s.m * fe.ufl.dx, 1.0)
    slope = (with_state.value(x + 1e-4 * d) - with_state.value(x - 1e-4 * d)) / 2e-4
    assert with_state.jac(x) @ d == pytest.approx(slope, rel=1e-6)


def test_lists_that_do_not_fit_are_refused(fe):
    s = plate(fe)
    F = (s.u * s.v - s.m * s.v) * fe.ufl.dx
    with pytest.raises(FemError, match="there are 4 controls: give active as a list of 4"):
        posed(fe, s, active=[None, None])
    with pytest.raises(FemError, match="named twice"):
        Reduced(F, s.u**2 * fe.ufl.dx, s.u, [s.m, s.m])
    with pytest.raises(FemError, match="at least one"):
        Reduced(F, s.u**2 * fe.ufl.dx, s.u, [])
    with pytest.raises(FemError, match="does not depend on it"):
        Reduced(F, s.u**2 * fe.ufl.dx, s.u, [s.m, s.q])


# -- shape ------------------------------------------------------------------------------------------------------------


def test_motion_passes_the_protocol_together_with_a_source(fe, motion):
    s, ufl = plate(fe, 3), fe.ufl
    n = ufl.FacetNormal(s.mesh)
    F = ufl.inner(ufl.grad(s.u), ufl.grad(s.v)) * ufl.dx + s.u**3 * s.v * ufl.dx
    F += -(s.m + s.x[0] ** 2) * s.v * ufl.dx + (s.u - s.x[1]) * s.v * ufl.ds
    J = (s.u - s.x[0]) ** 2 * ufl.dx + s.u * ufl.inner(s.x, n) * ufl.ds + 0.1 * s.m**2 * ufl.dx
    J += 0.05 * ufl.inner(s.Phi, s.Phi) * ufl.dx  # the displacement itself may be priced
    both = Reduced(F, J, s.u, [motion(s.Phi), s.m], inner=["elasticity", "L2"])
    rng = np.random.default_rng(4)
    x = np.concatenate([0.03 * rng.standard_normal(32), rng.standard_normal(16)])
    directions = protocol.three(np.linspace(0, 1, both.n)[:, None], 0.1)
    protocol.check(both, x, directions, first_step=2e-2)


@pytest.mark.parametrize("kind", ["interval", "tetrahedron"])
def test_motion_in_one_and_three_dimensions(fe, motion, kind):
    ufl, fem, COMM = fe.ufl, fe.fem, fe.MPI.COMM_SELF
    mesh = (
        fe.mesh.create_interval(COMM, 4, [0.0, 1.0]) if kind == "interval" else fe.mesh.create_unit_cube(COMM, 1, 1, 1)
    )
    dim = mesh.geometry.dim
    V, W = fem.functionspace(mesh, ("Lagrange", 1)), fem.functionspace(mesh, ("Lagrange", 1, (dim,)))
    u, Phi, v, x = fem.Function(V), fem.Function(W), ufl.TestFunction(V), ufl.SpatialCoordinate(mesh)
    F = (ufl.inner(ufl.grad(u), ufl.grad(v)) + u * v - ufl.exp(x[0]) * v) * ufl.dx
    J = Reduced(F, u**2 * x[dim - 1] * ufl.dx, u, motion(Phi), inner="H1")
    at = 0.02 * np.random.default_rng(1).standard_normal(J.n)
    protocol.check(J, at, protocol.three(np.linspace(0, 1, J.n)[:, None], 0.1), first_step=2e-2)


def test_area_follows_the_motion(fe, motion):
    s = plate(fe, 3)
    F = (fe.ufl.inner(fe.ufl.grad(s.u), fe.ufl.grad(s.v)) + s.u * s.v - s.v) * fe.ufl.dx
    J = Reduced(F, s.u * fe.ufl.dx, s.u, motion(s.Phi))
    area = J.equal(fe.fem.Constant(s.mesh, 1.0) * fe.ufl.dx, 1.0)
    points = s.W.tabulate_dof_coordinates()[:, :2].copy()
    stretch = (points * [0.2, 0.5]).ravel()
    assert area.value(stretch) == pytest.approx([1.2 * 1.5 - 1], rel=1e-13)
    # d/dt (1 + .2 t)(1 + .5 t) at t = 1
    assert area.jac(stretch) @ stretch == pytest.approx([0.2 * 1.5 + 0.5 * 1.2], rel=1e-12)
    assert stretch @ area.hvp(stretch, stretch, np.ones(1)) == pytest.approx(2 * 0.2 * 0.5, rel=1e-12)
    # -Laplace u + u = 1 without forces on the boundary: u = 1 whatever the shape, so J is the area.
    assert J.value(stretch) == pytest.approx(1.8, rel=1e-12)
    assert s.mesh.geometry.x[:, :2].max(axis=0) == pytest.approx([1.2, 1.5], rel=1e-13)
    area.value(J.x0)  # a look at the constraint moves nothing
    assert s.mesh.geometry.x[:, :2].max(axis=0) == pytest.approx([1.2, 1.5], rel=1e-13)


def test_a_mesh_that_folds_is_infeasible_and_says_why(fe, motion):
    s = plate(fe, 3)
    F = (fe.ufl.inner(fe.ufl.grad(s.u), fe.ufl.grad(s.v)) + s.u * s.v - s.x[0] * s.v) * fe.ufl.dx
    J = Reduced(F, s.u * fe.ufl.dx, s.u, motion(s.Phi))
    area = J.at_most(fe.fem.Constant(s.mesh, 1.0) * fe.ufl.dx, 1.0)
    folded = (-1.5 * s.W.tabulate_dof_coordinates()[:, :2]).ravel() * np.tile([1.0, 0.0], 16)
    assert J.why_infeasible(J.x0) == ""
    assert "folds the mesh" in J.why_infeasible(folded)
    assert "move in smaller steps" in J.why_infeasible(folded)
    assert J.value(folded) == np.inf
    assert J.value_grad(folded)[0] == np.inf
    assert area.value(folded)[0] == np.inf
    with pytest.raises(FemError, match="folds the mesh"):
        J.hvp(folded, folded)
    before = J.value_grad(J.x0)
    J.value(folded)
    again = J.value_grad(J.x0)
    assert again[0] == before[0]
    assert np.array_equal(again[1], before[1])
    # A line search that starts with too long a step comes back.
    pulled = Reduced(F, (s.u - 40) ** 2 * fe.ufl.dx, s.u, motion(s.Phi), inner="elasticity")
    result = optim.minimize(
        pulled, pulled.x0, optim.design.ProjectedLBFGS(), stop=optim.Stop(max_iter=3, tol_kkt=1e-12)
    )
    assert np.isfinite(result.f)
    assert result.f < pulled.value(pulled.x0)


def test_motions_that_cannot_be_are_refused(fe, motion):
    s = plate(fe, 2)
    F = (s.u * s.v - s.m * s.v) * fe.ufl.dx
    J = s.u * fe.ufl.dx
    with pytest.raises(FemError, match=r"'Lagrange', 1, \(2,\)"):
        Reduced(F, J, s.u, motion(s.m))
    with pytest.raises(FemError, match="two of the controls move the mesh"):
        Reduced(F, J, s.u, [motion(s.Phi), motion(fe.fem.Function(s.W))])
    squares = fe.mesh.create_unit_square(fe.MPI.COMM_SELF, 2, 2, fe.mesh.CellType.quadrilateral)
    V, W = fe.fem.functionspace(squares, ("Lagrange", 1)), fe.fem.functionspace(squares, ("Lagrange", 1, (2,)))
    u, v = fe.fem.Function(V), fe.ufl.TestFunction(V)
    with pytest.raises(FemError, match="straight-sided"):
        Reduced(u * v * fe.ufl.dx, u * fe.ufl.dx, u, motion(fe.fem.Function(W)))

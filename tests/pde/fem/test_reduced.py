"""Derivatives of PDE-constrained functionals: every kind of control and space, known answers, failures that speak."""

import importlib.util
import subprocess
import sys
from types import SimpleNamespace

import numpy as np
import pytest

import optim
from optim.design import ProjectedLBFGS, TrustRegionNewton
from pde.fem import FemError, FemSolverError
from pde.fem.reduced import Reduced
from pde.fem.solver_options import SolverOptions
from pde.functional import TwiceReducedFunctional
from tests.pde.fem import protocol

pytestmark = pytest.mark.fem


@pytest.fixture(scope="module")
def fe():
    if importlib.util.find_spec("dolfinx") is None:
        pytest.skip("needs DOLFINx: pip install 'formgrad[fem]'")
    from pde.fem.dolfinx_import import load

    return load()


def square(fe, n=6, degree=1, control=("Lagrange", 1)):
    """A unit square with state u, control m and test function v."""
    mesh = fe.mesh.create_unit_square(fe.MPI.COMM_SELF, n, n)
    V = fe.fem.functionspace(mesh, ("Lagrange", degree))
    M = V if control == ("Lagrange", degree) else fe.fem.functionspace(mesh, control)
    return SimpleNamespace(
        mesh=mesh, V=V, M=M, u=fe.fem.Function(V), m=fe.fem.Function(M), v=fe.ufl.TestFunction(V),
        x=fe.ufl.SpatialCoordinate(mesh),
    )  # fmt: skip


def dofs(fe, V, where):
    facets = fe.mesh.locate_entities_boundary(V.mesh, V.mesh.topology.dim - 1, where)
    return fe.fem.locate_dofs_topological(V, V.mesh.topology.dim - 1, facets)


def everywhere(x):
    return np.full(x.shape[1], True)


def left(x):
    return np.isclose(x[0], 0)


def right(x):
    return np.isclose(x[0], 1)


def nonlinear(fe, s, **more):
    """A quasilinear equation with the control in coefficient, source, Robin condition and objective."""
    ufl, u, m, v = fe.ufl, s.u, s.m, s.v
    F = (1 + u**2) * ufl.exp(0.3 * m) * ufl.inner(ufl.grad(u), ufl.grad(v)) * ufl.dx
    F += -(2 + m) * v * ufl.dx + ufl.exp(m) * (u - 0.2) * v * ufl.ds
    J = ((u - 1) ** 2 + u * m**3) * ufl.dx + u**3 * ufl.ds
    return Reduced(F, J, u, m, **more)


def test_the_package_names_its_functionals_without_loading_dolfinx():
    code = (
        "import sys, pde.fem\n"
        "from pde.fem.reduced import Reduced\nfrom pde.fem.state_map import StateMap\n"
        "from pde.fem.transient import Transient\n"
        "assert (pde.fem.Reduced, pde.fem.StateMap, pde.fem.Transient) == (Reduced, StateMap, Transient)\n"
        "assert 'dolfinx' not in sys.modules and not hasattr(pde.fem, 'Reduce')"
    )
    subprocess.run([sys.executable, "-c", code], check=True, timeout=120)


# -- known answers ----------------------------------------------------------------------------------------------------


def test_derivative_of_a_material_parameter_in_one_dimension(fe):
    # -(e^m u')' = 1: u = e^-m x (1 - x) / 2, in P2. J = (e^-m - e^-m*)^2 / 240.
    mesh = fe.mesh.create_interval(fe.MPI.COMM_SELF, 5, [0.0, 1.0])
    V, ufl = fe.fem.functionspace(mesh, ("Lagrange", 2)), fe.ufl
    u, v, m = fe.fem.Function(V), ufl.TestFunction(V), fe.fem.Constant(mesh, 0.3)
    x, best, at = ufl.SpatialCoordinate(mesh)[0], 1.1, 0.4
    bcs = [fe.fem.dirichletbc(0.0, dofs(fe, V, everywhere), V)]
    F = (ufl.exp(m) * u.dx(0) * v.dx(0) - v) * ufl.dx
    J = Reduced(F, 0.5 * (u - np.exp(-best) * x * (1 - x) / 2) ** 2 * ufl.dx, u, m, bcs)
    assert J.x0 == pytest.approx([0.3])
    a, b = np.exp(-at), np.exp(-best)
    f, df = J.value_grad(np.array([at]))
    assert f == pytest.approx((a - b) ** 2 / 240, rel=1e-10)
    assert df == pytest.approx([-a * (a - b) / 120], rel=1e-10)
    assert J.hvp(np.array([at]), np.ones(1)) == pytest.approx([a * (2 * a - b) / 120], rel=1e-10)
    assert float(m.value) == at


def test_value_at_the_boundary_as_control_in_one_dimension(fe):
    # -u'' = 0, u(0) = 0, u(1) = m: u = m x and J = m^2 / 6 + m^3 / 12 for 1/2 |u|^2 + 1/3 |u|^3, exactly.
    mesh = fe.mesh.create_interval(fe.MPI.COMM_SELF, 4, [0.0, 1.0])
    V, ufl = fe.fem.functionspace(mesh, ("Lagrange", 1)), fe.ufl
    u, m, v = fe.fem.Function(V), fe.fem.Function(V), ufl.TestFunction(V)
    end = dofs(fe, V, right)
    bcs = [fe.fem.dirichletbc(0.0, dofs(fe, V, left), V), fe.fem.dirichletbc(m, end)]
    J = Reduced(u.dx(0) * v.dx(0) * ufl.dx, (u**2 / 2 + u**3 / 3) * ufl.dx, u, m, bcs, active=end, inner="l2")
    f, df = J.value_grad(np.array([2.0]))
    assert f == pytest.approx(4 / 6 + 8 / 12, rel=1e-13)
    assert df == pytest.approx([2 / 3 + 1], rel=1e-13)
    assert J.hvp(np.array([2.0]), np.array([1.0])) == pytest.approx([1 / 3 + 1], rel=1e-13)
    assert J.counts.factorisations == 1


def test_dissipation_of_poiseuille_flow_and_its_derivative_by_the_inflow(fe):
    # u = 4 m y (H - y) / H^2: dissipation mu |grad u|^2 = 16 mu m^2 L / (3 H). Taylor-Hood holds it exactly.
    L, H, mu, ufl, fem = 2.0, 1.0, 0.7, fe.ufl, fe.fem
    mesh = fe.mesh.create_rectangle(fe.MPI.COMM_SELF, [[0.0, 0.0], [L, H]], [4, 3])
    P2 = fe.basix.ufl.element("Lagrange", "triangle", 2, shape=(2,))
    W = fem.functionspace(mesh, fe.basix.ufl.mixed_element([P2, fe.basix.ufl.element("Lagrange", "triangle", 1)]))
    Q = W.sub(0).collapse()[0]
    w, profile, still = fem.Function(W), fem.Function(Q), fem.Function(Q)
    profile.interpolate(lambda x: np.stack([4 * 1.5 * x[1] * (H - x[1]) / H**2, 0 * x[0]]))

    def held(g, where):
        facets = fe.mesh.locate_entities_boundary(mesh, 1, where)
        return fem.dirichletbc(g, fem.locate_dofs_topological((W.sub(0), Q), 1, facets), W.sub(0))

    inflow = held(profile, left)
    bcs = [inflow, held(still, lambda x: np.isclose(x[1], 0) | np.isclose(x[1], H))]
    (u, p), (v, q) = ufl.split(w), ufl.split(ufl.TestFunction(W))
    # The full gradient as stress: the outlet is then free for this flow with p = 0 there, up to its own normal part.
    F = (mu * ufl.inner(ufl.grad(u), ufl.grad(v)) - p * ufl.div(v) + q * ufl.div(u)) * ufl.dx
    J = Reduced(F, mu * ufl.inner(ufl.grad(u), ufl.grad(u)) * ufl.dx, w, profile, bcs, inner="l2")
    f, df = J.value_grad(J.x0)
    assert f == pytest.approx(16 * mu * 1.5**2 * L / (3 * H), rel=1e-11)
    # J is a square of the inflow: Euler's identity, and H x = dJ.
    assert df @ J.x0 == pytest.approx(2 * f, rel=1e-10)
    assert J.hvp(J.x0, J.x0) == pytest.approx(df, rel=1e-9, abs=1e-9 * np.abs(df).max())


def test_gradient_is_the_riesz_representative(fe):
    s = square(fe)
    s.m.interpolate(lambda x: np.sin(x[0]) + x[1])
    bcs = [fe.fem.dirichletbc(0.0, dofs(fe, s.V, everywhere), s.V)]
    F = (fe.ufl.inner(fe.ufl.grad(s.u), fe.ufl.grad(s.v)) - s.v) * fe.ufl.dx
    parts = {"L2": s.m**2, "H1": s.m**2 + fe.ufl.inner(fe.ufl.grad(s.m), fe.ufl.grad(s.m))}
    for inner, density in parts.items():
        J = Reduced(F, 0.5 * density * fe.ufl.dx, s.u, s.m, bcs, inner=inner)
        x = J.x0.copy()
        assert J.gradient(x) == pytest.approx(x, abs=1e-12)  # of half the squared norm: the point itself
        assert J.space.inner(x, x) == pytest.approx(2 * J.value(x), rel=1e-12)
        assert isinstance(J, TwiceReducedFunctional)


def test_l2_product_makes_the_number_of_iterations_independent_of_the_mesh(fe):
    taken = []
    for n in (6, 12, 24):
        s = square(fe, n, control=("DG", 0))
        bcs = [fe.fem.dirichletbc(0.0, dofs(fe, s.V, everywhere), s.V)]
        F = (fe.ufl.inner(fe.ufl.grad(s.u), fe.ufl.grad(s.v)) - s.m * s.v) * fe.ufl.dx
        J = Reduced(F, (0.5 * (s.u - s.x[0]) ** 2 + 5e-5 * s.m**2) * fe.ufl.dx, s.u, s.m, bcs)
        result = optim.minimize(J, J.x0, ProjectedLBFGS(), stop=optim.Stop(tol_kkt=1e-7))
        assert result.status == "converged"
        taken.append(result.iterations)
    assert max(taken) - min(taken) <= 6, taken


# -- the protocol, for every kind of control --------------------------------------------------------------------------


def test_protocol_control_in_the_domain_nonlinear(fe):
    s = square(fe)
    J = nonlinear(fe, s, bcs=[fe.fem.dirichletbc(0.3, dofs(fe, s.V, left), s.V)])
    points = s.M.tabulate_dof_coordinates()
    protocol.check(J, 0.5 * np.sin(3 * points[:, 0]), protocol.three(points))


def test_derivatives_belong_to_the_sum_that_is_computed(fe):
    # On two cells exp(3 m) is far from what any quadrature rule gives, so value and derivatives must use the same one.
    s, ufl = square(fe, n=1), fe.ufl
    F = (s.u * s.v - ufl.exp(3 * s.m) * s.v) * ufl.dx
    J = Reduced(F, (s.u * ufl.exp(-s.m) + ufl.sin(3 * s.u)) * ufl.dx, s.u, s.m)
    x = np.array([0.2, -0.4, 0.3, 0.1])
    protocol.check(J, x, protocol.three(s.M.tabulate_dof_coordinates(), 0.3))


def test_protocol_control_piecewise_constant(fe):
    s = square(fe, control=("DG", 0))
    J = nonlinear(fe, s)
    points = s.M.tabulate_dof_coordinates()
    protocol.check(J, 0.5 * np.cos(points[:, 1]), protocol.three(points))


def test_protocol_dirichlet_value_and_coefficient_at_once(fe):
    s = square(fe)
    bcs = [fe.fem.dirichletbc(0.3, dofs(fe, s.V, left), s.V), fe.fem.dirichletbc(s.m, dofs(fe, s.V, right))]
    J = nonlinear(fe, s, bcs=bcs)
    points = s.M.tabulate_dof_coordinates()
    protocol.check(J, 0.5 + 0.2 * points[:, 1], protocol.three(points))


def test_protocol_neumann_datum_on_the_boundary(fe):
    s, ufl = square(fe), fe.ufl
    edge = dofs(fe, s.M, everywhere)
    bcs = [fe.fem.dirichletbc(0.0, dofs(fe, s.V, left), s.V)]
    F = ufl.inner(ufl.grad(s.u), ufl.grad(s.v)) * ufl.dx + s.u**3 * s.v * ufl.dx - s.m * s.v * ufl.ds
    objective = 0.5 * (s.u - 1) ** 2 * ufl.dx + 0.05 * s.m**2 * ufl.ds
    J = Reduced(F, objective, s.u, s.m, bcs, active=edge, inner=lambda a, b: a * b * ufl.ds)
    points = s.M.tabulate_dof_coordinates()[edge]
    protocol.check(J, 1 + points[:, 1], protocol.three(points))
    # With this product a boundary control has an ordinary optimum: dJ = 0 in it.
    result = optim.minimize(J, J.x0, TrustRegionNewton(), stop=optim.Stop(tol_kkt=1e-9))
    assert result.status == "converged"
    with pytest.raises(FemError, match="active"):
        Reduced(F, objective, s.u, s.m, bcs, inner=lambda a, b: a * b * ufl.ds)


def test_protocol_several_material_parameters(fe):
    s, ufl = square(fe), fe.ufl
    m = fe.fem.Constant(s.mesh, (0.4, 1.2, -0.3))
    bcs = [fe.fem.dirichletbc(0.0, dofs(fe, s.V, everywhere), s.V)]
    F = (ufl.exp(m[0]) * (1 + m[1] * s.u**2) * ufl.inner(ufl.grad(s.u), ufl.grad(s.v)) - (5 + m[2]) * s.v) * ufl.dx
    J = Reduced(F, (s.u - 0.2 * s.x[0]) ** 2 * ufl.dx + m[2] ** 4 * ufl.dx, s.u, m, bcs)
    directions = {"first": np.array([1.0, 0.2, 0.1]), "second": np.array([0.0, 1.0, 0.5])}
    protocol.check(J, J.x0, directions)


def test_protocol_elastic_modulus_and_solvers_agree(fe):
    ufl, fem = fe.ufl, fe.fem
    mesh = fe.mesh.create_rectangle(fe.MPI.COMM_SELF, [[0.0, 0.0], [3.0, 1.0]], [9, 3])
    V, M = fem.functionspace(mesh, ("Lagrange", 1, (2,))), fem.functionspace(mesh, ("DG", 0))
    u, m, v = fem.Function(V), fem.Function(M), ufl.TestFunction(V)
    bcs = [fem.dirichletbc(np.zeros(2), dofs(fe, V, left), V)]
    strain = ufl.sym(ufl.grad(u))
    stress = m**3 * (2 * strain + ufl.tr(strain) * ufl.Identity(2))
    F = ufl.inner(stress, ufl.sym(ufl.grad(v))) * ufl.dx + v[1] * ufl.ds
    J, K = (Reduced(F, -u[1] * ufl.ds, u, m, bcs, solver=solver) for solver in ("direct", "elasticity-gamg"))
    points = M.tabulate_dof_coordinates()
    x = 0.7 + 0.2 * np.sin(points[:, 0])
    protocol.check(J, x, protocol.three(points, 0.3))
    f, df = J.value_grad(x)
    assert K.value(x) == pytest.approx(f, rel=1e-9)
    assert K.value_grad(x)[1] == pytest.approx(df, rel=1e-7, abs=1e-8 * np.abs(df).max())
    d = protocol.three(points)["random"]
    assert K.hvp(x, d) == pytest.approx(J.hvp(x, d), abs=1e-7 * np.abs(J.hvp(x, d)).max())


# -- what is kept, and what is not ------------------------------------------------------------------------------------


def test_same_point_same_bits_whatever_came_before(fe):
    s = square(fe)
    J = nonlinear(fe, s)
    x, other = 0.3 * np.ones(J.n), np.linspace(-1, 1, J.n)
    f, df = J.value_grad(x)
    H = J.hvp(x, other)
    J.value_grad(other)
    s.u.x.array[:] = 7  # the caller's own use of the functions does no harm
    s.m.x.array[:] = 7
    assert J.value(x) == f
    assert np.array_equal(J.value_grad(x)[1], df)
    s.u.x.array[:] = 7
    assert np.array_equal(J.hvp(x, other), H)


def test_factors_are_shared_and_answers_kept(fe):
    s = square(fe, control=("DG", 0))
    bcs = [fe.fem.dirichletbc(0.0, dofs(fe, s.V, everywhere), s.V)]
    F = (fe.ufl.inner(fe.ufl.grad(s.u), fe.ufl.grad(s.v)) - s.m * s.v) * fe.ufl.dx
    J = Reduced(F, 0.5 * (s.u - 1) ** 2 * fe.ufl.dx, s.u, s.m, bcs)
    for k in range(3):
        x = np.full(J.n, float(k))
        J.value_grad(x), J.value(x), J.hvp(x, x)
    spent = J.counts
    assert (spent.states, spent.adjoints, spent.tangents, spent.factorisations) == (3, 6, 3, 1)
    J.forget()
    J.value(x)
    assert J.counts.factorisations == 2


def test_integral_constraint(fe):
    s = square(fe, control=("DG", 0))
    J = nonlinear(fe, s)
    g = J.at_most(s.m**2 * fe.ufl.dx, 0.5)
    x, d = np.random.default_rng(0).uniform(0, 1, (2, J.n))
    f = J.value(x)
    cell = 1 / J.n
    assert g.value(x) == pytest.approx([(cell * (x @ x) - 0.5) / 0.5], rel=1e-12)
    assert g.jac(x)[0] == pytest.approx(2 * cell * x / 0.5, rel=1e-12)
    assert g.hvp(x, d, np.array([3.0])) == pytest.approx(3 * 2 * cell * d / 0.5, rel=1e-12)
    g.value(d)
    assert J.value(x) == f
    with pytest.raises(FemError, match="a number"):
        J.at_most(s.u * s.v * fe.ufl.dx, 1.0)


def test_integral_of_the_state_is_a_constraint_that_shares_solves(fe):
    s = square(fe, control=("DG", 0))
    J = nonlinear(fe, s)
    energy = fe.ufl.inner(fe.ufl.grad(s.u), fe.ufl.grad(s.u)) * fe.ufl.dx + s.m**2 * s.u * fe.ufl.dx
    g = J.at_most(energy, 0.2)
    x, d = np.random.default_rng(0).uniform(0.5, 1, (2, J.n))
    f, df = J.value_grad(x)
    Hd = J.hvp(x, d)
    before = J.counts.states
    slope = g.jac(x)[0]
    bend = g.hvp(x, d, np.array([3.0]))
    assert J.counts.states == before
    h = 1e-5
    assert slope @ d == pytest.approx((g.value(x + h * d) - g.value(x - h * d))[0] / (2 * h), rel=1e-8)
    assert bend == pytest.approx(3 * (g.jac(x + h * d) - g.jac(x - h * d))[0] / (2 * h), rel=1e-6, abs=1e-9)
    # Each has its own answers, whatever was asked of the other in between.
    g.value(d)
    assert (J.value(x), g.value(x)[0]) == (f, g.value(x)[0])
    assert np.array_equal(J.value_grad(x)[1], df)
    assert np.array_equal(g.jac(x)[0], slope)
    assert np.array_equal(J.hvp(x, d), Hd)
    assert np.array_equal(g.hvp(x, d, np.array([3.0])), bend)
    # The value is that of a functional of its own.
    assert g.value(x)[0] * 0.2 + 0.2 == pytest.approx(J.equal(energy, 0.0).value(x)[0], rel=1e-13)
    J.forget()
    assert np.array_equal(g.jac(x)[0], slope)


def test_least_source_for_a_warm_plate_uses_the_warmth_that_is_asked_for(fe):
    # min int m^2 under int u >= 1 with -Laplace u = m: m = u_1 / int u_1^2 for the response u_1 to a unit source.
    s = square(fe)
    ufl = fe.ufl
    bcs = [fe.fem.dirichletbc(0.0, dofs(fe, s.V, everywhere), s.V)]
    F = (ufl.inner(ufl.grad(s.u), ufl.grad(s.v)) - s.m * s.v) * ufl.dx
    J = Reduced(F, 0.5 * s.m**2 * ufl.dx, s.u, s.m, bcs)
    warm = J.at_most(-s.u * ufl.dx, -1.0)
    found = optim.minimize(J, J.x0, constraints=[warm], stop=optim.Stop(tol_kkt=1e-6))
    assert found.status == "converged"
    J.value(np.ones(J.n))
    unit = s.u.x.array.copy()
    square_of = fe.fem.Function(s.V)
    square_of.x.array[:] = unit
    size = fe.fem.assemble_scalar(fe.fem.form(square_of**2 * ufl.dx))
    assert found.x == pytest.approx(unit / size, abs=1e-5 * unit.max() / size)


def test_an_integral_of_low_degree_beside_others_leaves_their_derivatives_right(fe):
    # Left alone, the linear integral would be taken at one point, and FFCx would hand its u to the other.
    s = square(fe, control=("DG", 0))
    u, m, v, ufl = s.u, s.m, s.v, fe.ufl
    F = (1 + u**2) * ufl.exp(0.3 * m) * ufl.inner(ufl.grad(u), ufl.grad(v)) * ufl.dx - (2 + m) * v * ufl.dx
    F += ufl.exp(m) * (u - 0.2) * v * ufl.ds
    J = Reduced(F, m**2 * u * ufl.dx + m * ufl.dx, u, m)
    x, d = np.random.default_rng(0).uniform(0.5, 1, (2, J.n))
    slope = (J.value(x + 1e-4 * d) - J.value(x - 1e-4 * d)) / 2e-4
    assert J.value_grad(x)[1] @ d == pytest.approx(slope, rel=1e-8)
    bend = (J.value_grad(x + 1e-4 * d)[1] - J.value_grad(x - 1e-4 * d)[1]) / 2e-4
    assert J.hvp(x, d) == pytest.approx(bend, rel=1e-6, abs=1e-9)
    with pytest.raises(FemError, match="rule of one point"):
        Reduced(F, m * u * ufl.dx(metadata={"quadrature_degree": 1}), u, m)


# -- failing loudly ---------------------------------------------------------------------------------------------------


def poisson(fe, **more):
    s = square(fe)
    bcs = [fe.fem.dirichletbc(0.0, dofs(fe, s.V, everywhere), s.V)]
    F = (fe.ufl.inner(fe.ufl.grad(s.u), fe.ufl.grad(s.v)) - s.m * s.v) * fe.ufl.dx
    return Reduced(F, 0.5 * (s.u - s.x[0]) ** 2 * fe.ufl.dx, s.u, s.m, bcs, **more)


HASTY = SolverOptions(
    "hasty-cg", {"ksp_type": "cg", "pc_type": "none", "ksp_rtol": 1e-12, "ksp_max_it": 2}, "allow more iterations"
)


def test_an_adjoint_that_does_not_converge_raises_under_its_own_name(fe):
    J = poisson(fe, adjoint_solver=HASTY)
    x = np.ones(J.n)
    assert J.value(x) > 0  # the state is solved all the same
    with pytest.raises(FemSolverError, match=r"adjoint solve with 'hasty-cg'.*DIVERGED_MAX_IT.*allow more iterations"):
        J.value_grad(x)
    with pytest.raises(FemSolverError, match="adjoint"):
        J.hvp(x, x)  # no half-finished adjoint is taken for one


def test_a_state_that_does_not_converge_raises(fe):
    J = poisson(fe, solver=HASTY)
    with pytest.raises(FemSolverError, match=r"state solve with 'hasty-cg'.*allow more iterations"):
        J.value(np.ones(J.n))


def test_newton_without_a_solution_raises_and_recovers(fe):
    # Bratu: -Laplace u = m e^u has no solution above m = 6.8 on the unit square.
    s, ufl = square(fe), fe.ufl
    bcs = [fe.fem.dirichletbc(0.0, dofs(fe, s.V, everywhere), s.V)]
    m = fe.fem.Constant(s.mesh, 1.0)
    F = (ufl.inner(ufl.grad(s.u), ufl.grad(s.v)) - m * ufl.exp(s.u) * s.v) * ufl.dx
    J = Reduced(F, s.u * ufl.dx, s.u, m, bcs)
    f = J.value(np.ones(1))
    with pytest.raises(FemSolverError, match=r"Newton's method with 'direct'.*smaller steps"):
        J.value(np.array([12.0]))
    with pytest.raises(FemSolverError, match="Newton"):
        J.value(np.array([12.0]))  # the failure is not remembered as an answer
    assert J.value(np.ones(1)) == f


@pytest.mark.parametrize("unit", [1.0, 1e3, 1e6])
def test_a_guess_that_is_the_answer_is_one(fe, unit):
    # In large units the residual of the answer itself is above snes_atol, and cannot fall by snes_rtol any more.
    s, ufl = square(fe), fe.ufl
    bcs = [fe.fem.dirichletbc(0.0, dofs(fe, s.V, left), s.V)]
    F = unit * ((1 + s.u**2) * ufl.exp(s.m) * ufl.inner(ufl.grad(s.u), ufl.grad(s.v)) - (2 + s.m) * s.v) * ufl.dx
    J = Reduced(F, (s.u - 1) ** 2 * ufl.dx + s.u**3 * ufl.ds, s.u, s.m, bcs)
    x = 0.3 * np.cos(np.arange(J.n))
    f, df = J.value_grad(x)
    for off in (0.0, 1e-12, 1e-7):
        J.value(x + off)
        near = Reduced(F, (s.u - 1) ** 2 * ufl.dx + s.u**3 * ufl.ds, s.u, s.m, bcs)  # from the state there
        there = near.value_grad(x)
        assert there[0] == pytest.approx(f, rel=1e-13)
        assert there[1] == pytest.approx(df, abs=1e-13 * np.abs(df).max())


def test_a_small_part_of_a_state_does_not_hide_behind_a_large_one(fe):
    # -Laplace a = m e^a as above, without a solution; beside b = 1e20 every step of a is nothing.
    ufl, fem = fe.ufl, fe.fem
    mesh = fe.mesh.create_unit_square(fe.MPI.COMM_SELF, 4, 4)
    W = fem.functionspace(mesh, fe.basix.ufl.mixed_element([fe.basix.ufl.element("Lagrange", "triangle", 1)] * 2))
    w, m = fem.Function(W), fem.Constant(mesh, 12.0)
    (a, b), (v, q) = ufl.split(w), ufl.split(ufl.TestFunction(W))
    A = W.sub(0).collapse()[0]
    w.x.array[W.sub(1).collapse()[1]] = 1e20
    facets = fe.mesh.locate_entities_boundary(mesh, 1, everywhere)
    held = fem.dirichletbc(fem.Function(A), fem.locate_dofs_topological((W.sub(0), A), 1, facets), W.sub(0))
    F = (ufl.inner(ufl.grad(a), ufl.grad(v)) - m * ufl.exp(a) * v + (1e-20 * b - 1) * q) * ufl.dx
    J = Reduced(F, a**2 * ufl.dx, w, m, [held])
    with pytest.raises(FemSolverError, match="Newton's method"):
        J.value(J.x0)
    assert J.value(np.ones(1)) > 0  # nor is it a hindrance where there is a solution


def test_a_state_that_nothing_holds_raises(fe):
    s, ufl = square(fe), fe.ufl
    F = (ufl.inner(ufl.grad(s.u), ufl.grad(s.v)) - s.m * s.v) * ufl.dx
    J = Reduced(F, s.u**2 * ufl.dx, s.u, s.m)
    with pytest.raises(FemSolverError, match=r"state solve with 'direct'.*fix the solution"):
        J.value(np.ones(J.n))


def test_cg_refuses_the_adjoint_of_an_equation_that_is_not_symmetric(fe):
    s, ufl = square(fe), fe.ufl
    bcs = [fe.fem.dirichletbc(0.0, dofs(fe, s.V, everywhere), s.V)]
    F = (ufl.inner(ufl.grad(s.u), ufl.grad(s.v)) + s.u.dx(0) * s.v - s.m * s.v) * ufl.dx
    J = Reduced(F, s.u**2 * ufl.dx, s.u, s.m, bcs, adjoint_solver="poisson-gamg")
    with pytest.raises(FemSolverError, match=r"'poisson-gamg' needs a symmetric matrix.*direct"):
        J.value_grad(np.ones(J.n))
    K = Reduced(F, s.u**2 * ufl.dx, s.u, s.m, bcs, adjoint_solver="gmres-ilu")
    L = Reduced(F, s.u**2 * ufl.dx, s.u, s.m, bcs)
    x = np.cos(np.arange(K.n))
    assert K.value_grad(x)[1] == pytest.approx(L.value_grad(x)[1], abs=1e-10)


def test_statements_that_do_not_fit_are_refused(fe):
    s, dx = square(fe), fe.ufl.dx
    F, J = (s.u * s.v - s.m * s.v) * dx, s.u**2 * dx
    with pytest.raises(FemError, match="no solver named 'mumps'"):
        Reduced(F, J, s.u, s.m, solver="mumps")
    with pytest.raises(FemError, match="does not contain the state"):
        Reduced(s.m * s.v * dx, J, s.u, s.m)
    with pytest.raises(FemError, match="must be a number"):
        Reduced(F, s.u * s.v * dx, s.u, s.m)
    with pytest.raises(FemError, match="one test function"):
        Reduced(s.u * dx, J, s.u, s.m)
    with pytest.raises(FemError, match="control is a float"):
        Reduced(F, J, s.u, 1.0)
    with pytest.raises(FemError, match="no inner product named 'l3'"):
        Reduced(F, J, s.u, s.m, inner="l3")
    elsewhere = fe.fem.Function(fe.fem.functionspace(s.mesh, ("Lagrange", 1)))
    with pytest.raises(FemError, match="another space than the state"):
        Reduced(F, J, s.u, s.m, [fe.fem.dirichletbc(elsewhere, dofs(fe, s.V, left))])
    with pytest.raises(FemError, match="J does not depend on it"):
        Reduced(F, J, s.u, fe.fem.Function(s.M))
    with pytest.raises(FemError, match="must be UFL forms"):
        Reduced(s.u * s.v, J, s.u, s.m)
    for control in (s.u, [s.m, s.u]):
        with pytest.raises(FemError, match="the control is the state itself"):
            Reduced(F, J, s.u, control)
    for bcs in (fe.fem.dirichletbc(0.0, dofs(fe, s.V, left), s.V), [s.m]):
        with pytest.raises(FemError, match=r"bcs must be a list of Dirichlet conditions: bcs=\["):
            Reduced(F, J, s.u, s.m, bcs)
    constant = fe.fem.Constant(s.mesh, 1.0)
    held = fe.fem.dirichletbc(constant, dofs(fe, s.V, left), s.V)
    with pytest.raises(FemError, match="cannot be the control"):
        Reduced((s.u - constant) * s.v * dx, J, s.u, constant, [held])
    reduced = Reduced(F, J, s.u, s.m)
    with pytest.raises(FemError, match="flat vector"):
        reduced.value(np.ones((2, 2)))
    with pytest.raises(FemError, match="not finite"):
        reduced.value(np.full(reduced.n, np.nan))

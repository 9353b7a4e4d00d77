"""The state in the open: the same numbers as the functional that hides it."""

import importlib.util

import numpy as np
import pytest

from pde.fem import FemError
from pde.fem.reduced import Reduced

pytestmark = pytest.mark.fem


@pytest.fixture(scope="module")
def fe():
    if importlib.util.find_spec("dolfinx") is None:
        pytest.skip("needs DOLFINx: pip install 'formgrad[fem]'")
    from pde.fem.dolfinx_import import load

    return load()


def plate(fe, **more):
    """A nonlinear conductor with a held side; the control is a source."""
    mesh, ufl = fe.mesh.create_unit_square(fe.MPI.COMM_SELF, 4, 4), fe.ufl
    V, M = fe.fem.functionspace(mesh, ("Lagrange", 1)), fe.fem.functionspace(mesh, ("DG", 0))
    u, m, g, v = fe.fem.Function(V), fe.fem.Function(M), fe.fem.Function(V), ufl.TestFunction(V)
    m.interpolate(lambda x: 1 + x[0])
    g.interpolate(lambda x: 0.1 * x[1])
    F = ((1 + u**2) * ufl.inner(ufl.grad(u), ufl.grad(v)) - m**2 * v) * ufl.dx
    J = ((u - 0.2) ** 2 + 0.1 * m**2 + u * m) * ufl.dx
    bcs = [fe.fem.dirichletbc(g, fe.fem.locate_dofs_geometrical(V, lambda x: np.isclose(x[0], 0)))]
    return Reduced(F, J, u, more.pop("control", lambda u, m, g: m)(u, m, g), bcs, **more)


def test_state_objective_and_gradient_are_those_of_the_functional(fe):
    J = plate(fe)
    sight, x = J.in_sight, 1.3 * J.x0
    u = sight.solve(x)
    f, df = J.value_grad(x)
    assert sight.objective(u, x) == f
    assert sight.adjoint_gradient(u, x) == pytest.approx(df, rel=1e-12, abs=1e-15)
    assert not sight.linear
    assert np.abs(sight.residual(u, x)).max() < 1e-12
    assert (sight.residual(u + 1, x)[sight.fixed] == 0).all()
    assert len(sight.active) == J.n
    assert sight.counts is J.counts
    # With another solved in between, the gradient belongs to the state that is given.
    J.value(2 * x)
    assert sight.adjoint_gradient(u, x) == pytest.approx(df, rel=1e-12, abs=1e-15)


def test_partials_and_pullback_make_the_gradient(fe):
    J = plate(fe, active=np.arange(0, 32, 2))
    sight, x = J.in_sight, J.x0
    u = sight.solve(x)
    Ju, Jx = sight.partials(u, x)
    eps = 1e-6 * np.cos(np.arange(len(u)))
    assert Ju @ eps == pytest.approx((sight.objective(u + eps, x) - sight.objective(u - eps, x)) / 2, rel=1e-8)
    d = 1e-6 * np.cos(np.arange(J.n))
    assert Jx @ d == pytest.approx((sight.objective(u, x + d) - sight.objective(u, x - d)) / 2, rel=1e-8)
    p = np.sin(np.arange(len(u)))
    p[sight.fixed] = 0
    slope = p @ (sight.residual(u, x + d) - sight.residual(u, x - d)) / 2
    assert sight.pulled(u, x, p) @ d == pytest.approx(slope, rel=1e-8)
    sight.adjoint_gradient(u, x)
    adjoint = sight.p.x.array.copy()
    assert Jx + sight.pulled(u, x, adjoint) == pytest.approx(J.value_grad(x)[1], rel=1e-12)


def test_a_look_leaves_the_functional_as_it_was(fe):
    J = plate(fe)
    f, df = J.value_grad(J.x0)
    sight = J.in_sight
    sight.place(2 * J.x0, np.zeros(25))
    sight.objective(np.ones(25), 3 * J.x0)
    again = J.value_grad(J.x0)
    assert again[0] == f
    assert np.array_equal(again[1], df)


def test_it_is_shown_for_one_control_inside_only(fe):
    for control in (lambda u, m, g: [m, g], lambda u, m, g: g):
        J = plate(fe, control=control)
        with pytest.raises(FemError, match="where there is one control"):
            J.in_sight  # noqa: B018

"""The named solver option sets: same answers as the direct one, adjoints of their own, failures by name, no growth."""

import importlib.util
import resource

import numpy as np
import pytest

from pde.fem import FemError, FemSolverError
from pde.fem.reduced import Reduced
from pde.fem.solver_options import OPTIONS, SolverOptions

pytestmark = pytest.mark.fem


@pytest.fixture(scope="module")
def fe():
    if importlib.util.find_spec("dolfinx") is None:
        pytest.skip("needs DOLFINx: pip install 'formgrad[fem]'")
    from pde.fem.dolfinx_import import load

    return load()


def flow(fe, n, sign=1.0, wind=0.0, **more):
    """Flow through a square, driven by a force that is the control; `sign` of the continuity equation."""
    from pde.fem import shapes

    ufl, fem, element = fe.ufl, fe.fem, fe.basix.ufl.element
    box = shapes.square(n, comm=fe.MPI.COMM_SELF)
    pair = [element("Lagrange", "triangle", 2, shape=(2,)), element("Lagrange", "triangle", 1)]
    W = fem.functionspace(box.mesh, fe.basix.ufl.mixed_element(pair))
    w, f = fem.Function(W), fem.Function(fem.functionspace(box.mesh, pair[0]))
    (v, q), (dv, dq), x = ufl.split(w), ufl.split(ufl.TestFunction(W)), ufl.SpatialCoordinate(box.mesh)
    still = fem.Function(W.sub(0).collapse()[0])
    walls = fem.locate_dofs_topological((W.sub(0), still.function_space), 1, box.facets("left", "bottom", "top"))
    F = (2 * ufl.inner(ufl.grad(v), ufl.grad(dv)) - q * ufl.div(dv) + sign * dq * ufl.div(v)) * ufl.dx
    if wind:
        F += wind * ufl.inner(ufl.dot(ufl.as_vector([1.0, x[0]]), ufl.nabla_grad(v)), dv) * ufl.dx
    F -= ufl.inner(f + ufl.as_vector([x[1], -(x[0] ** 2)]), dv) * ufl.dx
    J = ufl.inner(v, v) * ufl.dx + q**2 * ufl.dx
    return Reduced(F, J, w, f, [fem.dirichletbc(still, walls, W.sub(0))], **more)


@pytest.mark.parametrize(("sign", "wind"), [(1.0, 0.0), (-1.0, 0.0), (1.0, 3.0)])
def test_split_preconditioner_gives_the_direct_answer_and_adjoint(fe, sign, wind):
    direct, split = (flow(fe, 4, sign, wind, solver=name) for name in ("direct", "stokes-fieldsplit"))
    x = np.sin(1 + np.arange(direct.n))
    f, df = direct.value_grad(x)
    g, dg = split.value_grad(x)
    assert g == pytest.approx(f, rel=1e-8)
    assert dg == pytest.approx(df, abs=1e-8 * np.abs(df).max())
    assert split.hvp(x, x) == pytest.approx(direct.hvp(x, x), abs=1e-8 * np.abs(df).max())


def test_split_preconditioner_does_not_mind_the_mesh(fe):
    taken = []
    for n in (4, 8, 16):
        J = flow(fe, n, solver="stokes-fieldsplit")
        J.value(J.x0)
        taken.append(J._parts.equation.forward.ksp.getIterationNumber())
    assert max(taken) < 1.6 * min(taken), taken
    assert max(taken) < 120


def test_split_preconditioner_needs_two_parts(fe):
    mesh = fe.mesh.create_unit_square(fe.MPI.COMM_SELF, 2, 2)
    V = fe.fem.functionspace(mesh, ("Lagrange", 1))
    u, m, v = fe.fem.Function(V), fe.fem.Function(V), fe.ufl.TestFunction(V)
    with pytest.raises(FemError, match="'stokes-fieldsplit' needs a mixed space of velocity and pressure"):
        Reduced((u - m) * v * fe.ufl.dx, u * fe.ufl.dx, u, m, solver="stokes-fieldsplit")


def test_every_option_set_has_a_remedy(fe):
    assert set(OPTIONS) == {"direct", "gmres-ilu", "poisson-gamg", "elasticity-gamg", "stokes-fieldsplit"}
    for options in OPTIONS.values():
        assert len(options.remedy) > 20


def test_adjoint_under_other_options_fails_by_name_and_leaves_the_state(fe):
    hasty = SolverOptions("hasty-gmres", {"ksp_type": "gmres", "pc_type": "none", "ksp_max_it": 3}, "allow more steps")
    J = flow(fe, 4, adjoint_solver=hasty)
    f = J.value(J.x0)
    with pytest.raises(FemSolverError, match=r"adjoint solve with 'hasty-gmres' did not converge .*: allow more steps"):
        J.value_grad(J.x0)
    assert J.value(J.x0) == f


def test_options_leave_petsc_as_it_was(fe):
    import gc

    before = fe.PETSc.Options().getAll()
    J = flow(fe, 2, solver="stokes-fieldsplit")
    J.value_grad(J.x0)
    del J
    gc.collect()
    left = {key for key in fe.PETSc.Options().getAll() if key not in before}
    assert not left


@pytest.mark.slow
def test_memory_stays_flat_over_a_thousand_evaluations(fe):
    J = flow(fe, 6)
    x = np.sin(1 + np.arange(J.n))

    def evaluate(times):
        for k in range(times):
            J.value_grad(x * (1 + 1e-3 * k))
            J.hvp(x * (1 + 1e-3 * k), x)
        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss

    settled = evaluate(100)
    assert evaluate(1000) < 1.02 * settled


def chain(fe, stiffness):
    """A chain of springs between two ends, the first held, as a bar of constant cells; the load is 1 everywhere."""
    mesh = fe.mesh.create_interval(fe.MPI.COMM_SELF, len(stiffness), [0.0, 1.0])
    V, M, ufl = fe.fem.functionspace(mesh, ("Lagrange", 1)), fe.fem.functionspace(mesh, ("DG", 0)), fe.ufl
    u, m, v = fe.fem.Function(V), fe.fem.Function(M), fe.ufl.TestFunction(V)
    m.x.array[:] = stiffness
    held = fe.fem.dirichletbc(0.0, fe.fem.locate_dofs_geometrical(V, lambda x: np.isclose(x[0], 0)), V)
    return Reduced(m * u.dx(0) * v.dx(0) * ufl.dx - v * ufl.dx, u * ufl.dx, u, m, [held])


def test_an_answer_whose_residual_is_rounding_is_refined_and_judged_by_its_correction(fe, monkeypatch):
    from pde.fem.linear_solver import LinearSolver

    asked = []
    refined = LinearSolver._refined
    monkeypatch.setattr(LinearSolver, "_refined", lambda self, *a: asked.append(refined(self, *a)) or asked[-1])
    # Soft at the held end and stiff beyond: u is large there, and the terms of K u nearly cancel.
    n = 200
    stiffness = np.where(np.arange(n) < n // 2, 1e-4, 1.0)
    J = chain(fe, stiffness)
    h = 1 / n
    # u' = (1 - x) / m in the middle of each cell, for the load of linear elements: exact at the vertices.
    slopes = (1 - (np.arange(n) + 0.5) * h) / stiffness
    u = np.concatenate([[0.0], np.cumsum(slopes * h)])
    exact = h * (u[1:] + u[:-1]).sum() / 2
    f, df = J.value_grad(J.x0)
    assert asked
    assert all(asked)
    slope = -h * slopes**2  # of a compliance: -int u'^2 over the cell
    assert f == pytest.approx(exact, rel=1e-8)
    assert df == pytest.approx(slope, abs=1e-8 * np.abs(slope).max())


def test_a_singular_equation_is_not_refined_into_an_answer(fe):
    mesh = fe.mesh.create_unit_square(fe.MPI.COMM_SELF, 6, 6)
    V, ufl = fe.fem.functionspace(mesh, ("Lagrange", 1)), fe.ufl
    u, m, v = fe.fem.Function(V), fe.fem.Function(V), ufl.TestFunction(V)
    m.x.array[:] = 1.0
    J = Reduced((ufl.inner(ufl.grad(u), ufl.grad(v)) - m * v) * ufl.dx, u**2 * ufl.dx, u, m)
    # The solver itself was content: no reason of its own is told beside the residual.
    with pytest.raises(FemSolverError, match=r"state solve with 'direct' did not converge \(1 iterations, relative"):
        J.value(J.x0)


def test_bars_of_many_elements_are_solved(fe):
    from pde import problems

    for n in (120, 200):
        found = problems.solve("bar", n=n)
        assert found.figures["objective"] == pytest.approx(found.posed.known["objective"], rel=3e-4)

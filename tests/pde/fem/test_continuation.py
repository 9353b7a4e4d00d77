"""Navier-Stokes past a cylinder, reached by continuation in the Reynolds number: derivatives at the end of the way."""

import importlib.util

import numpy as np
import pytest

from pde.fem import FemError, FemSolverError
from pde.fem.reduced import Reduced
from tests.pde.fem import protocol

pytestmark = pytest.mark.fem

WAY = (10, 30, 100, 200, 400, 700, 1000)


@pytest.fixture(scope="module")
def fe():
    if importlib.util.find_spec("dolfinx") is None:
        pytest.skip("needs DOLFINx: pip install 'formgrad[fem]'")
    from pde.fem.dolfinx_import import load

    return load()


def stream(fe, reynolds=1.0, n=4):
    """A channel around a cylinder through which fluid is blown: the loss, by the velocity on the cylinder."""
    from pde.fem import shapes

    ufl, fem, element = fe.ufl, fe.fem, fe.basix.ufl.element
    fluid = shapes.channel(n, 3.0, 1.0, 0.2, 0.8, comm=fe.MPI.COMM_SELF)
    pair = [element("Lagrange", "triangle", 2, shape=(2,)), element("Lagrange", "triangle", 1)]
    W = fem.functionspace(fluid.mesh, fe.basix.ufl.mixed_element(pair))
    w, Re = fem.Function(W), fem.Constant(fluid.mesh, float(reynolds))
    (u, p), (v, q), flow = ufl.split(w), ufl.split(ufl.TestFunction(W)), W.sub(0)
    g, inflow, still = (fem.Function(flow.collapse()[0]) for _ in range(3))
    inflow.interpolate(lambda x: np.stack([4 * x[1] * (1 - x[1]), 0 * x[1]]))
    surface = fluid.ds("obstacle")

    def at(*names):
        return fluid.dofs((flow, g.function_space), *names)

    F = (ufl.inner(ufl.grad(u), ufl.grad(v)) / Re + ufl.inner(ufl.dot(u, ufl.nabla_grad(u)), v)) * ufl.dx
    F += (q * ufl.div(u) - p * ufl.div(v)) * ufl.dx
    J = 0.5 * ufl.inner(ufl.grad(u), ufl.grad(u)) * ufl.dx + 0.5 * ufl.inner(g, g) * surface
    held = ((still, at("bottom", "top")), (inflow, at("left")), (g, at("obstacle")))
    bcs = [fem.dirichletbc(value, dofs, flow) for value, dofs in held]
    inner = lambda a, b: ufl.inner(a, b) * surface  # noqa: E731
    return Reduced(F, J, w, g, bcs, active=at("obstacle")[1], inner=inner), Re


def test_a_fast_flow_is_found_by_way_of_slower_ones(fe):
    there, _ = stream(fe, WAY[-1])
    with pytest.raises(FemSolverError, match="state solve by Newton's method"):
        there.value(there.x0)  # from rest
    J, Re = stream(fe)
    J.approach(Re, WAY)
    assert float(Re.value) == WAY[-1]
    steps = J.counts.newton_steps
    f = J.value(J.x0)
    assert J.counts.newton_steps <= steps + 1  # the guess is the answer
    # Another way leads to the same flow.
    other, Re = stream(fe)
    other.approach(Re, np.geomspace(20, WAY[-1], 8))
    assert other.value(other.x0) == pytest.approx(f, rel=1e-10)


@pytest.mark.parametrize(("reynolds", "size", "first"), [(10, 0.1, 1e-1), (100, 0.05, 5e-2), (1000, 0.002, 5e-2)])
def test_protocol_at_the_end_of_the_way(fe, reynolds, size, first):
    J, Re = stream(fe)
    J.approach(Re, [value for value in WAY if value <= reynolds])
    x = 0.4 * size * np.sin(1 + 2.3 * np.arange(J.n))
    directions = protocol.three(np.linspace(0, 1, J.n)[:, None], size)
    protocol.check(J, x, directions, first_step=first, accuracy=1e-12)


def test_the_way_starts_at_the_control_that_is_named_and_leaves_no_trace_but_the_guess(fe):
    J, Re = stream(fe)
    x = 0.1 * np.cos(np.arange(J.n))
    J.approach(Re, (10, 50), x)
    direct, _ = stream(fe, 50)
    assert J.value(J.x0) == pytest.approx(direct.value(direct.x0), rel=1e-11)
    assert J.value_grad(x)[1] == pytest.approx(direct.value_grad(x)[1], abs=1e-9)


def test_a_way_that_breaks_off_says_where(fe):
    J, Re = stream(fe)
    with pytest.raises(FemSolverError, match=r"at 5000 on the way: the state solve by Newton's method"):
        J.approach(Re, (10, 100, 5000))
    with pytest.raises(FemError, match="must be a dolfinx Constant in the residual"):
        J.approach(3.0, (10, 100))

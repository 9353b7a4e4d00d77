"""Derivatives of time-dependent problems for every scheme, control and schedule; known answers; failures that speak."""

import importlib.util
from types import SimpleNamespace

import numpy as np
import pytest

import optim
from optim.design import TrustRegionNewton
from pde.fem import FemError, FemSolverError
from pde.fem.motion import MeshMotion
from pde.fem.schemes import SCHEMES
from pde.fem.transient import Transient
from pde.functional import TwiceReducedFunctional
from pde.tape import Budget, Schedule, TapeError, keep_all, revolve
from tests.pde.fem import protocol

pytestmark = pytest.mark.fem


@pytest.fixture(scope="module")
def fe():
    if importlib.util.find_spec("dolfinx") is None:
        pytest.skip("needs DOLFINx: pip install 'formgrad[fem]'")
    from pde.fem.dolfinx_import import load

    return load()


def line(fe, n=8, degree=1, shape=()):
    """A unit interval with state u, control m, test function v and time t."""
    mesh = fe.mesh.create_interval(fe.MPI.COMM_SELF, n, [0.0, 1.0])
    V = fe.fem.functionspace(mesh, ("Lagrange", degree, shape))
    return SimpleNamespace(
        mesh=mesh, V=V, u=fe.fem.Function(V), m=fe.fem.Function(V), v=fe.ufl.TestFunction(V),
        t=fe.fem.Constant(mesh, 0.0), x=fe.ufl.SpatialCoordinate(mesh)[0], ufl=fe.ufl, dx=fe.ufl.dx, ds=fe.ufl.ds,
    )  # fmt: skip


def ends(fe, s):
    dofs = fe.fem.locate_dofs_geometrical(s.V, lambda x: np.isclose(x[0], 0) | np.isclose(x[0], 1))
    return dofs, [fe.fem.dirichletbc(0.0, dofs, s.V)]


# -- schemes ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("name", "order"), [("implicit-euler", 1), ("crank-nicolson", 2), ("bdf2", 2)])
def test_weights_integrate_as_accurately_as_the_scheme(name, order):
    scheme, errors = SCHEMES[name], []
    assert scheme.weights(1) == pytest.approx([1.0], rel=1e-15)
    for N in (50, 100):
        w = scheme.weights(N)
        assert w.min() > 0.49
        assert w.sum() == pytest.approx(N, rel=1e-14)
        times = np.array([(n + scheme.formula(n).theta) / N for n in range(N)])
        errors.append(w @ np.exp(times) / N - (np.e - 1))
    assert np.log2(errors[0] / errors[1]) > order - 0.05


def test_weights_of_bdf2():
    assert SCHEMES["bdf2"].weights(9) == pytest.approx(
        [1.5 - 1.5 / 3**9, *(1 - 3.0**-k for k in range(8, 0, -1))], rel=1e-14
    )


def closed_form(scheme, z, N):
    """u_N / u_0 for u' = -lambda u with z = lambda dt, and its derivative by z."""
    if scheme == "implicit-euler":
        return (1 + z) ** -N, -N * (1 + z) ** (-N - 1)
    if scheme == "crank-nicolson":
        r = (1 - z / 2) / (1 + z / 2)
        return r**N, -N * r ** (N - 1) / (1 + z / 2) ** 2
    u, du = [1.0, 1 / (1 + z)], [0.0, -1 / (1 + z) ** 2]
    for _ in range(N - 1):
        u.append((2 * u[-1] - u[-2] / 2) / (1.5 + z))
        du.append((2 * du[-1] - du[-2] / 2 - u[-1]) / (1.5 + z))
    return u[-1], du[-1]


@pytest.mark.parametrize("scheme", SCHEMES)
def test_decay_and_its_derivatives_in_closed_form(fe, scheme):
    s, N, T = line(fe, 2), 6, 0.5
    rate = fe.fem.Constant(s.mesh, 0.0)
    s.u.x.array[:] = 2.0
    J = Transient(
        rate * s.u * s.v * s.dx, s.u, rate, terminal=s.u * s.dx, duration=T, steps=N, scheme=scheme, schedule=revolve(2)
    )
    assert isinstance(J, TwiceReducedFunctional)
    f, df = J.value_grad(np.array([3.0]))
    r, dr = closed_form(scheme, 3.0 * T / N, N)
    assert f == pytest.approx(2 * r, rel=1e-13)
    assert df == pytest.approx([2 * dr * T / N], rel=1e-13)
    # States at another control, with something else asked for between them.
    u = []
    for _, values in J.states(np.array([1.0])):
        u.append(values[0])
        J.value(np.array([3.0]))
    assert u[-1] == pytest.approx(2 * closed_form(scheme, T / N, N)[0], rel=1e-13)
    assert J.value_grad(np.array([3.0]))[1] == pytest.approx(df, rel=0, abs=0)
    # And by the initial value, for which J = r^2 u_0^2 / 2 integrated.
    start = fe.fem.Function(s.V)
    start.x.array[:] = 2.0
    rate.value = 3.0
    J = Transient(
        rate * s.u * s.v * s.dx,
        s.u,
        start,
        initial=start,
        terminal=0.5 * s.u**2 * s.dx,
        duration=T,
        steps=N,
        scheme=scheme,
    )
    f, df = J.value_grad(J.x0)
    assert f == pytest.approx(2 * r**2, rel=1e-12)
    assert J.gradient(J.x0) == pytest.approx(2 * r**2 * np.ones(3), rel=1e-12)
    assert J.space.riesz(J.hvp(J.x0, np.ones(3))) == pytest.approx(r**2 * np.ones(3), rel=1e-12)
    assert df.sum() == pytest.approx(2 * r**2, rel=1e-12)


@pytest.mark.parametrize(("scheme", "order"), [("implicit-euler", 1), ("crank-nicolson", 2), ("bdf2", 2)])
def test_order_in_time_with_a_nonlinear_equation_a_source_and_an_integral(fe, scheme, order):
    # u' = -u^2 + (cos t + sin^2 t) has u = sin t from u(0) = 0; int u = 1 - cos T.
    errors = []
    for N in (20, 40):
        s = line(fe, 2)
        m = fe.fem.Constant(s.mesh, 1.0)
        source = s.ufl.cos(s.t) + s.ufl.sin(s.t) ** 2
        J = Transient(
            (s.u**2 - m * source) * s.v * s.dx, s.u, m, running=s.u * s.dx, terminal=s.u**2 * s.dx, time=s.t,
            duration=1.5, steps=N, scheme=scheme,
        )  # fmt: skip
        errors.append(J.value(J.x0) - (1 - np.cos(1.5)) - np.sin(1.5) ** 2)
    assert np.log2(abs(errors[0] / errors[1])) > order - 0.1


# -- the protocol -----------------------------------------------------------------------------------------------------


def reaction(fe, **more):
    """Reaction and diffusion, a flux through the ends in each step; BDF2."""
    s = line(fe)
    dofs, _ = ends(fe, s)
    ufl, u, m, v = s.ufl, s.u, s.m, s.v
    u.interpolate(lambda x: 0.3 + 0.2 * np.sin(3 * x[0]))
    F = (0.1 * u.dx(0) * v.dx(0) + (u**3 - u) * v) * s.dx - ufl.exp(0.5 * m) * ufl.cos(s.t) * v * s.ds
    j = (u - s.x) ** 2 * s.dx + 0.1 * m**2 * u**2 * s.ds
    return Transient(
        F, u, m, running=j, terminal=u**3 * s.dx, per_step=True, time=s.t, duration=0.8, steps=9, scheme="bdf2",
        active=dofs, inner=lambda a, b: a * b * s.ds, **more,
    )  # fmt: skip


def burgers(fe, **more):
    """Viscous Burgers' equation from an unknown start; Crank-Nicolson."""
    s = line(fe)
    _, fixed = ends(fe, s)
    u, m, v = s.u, s.m, s.v
    m.interpolate(lambda x: np.sin(np.pi * x[0]))
    F = (0.05 * u.dx(0) * v.dx(0) + u * u.dx(0) * v) * s.dx
    phi = 0.5 * (u - s.x * (1 - s.x)) ** 2 * s.dx + 0.05 * m**4 * s.dx
    return Transient(F, u, m, terminal=phi, initial=m, duration=0.5, steps=8, bcs=fixed, **more)


def porous(fe, **more):
    """A nonlinear mass, and a heat transfer at the ends and a conductivity that hang on one field; implicit Euler."""
    s = line(fe)
    ufl, u, m, v = s.ufl, s.u, s.m, s.v
    u.interpolate(lambda x: 0.5 + 0.3 * np.cos(3 * x[0]))
    F = ufl.exp(m) * (1 + u**2) * u.dx(0) * v.dx(0) * s.dx + ufl.exp(m) * (u - s.t) * v * s.ds
    return Transient(
        F, u, m, running=u**2 * m * s.dx, terminal=(u**4 + m**3) * s.dx, time=s.t, mass=(u + u**3) * v * s.dx,
        duration=0.4, steps=5, scheme="implicit-euler", **more,
    )  # fmt: skip


def heater(fe, **more):
    """A linear equation whose matrix changes in every step with the power of two heaters; Crank-Nicolson."""
    s = line(fe)
    _, fixed = ends(fe, s)
    u, v, m = s.u, s.v, fe.fem.Constant(s.mesh, [0.4, 0.7])
    F = (s.ufl.exp(m[0]) * u.dx(0) * v.dx(0) - (1 + s.t * m[1]) * v) * s.dx
    return Transient(
        F, u, m, running=(u - 0.1) ** 2 * s.dx + 0.01 * m[1] ** 2 * s.dx, per_step=True, time=s.t, duration=0.6,
        steps=6, bcs=fixed, **more,
    )  # fmt: skip


def wall(fe, scheme="bdf2", **more):
    """Reaction and diffusion between two ends whose values are set in each step, and cost something."""
    s = line(fe)
    dofs, _ = ends(fe, s)
    u, m, v = s.u, s.m, s.v
    u.interpolate(lambda x: 0.4 * np.cos(2 * x[0]))
    F = (0.2 * (1 + u**2) * u.dx(0) * v.dx(0) + u**3 * v) * s.dx
    j = (u - s.x * s.t) ** 2 * s.dx + 0.3 * (m + m**2 + m**4) * s.ds
    return Transient(
        F, u, m, running=j, terminal=u**4 * s.dx, per_step=True, time=s.t, duration=0.8, steps=9, scheme=scheme,
        bcs=[fe.fem.dirichletbc(m, dofs)], active=dofs, inner=lambda a, b: a * b * s.ds, **more,
    )  # fmt: skip


def several(fe, **more):
    """A start, an end's values in each step, a value of the other end for all times, a conductivity, and two numbers in
    each step; Crank-Nicolson."""
    s = line(fe)
    ufl, fem, u, v = s.ufl, fe.fem, s.u, s.v
    start, g, h, q = (fem.Function(s.V) for _ in range(4))
    k = fem.Constant(s.mesh, [0.3, -0.2])
    start.interpolate(lambda x: 0.3 + np.sin(2 * x[0]))
    q.interpolate(lambda x: 0.2 * x[0])
    left, right = (fem.locate_dofs_geometrical(s.V, lambda x, a=a: np.isclose(x[0], a)) for a in (0.0, 1.0))
    F = (ufl.exp(q) * (0.1 + u**2) * u.dx(0) * v.dx(0) - (k[0] * s.t + ufl.sin(k[1]) * s.x) * v) * s.dx
    j = (u - s.x) ** 2 * s.dx + 0.1 * (g**2 + h**2) * s.ds + 0.1 * (k[0] ** 2 + k[1] ** 2) * s.dx
    phi = u**3 * s.dx + q**2 * u * s.dx + h**4 * s.ds + 0.1 * start**2 * s.dx
    return Transient(
        F, u, [start, g, h, q, k], running=j, terminal=phi, per_step=[False, True, False, False, True], time=s.t,
        initial=start, duration=0.5, steps=9, bcs=[fem.dirichletbc(g, left), fem.dirichletbc(h, right)],
        active=[None, left, right, None, None],
        inner=["H1", lambda a, b: a * b * s.ds, lambda a, b: a * b * s.ds, "L2", "l2"], **more,
    )  # fmt: skip


MODELS = {
    "reaction": reaction, "burgers": burgers, "porous": porous, "heater": heater, "wall": wall, "several": several,
    "wall, crank-nicolson": lambda fe, **more: wall(fe, "crank-nicolson", **more),
    "wall, implicit-euler": lambda fe, **more: wall(fe, "implicit-euler", **more),
}  # fmt: skip


@pytest.mark.parametrize("name", MODELS)
def test_protocol(fe, name):
    J = MODELS[name](fe)
    x = J.x0 + 0.6 * np.sin(1 + 2.3 * np.arange(J.n))
    directions = protocol.three(np.linspace(0, 1, J.n)[:, None], 1.0)
    protocol.check(J, x, directions, first_step=2e-3 if "wall" in name else 5e-3)


SCHEDULES = {
    "revolve(10)": revolve(10), "revolve(3)": revolve(3), "disk": keep_all("disk"), "mixed": Schedule(4, "disk", 2),
}  # fmt: skip


@pytest.mark.parametrize("name", ["reaction", "burgers", "wall", "several"])
def test_every_schedule_gives_the_same_bits_also_at_a_second_control(fe, name):
    plain = MODELS[name](fe)
    points = [plain.x0, plain.x0 + 0.3 * np.cos(np.arange(plain.n))]
    v = np.sin(np.arange(plain.n))
    expected = [(*plain.value_grad(x), plain.hvp(x, v)) for x in points]
    assert plain.value(points[0]) == expected[0][0]
    # Room for five pairs of a state and its change, which is one less than all states need.
    budget = Budget(10 * 72 * (2 if name in ("reaction", "wall") else 1))
    for schedule in (*SCHEDULES.values(), budget):
        J = MODELS[name](fe, schedule=schedule)
        for x, (f, df, H) in zip(points, expected, strict=True):
            assert J.value(x) == f
            assert np.array_equal(J.value_grad(x)[1], df)
            assert np.array_equal(J.hvp(x, v), H)
            assert np.array_equal(J.value_grad(x)[1], df)
        # The Hessian first, and a value between a value and its derivative.
        J.value(points[0])
        assert np.array_equal(J.hvp(points[0], v), expected[0][2])
        J.value(points[1])
        assert np.array_equal(J.value_grad(points[0])[1], expected[0][1])
    assert J.plan is not None
    assert J.plan.cost.repeated > 0


def test_schedules_agree_over_fifty_steps(fe):
    def heat(schedule):
        s = line(fe)
        _, fixed = ends(fe, s)
        F = (s.u.dx(0) * s.v.dx(0) - s.m * s.v) * s.dx
        return Transient(
            F, s.u, s.m, running=0.5 * (s.u - s.t * s.x) ** 2 * s.dx + 0.5e-3 * s.m**2 * s.dx, per_step=True, time=s.t,
            duration=1.0, steps=50, bcs=fixed, schedule=schedule,
        )  # fmt: skip

    x = np.cos(np.arange(50 * 9.0))
    plain = heat(None)
    f, df = plain.value_grad(x)
    for schedule, repeated in ((revolve(10), 39), (revolve(1), 50 * 49 // 2 - 49), (keep_all("disk"), 0)):
        J = heat(schedule)
        for point in (x, 2 * x[::-1]):
            assert np.array_equal(J.value_grad(point)[1], plain.value_grad(point)[1])
        assert J.counts.states == 2 * (50 + repeated)
        assert J.counts.factorisations == 1
    assert plain.value(x) == f
    assert plain.value_grad(x)[1] == pytest.approx(df, rel=0, abs=0)


def test_held_ends_follow_the_control_in_closed_form(fe):
    # One cell, both ends held: u_(n+1) = g_n, so J is a sum over the controls alone.
    for scheme, middle in (("implicit-euler", 1.0), ("bdf2", 1.0), ("crank-nicolson", 0.5)):
        s, steps, dt = line(fe, 1), 4, 0.25
        bcs = [fe.fem.dirichletbc(s.m, ends(fe, s)[0])]
        F = s.u.dx(0) * s.v.dx(0) * s.dx
        s.u.x.array[:] = 2.0
        J = Transient(
            F, s.u, s.m, running=0.5 * s.u**2 * s.dx, per_step=True, duration=1.0, steps=steps, scheme=scheme, bcs=bcs,
            inner="l2",
        )  # fmt: skip
        g = np.sin(1.0 + np.arange(8.0)).reshape(steps, 2)
        before = np.concatenate([[[2.0, 2.0]], g[:-1]])
        u = middle * g + (1 - middle) * before
        M = np.array([[2, 1], [1, 2]]) / 6
        w = dt * SCHEMES[scheme].weights(steps)
        f, df = J.value_grad(g.ravel())
        assert f == pytest.approx(0.5 * sum(w * np.einsum("ni,ij,nj->n", u, M, u)), rel=1e-13)
        slope = w[:, None] * (u @ M)
        slope = middle * slope + (1 - middle) * np.concatenate([slope[1:], 0 * slope[:1]])
        assert df.reshape(steps, 2) == pytest.approx(slope, rel=1e-12)
        # J is quadratic in (g, u_0).
        h = np.cos(np.arange(8.0))
        assert J.hvp(g.ravel(), h) == pytest.approx(J.value_grad(g.ravel() + h)[1] - df, rel=1e-11, abs=1e-14)


def test_several_controls_are_one_vector_with_a_place_for_each(fe):
    J = several(fe)
    assert [part.shape for part in J.split(J.x0)] == [(9,), (9, 1), (1,), (9,), (9, 2)]
    assert J.n == 9 + 9 + 1 + 9 + 18
    assert len(J.controls) == 5
    f, df = J.value_grad(J.x0)
    G = J.space.riesz(df)
    assert df @ G == pytest.approx(J.space.inner(G, G), rel=1e-12)
    assert J.value(J.x0 - 1e-3 * G) < f


# -- use --------------------------------------------------------------------------------------------------------------


def test_one_factorisation_serves_all_steps_and_one_newton_step_solves_a_linear_problem(fe):
    s = line(fe)
    _, fixed = ends(fe, s)
    F = (s.u.dx(0) * s.v.dx(0) - s.m * s.v) * s.dx
    J = Transient(
        F, s.u, s.m, running=0.5 * (s.u - s.x) ** 2 * s.dx + 0.5e-2 * s.m**2 * s.dx, per_step=True, duration=1.0,
        steps=10, bcs=fixed, scheme="bdf2",
    )  # fmt: skip
    result = optim.minimize(J, J.x0, TrustRegionNewton(), stop=optim.Stop(tol_kkt=1e-9))
    assert result.status == "converged"
    assert result.iterations <= 4
    assert J.counts.factorisations == 2  # that of the first step, and that of the others
    # In the L2 product of space and time the gradient is a field: |1|^2 = T.
    assert J.space.inner(np.ones(J.n), np.ones(J.n)) == pytest.approx(1.0, rel=1e-13)
    assert J.times == pytest.approx(np.arange(1, 11) / 10)


def test_functions_stand_for_the_last_call_and_states_come_in_order(fe):
    J = burgers(fe, schedule=revolve(2))
    J.value(J.x0)
    states = list(J.states(J.x0))
    assert [t for t, _ in states] == pytest.approx(np.linspace(0, 0.5, 9))
    assert np.array_equal(states[0][1], J.x0)
    u = states[-1][1]
    step = J._trajectory.equation
    for action in (lambda: J.value(J.x0), lambda: J.value_grad(J.x0), lambda: J.hvp(J.x0, J.x0)):
        step.u.x.array[:] = 7.0
        step.ms[0].x.array[:] = 7.0
        action()
        assert np.array_equal(step.u.x.array, u)
        assert np.array_equal(step.ms[0].x.array, J.x0)


def test_values_on_the_boundary_that_change_with_time(fe):
    # u = t^2 x solves u' = u'' + 2 t x, u(1) = t^2; Crank-Nicolson is exact for it.
    s = line(fe)
    g = fe.fem.Function(s.V)
    bcs = [fe.fem.dirichletbc(g, ends(fe, s)[0])]

    def boundary_at(time):
        g.interpolate(lambda x: time**2 * x[0])

    F = (s.u.dx(0) * s.v.dx(0) - (2 * s.t * s.x + s.m) * s.v) * s.dx
    J = Transient(
        F, s.u, s.m, running=s.u**2 * s.dx, time=s.t, duration=1.0, steps=8, bcs=bcs, boundary_at=boundary_at,
        schedule=revolve(2),
    )  # fmt: skip
    for t, u in J.states(J.x0):
        assert u == pytest.approx(t**2 * s.V.tabulate_dof_coordinates()[:, 0], abs=1e-13)
    h = np.cos(np.arange(J.n))
    df = J.value_grad(0.1 * h)[1]
    assert df @ h == pytest.approx((J.value(0.1 * h + 1e-4 * h) - J.value(0.1 * h - 1e-4 * h)) / 2e-4, rel=1e-8)


def test_flow_with_pressure_is_a_state_without_mass_in_one_part(fe):
    # Decay of a Stokes flow: energy falls, and the derivative by the force in each step is right.
    mesh = fe.mesh.create_unit_square(fe.MPI.COMM_SELF, 3, 3)
    P2 = fe.basix.ufl.element("Lagrange", "triangle", 2, shape=(2,))
    W = fe.fem.functionspace(mesh, fe.basix.ufl.mixed_element([P2, fe.basix.ufl.element("Lagrange", "triangle", 1)]))
    Q = W.sub(0).collapse()[0]
    R = W.sub(1).collapse()[0]
    w, m, ufl = fe.fem.Function(W), fe.fem.Constant(mesh, [1.0, 0.0]), fe.ufl
    (u, p), (v, q) = ufl.split(w), ufl.split(ufl.TestFunction(W))
    rim = fe.mesh.locate_entities_boundary(mesh, 1, lambda x: np.full(x.shape[1], True))
    corner = fe.fem.locate_dofs_geometrical((W.sub(1), R), lambda x: np.isclose(x[0] + x[1], 0))
    bcs = [
        fe.fem.dirichletbc(fe.fem.Function(Q), fe.fem.locate_dofs_topological((W.sub(0), Q), 1, rim), W.sub(0)),
        fe.fem.dirichletbc(fe.fem.Function(R), corner, W.sub(1)),
    ]
    x = ufl.SpatialCoordinate(mesh)
    F = (ufl.inner(ufl.grad(u), ufl.grad(v)) - p * ufl.div(v) + q * ufl.div(u)) * ufl.dx
    F += -x[1] * ufl.inner(m, v) * ufl.dx
    J = Transient(
        F, w, m, running=ufl.inner(u, u) * ufl.dx, mass=ufl.inner(u, v) * ufl.dx, duration=0.1, steps=4,
        scheme="implicit-euler", per_step=True, bcs=bcs,
    )  # fmt: skip
    f, df = J.value_grad(J.x0)
    assert f > 0
    assert df @ J.x0 == pytest.approx(2 * f, rel=1e-10)  # J is a square of the force
    assert J.hvp(J.x0, J.x0) == pytest.approx(df, rel=1e-9, abs=1e-9 * np.abs(df).max())


# -- failures ---------------------------------------------------------------------------------------------------------


def test_what_does_not_fit_is_said_in_one_sentence(fe):
    s = line(fe)
    F, j = (s.u.dx(0) * s.v.dx(0) - s.m * s.v) * s.dx, s.u**2 * s.dx
    given = {"residual": F, "state": s.u, "control": s.m, "running": j, "duration": 1.0, "steps": 3}
    number, motion = fe.fem.Constant(s.mesh, 1.0), MeshMotion(fe.fem.Function(s.V))
    g = fe.fem.dirichletbc(number, ends(fe, s)[0], s.V)
    for change, message in (
        ({"scheme": "rk4"}, "no time stepping named 'rk4'"),
        ({"steps": 0}, "a step at least"),
        ({"duration": np.nan}, "positive duration"),
        ({"running": None}, "there is no objective"),
        ({"running": F}, "running must be a number"),
        ({"residual": j}, "one test function"),
        ({"residual": s.v * s.dx, "mass": s.v * s.dx}, "contains the state"),
        ({"residual": s.u * s.v * s.dx}, "J does not depend on it"),
        ({"time": 0.0}, "time must be a dolfinx.fem.Constant"),
        ({"initial": s.x}, "initial must be a Function"),
        ({"per_step": True, "initial": s.m}, "leave per_step out"),
        ({"per_step": True, "terminal": s.m * s.dx}, "leave per_step out"),
        ({"mass": s.m * s.u * s.v * s.dx}, "the mass contains the control"),
        ({"bcs": [g], "control": number}, "give its value as a Function"),
        ({"bcs": g}, "bcs must be a list of Dirichlet conditions"),
        ({"control": s.u}, "the control is the state itself"),
        ({"control": motion}, "the mesh stays as it is"),
        ({"control": [s.m, number], "per_step": [True]}, "give per_step once, or as a list of 2"),
        ({"control": [s.m, number]}, "J does not depend on it"),
        ({"state": s.x}, "give a dolfinx.fem.Function"),
        ({"inner": "H2"}, "no inner product named 'H2'"),
    ):
        with pytest.raises(FemError, match=message):
            Transient(**(given | change))
    J = Transient(**given)
    with pytest.raises(FemError, match="has 9 numbers"):
        J.value(np.zeros(4))
    with pytest.raises(FemError, match="not finite"):
        J.value(np.full(9, np.nan))
    with pytest.raises(TapeError, match=r"at least .* MiB for states of .* MiB, the budget is"):
        Transient(**given, schedule=Budget(100)).value(np.zeros(9))


def test_a_step_that_fails_is_named_and_leaves_no_files(fe, tmp_path, monkeypatch):
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    s = line(fe, 2)
    m = fe.fem.Constant(s.mesh, 1.0)
    # u' = m u^2 from 1 passes 2.5 at t = 0.6: a step from there needs 1 - 4 dt m u >= 0.
    s.u.x.array[:] = 1.0
    J = Transient(
        -m * s.u**2 * s.v * s.dx, s.u, m, terminal=s.u * s.dx, duration=1.5, steps=15, scheme="implicit-euler",
        schedule=keep_all("disk"),
    )  # fmt: skip
    with pytest.raises(FemSolverError, match=r"step 6 of 15, to t = 0\.6, failed: the state solve by Newton"):
        J.value(np.array([1.0]))
    assert not list(tmp_path.iterdir())
    assert J.value_grad(np.array([0.2]))[1] > 0  # and it can go on
    J.forget()
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("scheme", ["implicit-euler", "crank-nicolson", "bdf2"])
def test_a_plate_that_has_come_to_rest_stays_there(fe, scheme):
    # (1 + u) du/dx is the same everywhere: (1 + u)^2 = 1 + 3 x. In large units the residual of rest is above snes_atol.
    s, power = line(fe), 1e6
    dofs, _ = ends(fe, s)
    s.u.interpolate(lambda x: np.sqrt(1 + 3 * x[0]) - 1)
    hold = [fe.fem.dirichletbc(value, dofs[k : k + 1], s.V) for k, value in ((0, 0.0), (1, 1.0))]
    m = fe.fem.Constant(s.mesh, 0.0)
    F = power * ((1 + s.u) * s.u.dx(0) * s.v.dx(0) - m * s.v) * s.dx
    J = Transient(
        F, s.u, m, terminal=s.u * s.dx, mass=power * s.u * s.v * s.dx, duration=40.0, steps=40, scheme=scheme,
        bcs=hold,
    )  # fmt: skip
    f, df = J.value_grad(np.zeros(1))
    still = s.u.x.array.copy()
    assert f == pytest.approx(5 / 9, abs=5e-3)  # of sqrt(1 + 3 x) - 1
    h = 1e-4
    assert df[0] == pytest.approx((J.value(np.array([h])) - J.value(np.array([-h]))) / (2 * h), rel=1e-7)
    J.value(np.zeros(1))
    assert np.array_equal(s.u.x.array, still)

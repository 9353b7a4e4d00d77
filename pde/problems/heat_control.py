"""B2. How must a plate be heated, moment by moment, so that its temperature follows a given course?

    min  1/2 int int (y - y_d)^2 + alpha/2 int int u^2      y_t - nu Laplace y = f + u  in (0, 1)^2 x (0, T),
                                                            y = 0 on the rim and at the start

Data are made so that the answer is known. With s = sin(pi x) sin(pi y) and f = (1 + 2 pi^2 nu t - (T - t)) s,
y_d = (t + alpha + 2 pi^2 nu alpha (T - t)) s: y* = t s, u* = (T - t) s, the adjoint is -alpha (T - t) s, and with
c = 2 pi^2 nu, J* = alpha^2 ((1 + c T)^3 - 1) / (24 c) + alpha T^3 / 24: 2.29939163e-3 for alpha = 1e-2 and
6.04939163e-5 for alpha = 1e-3 (nu = T = 1).

Crank-Nicolson with one control per step, taken in its middle, has u* itself as its answer: only space is left.
"""

from typing import Any

import numpy as np

from optim.result import Stop
from pde.fem.dolfinx_import import load
from pde.fem.form import Integral
from pde.fem.numbering import Numbering
from pde.fem.transient import Transient
from pde.problems.held import zero_on
from pde.problems.posed import Posed, Vector
from pde.tape import Budget, Schedule


def pose(
    n: int = 8,
    steps: int = 50,
    alpha: float = 1e-2,
    degree: int = 2,
    nu: float = 1.0,
    T: float = 1.0,
    *,
    comm: Any = None,
) -> Posed:
    """Args: n squares along a side, each cut in two. steps in time. alpha, price of heating. degree of y and u."""
    return posed_with("crank-nicolson", None, n, steps, alpha, degree, nu, T, comm=comm)


def posed_with(
    scheme: str,
    schedule: Schedule | Budget | None = None,
    n: int = 8,
    steps: int = 50,
    alpha: float = 1e-2,
    degree: int = 2,
    nu: float = 1.0,
    T: float = 1.0,
    *,
    comm: Any = None,
) -> Posed:
    """The same with another time stepping (a name in `pde.fem.schemes`) or tape."""
    fe = load()
    ufl, fem = fe.ufl, fe.fem
    mesh = fe.mesh.create_unit_square(comm or fe.MPI.COMM_WORLD, n, n)
    V = fem.functionspace(mesh, ("Lagrange", degree))
    y, u, v, t = fem.Function(V), fem.Function(V), ufl.TestFunction(V), fem.Constant(mesh, 0.0)
    x, c = ufl.SpatialCoordinate(mesh), 2 * np.pi**2 * nu
    s = ufl.sin(ufl.pi * x[0]) * ufl.sin(ufl.pi * x[1])
    f, y_d = (1 + c * t - (T - t)) * s, (t + alpha + c * alpha * (T - t)) * s
    dx = ufl.dx(metadata={"quadrature_degree": 2 * degree + 4})

    F = nu * ufl.inner(ufl.grad(y), ufl.grad(v)) * dx - (f + u) * v * dx
    j = 0.5 * (y - y_d) ** 2 * dx + 0.5 * alpha * u**2 * dx

    J = Transient(
        residual=F, running=j, state=y, control=u, per_step=True, time=t, duration=T, steps=steps, scheme=scheme,
        bcs=[zero_on(fe, V)], schedule=schedule,
    )  # fmt: skip
    numbering = Numbering(fe, V)
    control_error, state_error = (Integral(fe, e**2 * dx) for e in (u - (T - t) * s, y - t * s))

    def error_at(error: Integral, time: float) -> float:
        t.value = time
        return error()

    def measure(x: Vector) -> dict[str, float]:
        controls, states = [], []
        for time, row in zip(J.times, x.reshape(steps, -1), strict=True):
            numbering.spread(row, u.x.array)
            controls.append(error_at(control_error, time))
        for time, values in J.states(x):
            y.x.array[:] = values
            states.append(error_at(state_error, time))
        return {
            "objective": J.value(x),
            "control_error": float(np.sqrt(T / steps * sum(controls))),
            "state_error": float(np.sqrt(max(states))),
        }

    best = alpha**2 * ((1 + c * T) ** 3 - 1) / (24 * c) + alpha * T**3 / 24
    known = {"objective": best, "control_error": 0.0, "state_error": 0.0}
    return Posed(J, J.x0, "newton_cg", Stop(max_iter=100, tol_kkt=1e-9), known, measure)

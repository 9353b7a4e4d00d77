"""B1b. The best source when sources are limited.

    min  1/2 |y - y_d|^2 + alpha/2 |u|^2    -Laplace y = u + f in (0, 1)^2,   y = 0 on its boundary,   -1/2 <= u <= 1/2

Data are made so that the answer is known. With s1 = sin(pi x) sin(pi y) and s2 = sin(2 pi x) sin(2 pi y): y* = s1, the
adjoint is -alpha s2, u* = clip(s2, -1/2, 1/2), from f = 2 pi^2 s1 - u* and y_d = s1 + 8 pi^2 alpha s2, the way in which
Troeltzsch (2010), section 2.9, makes problems. For alpha = 1e-2, J* = 0.0785973829 and int u*^2 = 0.134022005.
"""

from typing import Any

import numpy as np

from optim.result import Stop
from pde.fem.dolfinx_import import load
from pde.fem.form import Integral
from pde.fem.reduced import Reduced
from pde.problems.held import zero_on
from pde.problems.posed import Posed, Vector

CONTROL_SQUARE = 0.134022005  # int clip(s2, -1/2, 1/2)^2


def pose(n: int = 32, alpha: float = 1e-2, *, comm: Any = None) -> Posed:
    """Args: n squares along a side, each cut in two. alpha, price of the source."""
    fe = load()
    ufl, fem, pi = fe.ufl, fe.fem, np.pi
    mesh = fe.mesh.create_unit_square(comm or fe.MPI.COMM_WORLD, n, n)
    V, M = fem.functionspace(mesh, ("Lagrange", 1)), fem.functionspace(mesh, ("DG", 0))
    y, u, v = fem.Function(V), fem.Function(M), ufl.TestFunction(V)
    x = ufl.SpatialCoordinate(mesh)
    s1 = ufl.sin(pi * x[0]) * ufl.sin(pi * x[1])
    s2 = ufl.sin(2 * pi * x[0]) * ufl.sin(2 * pi * x[1])
    u_exact = ufl.max_value(-0.5, ufl.min_value(0.5, s2))
    f, y_d = 2 * pi**2 * s1 - u_exact, s1 + 8 * pi**2 * alpha * s2
    dx = ufl.dx(metadata={"quadrature_degree": 6})

    F = ufl.inner(ufl.grad(y), ufl.grad(v)) * dx - (u + f) * v * dx
    J = 0.5 * (y - y_d) ** 2 * dx + 0.5 * alpha * u**2 * dx

    reduced = Reduced(residual=F, objective=J, state=y, control=u, bcs=[zero_on(fe, V)])
    distance, square = Integral(fe, (u - u_exact) ** 2 * dx), Integral(fe, u**2 * dx)

    def measure(x: Vector) -> dict[str, float]:
        objective = reduced.value(x)
        return {
            "objective": objective,
            "control_error": float(np.sqrt(distance())),
            "control_square": square(),
        }

    # J* = 1/2 (8 pi^2 alpha)^2 |s2|^2 + alpha/2 |u*|^2 with |s2|^2 = 1/4
    best = (8 * pi**2 * alpha) ** 2 / 8 + alpha / 2 * CONTROL_SQUARE
    known = {"objective": best, "control_error": 0.0, "control_square": CONTROL_SQUARE}
    return Posed(reduced, reduced.x0, "lbfgs", Stop(max_iter=200, tol_kkt=1e-8), known, measure, -0.5, 0.5)

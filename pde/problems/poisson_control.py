"""B1. Which source makes a membrane take a given shape?

    min  1/2 |u - d|^2 + alpha/2 |f|^2        -Laplace u = f in (0, 1)^2,    u = 0 on its boundary

with d = sin(pi x) sin(pi y) / (2 pi^2). The answer is known: f* = c sin(pi x) sin(pi y) and u* = f* / (2 pi^2) with
c = 1 / (1 + 4 alpha pi^4), and J* = alpha c / 8. It is dolfin-adjoint's "mother problem" (Farrell, Ham, Funke and
Rognes 2013).
"""

from typing import Any

import numpy as np

from optim.result import Stop
from pde.fem.dolfinx_import import load
from pde.fem.form import Integral
from pde.fem.reduced import Reduced
from pde.problems.held import zero_on
from pde.problems.posed import Posed, Vector


def pose(n: int = 32, alpha: float = 1e-6, degree: int = 1, *, comm: Any = None) -> Posed:
    """Args: n squares along a side, each cut in two. alpha, price of the source. degree of u; that of f is one less."""
    fe = load()
    ufl, fem = fe.ufl, fe.fem
    mesh = fe.mesh.create_unit_square(comm or fe.MPI.COMM_WORLD, n, n)
    V = fem.functionspace(mesh, ("Lagrange", degree))
    M = fem.functionspace(mesh, ("DG", degree - 1))
    u, f, v = fem.Function(V), fem.Function(M), ufl.TestFunction(V)
    x = ufl.SpatialCoordinate(mesh)
    bump = ufl.sin(ufl.pi * x[0]) * ufl.sin(ufl.pi * x[1])
    d = bump / (2 * ufl.pi**2)
    dx = ufl.dx(metadata={"quadrature_degree": 2 * degree + 4})

    F = ufl.inner(ufl.grad(u), ufl.grad(v)) * dx - f * v * dx
    J = 0.5 * (u - d) ** 2 * dx + 0.5 * alpha * f**2 * dx

    f.interpolate(lambda x: x[0] + x[1])
    reduced = Reduced(residual=F, objective=J, state=u, control=f, bcs=[zero_on(fe, V)])
    c = 1 / (1 + 4 * alpha * np.pi**4)
    distance = Integral(fe, (f - c * bump) ** 2 * dx)

    def measure(x: Vector) -> dict[str, float]:
        objective = reduced.value(x)
        return {"objective": objective, "control_error": float(np.sqrt(distance()))}

    known = {"objective": alpha * c / 8, "control_error": 0.0}
    return Posed(reduced, reduced.x0, "newton_cg", Stop(max_iter=200, tol_kkt=1e-9), known, measure)

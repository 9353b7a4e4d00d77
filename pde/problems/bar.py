"""B4a. The stiffest bar: where should the material of a hanging bar be?

    min  int_0^L p u        -(E h u')' = p in (0, L),   u = 0 at x = 0,   h u' = 0 at x = L,   int h <= V,   h >= 0

The answer is the bar of constant strain: h* = 2 V (L - x) / L^2 with compliance C* = p^2 L^4 / (4 E V), three quarters
of that of the uniform bar, p^2 L^4 / (3 E V).
"""

from typing import Any

import numpy as np

from optim.result import Stop
from pde.fem.dolfinx_import import load
from pde.fem.form import Integral
from pde.fem.reduced import Reduced
from pde.problems.held import zero_on
from pde.problems.posed import Posed, Vector


def pose(
    n: int = 60, L: float = 2.0, E: float = 3.0, p: float = 0.5, volume: float = 0.4, *, comm: Any = None
) -> Posed:
    """Args: n elements. L, length. E, modulus. p, load per length. volume, int h."""
    fe = load()
    ufl, fem = fe.ufl, fe.fem
    mesh = fe.mesh.create_interval(comm or fe.MPI.COMM_WORLD, n, [0.0, L])
    V, M = fem.functionspace(mesh, ("Lagrange", 1)), fem.functionspace(mesh, ("DG", 0))
    u, h, v = fem.Function(V), fem.Function(M), ufl.TestFunction(V)

    F = E * h * u.dx(0) * v.dx(0) * ufl.dx - p * v * ufl.dx
    J = p * u * ufl.dx

    h.x.array[:] = volume / L
    reduced = Reduced(residual=F, objective=J, state=u, control=h, bcs=[zero_on(fe, V, lambda x: np.isclose(x[0], 0))])
    x = ufl.SpatialCoordinate(mesh)
    distance = Integral(fe, (h - 2 * volume * (L - x[0]) / L**2) ** 2 * ufl.dx)
    uniform = reduced.value(reduced.x0)

    def measure(x: Vector) -> dict[str, float]:
        objective = reduced.value(x)
        error = float(np.sqrt(distance()))
        return {"objective": objective, "uniform": uniform, "ratio": objective / uniform, "control_error": error}

    C = p**2 * L**4 / (E * volume)
    known = {"objective": C / 4, "uniform": C / 3, "ratio": 0.75, "control_error": 0.0}
    limit = (reduced.at_most(h * ufl.dx, volume),)
    lower, upper = 1e-4 * volume / L, 4 * volume / L
    return Posed(reduced, reduced.x0, "mma", Stop(max_iter=200, tol_kkt=1e-6), known, measure, lower, upper, limit)

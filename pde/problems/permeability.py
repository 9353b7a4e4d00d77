"""B3. What is under the ground? Log-permeability from pressures.

    min  1/2 |u - u_d|^2 + gamma/2 |grad m|^2        -div(exp(m) grad u) = 1 in (0, 1)^2,    u = 0 on its boundary

The truth is ln 2 in a disc of radius 0.2 about the centre and ln 9 outside; the data u_d are its pressures on the same
mesh, without noise; the search begins at m = ln 2 (after hIPPYlib's tutorial: Villa, Petra and Ghattas 2021). There is
no formula for the answer. For P1 on the diagonal mesh with exp(m) taken at the middles of the edges an independent
program found, for gamma = 1e-8 and n = 16, 32, 64: J* = 6.099775e-8, 6.232952e-8, 6.766098e-8.
"""

from typing import Any

import numpy as np

from optim.result import Stop
from pde.fem.dolfinx_import import load
from pde.fem.form import Integral
from pde.fem.reduced import Reduced
from pde.problems.held import zero_on
from pde.problems.posed import Posed, Vector

# (n, gamma) -> J at m = ln 2, J*, misfit, regularisation, relative L2 error of m, largest u_d
REFERENCE = {
    (16, 1e-8): (1.197231e-4, 6.099775e-8, 2.472e-8, 3.628e-8, 0.10737, 0.0119827),
    (32, 1e-8): (1.225874e-4, 6.232952e-8, 2.719e-8, 3.514e-8, 0.11156, 0.0117499),
    (64, 1e-8): (1.228238e-4, 6.766098e-8, 2.837e-8, 3.929e-8, 0.11264, 0.0118648),
}
NAMES = ("start", "objective", "misfit", "regularisation", "control_error", "largest_datum")
# Edge middles of the reference triangle, exact to degree 2 (Hammer and Stroud 1956).
MIDDLES = {
    "quadrature_rule": "custom",
    "quadrature_points": np.array([[0.5, 0.5], [0.0, 0.5], [0.5, 0.0]]),
    "quadrature_weights": np.full(3, 1 / 6),
}


def pose(n: int = 16, gamma: float = 1e-8, *, comm: Any = None) -> Posed:
    """Args: n squares along a side, each cut by the diagonal from its lower left. gamma, price of roughness."""
    fe = load()
    ufl, fem = fe.ufl, fe.fem
    mesh = fe.mesh.create_unit_square(comm or fe.MPI.COMM_WORLD, n, n)
    V = fem.functionspace(mesh, ("Lagrange", 1))
    u, m, u_d, truth = (fem.Function(V) for _ in range(4))
    v, held = ufl.TestFunction(V), zero_on(fe, V)

    F = ufl.exp(m) * ufl.inner(ufl.grad(u), ufl.grad(v)) * ufl.dx(metadata=MIDDLES) - v * ufl.dx
    misfit = 0.5 * (u - u_d) ** 2 * ufl.dx
    roughness = 0.5 * gamma * ufl.inner(ufl.grad(m), ufl.grad(m)) * ufl.dx

    truth.interpolate(lambda x: np.where((x[0] - 0.5) ** 2 + (x[1] - 0.5) ** 2 <= 0.2**2, np.log(2), np.log(9)))
    m.x.array[:] = np.log(2)
    reduced = Reduced(residual=F, objective=misfit + roughness, state=u, control=m, bcs=[held])
    m.x.array[:] = truth.x.array
    reduced.value(reduced.as_they_stand())
    u_d.x.array[:] = u.x.array
    largest = max(mesh.comm.allgather(float(u_d.x.array.max())))
    reduced.forget()
    parts = [Integral(fe, part) for part in (misfit, roughness, (m - truth) ** 2 * ufl.dx, truth**2 * ufl.dx)]
    start = reduced.value(reduced.x0)

    def measure(x: Vector) -> dict[str, float]:
        objective = reduced.value(x)
        fit, rough, wrong, size = (part() for part in parts)
        values = (start, objective, fit, rough, np.sqrt(wrong / size), largest)
        return dict(zip(NAMES, map(float, values), strict=True))

    known: dict[str, float] = dict(zip(NAMES, REFERENCE.get((n, gamma), ()), strict=False))
    return Posed(reduced, reduced.x0, "newton_cg", Stop(max_iter=100, tol_kkt=1e-12), known, measure)

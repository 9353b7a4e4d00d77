"""B4b. The stiffest cantilever with half of the material: density-based design on 60 x 30 bilinear squares.

    min  int t . u        int sigma(u) : eps(v) = int t . v for all v,   u = 0 on the left,
                          0 <= theta <= 1,   mean theta <= 1/2

in plane stress with modulus E_min + theta^3 (E - E_min), E = 70e3, E_min = 1e-3 E, nu = 0.3, and a traction of 100
downwards on the lowest tenth of the right edge. Whatever the optimizer: C(theta = 1) = 53.708088 and C(theta = 1/2) =
426.677959. The example comes from JAX-FEM (Xue et al. 2023), whose optimum of 84.0331 belongs to its filter; here
densities sit at the nodes and nothing is filtered, so optima differ.
"""

from typing import Any

import numpy as np

from optim.result import Stop
from pde.fem.dolfinx_import import load
from pde.fem.errors import FemError
from pde.fem.form import Integral
from pde.fem.reduced import Reduced
from pde.problems.held import zero_on
from pde.problems.posed import Posed, Vector

E, NU, TRACTION = 70e3, 0.3, 100.0
WIDTH, HEIGHT = 60.0, 30.0
SOLID, HALF = 53.708088, 426.677959


def pose(n: int = 30, volume: float = 0.5, power: float = 3.0, tenth: int = 1, *, comm: Any = None) -> Posed:
    """Pose it.

    Args:
        n: squares over the height of 30, a multiple of 10; twice as many along.
        volume: share of material. power: of SIMP. tenth: the part of the right edge that is loaded, from below.

    Raises:
        FemError: n is not a multiple of 10; there is no such tenth.
    """
    if n % 10:
        raise FemError(f"n of cantilever is {n}: give a multiple of 10, so that the load ends between two squares")
    if tenth not in range(1, 11):
        raise FemError(f"tenth of cantilever is {tenth}: give the part of the right edge that is loaded, 1 to 10")
    fe = load()
    ufl, fem = fe.ufl, fe.fem
    corners, cell = [[0.0, 0.0], [WIDTH, HEIGHT]], fe.mesh.CellType.quadrilateral
    mesh = fe.mesh.create_rectangle(comm or fe.MPI.COMM_WORLD, corners, [2 * n, n], cell)
    V = fem.functionspace(mesh, ("Lagrange", 1, (2,)))
    M = fem.functionspace(mesh, ("Lagrange", 1))  # nodal densities: cell-wise ones would draw checkerboards
    u, theta, v = fem.Function(V), fem.Function(M), ufl.TestFunction(V)
    below, above = (tenth - 1) * HEIGHT / 10 - 1e-9, tenth * HEIGHT / 10 + 1e-9
    loaded = fe.mesh.locate_entities_boundary(
        mesh, 1, lambda x: np.isclose(x[0], WIDTH) & (x[1] >= below) & (x[1] <= above)
    )
    tags = fe.mesh.meshtags(mesh, 1, np.sort(loaded), np.ones(len(loaded), np.int32))
    ds = ufl.Measure("ds", mesh, subdomain_data=tags)(1)
    dx = ufl.dx(metadata={"quadrature_degree": 3})  # two by two Gauss points
    t = fem.Constant(mesh, (0.0, -TRACTION))
    modulus = 1e-3 * E + theta**power * (E - 1e-3 * E)

    def eps(u: Any) -> Any:
        return ufl.sym(ufl.grad(u))

    def sigma(u: Any) -> Any:
        return modulus / (1 - NU**2) * ((1 - NU) * eps(u) + NU * ufl.tr(eps(u)) * ufl.Identity(2))

    F = ufl.inner(sigma(u), eps(v)) * dx - ufl.inner(t, v) * ds
    J = ufl.inner(t, u) * ds

    theta.x.array[:] = volume
    held = zero_on(fe, V, lambda x: np.isclose(x[0], 0))
    reduced = Reduced(residual=F, objective=J, state=u, control=theta, bcs=[held])
    material = Integral(fe, theta * ufl.dx)
    solid, half = (reduced.value(np.full(reduced.n, level)) for level in (1.0, 0.5))

    def measure(x: Vector) -> dict[str, float]:
        objective = reduced.value(x)
        share = material() / (WIDTH * HEIGHT)
        return {"objective": objective, "solid": solid, "half": half, "volume": share}

    known = {"solid": SOLID, "half": HALF} if (n, power, tenth) == (30, 3.0, 1) else {}
    limit = (reduced.at_most(theta * ufl.dx, volume * WIDTH * HEIGHT),)
    stop = Stop(max_iter=80, tol_kkt=None, tol_x=1e-2)
    return Posed(reduced, reduced.x0, "mma", stop, known, measure, 0.0, 1.0, limit)

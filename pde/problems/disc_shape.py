"""B6a. Which shape makes a loaded membrane sink deepest?

    min over shapes  int u        -Laplace u = |x|^2 - 1,   u = 0 on the boundary,   from the unit disc

Outside the unit circle the load pushes up, inside down. For a disc of radius R, J = pi / 2 (R^6 / 12 - R^4 / 4): minus
pi / 12 at the start, least at R = sqrt 2, where J* = -pi / 6 and the membrane leaves its rim without slope, du/dn = 0.
The control is a pressure h on the rim of an elastic disc, whose deformation moves the mesh. The polygon's error in J is
O(1 / n^2).
"""

from typing import Any

import numpy as np

from optim.result import Stop
from pde.fem import shapes
from pde.fem.dolfinx_import import load
from pde.fem.extension import Extended
from pde.fem.form import Integral
from pde.fem.motion import MeshMotion, stiffness
from pde.fem.reduced import Reduced
from pde.problems.held import zero_on
from pde.problems.posed import Posed, Vector


def pose(n: int = 12, *, comm: Any = None) -> Posed:
    """Args: n rings of cells; the rim is a polygon of 6 n sides."""
    fe = load()
    ufl, fem = fe.ufl, fe.fem
    disc = shapes.disc(n, comm=comm)
    mesh = disc.mesh
    V, W = fem.functionspace(mesh, ("Lagrange", 1)), fem.functionspace(mesh, ("Lagrange", 1, (2,)))
    u, v = fem.Function(V), ufl.TestFunction(V)
    x = ufl.SpatialCoordinate(mesh)

    F = ufl.inner(ufl.grad(u), ufl.grad(v)) * ufl.dx - (ufl.inner(x, x) - 1) * v * ufl.dx
    J = u * ufl.dx

    Phi, h = fem.Function(W), fem.Function(V)
    a, b = ufl.TrialFunction(W), ufl.TestFunction(W)
    elastic = stiffness(fe, a, b) + 0.01 * ufl.inner(a, b) * ufl.dx
    pressure = h * ufl.inner(ufl.FacetNormal(mesh), b) * disc.ds("rim")
    moved = Reduced(residual=F, objective=J, state=u, control=MeshMotion(Phi), bcs=[zero_on(fe, V)])
    reduced = Extended(
        moved, elastic, pressure, h, active=disc.dofs(V, "rim"), inner=lambda a, b: a * b * disc.ds("rim")
    )
    rim = np.hypot(*mesh.geometry.x[:, :2].T) > 1 - 1e-9
    area, start = Integral(fe, fem.Constant(mesh, 1.0) * ufl.dx), reduced.value(reduced.x0)

    def measure(x: Vector) -> dict[str, float]:
        objective = reduced.value(x)
        radius = float(np.sqrt(area() / np.pi))
        distance = np.linalg.norm(mesh.geometry.x[rim], axis=1)
        least = min(mesh.comm.allgather(distance.min(initial=np.inf)))
        roundness = float(least / max(mesh.comm.allgather(distance.max(initial=0.0))))
        return {"objective": objective, "radius": radius, "roundness": roundness, "start": start}

    known = {"objective": -np.pi / 6, "radius": np.sqrt(2), "roundness": 1.0, "start": -np.pi / 12}
    return Posed(reduced, reduced.x0, "newton_cg", Stop(max_iter=50, tol_kkt=1e-9), known, measure)

"""B5b. Which channels lead two inflows to two outflows with the least loss, if a third of the box may be fluid?

    min  1/2 int alpha(rho) |u|^2 + mu int |grad u|^2      -mu Laplace u + alpha(rho) u + grad p = 0,  div u = 0
                                                           0 <= rho <= 1,   int rho <= volume |box|
    alpha(rho) = a + (b - a) rho (1 + q) / (rho + q),      a = 2.5 / 0.01^2,  b = 2.5 / 100^2

in (0, 1.5) x (0, 1), with parabolic velocities of peak 1 in openings of width 1/6 at y = 1/4 and 3/4 on both sides
(Borrvall and Petersson 2003, as in dolfin-adjoint). Twenty iterations at q = 0.01 give the start at q = 0.1; without
them the design ends as two straight pipes, a local minimum. Published after 100 iterations of IPOPT, its limit:
J = 45.944633, the joined "double wrench", with an error of 1.8e-3 left. That is no optimum yet: on 100 x 100, IPOPT
stands at 45.860 when its error first is as small, and ends at 43.9709, where MMA ends too.
"""

from typing import Any

import numpy as np

from optim import minimize
from optim.design import MMA
from optim.problem import Problem
from optim.result import Stop
from pde.fem.dolfinx_import import load
from pde.fem.form import Integral
from pde.fem.reduced import Reduced
from pde.fem.saddle_point import held_on_rim
from pde.problems.posed import Posed, Vector

LENGTH, HEIGHT, OPENING = 1.5, 1.0, 1 / 6
SOLID, OPEN = 2.5 / 0.01**2, 2.5 / 100**2
PUBLISHED = {(100, 1 / 3): 45.944633}


def pose(n: int = 24, volume: float = 1 / 3, q: float = 0.1, first_iterations: int = 20, *, comm: Any = None) -> Posed:
    """Pose it; the first iterations, at q = 0.01, are done here.

    Args:
        n: cells along each side of the box, each cut in two. volume: share that may be fluid. q: how much porous
            material is worth. first_iterations: at q = 0.01.
    """
    fe = load()
    ufl, fem, element = fe.ufl, fe.fem, fe.basix.ufl.element
    corners = [[0.0, 0.0], [LENGTH, HEIGHT]]
    mesh = fe.mesh.create_rectangle(comm or fe.MPI.COMM_WORLD, corners, [n, n], fe.mesh.CellType.triangle)
    quadratic, linear = element("Lagrange", "triangle", 2, shape=(2,)), element("Lagrange", "triangle", 1)
    W = fem.functionspace(mesh, fe.basix.ufl.mixed_element([quadratic, linear]))
    M = fem.functionspace(mesh, ("Lagrange", 1))
    w, rho, bend = fem.Function(W), fem.Function(M), fem.Constant(mesh, 0.01)
    u, p = ufl.split(w)
    du, dp = ufl.split(ufl.TestFunction(W))
    dx = ufl.dx(metadata={"quadrature_degree": 4})

    alpha = SOLID + (OPEN - SOLID) * rho * (1 + bend) / (rho + bend)
    F = (alpha * ufl.inner(u, du) + ufl.inner(ufl.grad(u), ufl.grad(du)) - p * ufl.div(du) + dp * ufl.div(u)) * dx
    J = 0.5 * alpha * ufl.inner(u, u) * dx + ufl.inner(ufl.grad(u), ufl.grad(u)) * dx

    rho.x.array[:] = volume
    reduced = Reduced(residual=F, objective=J, state=w, control=rho, bcs=held_on_rim(fe, W, _parabolas))
    limit = (reduced.at_most(rho * ufl.dx, volume * LENGTH * HEIGHT),)
    early = Problem(reduced, None, 0.0, 1.0, limit, reduced.space)
    stop = Stop(max_iter=first_iterations, tol_kkt=None, tol_x=None)
    x0 = minimize(early, reduced.x0, MMA(), stop=stop).x if first_iterations else reduced.x0
    bend.value = q
    reduced.forget()
    material = Integral(fe, rho * ufl.dx)

    def measure(x: Vector) -> dict[str, float]:
        objective = reduced.value(x)
        return {"objective": objective, "volume": material() / (LENGTH * HEIGHT)}

    known = {"published": PUBLISHED[n, volume]} if (n, volume) in PUBLISHED and q == 0.1 else {}
    stop = Stop(max_iter=100, tol_kkt=None, tol_x=1e-2, tol_f=1e-5)
    return Posed(reduced, x0, "mma", stop, known, measure, 0.0, 1.0, limit, ("velocity", "pressure"))


def _parabolas(x: Vector) -> Vector:
    """The velocity on the rim at points (3, k) -> (2, k)."""
    ends = np.isclose(x[0], 0) | np.isclose(x[0], LENGTH)
    along = sum(np.maximum(1 - (2 * (x[1] - y) / OPENING) ** 2, 0) for y in (HEIGHT / 4, 3 * HEIGHT / 4))
    return np.stack([np.where(ends, along, 0.0), np.zeros(x.shape[1])])

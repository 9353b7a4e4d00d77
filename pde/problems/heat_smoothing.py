"""B2b. How must a plate be heated to follow a swinging temperature, if the heating may not change fast?

    min  1/2 int int (y - d)^2 + alpha/2 int int u_t^2      y_t - nu Laplace y = u  in (0, 1)^2 x (0, T),
                                                            y = 0 on the rim and at the start

with d = 16 x (x - 1) y (y - 1) sin(pi t), T = 2 and nu = 1e-5, after the time-distributed control example of
dolfin-adjoint (Farrell, Ham, Funke and Rognes 2013). There is no formula for the answer: the larger alpha, the smoother
the heating and the larger the misfit. Without diffusion and with alpha -> 0 it is pi cos(pi t) times the shape of d.
"""

from typing import Any

from optim.result import Stop
from pde.fem.dolfinx_import import load
from pde.fem.roughness import SmoothInTime
from pde.fem.transient import Transient
from pde.problems.held import zero_on
from pde.problems.posed import Posed, Vector


def pose(
    n: int = 8, steps: int = 20, alpha: float = 1e-2, nu: float = 1e-5, T: float = 2.0, *, comm: Any = None
) -> Posed:
    """Args: n squares along a side, each cut in two. steps in time. alpha, price of change. nu, diffusivity."""
    fe = load()
    ufl, fem = fe.ufl, fe.fem
    mesh = fe.mesh.create_unit_square(comm or fe.MPI.COMM_WORLD, n, n)
    V = fem.functionspace(mesh, ("Lagrange", 1))
    y, u, v, t = fem.Function(V), fem.Function(V), ufl.TestFunction(V), fem.Constant(mesh, 0.0)
    x = ufl.SpatialCoordinate(mesh)
    d = 16 * x[0] * (x[0] - 1) * x[1] * (x[1] - 1) * ufl.sin(ufl.pi * t)

    F = (nu * ufl.inner(ufl.grad(y), ufl.grad(v)) - u * v) * ufl.dx
    j = 0.5 * (y - d) ** 2 * ufl.dx

    misfit = Transient(
        residual=F, running=j, state=y, control=u, per_step=True, time=t, duration=T, steps=steps, bcs=[zero_on(fe, V)]
    )
    J = SmoothInTime(misfit, alpha)

    def measure(x: Vector) -> dict[str, float]:
        return {"objective": J.value(x), "misfit": misfit.value(x), "roughness": J.roughness(x)}

    return Posed(J, J.x0, "newton_cg", Stop(max_iter=200, tol_kkt=1e-8), {}, measure)

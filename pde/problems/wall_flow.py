"""B5c. How should fluid be blown through a cylinder's surface, so that a stream loses least in passing it?

    min  1/2 int |grad u|^2 + alpha/2 int_circle |g|^2      -nu Laplace u + grad p = 0,  div u = 0
                                                            u = g on the circle,  u = (y (10 - y) / 25, 0) at the inlet,
                                                            u = 0 on the walls,   nothing held at the outlet

in a channel of 30 x 10 around a circle of radius 2.5 at (10, 5). The control is the velocity on the circle, a Dirichlet
value. Published for alpha = 10, with 15,708 degrees of freedom of the control and L-BFGS (dolfin-adjoint):
J = 19.980460; the third digit depends on the mesh.
"""

from typing import Any

import numpy as np

from optim.result import Stop
from pde.fem import shapes
from pde.fem.dolfinx_import import load
from pde.fem.reduced import Reduced
from pde.problems.posed import Posed, Vector

PUBLISHED = 19.980460
LENGTH, HEIGHT, RADIUS, AT = 30.0, 10.0, 2.5, 10.0


def pose(n: int = 16, alpha: float = 10.0, nu: float = 1.0, *, comm: Any = None) -> Posed:
    """Args: n cells along each side of the square around the circle. alpha, price of blowing. nu, viscosity."""
    fe = load()
    ufl, fem, element = fe.ufl, fe.fem, fe.basix.ufl.element
    fluid = shapes.channel(n, LENGTH, HEIGHT, RADIUS, AT, comm=comm)
    quadratic, linear = element("Lagrange", "triangle", 2, shape=(2,)), element("Lagrange", "triangle", 1)
    W = fem.functionspace(fluid.mesh, fe.basix.ufl.mixed_element([quadratic, linear]))
    w = fem.Function(W)
    u, p = ufl.split(w)
    du, dp = ufl.split(ufl.TestFunction(W))
    flow = W.sub(0)
    g, stream = (fem.Function(flow.collapse()[0]) for _ in range(2))
    circle = fluid.ds("obstacle")

    F = (nu * ufl.inner(ufl.grad(u), ufl.grad(du)) - p * ufl.div(du) - dp * ufl.div(u)) * ufl.dx
    J = 0.5 * ufl.inner(ufl.grad(u), ufl.grad(u)) * ufl.dx + 0.5 * alpha * ufl.inner(g, g) * circle

    stream.interpolate(lambda x: np.stack([x[1] * (HEIGHT - x[1]) / 25, 0 * x[1]]))
    still = fem.Function(g.function_space)

    surface = fluid.dofs((flow, g.function_space), "obstacle")

    def held(value: Any, *names: str) -> Any:
        return fem.dirichletbc(value, fluid.dofs((flow, g.function_space), *names), flow)

    reduced = Reduced(
        residual=F,
        objective=J,
        state=w,
        control=g,
        bcs=[held(still, "bottom", "top"), held(stream, "left"), held(g, "obstacle")],
        active=surface[1],
        inner=lambda a, b: ufl.inner(a, b) * circle,
    )
    at_rest = reduced.value(np.zeros(reduced.n))

    def measure(x: Vector) -> dict[str, float]:
        return {"objective": reduced.value(x), "at_rest": at_rest}

    known = {"published": PUBLISHED} if (alpha, nu) == (10.0, 1.0) else {}
    stop = Stop(max_iter=20, tol_kkt=1e-7)
    return Posed(reduced, reduced.x0, "newton_cg", stop, known, measure, parts=("velocity", "pressure"))

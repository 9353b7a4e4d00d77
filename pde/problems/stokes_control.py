"""B5a. Which force makes a creeping flow follow a given velocity?

    min  1/2 |v - v_d|^2 + alpha/2 |f|^2     -nu Laplace v + grad q = f + g,  div v = 0 in (0, 1)^2,  v = 0 on the rim

Data are made so that the answer is known. With V = curl psi, psi = x^2 (1 - x)^2 y^2 (1 - y)^2: v* = V, f* = kappa V,
the adjoint velocity is -alpha kappa V and both pressures vanish, from g = -nu Laplace V - kappa V and
v_d = V - nu alpha kappa Laplace V. Then J* = (nu alpha kappa)^2 / 2 |Laplace V|^2 + alpha kappa^2 / 2 |V|^2 with
|V|^2 = 6.04686319e-5 and |Laplace V|^2 = 0.243809524. J is exactly quadratic: one Newton step is enough.
"""

from typing import Any

import numpy as np

from optim.result import Stop
from pde.fem.dolfinx_import import load
from pde.fem.form import Integral
from pde.fem.reduced import Reduced
from pde.fem.saddle_point import held_on_rim
from pde.problems.posed import Posed, Vector

V_SQUARE, LAPLACE_SQUARE = 6.04686319e-5, 0.243809524


def pose(n: int = 12, nu: float = 1.0, alpha: float = 1e-2, kappa: float = 1.0, *, comm: Any = None) -> Posed:
    """Args: n squares along a side, each cut in two. nu, viscosity. alpha, price of the force. kappa, size of f*."""
    fe = load()
    ufl, fem, element = fe.ufl, fe.fem, fe.basix.ufl.element
    mesh = fe.mesh.create_unit_square(comm or fe.MPI.COMM_WORLD, n, n)
    quadratic, linear = element("Lagrange", "triangle", 2, shape=(2,)), element("Lagrange", "triangle", 1)
    W = fem.functionspace(mesh, fe.basix.ufl.mixed_element([quadratic, linear]))
    M = fem.functionspace(mesh, quadratic)
    w, f = fem.Function(W), fem.Function(M)
    v, q = ufl.split(w)
    dv, dq = ufl.split(ufl.TestFunction(W))
    x, y = ufl.SpatialCoordinate(mesh)
    psi = x**2 * (1 - x) ** 2 * y**2 * (1 - y) ** 2
    V = ufl.as_vector([psi.dx(1), -psi.dx(0)])
    laplace = ufl.div(ufl.grad(V))
    g, v_d = -nu * laplace - kappa * V, V - nu * alpha * kappa * laplace
    dx = ufl.dx(metadata={"quadrature_degree": 10})

    F = (nu * ufl.inner(ufl.grad(v), ufl.grad(dv)) - q * ufl.div(dv) + dq * ufl.div(v) - ufl.inner(f + g, dv)) * dx
    J = 0.5 * ufl.inner(v - v_d, v - v_d) * dx + 0.5 * alpha * ufl.inner(f, f) * dx

    reduced = Reduced(residual=F, objective=J, state=w, control=f, bcs=held_on_rim(fe, W))
    errors = [Integral(fe, ufl.inner(e, e) * dx) for e in (v - V, f - kappa * V)]

    def measure(x: Vector) -> dict[str, float]:
        objective = reduced.value(x)
        state, control = (float(np.sqrt(error())) for error in errors)
        return {"objective": objective, "state_error": state, "control_error": control}

    best = (nu * alpha * kappa) ** 2 / 2 * LAPLACE_SQUARE + alpha * kappa**2 / 2 * V_SQUARE
    known = {"objective": best, "state_error": 0.0, "control_error": 0.0}
    stop = Stop(max_iter=20, tol_kkt=1e-9)
    return Posed(reduced, reduced.x0, "newton_cg", stop, known, measure, parts=("velocity", "pressure"))

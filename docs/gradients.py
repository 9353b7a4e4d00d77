"""Gradients you can trust: several controls at once, the shape among them, and four ways to be sure.

`python docs/gradients.py`
"""

import argparse

import numpy as np

from pde.fem import shapes
from pde.fem.dolfinx_import import load
from pde.fem.errors import FemSolverError
from pde.fem.motion import MeshMotion
from pde.fem.reduced import Reduced
from pde.fem.solver_options import SolverOptions
from pde.functional import taylor_test


def cooled_disc(n: int, **more: SolverOptions) -> Reduced:
    """A heated disc whose source, heat transfer and shape are free."""
    fe = load()
    ufl, fem = fe.ufl, fe.fem
    disc = shapes.disc(n)
    V, W = fem.functionspace(disc.mesh, ("Lagrange", 1)), fem.functionspace(disc.mesh, ("Lagrange", 1, (2,)))
    T, f, h, Phi = fem.Function(V), fem.Function(V), fem.Function(V), fem.Function(W)
    v, x = ufl.TestFunction(V), ufl.SpatialCoordinate(disc.mesh)
    rim = disc.ds("rim")

    F = (1 + T**2) * ufl.inner(ufl.grad(T), ufl.grad(v)) * ufl.dx - (1 + f) * v * ufl.dx + ufl.exp(h) * T * v * rim
    J = (T - 0.3 * (1 + x[0])) ** 2 * ufl.dx + 0.01 * f**2 * ufl.dx + 0.01 * h**2 * rim

    controls = [f, h, MeshMotion(Phi)]
    products = ["L2", lambda a, b: a * b * rim, "elasticity"]
    free = [None, disc.dofs(V, "rim"), None]
    return Reduced(F, J, T, controls, active=free, inner=products, **more)


def main(n: int = 6) -> dict[str, float]:
    """Check the gradient of a functional of three controls on a disc of n rings."""
    reduced = cooled_disc(n)
    rng = np.random.default_rng(0)
    x, d = 0.02 * rng.standard_normal((2, reduced.n))
    before = reduced.value_grad(x)

    # One: the remainders fall as they must.
    right = taylor_test(reduced, x, d)

    # Two: a wrong derivative does not pass.
    class Wrong:
        """The same functional, with a derivative that forgets one number in a thousand."""

        value, hvp, space = reduced.value, reduced.hvp, reduced.space

        def value_grad(self, x):
            J, dJ = reduced.value_grad(x)
            return J, 0.999 * dJ

    wrong = taylor_test(Wrong(), x, d)

    # Three: the Hessian is symmetric, and the test has left no trace.
    a, b = rng.standard_normal((2, reduced.n))
    asymmetry = abs(reduced.hvp(x, a) @ b - reduced.hvp(x, b) @ a) / abs(reduced.hvp(x, a) @ b)
    after = reduced.value_grad(x)
    same = before[0] == after[0] and np.array_equal(before[1], after[1])
    print(f"asymmetry {asymmetry:.1e}; the same bits after the tests: {same}")

    # Four: an adjoint that was not solved is no gradient.
    hasty = SolverOptions("hasty", {"ksp_type": "gmres", "pc_type": "none", "ksp_max_it": 3}, "allow more iterations")
    try:
        cooled_disc(n, adjoint_solver=hasty).value_grad(x)
        said = ""
    except FemSolverError as reason:
        said = str(reason)
    print(said)

    # Which gradient? The covector knows the mesh, its Riesz representative the function.
    largest = {"covector": [], "representative": []}
    for rings in (4, 8, 16):
        source = source_of_membrane(rings)
        largest["covector"].append(float(np.abs(source.value_grad(source.x0)[1]).max()))
        largest["representative"].append(float(np.abs(source.gradient(source.x0)).max()))
    for name, values in largest.items():
        print(f"{name}: largest number on three meshes " + ", ".join(f"{value:.5f}" for value in values))
    return {
        "rate": float(right.rates[1, -1]),
        "right": float(right.passed),
        "wrong": float(wrong.passed),
        "asymmetry": float(asymmetry),
        "same": float(same),
        "refused": float("adjoint solve with 'hasty'" in said),
        "covector": largest["covector"][0] / largest["covector"][-1],
        "representative": largest["representative"][0] / largest["representative"][-1],
    }


def source_of_membrane(rings: int) -> Reduced:
    """Which source lifts a membrane to a given height?"""
    fe = load()
    ufl, fem = fe.ufl, fe.fem
    disc = shapes.disc(rings)
    V = fem.functionspace(disc.mesh, ("Lagrange", 1))
    u, m, v, x = fem.Function(V), fem.Function(V), ufl.TestFunction(V), ufl.SpatialCoordinate(disc.mesh)
    F = ufl.inner(ufl.grad(u), ufl.grad(v)) * ufl.dx - m * v * ufl.dx
    J = 0.5 * (u - ufl.exp(x[0])) ** 2 * ufl.dx + 5e-3 * m**2 * ufl.dx
    return Reduced(F, J, u, m, [fem.dirichletbc(0.0, disc.dofs(V, "rim"), V)])


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--n", type=int, default=6, help="rings of cells")
    main(parser.parse_args().n)

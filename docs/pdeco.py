"""Your first PDE-constrained design: where should a good conductor go in a heated plate? `python docs/pdeco.py`"""

import argparse
from pathlib import Path

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt
import numpy as np

from optim import Problem, Stop, minimize
from optim.design import MMA
from pde.fem.dolfinx_import import load
from pde.fem.reduced import Reduced
from pde.functional import taylor_test

HERE = Path(__file__).parent


def main(n: int = 80, picture: Path = HERE / "images" / "pdeco.png") -> dict[str, float]:
    """Design on n x n squares, each cut in two, and draw."""
    # The mesh, and the functions on it.
    fe = load()
    ufl, fem = fe.ufl, fe.fem
    mesh = fe.mesh.create_unit_square(fe.MPI.COMM_SELF, n, n)
    V = fem.functionspace(mesh, ("Lagrange", 1))
    T, a, v = fem.Function(V), fem.Function(V), ufl.TestFunction(V)

    # The equation: heat f everywhere, conductivity k(a), cold on the left and on top.
    f = fem.Constant(mesh, 1e-2)
    k = 1e-3 + (1 - 1e-3) * a**5
    F = k * ufl.inner(ufl.grad(T), ufl.grad(v)) * ufl.dx - f * v * ufl.dx
    cold_side = fem.locate_dofs_geometrical(V, lambda x: np.isclose(x[0], 0) | np.isclose(x[1], 1))
    cold = fem.dirichletbc(0.0, cold_side, V)

    # The question: as cool as possible, and a design that does not flicker.
    J = f * T * ufl.dx + 1e-8 * ufl.inner(ufl.grad(a), ufl.grad(a)) * ufl.dx

    # J as a function of the design alone.
    a.x.array[:] = 0.4
    reduced = Reduced(residual=F, objective=J, state=T, control=a, bcs=[cold])
    enough = reduced.at_most(a * ufl.dx, 0.4)

    # Is the gradient right?
    taylor_test(reduced, reduced.x0, np.random.default_rng(0).standard_normal(reduced.n))

    # The design.
    problem = Problem(reduced, lower=0.0, upper=1.0, constraints=(enough,), space=reduced.space)
    stop = Stop(max_iter=200, tol_kkt=None, tol_x=1e-2, tol_f=1e-4)
    result = minimize(problem, reduced.x0, MMA(), stop=stop)
    print(f"{reduced.value(reduced.x0):.4e} uniform, {result.f:.4e} designed ({result.iterations} iterations)")

    # The picture: after a call the functions hold the fields of that design.
    reduced.value(result.x)
    x, y, _ = V.tabulate_dof_coordinates().T
    figure, axes = plt.subplots(1, 2, figsize=(10, 4.6), layout="constrained")
    fields = {"conductor": (a, "Greys"), "temperature": (T, "inferno")}
    for axis, (name, (field, colours)) in zip(axes, fields.items(), strict=True):
        drawn = axis.tripcolor(x, y, V.dofmap.list, field.x.array, cmap=colours, shading="gouraud")
        figure.colorbar(drawn, ax=axis)
        axis.set(title=name, aspect="equal", xlim=(0, 1), ylim=(0, 1), xticks=[0, 1], yticks=[0, 1])
    picture.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(picture, dpi=120)
    plt.close(figure)
    return {
        "uniform": reduced.value(reduced.x0),
        "designed": result.f,
        "used": 0.4 * (1 + float(enough.value(result.x)[0])),
    }


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--n", type=int, default=80, help="squares along a side")
    parser.add_argument("--picture", type=Path, default=HERE / "images" / "pdeco.png")
    options = parser.parse_args()
    main(options.n, options.picture)

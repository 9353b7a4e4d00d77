"""Time-dependent problems: how should a plate be heated to be right in time? `python docs/heating.py`"""

import argparse
from pathlib import Path

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt
import numpy as np

from optim import Problem, Stop, minimize
from optim.design import ProjectedLBFGS
from pde.fem.dolfinx_import import load
from pde.fem.transient import Transient
from pde.functional import taylor_test
from pde.tape import Budget, keep_all, revolve

HERE = Path(__file__).parent


def main(n: int = 16, steps: int = 40, picture: Path = HERE / "images" / "heating.png") -> dict[str, float]:
    """Heat a plate of n x n squares, each cut in two, over so many steps, and draw."""
    # The mesh, and the functions on it; t is the time, which the forms may use.
    fe = load()
    ufl, fem = fe.ufl, fe.fem
    mesh = fe.mesh.create_unit_square(fe.MPI.COMM_SELF, n, n)
    V = fem.functionspace(mesh, ("Lagrange", 1))
    T, cold, q, v = fem.Function(V), fem.Function(V), fem.Function(V), ufl.TestFunction(V)
    t = fem.Constant(mesh, 0.0)

    # The heater is the left edge, the other edges lose heat by radiation and to air that warms up.
    heater = fem.locate_dofs_geometrical(V, lambda x: np.isclose(x[0], 0))
    edges = fe.mesh.locate_entities_boundary(mesh, 1, lambda x: np.full(x.shape[1], True))
    on_left = np.isin(edges, fe.mesh.locate_entities_boundary(mesh, 1, lambda x: np.isclose(x[0], 0)))
    tags = fe.mesh.meshtags(mesh, 1, edges, np.where(on_left, 1, 2).astype(np.int32))
    ds = ufl.Measure("ds", mesh, subdomain_data=tags)
    left, others = ds(1), ds(2)
    air = 0.2 * t

    # The equation, without its time derivative.
    F = 0.4 * ufl.inner(ufl.grad(T), ufl.grad(v)) * ufl.dx - q * v * left
    F += 0.05 * (T**4 - air**4) * v * others

    # The question: a wanted temperature at the end, for little heat.
    x = ufl.SpatialCoordinate(mesh)
    wanted = 0.8 - 0.3 * x[0] * x[1]
    phi = 0.5 * (T - wanted) ** 2 * ufl.dx
    j = 1e-3 * q**2 * left

    # J as a function of the heat flux in every step.
    def reduced(schedule):
        return Transient(
            residual=F, running=j, terminal=phi, state=T, initial=cold, control=q, per_step=True, time=t, duration=2.0,
            steps=steps, scheme="bdf2", active=heater, inner=lambda a, b: a * b * left, schedule=schedule,
        )  # fmt: skip

    J = reduced(keep_all())

    # Is the gradient right?
    taylor_test(J, J.x0 + 0.5, np.random.default_rng(0).standard_normal(J.n))

    # The same bits, whatever is kept of the way.
    dJ = J.gradient(J.x0 + 0.5)
    for schedule in (revolve(10), keep_all("disk"), Budget(memory=30 * T.x.array.nbytes)):
        again = reduced(schedule)
        print(np.array_equal(again.gradient(J.x0 + 0.5), dJ), again.counts.states, "steps forwards")
    print(again.plan)

    # The heating.
    problem = Problem(J, lower=0.0, upper=1.0, space=J.space)
    result = minimize(problem, J.x0, ProjectedLBFGS(), stop=Stop(max_iter=200, tol_kkt=1e-6))
    print(f"{J.value(J.x0):.4e} cold, {result.f:.4e} heated ({result.status} after {result.iterations} iterations)")

    # The picture.
    order = np.argsort(V.tabulate_dof_coordinates()[heater, 1])
    flux = result.x.reshape(steps, -1)[:, order]
    states = list(J.states(result.x))
    draw(V, states, flux, picture)
    return {"cold": J.value(J.x0), "heated": result.f, "largest": float(flux.max())}


def draw(V, states, flux, picture: Path) -> None:
    """Flux over time and edge; temperature at three times."""
    x, y, _ = V.tabulate_dof_coordinates().T
    figure, axes = plt.subplots(1, 4, figsize=(13, 3.4), layout="constrained")
    image = axes[0].imshow(flux.T, origin="lower", extent=(0, 2, 0, 1), aspect="auto", cmap="inferno")
    axes[0].set(title="heat flux on the left edge", xlabel="time", ylabel="y")
    figure.colorbar(image, ax=axes[0])
    steps = len(states) - 1
    for axis, k in zip(axes[1:], (steps // 3, 2 * steps // 3, steps), strict=True):
        time, values = states[k]
        drawn = axis.tripcolor(x, y, V.dofmap.list, values, cmap="viridis", vmin=0, vmax=1.1, shading="gouraud")
        axis.set(title=f"temperature at t = {time:.2f}", aspect="equal", xticks=[0, 1], yticks=[0, 1])
    figure.colorbar(drawn, ax=axes[1:], shrink=0.9)
    picture.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(picture, dpi=120)
    plt.close(figure)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--n", type=int, default=16, help="squares along a side")
    parser.add_argument("--steps", type=int, default=40, help="steps in time")
    parser.add_argument("--picture", type=Path, default=HERE / "images" / "heating.png")
    options = parser.parse_args()
    main(options.n, options.steps, options.picture)

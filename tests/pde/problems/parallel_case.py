"""Run by `mpirun`: every shipped problem, its figures as JSON from process 0. `python parallel_case.py OUT`"""

import json
import sys
from pathlib import Path

import numpy as np

from optim import minimize
from optim.result import Stop
from pde import problems
from pde.fem.dolfinx_import import load
from pde.fem.result_files import at_vertices

SMALL: dict[str, dict[str, int]] = {
    "poisson_control": {"n": 6},
    "bounded_control": {"n": 6},
    "heat_control": {"n": 3, "steps": 5},
    "heat_smoothing": {"n": 3, "steps": 5},
    "permeability": {"n": 6},
    "heat_topology": {"n": 6},
    "bar": {"n": 12},
    "cantilever": {"n": 10},
    "stokes_control": {"n": 3},
    "double_pipe": {"n": 8, "first_iterations": 1},
    "wall_flow": {"n": 4},
    "disc_shape": {"n": 3},
    "obstacle_drag": {"n": 4},
    "plug_flow": {"n": 12},
    "reactor": {"n": 6},
}


def figures(name: str) -> dict[str, float]:
    """Objective, gradient, curvature and constraints a step from the start, and what two iterations find.

    The step is along the gradient: a field that does not know how the mesh is spread.
    """
    posed = problems.pose(name, **SMALL[name])
    J, start = posed.J, posed.x0
    f, df = J.value_grad(start)
    G = J.space.riesz(df)
    x = start - 0.05 * G / np.abs(G).max()
    value, slope = J.value_grad(x)
    found = {"n": J.n, "start": float(f), "objective": float(value)}
    found["gradient_norm"] = float(np.sqrt(J.space.inner(*[J.space.riesz(slope)] * 2)))
    found["curvature"] = float(J.hvp(x, G) @ G)
    for k, g in enumerate(posed.constraints):
        found |= {f"constraint {k}": float(g.value(x)[0]), f"its slope {k}": float(g.jac(x)[0] @ G)}
    found |= {f"figure {name}": value for name, value in posed.measure(x).items()}
    result = minimize(posed.problem, start, problems.METHODS[posed.method](), stop=Stop(2, tol_kkt=None))
    drawn = problems.fields(posed, result.x)
    first = load().MPI.COMM_WORLD.rank == 0
    assert bool(drawn) == (first or name == "plug_flow")
    return {**found, "after two iterations": float(result.f), "steps": result.iterations}


def on_whole_mesh(name: str) -> dict[str, float]:
    """Sums over vertices, or cells, of fields brought together on the first process."""
    posed = problems.pose(name, **SMALL[name])
    found = {}
    for f in problems.fields(posed, posed.x0):
        values, _ = at_vertices(f)
        found |= {f"{name}: {f.name}": float((values**2).sum()), f"{name}: size of {f.name}": len(values)}
    return found


if __name__ == "__main__":
    comm = load().MPI.COMM_WORLD
    found = {f"{name}: {key}": value for name in problems.PROBLEMS for key, value in figures(name).items()}
    # The same bits on every process, or optimizers would part.
    assert len(set(comm.allgather(json.dumps(found)))) == 1
    for name in ("reactor", "poisson_control", "cantilever", "bar"):
        found |= on_whole_mesh(name)
    if comm.rank == 0:
        Path(sys.argv[1]).write_text(json.dumps(found))

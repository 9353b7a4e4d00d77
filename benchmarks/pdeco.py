"""Exact gradients of PDE problems: what one costs over a forward solve, Newton-CG against L-BFGS, and memory.

`rows`: for each problem seconds of one forward solve and of value and gradient together, at controls never seen before
(medians), and their ratio: once with the factors of the state solve serving the adjoint, once with the adjoint
factorised anew. `optimisers`: solves (states, adjoints, tangents) and factorisations until the same tolerance.
`memory_growth`: of the process over the evaluations after the first hundred.

`ours_s` and `peer_s` are seconds of Newton-CG and of L-BFGS on the permeability problem, `ours` and `theirs` their
solves; `agree`: the final objectives of every problem match to 1e-3, or Newton-CG's is the lower one.
"""

import argparse
import gc
import os
import statistics
import time
from collections.abc import Callable
from typing import Any

import numpy as np
import psutil

from optim import minimize
from pde import problems
from pde.fem.linear_solver import LinearSolver
from pde.fem.reduced import Reduced
from pde.fem.solver_options import named

SIZES = {"poisson_control": 96, "permeability": 64, "cantilever": 30, "stokes_control": 24}
COMPARED = {"poisson_control": 64, "permeability": 32, "stokes_control": 12}


def main(argv: list[str]) -> dict[str, Any]:
    parser = argparse.ArgumentParser(prog="python -m benchmarks pdeco")
    parser.add_argument("--repeat", type=int, default=7)
    parser.add_argument("--evaluations", type=int, default=1000, help="for the memory")
    options = parser.parse_args(argv)
    rows = [gradient_cost(name, n, options.repeat) for name, n in SIZES.items()]
    compared = [optimisers(name, n) for name, n in COMPARED.items()]
    main_row = next(row for row in compared if row["problem"] == "permeability")
    newton, lbfgs = main_row["newton_cg"], main_row["lbfgs"]
    return {
        "name": "pdeco",
        "peer": "our projected L-BFGS on the same functional",
        "ours_s": newton["seconds"],
        "peer_s": lbfgs["seconds"],
        "ratio": round(newton["seconds"] / lbfgs["seconds"], 4),
        "ours": newton["solves"],
        "theirs": lbfgs["solves"],
        "agree": all(row["agree"] for row in compared),
        "rows": rows,
        "optimisers": compared,
        "memory_growth": memory_growth(options.evaluations),
        "load_average": os.getloadavg()[0],
    }


def gradient_cost(name: str, n: int, repeat: int) -> dict[str, Any]:
    posed = problems.pose(name, n=n)
    assert isinstance(posed.J, Reduced)
    shared = seconds_per_evaluation(posed.J, posed.x0, repeat)
    apart = seconds_per_evaluation(with_own_adjoint(posed.J), posed.x0, repeat)
    return {
        "problem": name,
        "n": n,
        "states": posed.J._parts.equation.size,
        "controls": posed.J.n,
        "forward_s": round(shared[0], 6),
        "gradient_s": round(shared[1], 6),
        "ratio_factors_shared": round(shared[1] / shared[0], 3),
        "ratio_adjoint_factorised": round(apart[1] / apart[0], 3),
    }


def seconds_per_evaluation(J: Reduced, x0: Any, repeat: int) -> tuple[float, float]:
    """Medians of a value, and of a value with its gradient, each where nothing is known yet."""
    rng = np.random.default_rng(0)

    def fresh() -> Any:
        return x0 * (1 + 0.05 * rng.uniform(-1, 1, x0.shape)) + 1e-3 * rng.uniform(0, 1, x0.shape)

    J.value_grad(fresh())
    values, gradients = [], []
    for _ in range(repeat):
        values.append(timed(lambda: J.value(fresh())))
        gradients.append(timed(lambda: J.value_grad(fresh())))
    return statistics.median(values), statistics.median(gradients)


def with_own_adjoint(J: Reduced) -> Reduced:
    """The same functional whose adjoint has a factorisation of its own, made at every linearisation."""
    equation = J._parts.equation
    equation.adjoint = LinearSolver(equation.fe, equation.K, named("direct"), equation.u.function_space)
    adjoint = equation.linearise

    def again() -> None:
        adjoint()
        equation.K.stateIncrease()

    equation.linearise = again  # the control does not touch every matrix; the adjoint's factors are then kept as well
    return J


def timed(work: Callable[[], Any]) -> float:
    began = time.perf_counter()
    work()
    return time.perf_counter() - began


def optimisers(name: str, n: int) -> dict[str, Any]:
    """Newton-CG and L-BFGS from the same start to the same tolerance."""
    row: dict[str, Any] = {"problem": name, "n": n}
    for method in ("newton_cg", "lbfgs"):
        posed = problems.pose(name, n=n)
        began = time.perf_counter()
        result = minimize(posed.problem, posed.x0, problems.METHODS[method](), stop=posed.stop)
        assert isinstance(posed.J, Reduced)
        counts = posed.J.counts
        row[method] = {
            "seconds": round(time.perf_counter() - began, 4),
            "iterations": result.iterations,
            "solves": counts.states + counts.adjoints + counts.tangents,
            "states": counts.states,
            "adjoints": counts.adjoints,
            "tangents": counts.tangents,
            "factorisations": counts.factorisations,
            "objective": result.f,
            "status": result.status,
        }
    newton, lbfgs = row["newton_cg"]["objective"], row["lbfgs"]["objective"]
    row["agree"] = bool(newton <= lbfgs * (1 + 1e-3))
    return row


def memory_growth(evaluations: int) -> float:
    """Resident memory after all evaluations over that after a hundred, less one."""
    posed = problems.pose("permeability", n=32)
    rng, process = np.random.default_rng(1), psutil.Process()
    base = 0
    for k in range(evaluations):
        posed.J.value_grad(posed.x0 + 0.1 * rng.standard_normal(posed.x0.shape))
        if k == min(100, evaluations // 2):
            gc.collect()
            base = process.memory_info().rss
    gc.collect()
    return round(process.memory_info().rss / base - 1, 4)

"""Design optimizers against SciPy, nlopt and pyMOTO on one problem: time per iteration and final objective.

    min sum c_j / x_j    with two weighted volumes below 0.4,  0.001 <= x <= 1,  x0 = 0.4

`ours_s` and `peer_s` are seconds per iteration of MMA and of pyMOTO's MMA at the largest n, evaluations included; both
take the same number of steps. The table `rows` has every pair at every n. SciPy's trust-constr and SLSQP, and our SQP,
are dense and take part at n = 1000 only; L-BFGS-B is compared with our projected L-BFGS on the same objective with a
price on material instead of the constraints. `agree`: final objectives of MMA, GCMMA and pyMOTO, and of the
two L-BFGS, within 1e-3 at each n, and constraints met to 1e-3; the dense methods are given a few steps only.
"""

import argparse
import contextlib
import importlib.metadata
import importlib.util
import io
import os
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

import optim
from optim import Stop
from optim.design import GCMMA, MMA, SQP, ProjectedLBFGS

Array = NDArray[np.float64]
LIMIT, LOW, START = 0.4, 1e-3, 0.4


@dataclass(frozen=True)
class Bars:
    """Compliance-like objective, convex, with two overlapping volumes."""

    c: Array
    W: Array

    @classmethod
    def of_size(cls, n: int) -> "Bars":
        rng = np.random.default_rng(0)
        return cls(rng.uniform(0.5, 2, n) / n, rng.uniform(0.5, 1.5, (2, n)) / n)

    @property
    def x0(self) -> Array:
        return np.full(len(self.c), START)

    def f(self, x: Array) -> float:
        return float((self.c / x).sum())

    def df(self, x: Array) -> Array:
        return -self.c / x**2

    def problem(self) -> optim.Problem:
        f = optim.smooth(lambda x: (self.f(x), self.df(x)))
        return optim.Problem(f, None, LOW, 1.0, (optim.Linear(self.W, np.full(2, LIMIT)),))

    def priced(self, x: Array) -> tuple[float, Array]:
        """With a price on material instead of the limit, for methods that take bounds only."""
        return self.f(x) + 6 * float(self.W[0] @ x), self.df(x) + 6 * self.W[0]


def main(argv: list[str]) -> dict[str, Any]:
    parser = argparse.ArgumentParser(prog="python -m benchmarks optimizers")
    parser.add_argument("--sizes", default="1000,100000,1000000")
    parser.add_argument("--iterations", type=int, default=12, help="of MMA and L-BFGS")
    options = parser.parse_args(argv)
    sizes = [int(n) for n in options.sizes.split(",")]
    small = Bars.of_size(100)
    compare(small, 2)  # compile and import
    rows = [row for n in sizes for row in compare(Bars.of_size(n), options.iterations)]
    last = {row["method"]: row for row in rows if row["n"] == sizes[-1]}
    ours, peer = last["MMA"], last.get("pymoto MMA")
    return {
        "name": "optimizers",
        "peer": f"pymoto {importlib.metadata.version('pymoto')} MMA" if peer else None,
        "ours_s": round(ours["s_per_iteration"], 5),
        "peer_s": round(peer["s_per_iteration"], 5) if peer else None,
        "ratio": round(ours["s_per_iteration"] / peer["s_per_iteration"], 4) if peer else None,
        "ours": ours["f"],
        "theirs": peer["f"] if peer else None,
        "agree": agreement(rows),
        "rows": rows,
        "load_average": os.getloadavg()[0],
    }


def compare(bars: Bars, iterations: int) -> list[dict[str, Any]]:
    """Every method that can take this size, one after the other."""
    n = len(bars.c)
    runs: dict[str, Callable[[], tuple[float, int, Array]]] = {
        "MMA": lambda: minimize_with(bars, MMA(move=0.5), iterations),
        "GCMMA": lambda: minimize_with(bars, GCMMA(move=0.5), iterations),
    }
    if importlib.util.find_spec("pymoto"):
        runs["pymoto MMA"] = lambda: with_pymoto(bars, iterations)
    if importlib.util.find_spec("nlopt") and n <= 100_000:
        runs["nlopt LD_MMA"] = lambda: with_nlopt(bars, 4 * iterations)
    if n <= 1000:
        runs["SQP"] = lambda: minimize_with(bars, SQP(), 4)
        runs["scipy SLSQP"] = lambda: with_scipy(bars, "SLSQP", 4)
        runs["scipy trust-constr"] = lambda: with_scipy(bars, "trust-constr", 5)
    runs["projected L-BFGS"] = lambda: bounded(bars, iterations)
    runs["scipy L-BFGS-B"] = lambda: bounded_scipy(bars, iterations)
    rows = []
    for name, run in runs.items():
        began = time.perf_counter()
        f, steps, x = run()
        seconds = time.perf_counter() - began
        violation = float(max(0.0, (bars.W @ x - LIMIT).max())) if "L-BFGS" not in name else 0.0
        rows.append(
            {"n": n, "method": name, "s_per_iteration": seconds / steps, "iterations": steps, "f": f, "feas": violation}
        )
        print(f"{n:>8} {name:24s} {seconds / steps * 1e3:10.2f} ms   f = {f:.8g}", flush=True)
    return rows


def agreement(rows: list[dict[str, Any]]) -> bool:
    """Within each n and kind of problem, do MMA and its peers meet, feasible? Dense methods took a few steps only."""
    sound = True
    for n in {row["n"] for row in rows}:
        for names in (("MMA", "GCMMA", "pymoto MMA"), ("projected L-BFGS", "scipy L-BFGS-B")):
            compared = [row for row in rows if row["n"] == n and row["method"] in names]
            f = [row["f"] for row in compared]
            sound = sound and max(f) - min(f) <= 1e-3 * abs(min(f)) and all(row["feas"] < 1e-3 for row in compared)
    return sound


def minimize_with(bars: Bars, method: Any, iterations: int) -> tuple[float, int, Array]:
    stop = Stop(max_iter=iterations, tol_kkt=None, tol_x=None)
    result = optim.minimize(bars.problem(), bars.x0, method, stop=stop)
    return result.f, result.iterations, result.x


def bounded(bars: Bars, iterations: int) -> tuple[float, int, Array]:
    stop = Stop(max_iter=iterations, tol_kkt=None, tol_x=None)
    result = optim.minimize(bars.priced, bars.x0, ProjectedLBFGS(), bounds=(LOW, 1.0), stop=stop)
    return result.f, result.iterations, result.x


def bounded_scipy(bars: Bars, iterations: int) -> tuple[float, int, Array]:
    from scipy.optimize import Bounds, minimize

    options = {"maxiter": iterations, "ftol": 0.0, "gtol": 0.0}
    found = minimize(bars.priced, bars.x0, jac=True, method="L-BFGS-B", bounds=Bounds(LOW, 1.0), options=options)
    return float(found.fun), int(found.nit), found.x


def with_scipy(bars: Bars, method: str, iterations: int) -> tuple[float, int, Array]:
    from scipy.optimize import Bounds, LinearConstraint, minimize

    found = minimize(
        bars.f,
        bars.x0,
        jac=bars.df,
        method=method,
        bounds=Bounds(LOW, 1.0),
        constraints=LinearConstraint(bars.W, -np.inf, LIMIT),
        options={"maxiter": iterations},
    )
    return float(found.fun), max(1, int(found.nit)), found.x


def with_nlopt(bars: Bars, evaluations: int) -> tuple[float, int, Array]:
    import nlopt

    n = len(bars.c)
    solver, looks = nlopt.opt(nlopt.LD_MMA, n), []

    def objective(x: Array, gradient: Array) -> float:
        if gradient.size:
            gradient[:] = bars.df(x)
        looks.append(bars.f(x))
        return looks[-1]

    def volume(number: int) -> Callable[[Array, Array], float]:
        def constraint(x: Array, gradient: Array) -> float:
            if gradient.size:
                gradient[:] = bars.W[number]
            return float(bars.W[number] @ x - LIMIT)

        return constraint

    solver.set_min_objective(objective)
    for number in range(len(bars.W)):
        solver.add_inequality_constraint(volume(number), 1e-10)
    solver.set_lower_bounds(np.full(n, LOW))
    solver.set_upper_bounds(np.ones(n))
    solver.set_maxeval(evaluations)
    x = solver.optimize(bars.x0)
    return bars.f(x), len(looks), x


def with_pymoto(bars: Bars, iterations: int) -> tuple[float, int, Array]:
    import pymoto

    class Model(pymoto.Module):
        def __call__(self, x: Any) -> Any:
            self.x = x
            return 10 * bars.f(x) / bars.f(bars.x0), *((bars.W @ x - LIMIT) / LIMIT)

        def _sensitivity(self, df: Any, *dg: Any) -> Array:
            out = np.zeros_like(self.x)
            if df is not None:
                out += df * 10 * bars.df(self.x) / bars.f(bars.x0)
            for weight, row in zip(dg, bars.W, strict=True):
                if weight is not None:
                    out += weight * row / LIMIT
            return out

    variable = pymoto.Signal("x", state=bars.x0)
    with contextlib.redirect_stdout(io.StringIO()), pymoto.Network() as network:
        responses = Model()(variable)
        options = {"maxit": iterations, "tolx": 0.0, "tolf": 0.0, "xmin": LOW, "xmax": 1.0, "move": 0.5, "verbosity": 0}
        pymoto.minimize_mma(variable, list(responses), function=network, **options)
    x = np.asarray(variable.state)
    return bars.f(x), iterations, x

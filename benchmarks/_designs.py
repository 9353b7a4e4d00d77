"""Optimised densities that the benchmarks solve on, stored in `data/` as bytes; `python -m benchmarks._designs` makes
them anew.

`mbb_300x100` is half of the MBB beam, volume 50 %, cone density filter of radius 4, forty iterations of optimality
criteria; `cantilever_64` and `cantilever_128` are the problem of `topopt3d`, thirty iterations.
"""

from pathlib import Path

import numpy as np
from numpy.typing import NDArray

DATA = Path(__file__).parent / "data"


def density(name: str) -> NDArray[np.float64]:
    """(*shape,), in [0, 1]."""
    with np.load(DATA / f"{name}.npz") as file:
        return np.asarray(file["density"], float) / 255


def store(name: str, rho: NDArray[np.float64]) -> Path:
    path = DATA / f"{name}.npz"
    np.savez_compressed(path, density=np.round(255 * np.clip(rho, 0, 1)).astype(np.uint8))
    return path


def cantilever(n: int, steps: int = 30) -> NDArray[np.float64]:
    from benchmarks import topopt3d as problem

    system, force = problem.problem(n, None)
    shape, u = system.grid.shape, None
    weights, x = problem.cone(shape), problem.ordered(np.full(shape, problem.VOLUME))
    for _ in range(steps):
        rho = problem.filtered(x) / weights
        modulus = problem.SOFTEST + rho**3 * (1 - problem.SOFTEST)
        u = system.solve(modulus, force, guess=u, tol=1e-3).u
        dc = -3 * (1 - problem.SOFTEST) * rho**2 * system.energies(u)
        x = problem.optimality_criteria(x, problem.filtered(dc / weights), problem.filtered(1 / weights))
    return problem.filtered(x) / weights


def mbb() -> NDArray[np.float64]:
    from topopt import optimize, presets

    return optimize(presets.mbb_beam(300, 100), radius=4, max_iterations=40, tolerance=1e-3).rho


if __name__ == "__main__":
    for name, make in {
        "mbb_300x100": mbb,
        "cantilever_64": lambda: cantilever(32),
        "cantilever_128": lambda: cantilever(64),
    }.items():
        path = store(name, make())
        print(path, path.stat().st_size)

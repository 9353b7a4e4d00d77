"""One solve of an optimised cantilever of 64 x 32 x 32 (or 128 x 64 x 64) voxels against pyMOTO's multigrid CG.

From moduli to displacements, set-up and assembly included, the same relative residual, no warm start. `ours` and
`theirs` are compliances, `agree` says that they match to 1e-5. Where the machine lacks the memory that the peer takes
(more than 23 GB for 128 x 64 x 64 voxels), it is not run and its entries are null.
"""

import argparse
import os
from typing import Any

import psutil

from benchmarks import topopt3d
from benchmarks._designs import density
from benchmarks.grid2d import alternating, gpu_row, pymoto_solver

# Measured: the assembled matrix, its coarse products and the index lists.
PEER_BYTES_PER_VOXEL = 50_000


def main(argv: list[str]) -> dict[str, Any]:
    parser = argparse.ArgumentParser(prog="python -m benchmarks grid3d")
    parser.add_argument("--grid", default="64x32x32", choices=["64x32x32", "128x64x64"])
    parser.add_argument("--tol", type=float, default=1e-5)
    parser.add_argument("--repeat", type=int, default=1)
    parser.add_argument("--threads", type=int, default=None)
    options = parser.parse_args(argv)
    n = int(options.grid.split("x")[1])
    system, force = topopt3d.problem(n, options.threads)
    softest = topopt3d.SOFTEST
    modulus = topopt3d.ordered(softest + density(f"cantilever_{2 * n}") ** 3 * (1 - softest))
    system.solve(modulus, force, tol=options.tol)

    def solve() -> Any:
        return system.solve(modulus, force, tol=options.tol)

    if psutil.virtual_memory().available > PEER_BYTES_PER_VOXEL * system.grid.size:
        peer = pymoto_solver(system.grid.shape, system.fixed, force, options.tol)
        ours, theirs = alternating(solve, lambda: peer(modulus), options.repeat)
    else:
        ours, theirs = alternating(solve, lambda: None, options.repeat)[0], None
    compliance = float((ours[1].u * force).sum())
    other = None if theirs is None else float((theirs[1] * force).sum())
    return {
        "name": "grid3d",
        "peer": "pyMOTO, CG with geometric multigrid" + ("" if theirs else ": not run, too little memory"),
        "ours_s": round(ours[0], 4),
        "peer_s": None if theirs is None else round(theirs[0], 4),
        "ratio": None if theirs is None else round(ours[0] / theirs[0], 4),
        "ours": compliance,
        "theirs": other,
        "agree": None if other is None else bool(abs(compliance / other - 1) < 1e-5),
        "grid": options.grid,
        "iterations": ours[1].iterations,
        "gpu": gpu_row(system.grid, system.physics, system.fixed, modulus, force, options.tol),
        "load_average": os.getloadavg()[0],
    }

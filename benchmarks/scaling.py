"""Seconds and bytes per voxel of one solve from 1e4 to 4e6 voxels: both must stay level.

A clamped block of 2n x n x n voxels whose moduli vary smoothly by 1e3, a load at the far edge, residual 1e-5, each grid
in a process of its own. Bytes are what the process grew by at its peak. `ours_s` are CPU seconds per million voxels on
the largest grid (wall times say little on a busy machine; they are in the rows), `peer_s` those at 65,536 voxels;
`agree` says that neither they nor the bytes grow by more than half.
"""

import argparse
import json
import os
import resource
import subprocess
import sys
import time
from typing import Any

import numpy as np

from pde.grid import Elasticity, Grid, System
from pde.grid.memory import bytes_needed

HEIGHTS = (16, 32, 48, 64, 96, 128)


def main(argv: list[str]) -> dict[str, Any]:
    parser = argparse.ArgumentParser(prog="python -m benchmarks scaling")
    parser.add_argument("--largest", type=int, default=128, help="n of the largest grid 2n x n x n")
    parser.add_argument("--threads", type=int, default=0)
    parser.add_argument("--one", type=int, help="this grid only, in this process")
    options = parser.parse_args(argv)
    if options.one:
        return one(options.one, options.threads or None)
    rows = []
    for n in (n for n in HEIGHTS if n <= options.largest):
        command = [sys.executable, "-m", "benchmarks", "scaling", "--one", str(n), "--threads", str(options.threads)]
        done = subprocess.run(command, capture_output=True, text=True, check=True)
        rows.append(json.loads(done.stdout.splitlines()[-1]))
        print(rows[-1], flush=True)
    first, last = rows[1 if len(rows) > 1 else 0], rows[-1]
    growth = last["cpu_us_per_voxel"] / first["cpu_us_per_voxel"], last["bytes_per_voxel"] / first["bytes_per_voxel"]
    return {
        "name": "scaling",
        "peer": "itself on 64x32x32",
        "ours_s": last["cpu_us_per_voxel"],
        "peer_s": first["cpu_us_per_voxel"],
        "ratio": round(growth[0], 3),
        "ours": last["bytes_per_voxel"],
        "theirs": first["bytes_per_voxel"],
        "agree": max(growth) <= 1.5,
        "rows": rows,
        "gpu": "not run",
        "load_average": os.getloadavg()[0],
    }


def one(n: int, threads: int | None) -> dict[str, Any]:
    grid = Grid((2 * n, n, n))
    x, y, z = (np.pi * (np.arange(m) + 0.5) / n for m in grid.shape)
    waves = np.sin(3 * x)[:, None, None] * np.sin(4 * y)[None, :, None] * np.sin(5 * z)[None, None, :]
    modulus = np.ascontiguousarray((10 ** (1.5 * (waves - 1))).T).T
    fixed, force = np.zeros((*grid.node_shape, 3), bool), np.zeros((*grid.node_shape, 3))
    fixed[0] = True
    force[-1, :, 0, 2] = -1 / (n + 1)
    warm_up(threads)
    before = peak()
    system = System(grid, Elasticity(0.3, "standard"), fixed, "native", threads)
    started, cpu = time.perf_counter(), time.process_time()
    system.update(modulus)
    set_up = time.perf_counter() - started
    solution = system.solve(None, force, tol=1e-5)
    seconds, cpu = time.perf_counter() - started, time.process_time() - cpu
    return {
        "grid": "x".join(map(str, grid.shape)),
        "voxels": grid.size,
        "iterations": solution.iterations,
        "set_up_s": round(set_up, 3),
        "solve_s": round(seconds - set_up, 3),
        "cpu_s": round(cpu, 3),
        "cpu_us_per_voxel": round(1e6 * cpu / grid.size, 3),
        "us_per_voxel": round(1e6 * seconds / grid.size, 3),
        "bytes_per_voxel": round((peak() - before) / grid.size, 1),
        "bytes_foretold": round(bytes_needed(grid.size, 3, 3) / grid.size, 1),
        "compliance": float((solution.u * force).sum()),
    }


def warm_up(threads: int | None) -> None:
    """Compile the kernels, or load them, before anything is measured."""
    fixed = np.zeros((17, 9, 9, 3), bool)
    fixed[0] = True
    force = np.zeros(fixed.shape)
    force[-1] = 1
    System(Grid((16, 8, 8)), Elasticity(0.3, "standard"), fixed, "native", threads).solve(
        np.ones((16, 8, 8)), force, tol=1e-3
    )


def peak() -> int:
    """Largest resident size so far, bytes (Linux counts in kibibytes, macOS in bytes)."""
    size = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return size if sys.platform == "darwin" else 1024 * size

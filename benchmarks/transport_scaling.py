"""Cost of a barycenter per cell, from 256 x 256 to 4096 x 4096 and from 64 to 128 cubed: nearly constant.

Two densities, an ellipse and a ring (in three dimensions a ball and a shell); two levels of 6 and 10 iterations on the
grid itself and its half, so that the work per cell is the same at every size. Each size runs in a process of its own.
There is no peer: `ours_s` and `peer_s` are the dearest and the cheapest CPU time per cell and iteration in nanoseconds
among sizes of the same dimension, `agree` says that they differ by less than a factor of two and that memory per cell
falls within a factor of two as well. `--device cuda` measures the kernels of PyTorch on a GPU.
"""

import argparse
import json
import os
import subprocess
import sys
import time
from typing import Any

import numpy as np
from numpy.typing import NDArray

FINEST = 6


def main(argv: list[str]) -> dict[str, Any]:
    parser = argparse.ArgumentParser(prog="python -m benchmarks transport_scaling")
    parser.add_argument("--squares", default="256,512,1024,2048,4096")
    parser.add_argument("--cubes", default="64,96,128")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--device", default="cpu", help="cpu, cuda, or torch (PyTorch on the processor)")
    parser.add_argument("--child", help=argparse.SUPPRESS)
    options = parser.parse_args(argv)
    if options.child:
        n, dim = (int(v) for v in options.child.split("^"))
        return _child(n, dim, options.threads, options.device)
    rows = []
    for sizes, dim in ((options.squares, 2), (options.cubes, 3)):
        for n in filter(None, sizes.split(",")):
            command = [sys.executable, "-m", "benchmarks", "transport_scaling", "--child", f"{n}^{dim}"]
            command += ["--threads", str(options.threads), "--device", options.device]
            done = subprocess.run(command, capture_output=True, text=True, check=False)
            if done.returncode:
                rows.append({"size": f"{n}^{dim}", "not run": done.stderr.strip().splitlines()[-1]})
            else:
                rows.append(json.loads(done.stdout.strip().splitlines()[-1]))
    spreads, dearest, cheapest = [], 0.0, 0.0
    for dim in (2, 3):
        here = [r for r in rows if r["size"].endswith(f"^{dim}") and "not run" not in r]
        for key in ("ns_per_cell", "bytes_per_cell"):
            values = [r[key] for r in here]
            if len(values) > 1:
                spreads.append(max(values) / min(values))
                if dim == 2 and key == "ns_per_cell":
                    dearest, cheapest = max(values), min(values)
    return {
        "name": "transport_scaling",
        "peer": "itself at the cheapest size",
        "ours_s": dearest,
        "peer_s": cheapest,
        "ratio": round(dearest / cheapest, 3) if cheapest else None,
        "ours": dearest,
        "theirs": cheapest,
        "agree": bool(spreads) and max(spreads) < 2,
        "rows": rows,
        "load_average": os.getloadavg()[0],
    }


def measures(n: int, dim: int) -> NDArray[np.float64]:
    """(2, n, ..., n), mean one."""
    x = np.stack(np.meshgrid(*[(np.arange(n) + 0.5) / n] * dim, indexing="ij", sparse=False))
    first = sum(((x[a] - 0.4) / (0.2 + 0.1 * (a == 0))) ** 2 for a in range(dim)) < 1
    r = np.sqrt(sum((x[a] - 0.55) ** 2 for a in range(dim)))
    both = np.stack([first, (r > 0.15) & (r < 0.35)]).astype(np.float64)
    return both / both.mean(axis=tuple(range(1, dim + 1)), keepdims=True)


def _child(n: int, dim: int, threads: int, device: str) -> dict[str, Any]:
    import resource

    from transport.ascent import Ascent, Settings
    from transport.domain import Domain

    def run(side: int) -> tuple[float, float, int]:
        mu = measures(side, dim)
        settings = Settings((FINEST, 10), coarsest=side // 2, tolerance=0.0)
        ascent = Ascent(mu, np.full(2, 0.5), Domain(mu.shape[1:]), settings, None, threads, device)
        state, cpu, wall = ascent.start(), 0.0, 0.0
        while not state.done:
            fine = state.level == len(ascent.levels) - 1
            before, began = time.process_time(), time.perf_counter()
            state = ascent.step(state)
            # The first step on the finest grid also makes its arrays; it is not counted.
            if fine:
                cpu, wall = cpu + time.process_time() - before, wall + time.perf_counter() - began
        return cpu, wall, FINEST - 1

    run(32)  # compile
    empty = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    cpu, wall, count = run(n)
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    work = 2 * n**dim
    return {
        "size": f"{n}^{dim}",
        "ns_per_cell": round(1e9 * cpu / count / work, 1),
        "wall_ns_per_cell": round(1e9 * wall / count / work, 1),
        "bytes_per_cell": round(1024 * (peak - empty) / work, 1),
        "peak_mb": round(peak / 1024),
    }

"""Barycenter of four shapes at 1024 x 1024: accelerated dual ascent, WDHA as published, and POT's entropic barycenters.

Problem S: a disk, a square, a cross and a ring, soft edges, a floor of 1e-3, equal weights. Every method runs to its
end in a process of its own; `ours_s` and `peer_s` are its CPU seconds, because the machine may be busy (wall seconds
are in the table). Peer: POT's convolutional barycenter on torch in double precision, reg 0.005, 300 iterations.

Every answer is then judged by the same evaluator: F_shape, the objective without the part that the centroids decide,
over the bound that our dual potentials certify. The evaluator approaches F from below, which flatters all methods
alike; a feasible plan bounds it from above as well (`upper_over_bound`). `ours` and `theirs` are F_shape over the
bound; `agree`: ours is within 3 % of it, and no method falls below it by more than 2 %.

POT's debiased barycenter takes many minutes at this size, so that by default it runs 15 iterations and its row gives
the seconds per iteration and `extrapolated_s`, their product with the iterations asked for; `--whole` runs it to its
end. The row `formgrad cuda` is the same solve on a GPU, where there is one.
"""

import argparse
import importlib.util
import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

METHODS = ("formgrad", "formgrad cuda", "wdha", "pot", "pot debiased")
SHORT = 15  # iterations of the debiased barycenter without --whole


def main(argv: list[str]) -> dict[str, Any]:
    parser = argparse.ArgumentParser(prog="python -m benchmarks barycenter")
    parser.add_argument("--size", type=int, default=1024)
    parser.add_argument("--iterations", type=int, default=300, help="of WDHA and of POT")
    parser.add_argument("--methods", default=",".join(METHODS))
    parser.add_argument("--judge", type=int, default=150, help="iterations of the evaluator on the finest grid")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--whole", action="store_true", help="run POT's debiased barycenter to its end")
    parser.add_argument("--child", help=argparse.SUPPRESS)
    options = parser.parse_args(argv)
    if options.child:
        return _child(options.child, options)
    table: dict[str, Any] = {}
    with tempfile.TemporaryDirectory() as folder:
        for method in options.methods.split(","):
            table[method] = _in_own_process(method, options, Path(folder))
        _judge(table, Path(folder), options)
    ours, peer = table.get("formgrad", {}), table.get("pot", {})
    both = "cpu_s" in ours and "cpu_s" in peer
    judged = [row["over_bound"] for row in table.values() if "over_bound" in row]
    return {
        "name": "barycenter",
        "peer": "POT convolutional_barycenter2d, torch float64",
        "ours_s": ours.get("cpu_s"),
        "peer_s": peer.get("cpu_s", peer.get("not run")),
        "ratio": round(ours["cpu_s"] / peer["cpu_s"], 4) if both else None,
        "ours": ours.get("over_bound"),
        "theirs": peer.get("over_bound"),
        "agree": bool(judged) and ours.get("over_bound", 9) <= 1.03 and min(judged) > 0.98,
        "size": options.size,
        "table": table,
        "load_average": os.getloadavg()[0],
    }


def problem(n: int) -> NDArray[np.float64]:
    """(4, n, n), mean one."""
    x, y = np.meshgrid(*[(np.arange(n) + 0.5) / n] * 2, indexing="ij")

    def block(cx: float, cy: float, a: float, b: float) -> NDArray[np.float64]:
        return np.maximum(np.abs(x - cx) - a, np.abs(y - cy) - b)

    ring = np.hypot(x - 0.25, y - 0.25)
    signed_distances = (
        np.hypot(x - 0.75, y - 0.75) - 0.12,
        block(0.22, 0.75, 0.11, 0.11),
        np.minimum(block(0.75, 0.25, 0.13, 0.045), block(0.75, 0.25, 0.045, 0.13)),
        np.maximum(0.065 - ring, ring - 0.135),
    )
    shapes = np.stack([np.clip(0.5 - d * n / 1.5, 0, 1) for d in signed_distances])
    shapes /= shapes.mean(axis=(1, 2), keepdims=True)
    return (shapes + 1e-3) / (1 + 1e-3)


def _in_own_process(method: str, options: argparse.Namespace, folder: Path) -> dict[str, Any]:
    if method.startswith("pot") and importlib.util.find_spec("ot") is None:
        return {"not run": "POT is not installed"}
    if method == "formgrad cuda" and not _gpu():
        return {"not run": "no GPU"}
    short = method == "pot debiased" and not options.whole and options.iterations > SHORT
    iterations = SHORT if short else options.iterations
    command = [sys.executable, "-m", "benchmarks", "barycenter", "--child", f"{method}:{folder / method}"]
    command += ["--size", str(options.size), "--iterations", str(iterations), "--threads", str(options.threads)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        return {"not run": f"failed: {done.stderr.strip().splitlines()[-1]}"}
    row = json.loads(done.stdout.strip().splitlines()[-1])
    if short:
        per_iteration = row["cpu_s"] / SHORT
        row |= {"iterations": SHORT, "s_per_iteration": round(per_iteration, 3)}
        row["extrapolated_s"] = round(per_iteration * options.iterations)
    return row


def _gpu() -> bool:
    import torch

    return torch.cuda.is_available()


def _child(task: str, options: argparse.Namespace) -> dict[str, Any]:
    """Run one method; its answer goes to a file, its cost is printed."""
    import resource

    method, _, path = task.partition(":")
    measures = problem(options.size)
    solve = {"formgrad": _formgrad, "formgrad cuda": _formgrad, "wdha": _wdha, "pot": _pot, "pot debiased": _pot}[
        method
    ]
    warm = problem(64)
    solve(warm, method, argparse.Namespace(**{**vars(options), "iterations": 2}))  # compile, import
    began, cpu = time.perf_counter(), time.process_time()
    arrays = solve(measures, method, options)
    row = {"cpu_s": round(time.process_time() - cpu, 2), "wall_s": round(time.perf_counter() - began, 2)}
    row["peak_mb"] = round(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024)
    np.savez(f"{path}.npz", **arrays)
    return row


def _formgrad(measures: NDArray, method: str, options: argparse.Namespace) -> dict[str, Any]:
    from transport import barycenter

    device = "cuda" if method == "formgrad cuda" else "cpu"
    found = barycenter(measures, threads=options.threads, device=device, primal_iterations=1, upper_bound=False)
    return {"density": found.density, "potentials": found.potentials, "dual": found.dual_value}


def _wdha(measures: NDArray, method: str, options: argparse.Namespace) -> dict[str, Any]:
    from transport import PublishedSettings, barycenter

    settings = PublishedSettings(options.iterations)
    found = barycenter(
        measures, method="wdha", settings=settings, threads=options.threads, primal_iterations=1, upper_bound=False
    )
    return {"density": found.density, "potentials": found.potentials, "dual": found.dual_value}


def _pot(measures: NDArray, method: str, options: argparse.Namespace) -> dict[str, Any]:
    import ot
    import torch

    torch.set_num_threads(options.threads)
    call = ot.bregman.convolutional_barycenter2d
    if method == "pot debiased":
        call = ot.bregman.convolutional_barycenter2d_debiased
    masses = torch.as_tensor(measures / measures[0].size)
    answer = call(masses, reg=0.005, numItermax=options.iterations, stopThr=0.0, warn=False)
    return {"density": np.asarray(answer)}


def _judge(table: dict[str, Any], folder: Path, options: argparse.Namespace) -> None:
    """F_shape of every answer over our certified bound."""
    from transport.ascent import Ascent
    from transport.barycenter import distances_to, upper_value
    from transport.densities import centroid_value
    from transport.domain import Domain

    measures = problem(options.size)
    weights, domain = np.full(4, 0.25), Domain(measures.shape[1:])
    base = centroid_value(measures, weights, domain)
    ascent = Ascent(measures, weights, domain, threads=options.threads)
    # What did not run to its end has no answer to judge.
    ended = [m for m, row in table.items() if "cpu_s" in row and "extrapolated_s" not in row]
    answers = {m: dict(np.load(folder / f"{m}.npz")) for m in ended}
    if "formgrad" not in answers:
        return
    bound = float(answers["formgrad"]["dual"]) - base
    for method, answer in answers.items():
        density = np.maximum(answer["density"], 0)
        density /= density.mean()
        # The evaluator approaches F from below, so it is started from the best potentials that are known.
        start = answers["formgrad"]["potentials"]
        found = distances_to(density, measures, domain, start, options.judge, options.threads)
        shape = float(weights @ [d.half_squared for d in found]) - base
        upper = upper_value(ascent, density, found) - base
        table[method] |= {"f_shape": shape, "over_bound": round(shape / bound, 4)}
        table[method]["upper_over_bound"] = round(upper / bound, 4)
    table["formgrad"]["bound"] = bound

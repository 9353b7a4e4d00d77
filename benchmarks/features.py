"""Feature design on the six published tasks: smooth, thresholded and outline compliance against the best published.

`python -m benchmarks features [--tasks 1 2 ..] [--backend analytic|neural]` prints one JSON line per task and a summary
as the last line. The outline is cut exactly, meshed to fit at the optimiser's h, and solved again; `gates` names what
does not hold, and is empty when everything does.
"""

import argparse
import json
import time
from typing import Any

import numpy as np

from topopt.features import Settings, optimize, tasks
from topopt.features.backend import Backend
from topopt.features.finish import Result, bodies

# Thresholded compliance that the analytic back-end must not exceed; the neural one, the best published value.
BOUNDS = {1: 3.81e-5, 2: 1.46e-3, 3: 1.22e-3, 4: 1.00e-4, 5: 15.25, 6: 22.4}
VOLUMES = {1: 0.2547, 2: 0.3454, 3: 0.4289, 4: 0.3384, 5: 0.4050, 6: 0.4015}
OUTLINE, MISS, SECONDS = 0.05, 2e-3, 60.0


def backend_of(name: str) -> Backend | None:
    if name == "analytic":
        return None
    from topopt.features.neural.backend import Neural

    return Neural()


def settings_of(name: str) -> Settings:
    """The defaults of a back-end."""
    if name == "analytic":
        return Settings()
    from topopt.features.neural.backend import SETTINGS

    return SETTINGS


def row(number: int, backend: str) -> dict[str, Any]:
    """One task, judged."""
    one, problem = tasks.task(number), tasks.problem(number)
    began, cpu = time.perf_counter(), time.process_time()
    result = optimize(problem, settings_of(backend), backend=backend_of(backend))
    seconds, cpu = time.perf_counter() - began, time.process_time() - cpu
    mesh = one.mesh()
    outline = one.domain(one.anchors(mesh)).reanalysed(result, one.h)
    gates = wrong(number, backend, result, cpu)
    if abs(outline.compliance / result.thresholded - 1) > OUTLINE:
        gates.append(f"outline compliance is {outline.compliance / result.thresholded - 1:+.1%} from the thresholded")
    if abs(outline.volume_fraction - result.thresholded_volume) > 0.004:
        gates.append(f"outline volume {outline.volume_fraction:.4f} differs from the thresholded")
    if not outline.sound:
        gates.append(f"{outline.pieces} bodies, {outline.attached} of {outline.anchors} loaded points attached")
    return {
        "task": number,
        "backend": backend,
        "volume": round(result.thresholded_volume, 5),
        "goal": one.goal,
        "smooth": result.smooth,
        "thresholded": result.thresholded,
        "outline": outline.compliance,
        "outline_volume": round(outline.volume_fraction, 5),
        "published": one.published,
        "features": len(result.shapes),
        "bodies": bodies(problem, result.shapes, mesh.triangles),
        "iterations": result.iterations,
        "seconds": round(seconds, 1),
        "cpu_seconds": round(cpu, 1),
        "gates": gates,
    }


def wrong(number: int, backend: str, result: Result, cpu: float) -> list[str]:
    """Gates of the design itself that do not hold."""
    bound = BOUNDS[number] if backend == "analytic" else tasks.task(number).published
    gates = [f"shape {i}: {why}" for i, reasons in result.invalid.items() for why in reasons]
    if result.thresholded > bound:
        gates.append(f"thresholded compliance {result.thresholded:.5g} is above {bound:.5g}")
    if result.thresholded_volume > VOLUMES[number]:
        gates.append(f"thresholded volume {result.thresholded_volume:.5f} is above {VOLUMES[number]}")
    if abs(result.thresholded_volume / result.problem.goal - 1) > MISS:
        gates.append(f"volume misses its goal by {result.thresholded_volume / result.problem.goal - 1:+.2%}")
    if backend == "analytic" and cpu > SECONDS:
        gates.append(f"took {cpu:.0f} s of CPU time")
    return gates


def main(options: list[str]) -> dict[str, Any]:
    parser = argparse.ArgumentParser(prog="python -m benchmarks features")
    parser.add_argument("--tasks", type=int, nargs="+", default=list(BOUNDS), choices=list(BOUNDS))
    parser.add_argument("--backend", choices=["analytic", "neural"], default="analytic")
    given = parser.parse_args(options)
    rows = []
    for number in given.tasks:
        rows.append(row(number, given.backend))
        print(json.dumps(rows[-1]), flush=True)
    ratios = [r["thresholded"] / r["published"] for r in rows]
    return {
        "name": "features",
        "peer": "best published values, NHSDF (ICML 2025)",
        "backend": given.backend,
        "ratio": round(float(np.exp(np.mean(np.log(ratios)))), 4),
        "worst": round(max(ratios), 4),
        "agree": not any(r["gates"] for r in rows),
    }

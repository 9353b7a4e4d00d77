"""Traces of short jobs of our own, of five mixes: how they are recorded, written and read.

`python -m benchmarks jobs --record FOLDER` runs each mix, or those named after `--mixes`, one job after the other
through a queue of its own, first come first served. Run times, and what the predictor believed at each start, come from
that queue's history (`jobs.batch.history`). Some jobs of the mix go first and are left out: the queue has a past.
Release times are drawn, not recorded: see `releases`.
"""

import csv
import itertools
import os
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from optim.scheduling import Trace

HERE = Path(__file__).parent
IMAGES = HERE.parent / "assets" / "images"
FOLDER = HERE / "data" / "traces"
LOAD = 0.8
WARM_UP = 4  # jobs that go first and are left out

Spec = dict[str, Any]


def structures() -> list[Spec]:
    """Cantilevers in three dimensions from 12 x 6 x 3 to 36 x 12 x 6 elements, 15 or 30 iterations.

    Two-dimensional ones also draw outlines, which takes longer than to find the design.
    """
    boxes = [(12, 6, 3), (16, 8, 4), (20, 8, 4), (24, 8, 4), (24, 12, 6), (36, 12, 6)]
    cases = itertools.product(boxes, (0.5, 0.6), (15, 30))
    return [
        {
            "preset": {
                "name": "cantilever_3d",
                "options": {"nx": nx, "ny": ny, "nz": nz, "volume_fraction": volume},
            },
            "optimize": {"max_iterations": steps},
            "verify": {"referee": False, "reanalysis": False},
            "export": {"formats": ["stl"]},
            "resources": {"threads": 1},
        }
        for (nx, ny, nz), volume, steps in cases
    ]


def barycenters() -> list[Spec]:
    """Two or three pictures, 64 to 256 cells."""
    names = (["ring", "cross"], ["star", "crescent"], ["ring", "star", "frame"], ["two-discs", "cross", "ring", "star"])
    return [
        {"job": "barycenter", "inputs": [str(IMAGES / f"{name}.png") for name in chosen], "size": size, "threads": 1}
        for chosen, size in itertools.product(names, (64, 96, 128, 160, 192, 224, 256))
    ]


def equations() -> list[Spec]:
    """Control problems on meshes of 16 to 96 squares along a side, and bars of 20 to 200 elements."""
    asked: list[tuple[str, dict[str, float]]] = []
    asked += [("poisson_control", {"n": n, "alpha": a}) for n in (16, 32, 48, 64, 96) for a in (1e-2, 1e-4)]
    asked += [("bounded_control", {"n": n, "alpha": a}) for n in (16, 32, 64) for a in (1e-2, 1e-3)]
    asked += [("bar", {"n": n, "volume": v}) for n in (20, 60, 120, 200) for v in (0.4, 0.5)]
    return [{"job": "pde", "problem": name, "parameters": values} for name, values in asked]


def features() -> list[Spec]:
    """A clamped plate with six voids, few iterations."""
    return [
        {
            "job": "features", "volume": 0.55, "grid": [3, 2], "thickness": 4.0, "iterations": steps,
            "domain": {
                "outline": [[0, 0], [60, 0], [60, 30], [0, 30]], "h": h, "E": 70000.0,
                "supports": [{"box": [[0, 0], [0, 30]]}],
                "loads": [[{"box": [[60, 0], [60, 10]], "force": [0, -100]}]],
            },
        }
        for h, steps in itertools.product((3.0, 2.5, 2.0, 1.8, 1.5), (8, 10, 14, 20, 30))
    ]  # fmt: skip


def mixed() -> list[Spec]:
    """Some of each, chosen by the dice."""
    dice = np.random.default_rng(5)
    kinds = [structures(), barycenters(), equations(), features()]
    return [
        specs[k]
        for specs, n in zip(kinds, (8, 10, 6, 4), strict=True)
        for k in dice.choice(len(specs), n, replace=False)
    ]


MIXES = {
    "structures": structures,
    "barycenters": barycenters,
    "equations": equations,
    "features": features,
    "mixed": mixed,
}


def record(folder: Path, names: Sequence[str]) -> None:
    """Run the mixes and write FOLDER/NAME.csv each. Takes minutes."""
    for name in names:
        seed = list(MIXES).index(name)
        rows = run_mix(name, seed)
        at = releases([size for size, _, _ in rows], seed)
        folder.mkdir(parents=True, exist_ok=True)
        with (folder / f"{name}.csv").open("w", newline="") as file:
            writer = csv.writer(file, lineterminator="\n")
            writer.writerow(["release", "size", "predicted", "kind"])
            for release, (size, predicted, kind) in zip(at, rows, strict=True):
                writer.writerow([f"{release:.3f}", f"{size:.3f}", f"{predicted:.3f}", kind])
        print(name, len(rows), "jobs,", round(sum(size for size, _, _ in rows), 1), "s", flush=True)


def run_mix(name: str, seed: int) -> list[tuple[float, float, str]]:
    """-> (size, prediction, kind) of each job, in the shuffled order in which they were submitted"""
    from jobs.batch.history import trace
    from jobs.batch.queue import submit_job, work_off
    from jobs.batch.store import Store
    from jobs.spec import parse_job

    specs = MIXES[name]()
    order = np.random.default_rng(seed).permutation(len(specs))
    os.environ.setdefault("OMP_NUM_THREADS", "1")
    with tempfile.TemporaryDirectory(prefix="formgrad-trace-") as place:
        root, early = Path(place), set[str]()
        for part in (order[:WARM_UP], order[WARM_UP:]):
            for k in part:
                ids = submit_job(root, parse_job(specs[k], base=HERE)).ids
                early.update(ids if len(early) < WARM_UP else ())
            work_off(root, workers=1, order="fifo")
        with Store(root) as store:
            jobs = [job for job in trace(store) if job.id not in early]
            for row in store.rows("SELECT name, message FROM jobs WHERE state != 'succeeded'"):
                print("left out:", row["name"], row["message"], flush=True)
    return [(job.size, job.predicted or job.size, job.kind) for job in jobs]


def releases(sizes: Sequence[float], seed: int) -> np.ndarray:
    """Exponential gaps, scaled so that all work fills `LOAD` of the time in which it arrives, the gap after the
    last release included. -> (n,) seconds, the first one 0"""
    gaps = np.random.default_rng(100 + seed).exponential(size=len(sizes))
    gaps *= sum(sizes) / LOAD / gaps.sum()
    return np.concatenate([[0.0], np.cumsum(gaps[:-1])])


def read(folder: Path = FOLDER) -> dict[str, Trace]:
    """The recorded traces by name."""
    found = {}
    for file in sorted(folder.glob("*.csv")):
        with file.open(newline="") as stream:
            rows = list(csv.DictReader(stream))
        found[file.stem] = Trace(*([float(row[key]) for row in rows] for key in ("release", "size", "predicted")))
    return found

"""Overhead per job of the batch layer, beside Ray and a plain pool, and how its order treats recorded traces.

`ours_s`: wall time per job of a sweep on the local executor, from the end of the first job to the end of the last.
`peer_s`: the same for `multiprocessing.Pool` (spawn, as many workers), which makes the same run folder and calls the
same runner, but keeps no queue, leases, limits or checksums, and does all jobs in two processes that are never renewed.
`ray_s`: our scheduler with Ray as its executor. `agree` says that all gave the same result for every job.

`traces`: largest and mean stretch (time from release to end, over run time) on the traces in `benchmarks/data/traces`,
on one machine, with the predictions that were made when they were recorded. `ours` is `guess_edf`, which may interrupt
a job; `srpt` may, too, and takes the least predicted work that is left; `fifo` and `shortest` (shortest prediction
first) never interrupt, and neither does `ours_whole`.
`optimum` is the least that was possible, had all been known. `stretch_ratios`: our largest stretch over that of each
other order, geometric mean over the traces; below one is better.
"""

import argparse
import json
import math
import multiprocessing
import os
import shutil
import statistics
import tempfile
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks import _traces
from optim.scheduling import ORDERS, Order, Outcome, Trace, Waiting, optimal_stretch, simulate

WORKERS = 2


def main(argv: list[str]) -> dict[str, Any]:
    parser = argparse.ArgumentParser(prog="python -m benchmarks jobs")
    parser.add_argument("--jobs", type=int, default=200)
    parser.add_argument("--no-ray", action="store_true")
    parser.add_argument("--traces-only", action="store_true", help="no overheads")
    parser.add_argument("--record", type=Path, metavar="FOLDER", help="record the traces anew: minutes")
    parser.add_argument("--mixes", nargs="+", choices=list(_traces.MIXES), default=list(_traces.MIXES), help="of these")
    parser.add_argument("--fresh-pool", action="store_true", help="also a pool with a new process per job: slow")
    options = parser.parse_args(argv)
    if options.record:
        _traces.record(options.record, options.mixes)
    stretches = compare_orders()
    if options.traces_only:
        return {"name": "jobs", **stretches}
    place = Path(tempfile.mkdtemp(prefix="formgrad-bench-"))
    try:
        rows = {"local": batch(place / "local", options.jobs, "local")}
        print("local", rows["local"]["seconds"], flush=True)
        rows["pool, warm"] = pool(place / "warm", options.jobs, fresh=False)
        print("pool, warm", rows["pool, warm"]["seconds"], flush=True)
        if options.fresh_pool:
            rows["pool, fresh"] = pool(place / "fresh", options.jobs, fresh=True)
            print("pool, fresh", rows["pool, fresh"]["seconds"], flush=True)
        if not options.no_ray:
            rows["ray"] = batch(place / "ray", options.jobs, "ray")
            print("ray", rows["ray"]["seconds"], flush=True)
    finally:
        shutil.rmtree(place, ignore_errors=True)
    ours, theirs = (rows[name]["seconds"] / rows[name]["timed"] for name in ("local", "pool, warm"))
    found = [row.pop("found") for row in rows.values()]
    return {
        "name": "jobs",
        "peer": "multiprocessing.Pool (spawn)",
        "ours_s": round(ours, 4),
        "peer_s": round(theirs, 4),
        "ratio": round(ours / theirs, 3),
        "ours": options.jobs,
        "theirs": options.jobs,
        "agree": all(other == found[0] for other in found) and len(found[0]) == options.jobs,
        "ray_s": round(rows["ray"]["seconds"] / rows["ray"]["timed"], 4) if "ray" in rows else None,
        "rows": rows,
        "workers": WORKERS,
        "cores": len(os.sched_getaffinity(0)),
        "load_average": os.getloadavg()[0],
        **stretches,
    }


def compare_orders() -> dict[str, Any]:
    """Largest and mean stretch of each order on each trace."""
    rows = {name: _stretches(trace) for name, trace in _traces.read().items()}
    if not rows:
        raise SystemExit(f"there are no traces in {_traces.FOLDER}: record them with --record {_traces.FOLDER}")
    print(f"{'trace':14s}{'jobs':>6s}{'eta':>7s}" + "".join(f"{name:>18s}" for name in _ORDERS))
    for name, row in rows.items():
        cells = "".join(f"{row[order]['largest']:11.2f}{row[order]['mean']:7.2f}" for order in _ORDERS)
        print(f"{name:14s}{row['jobs']:6d}{row['eta']:7.1f}{cells}", flush=True)
    ratios = {
        name: statistics.geometric_mean(row["ours"]["largest"] / row[name]["largest"] for row in rows.values())
        for name in _ORDERS[1:]
    }
    return {"traces": rows, "stretch_ratios": {name: round(ratio, 3) for name, ratio in ratios.items()}}


def _stretches(trace: Trace) -> dict[str, Any]:
    outcomes = {
        "ours": simulate(trace, ORDERS["guess_edf"]),
        "ours_whole": whole(trace, ORDERS["guess_edf"]),
        "fifo": simulate(trace, ORDERS["fifo"]),
        "srpt": simulate(trace, ORDERS["srpt"]),
        "shortest": whole(trace, ORDERS["srpt"]),
    }
    return {
        "jobs": trace.count,
        "load": round(float(trace.size.sum() / (trace.release[-1] * trace.count / (trace.count - 1))), 3),
        "ratio_of_sizes": round(trace.ratio, 1),
        "eta": round(trace.misprediction, 1),
        "optimum": round(optimal_stretch(trace.release, trace.size), 3),
        **{
            name: {"largest": round(o.largest_stretch, 3), "mean": round(o.mean_stretch, 3), "switches": o.switches}
            for name, o in outcomes.items()
        },
    }


_ORDERS = ("ours", "ours_whole", "fifo", "srpt", "shortest")


def whole(trace: Trace, order: Order) -> Outcome:
    """The same on one machine where whoever has begun runs to its end."""
    now, ends, left = 0.0, np.zeros(trace.count), list(range(trace.count))
    smallest, largest = math.inf, 0.0
    while left:
        now = max(now, float(trace.release[left[0]]))
        here = [k for k in left if trace.release[k] <= now]
        guesses = trace.predicted[here]
        smallest, largest = min(smallest, float(guesses.min())), max(largest, float(guesses.max()))
        jobs = Waiting(trace.release[here], guesses, np.zeros(len(here)), smallest, largest)
        chosen = here[int(np.argmax(order.priority(jobs, now)))]
        now += float(trace.size[chosen])
        ends[chosen] = now
        left.remove(chosen)
    return Outcome(trace, ends, 0)


def batch(root: Path, count: int, executor: str) -> dict[str, Any]:
    """Our scheduler. Its start, until the first job has ended, is told apart."""
    from jobs.batch.queue import submit_sweep, work_off
    from jobs.batch.scheduler import Scheduler
    from jobs.batch.store import Store
    from jobs.batch.sweep import make_sweep

    began = time.perf_counter()
    asked = {"base": {"job": "probe"}, "sweep": {"seed": f"range(1, {count})"}, "resources": {"memory": "500MB"}}
    submit_sweep(root, make_sweep(asked))
    queued = time.perf_counter()
    first: list[tuple[float, int]] = []

    def look(scheduler: Scheduler) -> None:
        done = 0 if first else scheduler.store.counts().get("succeeded", 0)
        if done:
            first.append((time.perf_counter(), done))

    work_off(root, executor=executor, workers=WORKERS, on_turn=look)
    ended = time.perf_counter()
    with Store(root) as store:
        rows = store.rows("SELECT result_json FROM jobs WHERE state = 'succeeded'")
    results = [json.loads(row["result_json"]) for row in rows]
    start = first[0][0] - queued
    return {
        "timed": count - first[0][1],
        "seconds": round(ended - queued - start, 3),
        "start_s": round(start, 3),
        "submit_s": round(queued - began, 3),
        "found": sorted(result["x"] for result in results),
    }


def pool(root: Path, count: int, fresh: bool) -> dict[str, Any]:
    """`multiprocessing.Pool` with the same work in each job: a run folder, the runner, a result."""
    context = multiprocessing.get_context("spawn")
    began = time.perf_counter()
    with context.Pool(WORKERS, maxtasksperchild=1 if fresh else None) as workers:
        warm = workers.map(run_probe, [(str(root), -seed) for seed in range(1, 4 * WORKERS + 1)], chunksize=1)
        start = time.perf_counter() - began
        found = workers.map(run_probe, [(str(root), seed) for seed in range(1, count + 1)], chunksize=1)
    assert all(result["iterations"] == 1 for result in warm)
    seconds = time.perf_counter() - began - start
    return {
        "timed": count,
        "seconds": round(seconds, 3),
        "start_s": round(start, 3),
        "found": sorted(result["x"] for result in found),
    }


def run_probe(task: tuple[str, int]) -> Mapping[str, Any]:
    """One job of the pool."""
    from jobs.batch.probe import ProbeJob
    from jobs.launch import prepare
    from jobs.observer import Log
    from jobs.runner import run_job

    root, seed = task
    os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
    result = run_job(*prepare(ProbeJob(seed=seed), Path(root) / str(seed)), Log())
    assert result
    return result

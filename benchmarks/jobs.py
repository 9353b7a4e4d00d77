"""Overhead per job of the batch layer, beside Ray and a plain multiprocessing pool, on jobs that do nothing.

`ours_s`: wall time per job of a sweep on the local executor, from the end of the first job to the end of the last.
`peer_s`: the same for `multiprocessing.Pool` (spawn, as many workers), which makes the same run folder and calls the
same runner, but keeps no queue, leases, limits or checksums, and does all jobs in two processes that are never renewed.
`ray_s`: our scheduler with Ray as its executor. `agree` says that all gave the same result for every job.
"""

import argparse
import json
import multiprocessing
import os
import shutil
import tempfile
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

WORKERS = 2


def main(argv: list[str]) -> dict[str, Any]:
    parser = argparse.ArgumentParser(prog="python -m benchmarks jobs")
    parser.add_argument("--jobs", type=int, default=200)
    parser.add_argument("--no-ray", action="store_true")
    parser.add_argument("--fresh-pool", action="store_true", help="also a pool with a new process per job: slow")
    options = parser.parse_args(argv)
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
    }


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

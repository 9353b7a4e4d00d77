"""Operators on unseen optimisation runs: FNO, physics attention and Virtual-Fourier, with and without a reference.

Every row of `rows` is one training on the inversion family: kind x output ("increment" and "state" on a reference,
"none" without one) x with or without the sensitivity loss x budget x seed; all kinds have about the same number of real
parameters. Budget "steps": the same number of optimizer steps; budget "time": the same CPU seconds, turned into steps
by timing the first few, so that the schedule of the learning rate is complete. Errors are medians, gradients in the
dual norm of the design space: along paths of unseen runs (references at most three iterates away, never the iterate
itself), and at a probe step of fixed length off them. `summary` has mean, least and largest over the seeds.

`ours` and `theirs` are the state errors on unseen paths of the best Virtual-Fourier row and of the best FNO row at
equal CPU time, `ours_s` and `peer_s` their CPU seconds; `agree`: the best operator of all has a state error of at most
3 %, a gradient error at the probe step of at most 0.2 and a cosine there of at least 0.98. `nothing_learnt`: the state
errors of answering with the reference itself.

The defaults are small; `--table FILE` keeps rows, and a second call makes the missing ones only.
"""

import argparse
import json
import os
import tempfile
import time
from dataclasses import replace
from itertools import product
from pathlib import Path
from statistics import mean
from typing import Any

import numpy as np
import torch

from operators.evaluation import along, beside
from operators.models import Operator, build
from operators.recipes import Recipe, find
from operators.samples import Samples, samples
from operators.surrogates.frozen import MeanJacobian
from operators.surrogates.neural import Viewed
from operators.training import TrainingSettings, train
from operators.trajectories import Run, collect, read

KINDS, OUTPUTS = ("fno", "physics_attention", "virtual_fourier"), ("increment", "state", "none")
FIGURES = ("state", "gradient", "cosine", "probe_gradient", "probe_cosine")
TIMED = 10  # steps


def main(argv: list[str]) -> dict[str, Any]:
    options = arguments(argv)
    torch.set_num_threads(1)
    recipe = find("inversion")
    with tempfile.TemporaryDirectory() as scratch:
        folder = options.data or Path(scratch)
        learnt, judged, unseen = data(recipe, folder, options.runs, options.unseen)
    rows = [] if options.table is None or not options.table.is_file() else json.loads(options.table.read_text())
    began = time.perf_counter()
    for case in cases(options):
        if any(all(row[name] == value for name, value in case.items()) for row in rows):
            continue
        if options.limit and time.perf_counter() - began > options.limit:
            break
        rows.append({**case, **one(recipe, case, learnt, judged, unseen, options)})
        print({name: round(v, 4) if isinstance(v, float) else v for name, v in rows[-1].items()}, flush=True)
        if options.table is not None:
            part = options.table.with_name(options.table.name + ".part")
            part.write_text(json.dumps(rows, indent=1))
            part.replace(options.table)
    return {**told(rows, options), "nothing_learnt": nothing_learnt(recipe, unseen)}


def arguments(argv: list[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m benchmarks operators")
    parser.add_argument("--kinds", nargs="+", default=list(KINDS))
    parser.add_argument("--outputs", nargs="+", choices=OUTPUTS, default=["increment", "state"])
    parser.add_argument("--budgets", nargs="+", choices=("steps", "time"), default=["steps", "time"])
    parser.add_argument("--sensitivity", nargs="+", type=float, default=[0.0, 0.5], help="weights of that loss")
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--steps", type=int, default=200, help="of the budget of steps")
    parser.add_argument("--seconds", type=float, default=12.0, help="of CPU, of the budget of time")
    parser.add_argument("--runs", type=int, default=40, help="to learn from; a tenth of them are for validation")
    parser.add_argument("--unseen", type=int, default=5, help="runs")
    parser.add_argument("--data", type=Path, help="folder of runs; they are made where they are missing")
    parser.add_argument("--table", type=Path, help="JSON of the rows, read first")
    parser.add_argument("--limit", type=float, default=0.0, help="seconds, after which no new row is begun; 0: none")
    return parser.parse_args(argv)


def data(recipe: Recipe, folder: Path, count: int, unseen: int) -> tuple[Samples, Samples, list[Run]]:
    """What is learnt, what is validated, and the unseen runs."""
    numbers = list(recipe.runs)[:count]
    tests = list(recipe.unseen)[:unseen]
    collect(folder, recipe.member, [*numbers, *tests], **recipe.record)
    own = max(1, count // 10)
    learnt, judged = (samples(read(folder, part), recipe.keep) for part in (numbers[:-own], numbers[-own:]))
    return learnt, judged, [run.thinned(recipe.keep) for run in read(folder, tests)]


def cases(options: argparse.Namespace) -> list[dict[str, Any]]:
    """Seeds outermost, so that a table that was cut short is even."""
    axes = (range(options.seeds), options.budgets, options.sensitivity, options.outputs, options.kinds)
    names = ("seed", "budget", "sensitivity", "output", "kind")
    return [
        {
            **dict(zip(names, values, strict=True)),
            "amount": options.steps if values[1] == "steps" else options.seconds,
            "runs": options.runs,
        }
        for values in product(*axes)
    ]


def one(
    recipe: Recipe,
    case: dict[str, Any],
    learnt: Samples,
    judged: Samples,
    unseen: list[Run],
    options: argparse.Namespace,
) -> dict[str, Any]:
    """Train and judge."""
    weights = replace(recipe.training.weights, sensitivity=case["sensitivity"])
    reach = 0 if case["output"] == "none" else recipe.training.reach
    settings = replace(recipe.training, weights=weights, seed=case["seed"], reach=reach)
    steps = case["amount"] if case["budget"] == "steps" else affordable(recipe, case, settings, learnt, judged)
    settings = replace(settings, steps=steps, validate_every=max(1, steps // 5))
    found = train(model(recipe, case), recipe.view(), learnt, judged, settings)
    surrogate = Viewed(found.model, recipe.view(), referred=reach > 0)
    path = along(surrogate, recipe.member, unseen)
    probe = beside(surrogate, recipe.member, unseen, recipe.probe)
    return {
        "steps": found.steps,
        "cpu_seconds": found.cpu_seconds,
        "parameters": sum(p.numel() * (1 + p.is_complex()) for p in found.model.parameters()),
        "state": path.state,
        "gradient": path.gradient,
        "cosine": path.cosine,
        "probe_state": probe.state,
        "probe_gradient": probe.gradient,
        "probe_cosine": probe.cosine,
    }


def affordable(
    recipe: Recipe, case: dict[str, Any], settings: TrainingSettings, learnt: Samples, judged: Samples
) -> int:
    """Steps within the CPU seconds: plain ones and those with the derivative losses are timed apart."""
    w = settings.weights
    curved = w.sensitivity + w.jvp + w.vjp > 0
    costs = []
    for quiet in (1.0, 0.0) if curved else (1.0,):
        timed = replace(settings, validate_every=10**6, weights=replace(w, quiet=quiet, ramp=0.0))
        # The difference of two trainings leaves out what happens once: first calls, and the validation at the end.
        spent = [
            train(model(recipe, case), recipe.view(), learnt, judged, replace(timed, steps=steps)).cpu_seconds
            for steps in (2, 2, 2 + TIMED)
        ]
        costs.append(max(spent[2] - spent[1], 1e-3) / TIMED)
    plain, dear = costs[0], costs[-1]
    return max(10, int(case["amount"] / (w.quiet * plain + (1 - w.quiet) * dear)))


def model(recipe: Recipe, case: dict[str, Any]) -> Operator:
    output = "state" if case["output"] == "none" else case["output"]
    return build(recipe.settings(case["kind"], output), recipe.kept, case["seed"])


def nothing_learnt(recipe: Recipe, unseen: list[Run]) -> dict[str, float]:
    still = MeanJacobian(np.zeros((unseen[0].state.shape[1], unseen[0].design.shape[1])))
    path, probe = along(still, recipe.member, unseen), beside(still, recipe.member, unseen, recipe.probe)
    return {"state": path.state, "probe_state": probe.state}


def told(rows: list[dict[str, Any]], options: argparse.Namespace) -> dict[str, Any]:
    """The JSON object."""
    names = ("budget", "sensitivity", "output", "kind")
    groups: dict[tuple[Any, ...], list[dict[str, Any]]] = {}
    for row in rows:
        groups.setdefault(tuple(row[name] for name in names), []).append(row)
    summary = []
    for key, group in groups.items():
        figures = {name: [row[name] for row in group] for name in FIGURES}
        line = {name: [round(mean(v), 4), round(min(v), 4), round(max(v), 4)] for name, v in figures.items()}
        steps = round(mean(row["steps"] for row in group))
        summary.append({**dict(zip(names, key, strict=True)), "seeds": len(group), "steps": steps, **line})
    best = min(rows, key=lambda row: row["state"])
    timed = "time" if "time" in options.budgets else "steps"
    ours, theirs = (
        min(
            (row for row in rows if row["kind"] == kind and row["budget"] == timed),
            key=lambda r: r["state"],
            default=None,
        )
        for kind in ("virtual_fourier", "fno")
    )
    return {
        "name": "operators",
        "peer": "neuraloperator's FNO",
        "ours_s": ours and round(ours["cpu_seconds"], 2),
        "peer_s": theirs and round(theirs["cpu_seconds"], 2),
        "ratio": round(ours["cpu_seconds"] / theirs["cpu_seconds"], 4) if ours and theirs else None,
        "ours": ours and round(ours["state"], 5),
        "theirs": theirs and round(theirs["state"], 5),
        "agree": best["state"] <= 0.03 and best["probe_gradient"] <= 0.2 and best["probe_cosine"] >= 0.98,
        "best": best,
        "summary": summary,
        "rows": rows,
        "load_average": os.getloadavg()[0],
    }

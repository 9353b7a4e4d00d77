"""Operators on unseen optimisation runs: FNO, physics attention, Virtual-Fourier and subspace attention.

Problems: "inversion" (B3), "reactor" (B7), and "points", the inversion seen at points without an order. All kinds have
about the same number of real parameters. Every row is one training:

    base    increment on a reference, sensitivity loss        plain         the same, states only
    state   the state itself from a reference, the same loss  state_plain   the same, states only
    none    no reference, sensitivity loss                    none_plain    the same, states only

for budget "time", the same CPU seconds, or "steps", the same number of steps. What a step costs is measured once for
each problem, all kinds in turns, so that the schedule of the learning rate is complete and the seeds have equal steps.
What is measured later is told in the seconds of the first time, by what both times have measured.
Errors are medians, gradients in the dual norm of the design space: along paths of unseen runs (references at most three
iterates away, never the iterate itself), and at a probe step of fixed length off them. `summary` has mean, least and
largest over the seeds.

Per problem: `ours` and `theirs` are the state errors on unseen paths of the best Virtual-Fourier row and of the best
FNO row, at the largest time that both had. `agree`: the best operator of all has a state error of at most 3 %, a
gradient error at the probe step of at most 0.2 and a cosine there of at least 0.98. `nothing_learnt`: the errors of
answering with the reference.

The defaults are small. `--table FILE` keeps rows, and a second call makes the missing ones only; the table of the docs
is benchmarks/data/operators-table.json, with the commands that made it.
"""

import argparse
import json
import os
import shlex
import tempfile
import time
from collections.abc import Iterator
from dataclasses import asdict
from itertools import groupby
from pathlib import Path
from statistics import mean, median
from typing import Any

import torch

from benchmarks._operator_rows import VARIANTS, Case, Ground, affordable, costs, ground, needed, row, training

PROBLEMS = ("inversion", "reactor", "points")
KINDS = ("fno", "virtual_fourier", "physics_attention", "subspace_attention")
FIGURES = ("state", "gradient", "cosine", "probe_state", "probe_gradient", "probe_cosine")
RUNS = {"inversion": 40, "reactor": 16, "points": 40}
RATES = {"fno": 5e-3, "virtual_fourier": 2e-3, "physics_attention": 2e-3, "subspace_attention": 2e-3}


def main(argv: list[str]) -> dict[str, Any]:
    options = arguments(argv)
    torch.set_num_threads(1)
    table = Table.at(options.table, shlex.join(["python", "-m", "benchmarks", "operators", *argv]))
    with tempfile.TemporaryDirectory() as scratch:
        fill(table, options, options.data or Path(scratch))
    return told(table.content, options)


def arguments(argv: list[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m benchmarks operators")
    parser.add_argument("--problems", nargs="+", choices=PROBLEMS, default=["inversion", "reactor"])
    parser.add_argument("--kinds", nargs="+", choices=KINDS, default=list(KINDS[:3]))
    parser.add_argument("--variants", nargs="+", choices=tuple(VARIANTS), default=["base"])
    parser.add_argument("--budgets", nargs="+", choices=("time", "steps"), default=["time"])
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--steps", type=int, default=300, help="of the budget of steps")
    parser.add_argument("--seconds", type=float, default=6.0, help="of CPU, of the budget of time")
    parser.add_argument("--rate", type=float, help="highest learning rate; default: RATES of this file")
    parser.add_argument("--looks", type=int, default=5, help="validations of a training")
    parser.add_argument("--long", type=float, default=45.0, help="CPU seconds of one more training of the first kind")
    parser.add_argument("--runs", type=int, help=f"to learn from; a tenth are for validation; default: {RUNS}")
    parser.add_argument("--unseen", type=int, default=5, help="runs")
    parser.add_argument("--data", type=Path, help="folder of runs; they are made where they are missing")
    parser.add_argument("--table", type=Path, help="JSON of the rows, read first")
    parser.add_argument("--limit", type=float, default=0.0, help="seconds, after which no new row is begun; 0: none")
    return parser.parse_args(argv)


class Table:
    """Rows and what belongs to them, kept in a file after every row where there is one."""

    def __init__(self, path: Path | None, content: dict[str, Any]) -> None:
        self.path, self.content = path, content

    @classmethod
    def at(cls, path: Path | None, command: str) -> "Table":
        content = {"commands": [], "costs": {}, "nothing_learnt": {}, "rows": []}
        if path is not None and path.is_file():
            content = json.loads(path.read_text())
        if command not in content["commands"]:
            content["commands"].append(command)
        return cls(path, content)

    def has(self, case: dict[str, Any]) -> bool:
        return any(all(row[name] == value for name, value in case.items()) for row in self.content["rows"])

    def keep(self) -> None:
        if self.path is None:
            return
        rows = ",\n  ".join(json.dumps(row) for row in self.content["rows"])
        rest = {name: value for name, value in self.content.items() if name != "rows"}
        text = json.dumps(rest, indent=1)[:-2] + f',\n "rows": [\n  {rows}\n ]\n}}\n'
        part = self.path.with_name(self.path.name + ".part")
        part.write_text(text)
        part.replace(self.path)


def fill(table: Table, options: argparse.Namespace, folder: Path) -> None:
    """Make the rows that are missing: problem by problem, the seeds outermost, so that a table cut short is even."""
    began = time.perf_counter()
    for problem in options.problems:
        sizes = {"runs": options.runs or RUNS[problem], "unseen": options.unseen}
        missing = [case for case in cases(problem, options) if not table.has({**asdict(case), **sizes})]
        if not missing:
            continue
        given = ground(problem, folder, **sizes)
        table.content["nothing_learnt"].setdefault(problem, given.nothing_learnt)
        priced = prices(table.content["costs"].setdefault(problem, {}), missing, given)
        for case in missing:
            if options.limit and time.perf_counter() - began > options.limit:
                return
            timed = case.budget == "time"
            steps = affordable(case, priced, training(case, given.recipe)) if timed else int(case.amount)
            made = {**asdict(case), **sizes, **row(case, given, steps, options.looks)}
            table.content["rows"].append(made)
            table.keep()
            print({name: value for name, value in made.items() if name != "curve"}, flush=True)


def prices(known: dict[str, float], missing: list[Case], given: Ground) -> dict[str, float]:
    """Costs of steps; those that the table knows stay, so that what is equal stays equal."""
    timed = [case for case in missing if case.budget == "time"]
    if needed(timed).keys() <= known.keys():
        return known
    new = costs(timed, given)
    pace = median([known[name] / new[name] for name in new if name in known] or [1.0])
    for name, value in new.items():
        known.setdefault(name, round(pace * value, 6))
    return known


def cases(problem: str, options: argparse.Namespace) -> Iterator[Case]:
    for seed in range(options.seeds):
        for variant in options.variants:
            for budget in options.budgets:
                amount = options.seconds if budget == "time" else options.steps
                for kind in options.kinds:
                    yield Case(problem, kind, variant, budget, amount, options.rate or RATES[kind], seed)
    if options.long:
        kind = options.kinds[0]
        yield Case(problem, kind, "base", "time", options.long, options.rate or RATES[kind], 0)


def told(content: dict[str, Any], options: argparse.Namespace) -> dict[str, Any]:
    """The JSON object."""
    rows = content["rows"]
    made = [name for name in options.problems if any(row["problem"] == name for row in rows)]
    problems = {p: of_problem([row for row in rows if row["problem"] == p]) for p in made}
    for name, found in problems.items():
        found["nothing_learnt"] = content["nothing_learnt"].get(name)
    first: dict[str, Any] = problems[made[0]] if made else {}
    return {
        "name": "operators",
        "peer": "neuraloperator's FNO",
        **{name: first.get(name) for name in ("ours_s", "peer_s", "ratio", "ours", "theirs")},
        "agree": made == list(options.problems) and all(found["agree"] for found in problems.values()),
        "problems": problems,
        "table": options.table and str(options.table),
        "load_average": os.getloadavg()[0],
    }


def of_problem(rows: list[dict[str, Any]]) -> dict[str, Any]:
    best = min(rows, key=lambda row: row["state"])
    timed = {
        kind: {row["amount"] for row in rows if row["budget"] == "time" and row["kind"] == kind}
        for kind in ("virtual_fourier", "fno")
    }
    most = max(set.intersection(*timed.values()), default=None)  # the largest time that both had
    ours, theirs = (
        min((row for row in rows if row["kind"] == k and row["amount"] == most), key=lambda r: r["state"], default=None)
        for k in timed
    )
    return {
        "ours_s": ours and ours["cpu_seconds"],
        "peer_s": theirs and theirs["cpu_seconds"],
        "ratio": round(ours["cpu_seconds"] / theirs["cpu_seconds"], 4) if ours and theirs else None,
        "ours": ours and ours["state"],
        "theirs": theirs and theirs["state"],
        "agree": best["state"] <= 0.03 and best["probe_gradient"] <= 0.2 and best["probe_cosine"] >= 0.98,
        "best": {name: value for name, value in best.items() if name != "curve"},
        "summary": summary(rows),
    }


def summary(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Mean, least and largest of each figure over the seeds."""
    names = ("budget", "amount", "variant", "kind", "rate", "runs")

    def key(row: dict[str, Any]) -> tuple[Any, ...]:
        return tuple(row[name] for name in names)

    lines = []
    for values, group in groupby(sorted(rows, key=key), key):
        own = list(group)
        line: dict[str, Any] = dict(zip(names, values, strict=True))
        line |= {"seeds": len(own), "parameters": own[0]["parameters"]}
        line |= {name: round(mean(row[name] for row in own), 1) for name in ("steps", "cpu_seconds")}
        for name in FIGURES:
            figures = [row[name] for row in own]
            line[name] = [round(mean(figures), 4), round(min(figures), 4), round(max(figures), 4)]
        lines.append(line)
    return lines

"""The hybrid optimizer against the solver alone: solves of each kind and seconds, for every surrogate and mode.

On each problem every run starts from a design that no training run has seen. `solver_only` is projected L-BFGS, or MMA
where there is a constraint. What counts are solves until J is within `allowed` of the reference: 0.5 % of the optimum
for the inversion (by a long L-BFGS run), 1 % of what `solver_only` reached from the same start for the others.

`solves_ratio`: largest of the problems' medians of solves of the hybrid over those of the solver alone, with the first
surrogate of each problem that has gates. `worst_gap`: largest gap of those runs to the reference. `break_even`:
optimisations after which the training has paid, in solves. The table, with the log of every run, is the file `table`;
several tables, for instance of runs with other starts, are joined by `--join`.

Solver and hybrid are charged alike for what they ask for. MMA asks for an adjoint at every step, also where the problem
is its own adjoint: the hybrid notices that, MMA does not, so `forward_ratio` compares forward solves alone.
"""

import argparse
import json
import os
import statistics
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks._hybrid_cases import CASES, Case, Trained
from operators.hybrid import MODES, HybridResult, HybridSettings, hybrid

COMPARED = tuple(mode for mode in MODES if mode not in ("solver_only", "hybrid_corrected"))
GATED = ("inversion", "cantilever", "reactor")


def main(argv: list[str]) -> dict[str, Any]:
    parser = argparse.ArgumentParser(prog="python -m benchmarks hybrid")
    parser.add_argument("--problems", default=",".join(CASES))
    parser.add_argument("--starts", type=int, help="10, or 2 with --quick")
    parser.add_argument("--first-start", type=int, default=0)
    parser.add_argument("--mode-starts", type=int, default=1, help="starts for the modes beside hybrid_corrected")
    parser.add_argument(
        "--surrogates", default="", help="names, or beginnings of names, with ; between; all where empty"
    )
    parser.add_argument("--quick", action="store_true", help="coarse meshes")
    parser.add_argument("--table", type=Path, default=Path("hybrid-table.json"))
    parser.add_argument("--join", type=Path, nargs="+", default=(), help="run nothing, and summarise these tables")
    options = parser.parse_args(argv)
    runs: list[dict[str, Any]] = joined(options.join) if options.join else []
    summary: list[dict[str, Any]] = []
    for name in dict.fromkeys(row["problem"] for row in runs) if runs else options.problems.split(","):
        if not options.join:
            runs += run_all(name, options)
        summary += summarise(name, [row for row in runs if row["problem"] == name])
        print_table([row for row in summary if row["problem"] == name])
    gates = judged(summary)
    options.table.write_text(json.dumps({"summary": summary, "gates": gates, "runs": runs}, indent=1))
    corrected = [row for row in summary if row["mode"] == "hybrid_corrected"]
    first = [row for row in corrected if row["first"] and row["problem"] in GATED] or corrected
    alone = [row for row in summary if row["mode"] == "solver_only" and row["problem"] in {r["problem"] for r in first}]
    return {
        "name": "hybrid",
        "peer": "the solver alone: projected L-BFGS, or MMA with a constraint",
        "ours_s": sum(row["seconds"] for row in first),
        "peer_s": sum(row["seconds"] for row in alone),
        "ratio": max(row["ratio"] for row in first),
        "ours": {row["problem"]: row["solves"] for row in first},
        "theirs": {row["problem"]: row["solves"] for row in alone},
        "agree": all(row["reached"] == row["starts"] for row in first),
        "solves_ratio": max(row["ratio"] for row in first),
        "worst_gap": max(row["worst_gap"] for row in first),
        "gates": gates,
        "table": str(options.table),
        "load_average": os.getloadavg()[0],
    }


# -- runs -------------------------------------------------------------------------------------------------------------


def run_all(name: str, options: argparse.Namespace) -> list[dict[str, Any]]:
    """All runs of one problem that were asked for."""
    case, count = CASES[name](options.quick), options.starts or (2 if options.quick else 10)
    trained = case.train()
    costs = {t.name: {"training_solves": t.solves, "training_seconds": round(t.seconds, 1)} for t in trained}
    kept = [t for t in trained if t.name.startswith(tuple(options.surrogates.split(";")))]
    rows = compare(case, kept, range(options.first_start, options.first_start + count), options.mode_starts)
    nothing = {"training_solves": 0, "training_seconds": 0.0}
    first = trained[0].name
    return [row | costs.get(row["surrogate"], nothing) | {"of_gates": row["surrogate"] == first} for row in rows]


def joined(tables: list[Path]) -> list[dict[str, Any]]:
    """The runs of all tables; where two have the same run, that of the later one."""
    runs = (row for table in tables for row in json.loads(table.read_text())["runs"])
    return list({tuple(row[key] for key in ("problem", "surrogate", "mode", "start")): row for row in runs}.values())


def compare(case: Case, trained: list[Trained], starts: range, others: int) -> list[dict[str, Any]]:
    rows = []
    for number in starts:
        alone = run(case, number, None, "solver_only", -np.inf, case.reference_solves)
        reference, target = alone.J, alone.J + case.allowed * abs(alone.J)
        rows.append(row_of(case, number, "", "solver_only", alone, reference, target))
        for surrogate in trained:
            for mode in ("hybrid_corrected", *(COMPARED if number < others else ())):
                result = run(case, number, surrogate, mode, target, case.most_forward)
                rows.append(row_of(case, number, surrogate.name, mode, result, reference, target))
    return rows


def run(case: Case, number: int, trained: Trained | None, mode: Any, target: float, most: int) -> HybridResult:
    problem, x0 = case.member(number)
    resolution = 1e-9 if trained is None else trained.resolution
    settings = HybridSettings(
        mode, case.radius, inner_steps=case.inner_steps, most_forward=most, target=target, resolution=resolution
    )
    return hybrid(problem, x0, None if trained is None else trained.make(problem), settings)


def row_of(
    case: Case, number: int, surrogate: str, mode: str, result: HybridResult, reference: float, target: float
) -> dict[str, Any]:
    """Spent until the target, or in all where it was not reached."""
    at = next((line for line in result.log if line.best <= target), result.log[-1])
    return {
        "problem": case.name,
        "start": number,
        "surrogate": surrogate,
        "mode": mode,
        "reached": bool(at.best <= target),
        "forward": at.forward,
        "adjoint": at.adjoint,
        "tangent": at.tangent,
        "factorisations": at.factorisations,
        "solves": at.forward + at.adjoint + at.tangent,
        "model_gradients": at.model_gradients,
        "seconds": at.seconds,
        "gap": (min(result.J, at.best) - reference) / abs(reference),
        "believed_gap": (result.believed - reference) / abs(reference),
        "message": result.message,
        "curve": [(s.forward + s.adjoint + s.tangent, (s.best - reference) / abs(reference)) for s in result.log],
        "seconds_curve": [round(s.seconds, 4) for s in result.log],
    }


# -- tables -----------------------------------------------------------------------------------------------------------


def summarise(problem: str, runs: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """One row per surrogate and mode: medians over the starts; ratios start by start."""
    alone = {row["start"]: row for row in runs if row["mode"] == "solver_only"}
    table = []
    for surrogate, mode in dict.fromkeys((row["surrogate"], row["mode"]) for row in runs):
        rows = [row for row in runs if (row["surrogate"], row["mode"]) == (surrogate, mode)]
        saved = statistics.mean(alone[row["start"]]["solves"] - row["solves"] for row in rows)
        whole = all(row["reached"] for row in rows)
        cost = rows[0]["training_solves"]
        median = {
            key: statistics.median(row[key] for row in rows)
            for key in ("forward", "adjoint", "tangent", "factorisations", "solves", "model_gradients", "seconds")
        }
        table.append(
            {"problem": problem, "surrogate": surrogate, "mode": mode, "starts": len(rows)}
            | median
            | {
                "reached": sum(row["reached"] for row in rows),
                "most_solves": max(row["solves"] for row in rows),
                "ratio": statistics.median(row["solves"] / alone[row["start"]]["solves"] for row in rows),
                "forward_ratio": statistics.median(row["forward"] / alone[row["start"]]["forward"] for row in rows),
                "worst_gap": max(row["gap"] for row in rows),
                "training_solves": cost,
                "training_seconds": rows[0]["training_seconds"],
                "break_even": round(cost / saved) if cost and saved > 0 and whole else None,
                "first": rows[0]["of_gates"] and mode == "hybrid_corrected",
            }
        )
    if not any(row["surrogate"].startswith("neural") for row in runs):
        table.append({"problem": problem, "surrogate": "neural", "mode": "not run", "first": False})
    return table


def print_table(rows: list[dict[str, Any]]) -> None:
    head = ("reached", "forward", "adjoint", "tangent", "factor.", "solves", "most", "ratio", "gap", "seconds")
    head = (*head, "cost", "even")
    print(f"\n{rows[0]['problem']:38}{'mode':18}" + "".join(f"{name:>9}" for name in head))
    for row in rows:
        print(f"{row['surrogate'] or 'none':38}{row['mode']:18}" + ("" if row["mode"] == "not run" else cells(row)))


def cells(row: dict[str, Any]) -> str:
    counts = (row[key] for key in ("forward", "adjoint", "tangent", "factorisations", "solves", "most_solves"))
    whole = "".join(f"{count:9g}" for count in counts)
    even = "-" if row["break_even"] is None else row["break_even"]
    return (
        f"{row['reached']:>6}/{row['starts']:<2}{whole}{row['ratio']:9.3f}{row['worst_gap']:9.2%}"
        f"{row['seconds']:9.2f}{row['training_solves']:9}{even:>9}"
    )


def judged(summary: list[dict[str, Any]]) -> dict[str, bool]:
    """The gates, for the first surrogate of each problem."""
    gates: dict[str, bool] = {}
    for row in (row for row in summary if row["first"] and row["problem"] in GATED):
        name = row["problem"]
        gates[f"{name}: every start reached"] = row["reached"] == row["starts"]
        gates[f"{name}: solves over the solver's"] = row["ratio"] <= (0.2 if name == "inversion" else 1 / 3)
        gates[f"{name}: no more than 1 % worse than the solver"] = row["worst_gap"] <= 0.01
        if name == "inversion":
            frozen = next((r for r in summary if (r["problem"], r["surrogate"]) == (name, "mean Jacobian")), row)
            gates["inversion: 10 forward and 6 adjoint solves"] = row["forward"] <= 10 and row["adjoint"] <= 6
            gates["inversion: no more than the mean Jacobian"] = row["solves"] <= frozen["solves"]
    return gates

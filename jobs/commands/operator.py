"""`formgrad operator`: data for, training of and judgement on surrogates of a shipped family of problems."""

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from jobs.commands.ending import end

if TYPE_CHECKING:
    from operators.recipes import Recipe
    from operators.training import Report, TrainingSettings
    from operators.trajectories import Run

app = typer.Typer(help="Neural operators as surrogates: make data, train, evaluate.", no_args_is_help=True)

Problem = Annotated[str, typer.Argument(help="A family of problems, such as inversion.")]
Data = Annotated[Path, typer.Option(help="Folder of the runs.")]
Full = Annotated[bool, typer.Option("--full", help="The recipe for a GPU: more runs, a larger network, more steps.")]


@app.command("data")
def make_data(
    problem: Problem,
    out: Annotated[
        Path | None, typer.Option("--out", "-o", help="Folder. Default: data/PROBLEM, or data/PROBLEM-full.")
    ] = None,
    runs: Annotated[str | None, typer.Option(help="FIRST:LAST, the last excluded. Default: the recipe's.")] = None,
    full: Full = False,
) -> None:
    """Run the classical optimizer on members of a family and store every iterate; runs that are there are kept."""

    def work() -> int:
        from jobs.screen import console
        from operators.trajectories import collect

        recipe = _recipe(problem, full)
        folder = out or Path(_place(recipe.name, full))
        numbers = _range(runs) or sorted({*recipe.runs, *recipe.unseen})

        def tell(number: int, run: "Run | None") -> None:
            if run is None:
                return
            console.print(f"run {number}: {len(run)} iterates, J {run.J[0]:.4g} -> {run.J[-1]:.4g}")

        made = collect(folder, recipe.member, numbers, progress=tell, **recipe.record)
        console.print(f"{made} runs made, {len(numbers) - made} were there: {folder}")
        return 0

    _end(work)


@app.command("train")
def train_operator(
    problem: Problem,
    data: Data,
    out: Annotated[Path, typer.Option("--out", "-o", help="Weights, .safetensors.")],
    kind: Annotated[
        str, typer.Option(help="fno, tfno, uno, virtual_fourier, physics_attention, subspace_attention.")
    ] = "fno",
    output: Annotated[str, typer.Option(help="increment on a reference, or state.")] = "increment",
    steps: Annotated[int | None, typer.Option(help="Default: the recipe's.")] = None,
    seconds: Annotated[float | None, typer.Option(help="Stop after so much wall time.")] = None,
    sensitivity: Annotated[float | None, typer.Option(help="Weight of the sensitivity loss; 0: none.")] = None,
    optimizer: Annotated[str | None, typer.Option(help="By name; adamw by default.")] = None,
    schedule: Annotated[str | None, typer.Option(help="By name; one_cycle by default.")] = None,
    seed: Annotated[int, typer.Option(help="Of weights, pairs and turns.")] = 0,
    device: Annotated[str, typer.Option(help="cpu or cuda.")] = "cpu",
    precision: Annotated[str, typer.Option(help="fp32, or bf16 on cuda.")] = "fp32",
    checkpoint: Annotated[Path | None, typer.Option(help="Go on from here if it is there.")] = None,
    full: Full = False,
) -> None:
    """Train an operator on stored runs; under `torchrun` on several processes."""

    def work() -> int:
        import os
        from dataclasses import asdict, replace

        from jobs.operator_runs import learnt_and_judged, read_runs, runs_in, some_of
        from jobs.screen import console
        from operators.models import build, save
        from operators.samples import samples
        from operators.training import train

        recipe = _recipe(problem, full)
        settings = recipe.training
        given: dict[str, Any] = {"steps": steps, "optimizer": optimizer, "schedule": schedule}
        given = {name: value for name, value in given.items() if value is not None}
        if sensitivity is not None:
            given["weights"] = replace(settings.weights, sensitivity=sensitivity)
        settings = replace(settings, **given, seed=seed, device=device, precision=precision)
        there = runs_in([data])
        learnt, judged = learnt_and_judged(some_of(there, recipe.runs, str(data)))
        model = build(recipe.settings(kind, output), recipe.kept, seed)
        found = train(
            model,
            recipe.view(),
            samples(read_runs(there, learnt), recipe.keep),
            samples(read_runs(there, judged), recipe.keep),
            settings,
            progress=_show,
            checkpoint=checkpoint,
            seconds=seconds,
        )
        if int(os.environ.get("RANK", "0")) == 0:
            about = {
                "problem": recipe.name,
                "command": _command(recipe, full, kind, output, settings),
                "runs": [learnt[0], learnt[-1], len(learnt)],
                "training": asdict(settings),
                "steps": found.steps,
                "cpu_seconds": round(found.cpu_seconds, 1),
                "validation_error": found.history[-1].best,
            }
            save(found.model, out, about)
            console.print(
                f"{found.steps} steps in {found.seconds:.0f} s; best state error {found.history[-1].best:.2%}"
            )
            console.print(f"weights: {out}")
        return 0

    _end(work)


@app.command("eval")
def evaluate_operator(
    problem: Problem,
    model: Annotated[Path, typer.Argument(help="Weights, .safetensors.")],
    data: Data,
    json: Annotated[bool, typer.Option("--json", help="Print one JSON object.")] = False,
    full: Full = False,
) -> None:
    """Compare an operator with the solver along seen and unseen paths, beside them, and far away."""

    def work() -> int:
        import json as writer

        from jobs.operator_runs import read_runs, runs_in, some_of
        from jobs.operator_screen import accuracy_table
        from jobs.screen import console
        from operators.evaluation import as_rows, table
        from operators.models import load
        from operators.surrogates.neural import Viewed

        recipe = _recipe(problem, full)
        surrogate, there = Viewed(load(model), recipe.view()), runs_in([data])
        seen, unseen = (
            [run.thinned(recipe.keep) for run in read_runs(there, some_of(there, numbers, str(data))[:20])]
            for numbers in (recipe.runs, recipe.unseen)
        )
        found = table(surrogate, recipe.member, seen, unseen, recipe.probe)
        if json:
            typer.echo(writer.dumps({"problem": recipe.name, "rows": as_rows(found)}))
        else:
            console.print(accuracy_table(as_rows(found)))
        return 0

    _end(work)


def _end(work: Callable[[], int]) -> None:
    """As `end`; what the operators complain about is the user's affair as well."""

    def translated() -> int:
        from jobs.errors import JobError
        from operators.errors import OperatorError, TrainingError

        try:
            return work()
        except (OperatorError, TrainingError) as error:
            raise JobError(str(error)) from error

    end(translated)


def _recipe(problem: str, full: bool) -> "Recipe":
    """By any name of a family; `find` refuses what is none."""
    from jobs.families import family
    from operators.recipes import find
    from operators.recipes.full import full as enlarged

    found = find(str(family(problem)))
    return enlarged(found) if full else found


def _range(text: str | None) -> range | None:
    from jobs.errors import JobError

    if text is None:
        return None
    try:
        first, last = (int(part) for part in text.split(":"))
    except ValueError as error:
        raise JobError(f"runs: {text!r} is not FIRST:LAST, such as 0:100") from error
    if not 0 <= first < last:
        raise JobError(f"runs: {text!r} holds no runs; give FIRST below LAST, such as 0:100")
    return range(first, last)


def _place(name: str, full: bool) -> str:
    """The folder of a family's runs, where none is given."""
    return f"data/{name}-full" if full else f"data/{name}"


def _command(recipe: "Recipe", full: bool, kind: str, output: str, settings: "TrainingSettings") -> str:
    """What makes the same weights again."""
    name, place, size = recipe.name, _place(recipe.name, full), " --full" if full else ""
    return (
        f"formgrad operator data {name} -o {place}{size}; formgrad operator train {name} --data {place} "
        f"-o {name}.safetensors --kind {kind} --output {output} --steps {settings.steps} "
        f"--sensitivity {settings.weights.sensitivity:g} --seed {settings.seed}{size}"
    )


def _show(report: "Report") -> None:
    from jobs.screen import console

    parts = ", ".join(f"{name} {value:.4f}" for name, value in report.parts.items())
    console.print(f"{report.seconds:6.0f} s  step {report.step:5d}  {parts}  unseen states {report.error:.2%}")

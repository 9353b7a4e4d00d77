"""`formgrad operator`: data for, training of and judgement on surrogates of a shipped family of problems."""

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from jobs.commands.ending import end

if TYPE_CHECKING:
    from operators.evaluation import Accuracy
    from operators.training import Report
    from operators.trajectories import Run

app = typer.Typer(help="Neural operators as surrogates: make data, train, evaluate.", no_args_is_help=True)

Problem = Annotated[str, typer.Argument(help="A family of problems, such as inversion.")]
Data = Annotated[Path, typer.Option(help="Folder of the runs.")]


@app.command("data")
def make_data(
    problem: Problem,
    out: Annotated[Path | None, typer.Option("--out", "-o", help="Folder. Default: data/PROBLEM.")] = None,
    runs: Annotated[str | None, typer.Option(help="FIRST:LAST, the last excluded. Default: the recipe's.")] = None,
) -> None:
    """Run the classical optimizer on members of a family and store every iterate; runs that are there are kept."""

    def work() -> int:
        from jobs.screen import console
        from operators.recipes import find
        from operators.trajectories import collect

        recipe, folder = find(problem), out or Path("data") / problem
        numbers = _range(runs) or range(recipe.runs.start, recipe.unseen.stop)

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
) -> None:
    """Train an operator on stored runs; under `torchrun` on several processes."""

    def work() -> int:
        import os
        from dataclasses import asdict, replace

        from jobs.screen import console
        from operators.models import build, save
        from operators.recipes import find
        from operators.samples import samples
        from operators.training import train
        from operators.trajectories import read

        recipe = find(problem)
        settings = recipe.training
        given: dict[str, Any] = {"steps": steps, "optimizer": optimizer, "schedule": schedule}
        given = {name: value for name, value in given.items() if value is not None}
        if sensitivity is not None:
            given["weights"] = replace(settings.weights, sensitivity=sensitivity)
        settings = replace(settings, **given, seed=seed, device=device, precision=precision)
        numbers = _there(data, recipe.runs)
        count = max(1, len(numbers) // 10)
        learnt, judged = numbers[:-count], numbers[-count:]
        model = build(recipe.settings(kind, output), recipe.kept, seed)
        found = train(
            model,
            recipe.view(),
            samples(read(data, learnt), recipe.keep),
            samples(read(data, judged), recipe.keep),
            settings,
            progress=_show,
            checkpoint=checkpoint,
            seconds=seconds,
        )
        if int(os.environ.get("RANK", "0")) == 0:
            about = {
                "problem": problem,
                "command": _command(problem, kind, output, settings.steps, settings.weights.sensitivity, seed),
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
) -> None:
    """Compare an operator with the solver along seen and unseen paths, beside them, and far away."""

    def work() -> int:
        import json as writer

        from jobs.screen import console
        from operators.evaluation import as_rows, table
        from operators.models import load
        from operators.recipes import find
        from operators.surrogates.neural import Viewed
        from operators.trajectories import read

        recipe = find(problem)
        surrogate = Viewed(load(model), recipe.view())
        seen, unseen = (
            [run.thinned(recipe.keep) for run in read(data, _there(data, numbers)[:20])]
            for numbers in (recipe.runs, recipe.unseen)
        )
        found = table(surrogate, recipe.member, seen, unseen, recipe.probe)
        if json:
            typer.echo(writer.dumps({"problem": problem, "rows": as_rows(found)}))
        else:
            console.print(_as_table(found))
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


def _there(folder: Path, numbers: range) -> list[int]:
    """The runs of a folder that are among `numbers`."""
    from jobs.errors import JobError
    from operators.trajectories import path_of

    found = [number for number in numbers if path_of(folder, number).is_file()]
    if len(found) < 2:
        raise JobError(
            f"{folder} holds {len(found)} of the runs {numbers.start} to {numbers.stop - 1}, two are needed: "
            "make them with `formgrad operator data`"
        )
    return found


def _command(problem: str, kind: str, output: str, steps: int, sensitivity: float, seed: int) -> str:
    return (
        f"formgrad operator data {problem} -o data/{problem}; formgrad operator train {problem} "
        f"--data data/{problem} -o {problem}.safetensors --kind {kind} --output {output} --steps {steps} "
        f"--sensitivity {sensitivity:g} --seed {seed}"
    )


def _show(report: "Report") -> None:
    from jobs.screen import console

    parts = ", ".join(f"{name} {value:.4f}" for name, value in report.parts.items())
    console.print(f"{report.seconds:6.0f} s  step {report.step:5d}  {parts}  unseen states {report.error:.2%}")


def _as_table(found: "dict[str, Accuracy]") -> Any:
    from rich.table import Table

    shown = Table("where", "state error", "gradient error", "cosine", "cosine, 10 %", "samples")
    for where, a in found.items():
        numbers = (f"{a.state:.2%}", f"{a.gradient:.3f}", f"{a.cosine:.3f}", f"{a.low_cosine:.3f}", str(a.count))
        shown.add_row(where, *numbers)
    return shown

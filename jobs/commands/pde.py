"""`formgrad pde`: the shipped problems of PDE-constrained optimisation."""

from pathlib import Path
from typing import Annotated

import typer

from jobs.commands.ending import Overrides, end, watch

app = typer.Typer(help="Problems of PDE-constrained optimisation with known answers.", no_args_is_help=True)


@app.command("list")
def list_problems() -> None:
    """List the problems, their parameters with defaults, and the methods."""
    from rich.table import Table

    from jobs.screen import console
    from pde.problems import METHODS, PROBLEMS

    table = Table("problem", "", "what it is", "parameters")
    for name, shipped in PROBLEMS.items():
        values = ", ".join(f"{p.name}={p.default:g}" for p in shipped.parameters.values())
        table.add_row(name, shipped.number, shipped.title, values)
    console.print(table)
    console.print(f"methods: {', '.join(METHODS)}")


@app.command("show")
def show_problem(problem: Annotated[str, typer.Argument(help="A name of `formgrad pde list`.")]) -> None:
    """Show a problem's equation and its known answer."""

    def work() -> int:
        from pde.problems import find

        shipped = find(problem)
        typer.echo(f"{shipped.number}. {shipped.title}\n\n{shipped.story}")
        return 0

    end(work)


@app.command("run")
def run_problem(
    problem: Annotated[str, typer.Argument(help="A name of `formgrad pde list`.")],
    settings: Overrides = None,
    out: Annotated[Path | None, typer.Option(help="Run folder. Default: runs/NAME-DATE.")] = None,
    overwrite: Annotated[bool, typer.Option(help="Replace the run that is in --out.")] = False,
) -> None:
    """Solve a problem: formgrad pde run poisson_control n=64 alpha=1e-4 method=newton_cg, or one of a family with a
    trained operator: formgrad pde run inversion member=120 method=hybrid_corrected."""

    def work() -> int:
        from jobs.launch import new_folder, prepare
        from jobs.spec import override, parse_job

        given: dict[str, object] = {}
        for text in settings or []:
            override(given, text)
        if _is_family(problem):
            job = parse_job({"job": "hybrid", "name": problem, "problem": problem, **given})
            return watch(*prepare(job, out or new_folder(Path("runs"), job.name), overwrite), resume=False)
        own = {key: given.pop(key) for key in ("method", "name", "max_iterations", "checkpoint_every") if key in given}
        job = parse_job({"job": "pde", "name": problem, "problem": problem, **own, "parameters": given})
        return watch(*prepare(job, out or new_folder(Path("runs"), job.name), overwrite), resume=False)

    end(work)


def _is_family(problem: str) -> bool:
    from jobs.hybrid_spec import FAMILIES

    return problem in FAMILIES

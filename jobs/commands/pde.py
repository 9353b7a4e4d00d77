"""`formgrad pde`: the shipped problems of PDE-constrained optimisation."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from jobs.commands.ending import Overrides, end, watch
from jobs.ranks import on_all

if TYPE_CHECKING:
    from rich.table import Table

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
    console.print(_families())


def _families() -> "Table":
    from typing import get_args

    from rich.table import Table

    from jobs.families import ALIASES, FAMILIES, Mode, trained

    table = Table("family", "also", "what it is", "methods")
    for name, title in FAMILIES.items():
        also = ", ".join(alias for alias, meant in ALIASES.items() if meant == name)
        table.add_row(name, also, title, ", ".join(get_args(Mode)) if trained(name) else "solver_only")
    return table


@app.command("show")
def show_problem(problem: Annotated[str, typer.Argument(help="A name of `formgrad pde list`.")]) -> None:
    """Show a problem's equation and its known answer; of a family also how an operator sees it."""

    def work() -> int:
        from jobs.families import FAMILIES, family
        from jobs.family_story import family_story
        from pde.problems import PROBLEMS, find

        name = str(family(problem))
        if name in PROBLEMS or name not in FAMILIES:
            shipped = find(problem)
            typer.echo(f"{shipped.number}. {shipped.title}\n\n{shipped.story}\n")
        if name in FAMILIES:
            typer.echo(f"Family {name}: {FAMILIES[name]}\n\n{family_story(name)}")
        return 0

    end(work)


@app.command("run")
def run_problem(
    problem: Annotated[str, typer.Argument(help="A name of `formgrad pde list`.")],
    settings: Overrides = None,
    out: Annotated[Path | None, typer.Option(help="Run folder. Default: runs/NAME-DATE.")] = None,
    overwrite: Annotated[bool, typer.Option(help="Replace the run that is in --out.")] = False,
) -> None:
    """Solve a problem: formgrad pde run poisson_control n=64 alpha=1e-4 method=newton_cg, or a member of a family with
    a trained operator: formgrad pde run darcy member=120 method=hybrid_corrected."""

    def work() -> int:
        from jobs.launch import new_folder, prepare
        from jobs.spec import override, parse_job

        given: dict[str, object] = {}
        for text in settings or []:
            override(given, text)
        if _of_a_family(problem, given):
            job = parse_job({"job": "hybrid", "name": problem, "problem": problem, **given})
        else:
            own = {key: given.pop(key) for key in OWN if key in given}
            job = parse_job({"job": "pde", "name": problem, "problem": problem, **own, "parameters": given})
        return watch(*prepare(job, out or new_folder(Path("runs"), job.name), overwrite), resume=False)

    end(lambda: on_all(work))


OWN = ("method", "name", "max_iterations", "checkpoint_every")


def _of_a_family(problem: str, given: dict[str, object]) -> bool:
    """Whether a family's member is meant: where a shipped problem has the same name, its settings tell them apart."""
    from typing import get_args

    from jobs.families import FAMILIES, Mode, family
    from jobs.hybrid_spec import HybridJob
    from pde.problems import PROBLEMS

    if family(problem) not in FAMILIES:
        return False
    theirs = set(HybridJob.model_fields) - {"method", "name"}
    return problem not in PROBLEMS or given.get("method") in get_args(Mode) or not theirs.isdisjoint(given)

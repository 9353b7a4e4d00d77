"""How a command ends: a result that is shown, or one sentence about what was wrong."""

from collections.abc import Callable
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from jobs.job import Job
    from jobs.store import Run

Overrides = Annotated[
    list[str] | None, typer.Argument(metavar="[KEY=VALUE]...", help="Change entries, e.g. voxels.size=2.")
]


def end(work: Callable[[], int]) -> None:
    """Run a command; an error of the user's is one sentence on stderr and exit code 2."""
    from jobs.user_errors import user_errors

    try:
        code = work()
    except user_errors() as error:
        typer.echo(f"formgrad: {error}", err=True)
        code = 2
    except KeyboardInterrupt:
        typer.echo("formgrad: interrupted", err=True)
        code = 130
    raise typer.Exit(code)


def watch(job: "Job", folder: "Run", *, resume: bool) -> int:
    """Run a job in this process, with a live line; -> exit code, 75 when it was stopped and saved."""
    from jobs.runner import run_job
    from jobs.screen import Screen, print_result

    with Screen(job.name) as screen:
        result = run_job(job, folder, screen, resume=resume)
    if result is None:
        typer.echo(f"Stopped and saved. Continue with: formgrad resume {folder.folder}")
        return 75
    print_result(result, folder)
    return 0

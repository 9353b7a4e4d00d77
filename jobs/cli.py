"""`formgrad`: the command line. Heavy imports wait until they are needed, so that --help answers at once."""

import os
import sys
from pathlib import Path
from typing import Annotated

import typer

from jobs.commands import batch, features, operator, pde
from jobs.commands.ending import Overrides, end, watch
from jobs.commands.schema import schema
from jobs.ranks import on_all

# Pools of BLAS threads beside the solver's own threads cost more than they bring.
for _name in ("OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ.setdefault(_name, "1")

app = typer.Typer(
    name="formgrad",
    help="State what a part must do; find its form, prove it, and hand over CAD.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
)
app.add_typer(batch.app, name="jobs")
app.add_typer(features.app, name="features")
app.add_typer(operator.app, name="operator")
app.add_typer(pde.app, name="pde")
app.command()(schema)


@app.callback()
def formgrad() -> None:
    """State what a part must do; find its form, prove it, and hand over CAD."""


@app.command()
def run(
    file: Annotated[Path, typer.Argument(help="Job file (YAML).")],
    overrides: Overrides = None,
    out: Annotated[Path | None, typer.Option(help="Run folder. Default: runs/NAME-DATE.")] = None,
    overwrite: Annotated[bool, typer.Option(help="Replace the run that is in --out.")] = False,
) -> None:
    """Run a job file: from a part to a verified, exported design, or a barycenter."""
    from jobs.launch import new_folder, prepare
    from jobs.spec import load_job

    def work() -> int:
        job = load_job(file, overrides or [])
        return watch(*prepare(job, out or new_folder(Path("runs"), job.name), overwrite), resume=False)

    end(lambda: on_all(work))


@app.command()
def resume(folder: Annotated[Path, typer.Argument(help="Run folder.")]) -> None:
    """Continue a run that was stopped or killed; it reaches the same bits as an uninterrupted one."""

    def work() -> int:
        from jobs.runner import open_run

        job, found = open_run(folder)
        return watch(job, found, resume=True)

    end(lambda: on_all(work))


@app.command()
def show(folder: Annotated[Path, typer.Argument(help="Run folder.")]) -> None:
    """Show where a run is, or what it found."""

    def work() -> int:
        from jobs.errors import RunFolderError
        from jobs.screen import print_result, print_status
        from jobs.store import Run

        found = Run(folder)
        if not found.is_run:
            raise RunFolderError(f"{folder} holds no run: give a folder that `formgrad run` made")
        result = found.result()
        print_result(result, found) if result else print_status(found)
        return 0

    end(work)


@app.command()
def barycenter(
    inputs: Annotated[list[Path], typer.Argument(help="PNG, TIFF, NPY, VTI, STL files, or finished run folders.")],
    weights: Annotated[str | None, typer.Option(help="As many numbers as inputs, e.g. 1,2,1. Default: equal.")] = None,
    size: Annotated[int | None, typer.Option(help="Cells along the longest side. Default: as the inputs.")] = None,
    out: Annotated[Path | None, typer.Option("--out", "-o", help="Run folder. Default: runs/NAME-DATE.")] = None,
    resize: Annotated[bool, typer.Option(help="Allow inputs of different sizes.")] = False,
    invert: Annotated[bool, typer.Option(help="Dark is mass.")] = False,
    padding: Annotated[float, typer.Option(help="Empty border, as a part of the longest side.")] = 0.0,
    floor: Annotated[float, typer.Option(help="Uniform mass that is added, as a part of the whole.")] = 0.0,
    method: Annotated[
        str, typer.Option(help="accelerated; wdha or sga as published; debiased (POT, smooth).")
    ] = "accelerated",
    regularisation: Annotated[float, typer.Option(help="Of the method debiased.")] = 0.005,
    to: Annotated[
        str | None, typer.Option(help="Weights where a film ends, e.g. 0,0,1; more stations after /.")
    ] = None,
    frames: Annotated[int, typer.Option(help="Of the film, both ends included.")] = 24,
    film: Annotated[str, typer.Option(help="gif, mp4 (needs ffmpeg), png, or npy for the arrays alone.")] = "gif",
    upper_bound: Annotated[bool, typer.Option(help="Also bound F from above.")] = True,
    device: Annotated[str, typer.Option(help="cpu, or cuda or torch (PyTorch on a GPU or the processor).")] = "cpu",
    volume_fraction: Annotated[float | None, typer.Option(help="Also a black-and-white design of this volume.")] = None,
    threads: Annotated[int, typer.Option(help="0 means all.")] = 0,
    overwrite: Annotated[bool, typer.Option(help="Replace the run that is in --out.")] = False,
) -> None:
    """Find the Wasserstein barycenter of pictures, volumes or designs, with a certificate."""
    options = {k: v for k, v in locals().items() if k not in ("out", "overwrite", "to", "frames", "film")}

    def work() -> int:
        from jobs.launch import new_folder, prepare
        from jobs.spec import parse_job

        stations = None if to is None else [_numbers(text) for text in to.split("/")]
        path = stations and {"to": stations, "frames": frames, "format": film}
        job = parse_job({**options, "job": "barycenter", "weights": _numbers(weights), "path": path}, base=Path.cwd())
        return watch(*prepare(job, out or new_folder(Path("runs"), job.name), overwrite), resume=False)

    end(work)


@app.command()
def solve(
    file: Annotated[Path, typer.Argument(help="Problem file (YAML), see the docs page on the voxel engine.")],
    out: Annotated[Path | None, typer.Option(help="Write the nodal values here, .npz.")] = None,
) -> None:
    """Solve one linear problem on a grid; under `mpirun -n N formgrad solve ...` on many ranks."""

    def work() -> int:
        import json

        from jobs.grid_solve import first_rank, load_problem, solve_problem, summary
        from topopt.cad.whole import npz_bytes, write_whole

        problem = load_problem(file)
        found, compliance = solve_problem(problem)
        if first_rank():
            if out is not None:
                write_whole(out, npz_bytes(u=found.u))
            typer.echo(json.dumps(summary(problem, found, compliance)))
        return 0

    end(work)


@app.command()
def materials() -> None:
    """List the materials of the catalogue, with their sources."""
    from jobs.screen import print_materials

    print_materials()


@app.command()
def presets() -> None:
    """List the textbook problems."""
    from jobs.screen import print_presets

    print_presets()


@app.command("app")
def web_page(port: Annotated[int, typer.Option(help="On 127.0.0.1.")] = 7860) -> None:
    """Open the web page."""
    from importlib import import_module

    # Not a static import: the command line stands below the page in the house and only starts it.
    sys.exit(import_module("ui.serve").main(["--port", str(port)]))


def _numbers(text: str | None) -> list[float] | None:
    from jobs.errors import JobError

    try:
        return None if text is None else [float(part) for part in text.split(",")]
    except ValueError as error:
        raise JobError(f"weights: {text!r} is not a list of numbers such as 1,2,1") from error


def main() -> None:
    """Entry point of the command."""
    app()


if __name__ == "__main__":
    main()

"""`formgrad features`: edited parameters and plane densities to CAD, light meshes, and the networks of features."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from jobs.commands.ending import end

if TYPE_CHECKING:
    from topopt.cad.parameters import PlanarDesign

app = typer.Typer(
    help="Planar CAD: edited parameters, outlines of densities, and the networks of the neural back-end.",
    no_args_is_help=True,
)


@app.callback()
def features() -> None:
    """Planar CAD: edited parameters, outlines of densities, and the networks of the neural back-end."""


@app.command()
def rebuild(
    file: Annotated[Path, typer.Argument(help="Parameters of a planar part, such as an edited part.json.")],
    out: Annotated[Path, typer.Option(help="Folder for STEP, DXF, SVG, JSON and a picture.")] = Path("rebuilt"),
    picture: Annotated[bool, typer.Option(help="Also draw it.")] = True,
) -> None:
    """Export a parameter file again, after a person has edited it."""

    def work() -> int:
        from jobs.errors import JobError
        from topopt.cad.parameters import PlanarDesign

        if not file.is_file():
            raise JobError(f"there is no file {file}: give the part.json of a run, or an edited copy")
        return _export(PlanarDesign.from_json(file.read_bytes()), out, picture)

    end(work)


@app.command()
def outline(
    source: Annotated[Path, typer.Argument(help="Run folder of a plane structure job, or arrays (.npz: density).")],
    out: Annotated[Path, typer.Option(help="Folder for STEP, DXF, SVG, JSON and a picture.")] = Path("outline"),
    thickness: Annotated[float | None, typer.Option(help="Of the STEP body, mm. Default: the run's, or 1.")] = None,
    tolerance: Annotated[
        float | None, typer.Option(help="Of lines and arcs against the contour, mm. Default: 0.35 of an element.")
    ] = None,
    smoothing: Annotated[float, typer.Option(help="Gaussian before contouring, elements.", min=0)] = 0.0,
    picture: Annotated[bool, typer.Option(help="Also draw it.")] = True,
) -> None:
    """Redraw a plane density design as lines and arcs."""

    def work() -> int:
        from jobs.errors import JobError
        from jobs.planar_outline import of_source

        for name, value in (("thickness", thickness), ("tolerance", tolerance)):
            if value is not None and not 0 < value < float("inf"):
                raise JobError(f"{name} is {value:g}: give a positive number of mm")
        design = of_source(source).design(tolerance, smoothing)
        if thickness is not None:
            design = design.model_copy(update={"thickness": thickness})
        return _export(design, out, picture)

    end(work)


@app.command()
def lighten(
    source: Annotated[Path, typer.Argument(help="Run folder of a structure job, or a body: STL, OBJ, PLY, STEP.")],
    triangles: Annotated[int, typer.Option(help="At most so many.", min=4)] = 5000,
    out: Annotated[Path, typer.Option(help="File to write: .3mf, which says what it is, or .stl.")] = Path("light.3mf"),
) -> None:
    """Hand a formed body over as a closed mesh of few triangles; how far it is off is told, and it is no CAD."""

    def work() -> int:
        from jobs.errors import JobError
        from jobs.store import readable_errors
        from topopt.cad.decimate import decimated
        from topopt.cad.read import read_body
        from topopt.cad.write import write_3mf, write_stl

        if out.suffix.lower() not in (".3mf", ".stl"):
            raise JobError(f"{out.name} is neither .3mf nor .stl: name it so")
        body = source
        if source.is_dir():
            found = sorted((source / "artifacts").glob("*.stl"))
            if not found:
                raise JobError(f"{source} holds no STL under artifacts: give the folder of a finished structure run")
            body = found[0]
        light = decimated(read_body(body).surface, triangles)
        with readable_errors(out.parent):
            out.parent.mkdir(parents=True, exist_ok=True)
            write_stl(light.surface, out) if out.suffix.lower() == ".stl" else write_3mf(
                light.surface, out, light.label
            )
        typer.echo(f"{out}: {light.label}")
        return 0

    end(work)


@app.command()
def train(
    out: Annotated[Path, typer.Option(help="Weights to write, .safetensors; the card is put beside.")] = Path(
        "unified.safetensors"
    ),
    folder: Annotated[Path, typer.Option(help="Checkpoints; an interrupted training goes on from here.")] = Path(
        "runs/features-train"
    ),
    steps: Annotated[int | None, typer.Option(help="Of the first stage. Default: as the shipped weights.")] = None,
    code_steps: Annotated[int | None, typer.Option(help="Of the second stage.")] = None,
    seed: Annotated[int | None, typer.Option(help="Of data, noise and first weights.")] = None,
    width: Annotated[int | None, typer.Option(help="Of the Heaviside decoder.")] = None,
    precision: Annotated[str | None, typer.Option(help="bfloat16 or float32, of the products in stage one.")] = None,
    threads: Annotated[int | None, typer.Option(help="Of torch.")] = None,
) -> None:
    """Train the networks on data drawn as it goes; without options, as the shipped weights were trained."""
    options = {key: value for key, value in locals().items() if key not in ("out", "folder") and value is not None}

    def work() -> int:
        from topopt.features.neural import card
        from topopt.features.neural.settings import Settings
        from topopt.features.neural.training import train

        settings = Settings(**options)
        model = train(settings, folder, typer.echo)
        model.save(out)
        errors = card.acceptance(model)
        given = [f"--{key.replace('_', '-')} {value}" for key, value in options.items() if key != "threads"]
        card.write_card(out, model, settings, errors, " ".join(["formgrad features train", *given]))
        return _verdict(errors)

    end(work)


@app.command()
def test(
    weights: Annotated[Path | None, typer.Argument(help="Weights to test. Default: those that are shipped.")] = None,
    shapes: Annotated[int, typer.Option(help="Of each kind.", min=1)] = 500,
    points: Annotated[int, typer.Option(help="Around each shape.", min=1)] = 1000,
    seed: Annotated[int, typer.Option(help="Of the test set.")] = 2025,
) -> None:
    """Errors of weights on a fresh test set; exit code 1 when they are not accepted."""

    def work() -> int:
        from topopt.features.neural import card
        from topopt.features.neural.model import SHIPPED, Model

        return _verdict(card.acceptance(Model.load(weights or SHIPPED), shapes, points, seed))

    end(work)


def _verdict(errors: dict[str, float]) -> int:
    from topopt.features.neural import card

    for name, value in errors.items():
        typer.echo(f"mean squared error, {name}: {value:.3e}")
    good = card.accepted(errors)
    typer.echo(f"{'accepted' if good else 'not accepted'} (field {card.FIELD_ACCEPTED:g}, code {card.CODE_ACCEPTED:g})")
    return 0 if good else 1


def _export(design: "PlanarDesign", folder: Path, picture: bool) -> int:
    from jobs.store import readable_errors
    from topopt.cad.planar_export import export_design
    from topopt.cad.planar_picture import step_picture

    with readable_errors(folder):
        folder.mkdir(parents=True, exist_ok=True)
        files = export_design(design, folder)
        body = files.cut.body
        typer.echo(f"{design.name}: {body.area:.6g} mm2, {design.thickness:g} mm thick, {len(body.holes)} holes")
        if files.bridge is not None:
            typer.echo(f"narrowest material between two borders: {files.bridge.width:.4g} mm")
        paths = sorted(files.paths.values())
        if picture and step_picture(files.paths["step"], folder / "picture.png"):
            paths.append(folder / "picture.png")
    for path in paths:
        typer.echo(path)
    return 0

"""`formgrad features`: training the networks of the neural back-end, and testing weights."""

from pathlib import Path
from typing import Annotated

import typer

from jobs.commands.ending import end

app = typer.Typer(help="Feature designs: the networks of the neural back-end.", no_args_is_help=True)


@app.callback()
def features() -> None:
    """Feature designs: the networks of the neural back-end."""


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

"""What the command line shows of work on operators."""

from collections.abc import Iterable, Mapping
from typing import Any

from rich.table import Table

from jobs.screen import console
from jobs.store import Run


def print_data(result: dict[str, Any], run: Run) -> None:
    console.print(
        f"{result['name']}: {result['runs']} runs of {result['problem']} ({result['first']} to {result['last']}), "
        f"{result['iterates']} iterates, {result['bytes'] / 1e6:.1f} MB"
    )
    console.print(", ".join(f"{count} {name}" for name, count in result["counts"].items()), style="dim")
    console.print(f"{run.folder / 'artifacts'}")


def print_training(result: dict[str, Any], run: Run) -> None:
    console.print(
        f"{result['name']}: {result['network']} with {result['parameters']:,} numbers, {result['steps']} steps on "
        f"{result['learnt']} runs; state error {result['validation_error']:.2%} on {result['judged']} others"
    )
    console.print(accuracy_table(result["table"]))
    for note in result["notes"]:
        console.print(f"note: {note}")
    for name in result["artifacts"]:
        console.print(str(run.folder / name))


def accuracy_table(rows: Iterable[Mapping[str, Any]]) -> Table:
    """Rows of `operators.evaluation.as_rows` for a person."""
    shown = Table("where", "state error", "gradient error", "cosine", "cosine, 10 %", "samples")
    for row in rows:
        numbers = (
            _written(row["state"], ".2%"),
            _written(row["gradient"], ".3f"),
            _written(row["cosine"], ".3f"),
            _written(row["low_cosine"], ".3f"),
        )
        shown.add_row(str(row["where"]), *numbers, str(row["count"]))
    return shown


def _written(value: float | None, how: str) -> str:
    return "-" if value is None else format(value, how)

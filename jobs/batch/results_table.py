"""The table of a sweep on a screen: the columns that say most, as many as fit, no number broken over lines."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from rich.markup import escape
from rich.table import Table

BORDER = 3  # characters between two columns
SHORT_ID = 8


@dataclass(frozen=True)
class Shown:
    """A table, and the names of the columns that it had no room for."""

    table: Table
    left_out: tuple[str, ...]


def results_table(
    rows: Sequence[Mapping[str, Any]],
    names: Sequence[str],
    best: Sequence[Mapping[str, Any]],
    width: int,
    keep: int = 1,
) -> Shown:
    """One line per job; jobs on the Pareto front are bold and carry a star.

    Args:
        names: columns, the most important first. width: characters. keep: so many of them are shown in any case.
    """
    starred = {row["index"] for row in best}
    columns = {name: _column(rows, name, starred) for name in names}
    room, table, left_out = width - 1, Table(), []
    for number, (name, cells) in enumerate(columns.items()):
        wide = max(map(len, [*cells, *_pieces(name)]))
        if number >= keep and wide + BORDER > room:
            left_out.append(name)
            continue
        room -= wide + BORDER
        numeric = all(isinstance(row.get(name), int | float | None) for row in rows)
        head = escape("\n".join(_folded(name, wide)))
        table.add_column(head, justify="right" if numeric else "left", no_wrap=True, overflow="ellipsis")
    kept = [cells for name, cells in columns.items() if name not in left_out]
    for row, cells in zip(rows, zip(*kept, strict=True), strict=True):
        table.add_row(*map(escape, cells), style="bold" if row["index"] in starred else None)
    return Shown(table, tuple(left_out))


def _column(rows: Sequence[Mapping[str, Any]], name: str, starred: set[Any]) -> list[str]:
    cells = [as_text(row.get(name)) for row in rows]
    if name == "index":
        return [f"{cell} *" if row["index"] in starred else cell for cell, row in zip(cells, rows, strict=True)]
    return cells


def as_text(value: Any) -> str:
    """A value in few characters; an id by its beginning."""
    if value is None:
        return ""
    if isinstance(value, float):
        return f"{value:.5g}"
    return str(value)[:SHORT_ID] if isinstance(value, str) and len(value) == 20 and value.isalnum() else str(value)


def _pieces(name: str) -> list[str]:
    """Where a name may be broken: after an underscore or a point."""
    return re.findall(r"[^_.]*[_.]|[^_.]+", name) or [""]


def _folded(name: str, width: int) -> list[str]:
    lines = [""]
    for piece in _pieces(name):
        if lines[-1] and len(lines[-1]) + len(piece) > width:
            lines.append("")
        lines[-1] += piece
    return lines

"""A run of a kind without a page of its own: its numbers under the names that it gives them."""

from typing import Any

from ui.run_view.show import Show
from ui.runs import RunView
from ui.words import escape, figure

MOST = 8  # numbers in the line under the state


def numbers(run: RunView) -> list[tuple[str, str]]:
    """The numbers of the last line of progress."""
    return [(name, value) for name, value, _ in _rows(run.rows[-1])][:MOST]


def result_rows(run: RunView) -> list[tuple[str, str, str]]:
    """The numbers of the result."""
    return _rows(run.result or {})


def _rows(found: dict[str, Any]) -> list[tuple[str, str, str]]:
    plain = {name: value for name, value in found.items() if isinstance(value, int | float)}
    return [(escape(name.replace("_", " ").capitalize()), figure(value, 6), "") for name, value in plain.items()]


SHOW = Show(numbers, lambda run: None, lambda run: "", lambda run: "", result_rows, third="")

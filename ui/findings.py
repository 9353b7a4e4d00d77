"""What can be said about a job before it runs: in order, to know, missing; one sentence each, with its field."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from ui.words import escape

MARKS = {"good": ("✓", "in order"), "note": ("i", "to know"), "missing": ("✗", "missing")}


@dataclass(frozen=True)
class Finding:
    """One line of the list of checks. field: id of the place in the form that it is about."""

    kind: Literal["good", "note", "missing"]
    text: str
    field: str = ""


def first_missing(lines: Sequence[Finding]) -> Finding | None:
    """What keeps the job from running."""
    return next((line for line in lines if line.kind == "missing"), None)


def sentence(text: str) -> str:
    """`optimize.penalty: Input should be ...` -> a line that starts with a capital and ends with a full stop."""
    return text[:1].upper() + text[1:].rstrip(".") + "."


def check_list(lines: Sequence[Finding]) -> str:
    """The checks before a run, each with a way to its field."""
    rows = []
    for line in lines:
        mark, spoken = MARKS[line.kind]
        jump = f'<a href="#" data-jump="{line.field}">change</a>' if line.kind == "missing" and line.field else ""
        rows.append(
            f'<li class="{line.kind}"><span class="mark" aria-label="{spoken}">{mark}</span>'
            f"<span>{escape(line.text)}</span>{jump}</li>"
        )
    title = '<div class="panel-title">Checks before the run</div>'
    return f'<div class="panel">{title}<ul class="checks">{"".join(rows)}</ul></div>'

"""What a kind of run brings to the run view; each kind states its own as `SHOW`, in `ui/KIND/watch.py`."""

from collections.abc import Callable
from dataclasses import dataclass

from ui.runs import RunView

EXPLAINED = "What it is"


@dataclass(frozen=True)
class Show:
    """One kind's part of the run view. Texts are HTML: whoever writes them escapes what came from elsewhere.

    Attributes:
        numbers: names and values under the state, from the second look on; called when there are iterations.
        expected: iterations in all, at most; None where nobody knows.
        plot: the convergence panel.
        picture: what stands in place of the 3-D view; "" keeps the view.
        result_rows: quantity, value and a third column, for a run that succeeded.
        third: heading of that column.
        compared: table of a run and of the one that it is compared with, in place of the results.
    """

    numbers: Callable[[RunView], list[tuple[str, str]]]
    expected: Callable[[RunView], int | None]
    plot: Callable[[RunView], str]
    picture: Callable[[RunView], str]
    result_rows: Callable[[RunView], list[tuple[str, str, str]]]
    third: str = EXPLAINED
    compared: Callable[[RunView], str] | None = None

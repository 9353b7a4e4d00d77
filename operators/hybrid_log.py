"""The log of a hybrid run: one line per solve and per change of the method."""

import time
from collections.abc import Callable
from dataclasses import dataclass

from pde.functional import Spent

# Events that stand for one forward solve each; "phase B" and "the solver goes on alone" stand for none.
SOLVED = ("start", "accepted", "rejected", "failed", "solver step", "drawn back", "solver")


@dataclass(frozen=True)
class Line:
    """What happened, and what had been spent after it.

    Attributes:
        event: one of `SOLVED`, or a change of the method. why: in words, where there is something to say.
        phase: "A", "B", or "S" where the solver is alone.
        J: of the design that was solved; of the anchor where nothing was. best: lowest so far.
        ratio: decrease over promised decrease. radius: after the event. step: length of the step.
        cosine: between the model's gradient and the true one, where that is known.
    """

    event: str
    why: str
    phase: str
    J: float
    best: float
    ratio: float | None
    radius: float
    step: float
    cosine: float | None
    forward: int
    adjoint: int
    tangent: int
    factorisations: int
    model_gradients: int
    seconds: float


class Log:
    """Args: spent: what has been spent so far, and the lowest J."""

    def __init__(self, spent: Callable[[], tuple[Spent, float]]) -> None:
        self._spent, self._began = spent, time.perf_counter()
        self.lines: list[Line] = []
        self.model_gradients = 0

    def note(
        self,
        event: str,
        phase: str,
        J: float,
        *,
        why: str = "",
        ratio: float | None = None,
        radius: float = 0.0,
        step: float = 0.0,
        cosine: float | None = None,
    ) -> None:
        spent, best = self._spent()
        counts = spent.forward, spent.adjoint, spent.tangent, spent.factorisations, self.model_gradients
        seconds = time.perf_counter() - self._began
        self.lines.append(
            Line(event, why, phase, float(J), best, ratio, float(radius), float(step), cosine, *counts, seconds)
        )

"""How the hybrid goes."""

from dataclasses import dataclass
from typing import Literal

import numpy as np

from operators.errors import OperatorError
from operators.model import Correction

Mode = Literal["solver_only", "surrogate_only", "hybrid_reference", "hybrid_corrected", "hybrid_every_k"]
MODES: tuple[Mode, ...] = ("solver_only", "surrogate_only", "hybrid_reference", "hybrid_corrected", "hybrid_every_k")


@dataclass(frozen=True)
class HybridSettings:
    """The method and its numbers.

    Attributes:
        mode: "hybrid_corrected" is the whole method; "hybrid_reference" never corrects the gradient; "hybrid_every_k"
            anchors after every inner run without a test, until three anchors running are no better;
            "surrogate_only" anchors once; "solver_only" has no surrogate.
        radius: of the first trust region, in the norm of the design space; about the size of the set of designs, not
            a small number: a perfect model wastes three to five solves on a first radius of a seventh of that.
        least: part of `radius` below which there is no region any more.
        inner_steps: of each inner run at most; under bounds or constraints the first ones are shorter.
        most_forward: solves at most.
        tolerance: of the projected true gradient, against the largest one seen. target: stop once J is this low.
        promise: phase A ends when the model promises less than this part of J.
        patience: trials in phase B, after which the solver goes on alone.
        resolution: promises below this part of J are rounding; single-precision networks need 1e-6.
        correction: form of the correction in phase B.

    Raises:
        OperatorError: a mode that does not exist, or a number out of range.
    """

    mode: Mode = "hybrid_corrected"
    radius: float = 30.0
    least: float = 1e-5
    inner_steps: int = 50
    most_forward: int = 200
    tolerance: float = 1e-4
    target: float = -np.inf
    promise: float = 0.03
    patience: int = 30
    resolution: float = 1e-9
    correction: Correction = "rank_one"

    def __post_init__(self) -> None:
        if self.mode not in MODES:
            raise OperatorError(f"mode is one of {', '.join(MODES)}, not {self.mode!r}")
        if self.correction not in ("rank_one", "additive"):
            raise OperatorError(f"correction is rank_one or additive, not {self.correction!r}")
        for name in ("radius", "inner_steps", "most_forward", "patience"):
            if not 0 < getattr(self, name) < np.inf:
                raise OperatorError(f"{name} is {getattr(self, name)}: give a positive number")

    @property
    def least_radius(self) -> float:
        return self.least * self.radius

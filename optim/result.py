"""What a method says after each step, when a run ends, and what it returns."""

from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from optim.arrays import Array, Host

Status = Literal[
    "converged",
    "stationary",
    "max_iter",
    "max_evals",
    "wall_time",
    "user_stop",
    "stalled",
    "infeasible",
    "unbounded",
    "failed",
    "running",
]


@dataclass(frozen=True)
class Info:
    """One line of the history, the same for every method, in the units of the problem as it was stated.

    Attributes:
        f: objective at the iterate. kkt: stationarity and complementarity there, see `optim.design.kkt`.
        feas: largest violation of a constraint. step_norm: largest change of a variable.
        n_f, n_g, n_h: points at which values, derivatives and Hessian actions were taken since the start.
        accepted: False if the step was given back; `reason` then says why.
        verdict: set when the method itself knows that the run is over.
        extra: numbers particular to the method.
    """

    f: float
    kkt: float
    feas: float
    step_norm: float
    n_f: int = 0
    n_g: int = 0
    n_h: int = 0
    accepted: bool = True
    reason: str = ""
    verdict: Literal["", "converged", "stalled", "infeasible", "failed"] = ""
    extra: dict[str, float] = field(default_factory=dict)


@dataclass(frozen=True)
class Stop:
    """When a run ends. A tolerance of None is not looked at.

    Args:
        max_iter: steps. max_evals: points at which the objective is evaluated. wall_time: seconds.
        tol_kkt, tol_feas: converged when both residuals are this small.
        tol_x: or when no variable changed more, `patience` steps running.
        tol_f: or when the objective changed relatively less, `patience` steps running.
        min_iter: before which tol_x and tol_f are not looked at.
    """

    max_iter: int = 500
    max_evals: int | None = None
    tol_kkt: float | None = 1e-6
    tol_feas: float = 1e-6
    tol_x: float | None = 1e-10
    tol_f: float | None = None
    patience: int = 3
    min_iter: int = 0
    wall_time: float | None = None


@dataclass(frozen=True)
class Snapshot:
    """A run between two steps: plain data, all that is needed to go on bit for bit.

    Attributes:
        state: of the method. iteration: steps taken. counts: (n_f, n_g, n_h).
        scales: factors of the objective and of each constraint, (1 + m,). history: one Info per step.
    """

    state: Any
    iteration: int
    counts: tuple[int, int, int]
    scales: Host
    history: tuple[Info, ...] = ()

    @property
    def x(self) -> Array:
        return self.state.x

    @property
    def multipliers(self) -> Host:
        """(m,) of the constraints as they were stated: df + J^T multipliers is zero off the bounds."""
        lam = np.asarray(getattr(self.state, "lam", np.zeros(0)))
        return lam * self.scales[1 : 1 + len(lam)] / self.scales[0]


@dataclass(frozen=True)
class Result:
    """A finished run.

    Attributes:
        x: (n,) the last accepted iterate. f: its objective. multipliers: (m,).
        status, message: why the run ended, as a word and as a sentence.
        history: name -> (iterations,) array: f, kkt, feas, step_norm, n_f, n_g, n_h, accepted, reason, and the
            method's own numbers.
        state: hand it to `minimize(..., resume=)` to go on.
    """

    x: Array
    f: float
    multipliers: Host
    status: Status
    message: str
    history: dict[str, NDArray[Any]] = field(repr=False)
    state: Snapshot = field(repr=False)

    @property
    def iterations(self) -> int:
        return self.state.iteration

    @property
    def success(self) -> bool:
        return self.status in ("converged", "stationary")


def as_arrays(history: tuple[Info, ...]) -> dict[str, NDArray[Any]]:
    """Columns instead of rows; numbers that a step did not report are nan."""
    names = ["f", "kkt", "feas", "step_norm", "n_f", "n_g", "n_h", "accepted", "reason"]
    columns = {name: np.array([getattr(info, name) for info in history]) for name in names}
    own = sorted({name for info in history for name in info.extra})
    return columns | {name: np.array([info.extra.get(name, np.nan) for info in history]) for name in own}

"""What the hybrid minimises between two solves: the objective of a surrogate's state, made right at the anchor."""

from dataclasses import dataclass, field
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from operators.solver import FAILURES
from operators.surrogates import Surrogate
from pde.functional import StateProblem

Vector = NDArray[np.float64]
Correction = Literal["rank_one", "additive"]


@dataclass
class Model:
    """m(x) = J(u_hat(x) + shift + bend (c_1 . (x - x_k)), x), or with c_1 . (x - x_k) added to J.

    shift = u_k - u_hat(x_k) makes the value right at the anchor (an increment needs none). c_1, the difference of the
    true gradient and the model's, makes the gradient right; it grows with the step and is for the end game only. The
    rank-one form moves the state along dJ/du: it fades as the residual does and keeps the Gauss-Newton structure.
    Where dJ/du vanishes there is nothing to move along, and the additive form takes over.

    Args:
        x, u: the anchor and its solved state. gradient: dJ/dx there, or None: no correction of the gradient.
    """

    problem: StateProblem
    surrogate: Surrogate
    x: Vector
    u: Vector
    gradient: Vector | None = None
    correction: Correction = "rank_one"
    gradients: int = 0
    shift: Vector = field(init=False)
    slope: Vector = field(init=False)
    c1: Vector | None = field(init=False, default=None)

    def __post_init__(self) -> None:
        self.surrogate.anchor(self.x, self.u)
        guess, pull = self.surrogate.state(self.x)
        self.shift = self.u - guess
        Ju, Jx = self.problem.partials(self.u, self.x)
        self.slope = Jx + pull(Ju)
        size = float(Ju @ Ju)
        self._bend = Ju / size if size > 0 and self.correction == "rank_one" else None
        if self.gradient is not None:
            self.c1 = self.gradient - self.slope

    @property
    def cosine(self) -> float | None:
        """Between the model's gradient and the true one, None where that is not known; -1 where it is no number."""
        if self.gradient is None:
            return None
        size = float(np.linalg.norm(self.gradient) * np.linalg.norm(self.slope))
        if not np.isfinite(size):
            return -1.0
        return float(self.gradient @ self.slope) / size if size > 0 else 0.0

    def value(self, x: Vector) -> float:
        return self.value_grad(x)[0]

    def value_grad(self, x: Vector) -> tuple[float, Vector]:
        """m and dm/dx : (n,); infinite where the surrogate has no finite state."""
        self.gradients += 1
        try:
            return self._value_grad(x)
        except FAILURES:
            return np.inf, np.zeros_like(x)

    def _value_grad(self, x: Vector) -> tuple[float, Vector]:
        guess, pull = self.surrogate.state(x)
        u, along = guess + self.shift, 0.0
        if self.c1 is not None:
            along = float(self.c1 @ (x - self.x))
            if self._bend is not None:
                u = u + along * self._bend
        if not np.isfinite(u).all():
            return np.inf, np.zeros_like(x)
        J = self.problem.objective(u, x)
        Ju, Jx = self.problem.partials(u, x)
        slope = Jx + pull(Ju)
        if self.c1 is None:
            return J, slope
        if self._bend is None:
            return J + along, slope + self.c1
        return J, slope + float(Ju @ self._bend) * self.c1

"""A price on how fast a control changes with time.

    J(m) + price / 2 int |dm/dt|^2 dt,        the integral as  sum_n |m_(n+1) - m_n|^2 / dt

in the norm of the control's space (L2 unless `inner` said otherwise). Without it a control whose own price is low jumps
from step to step as the data do.
"""

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from optim.space import Euclidean, Hilbert, Weighted
from pde.fem.controls_in_time import InTime
from pde.fem.errors import FemError
from pde.fem.transient import Transient

Vector = NDArray[np.float64]


class SmoothInTime:
    """J with the price; a `pde.functional.TwiceReducedFunctional`.

    Args:
        J: with a control for each step.
        price: of int |dm/dt|^2 / 2, positive.

    Raises:
        FemError: the control is the same for all times, the price is not positive.
    """

    def __init__(self, J: Transient, price: float) -> None:
        steps = len(J.times)
        if not isinstance(J.space, InTime) or steps < 2:
            raise FemError("roughness in time needs a control for each of several steps: give per_step=True")
        if not price > 0:
            raise FemError(f"the price of roughness is {price}: give a positive number")
        self.J, self.price, self.space, self.x0 = J, price, J.space, J.x0
        self._steps, self._dt = steps, float(J.times[1] - J.times[0])
        self._mass = _mass(J.space)

    @property
    def n(self) -> int:
        """Numbers in x."""
        return self.J.n

    def roughness(self, x: Vector) -> float:
        """int |dm/dt|^2 dt."""
        return float(x @ self._pull(x))

    def value(self, x: Vector) -> float:
        """See `Transient.value`."""
        return self.J.value(x) + self.price / 2 * self.roughness(x)

    def value_grad(self, x: Vector) -> tuple[float, Vector]:
        """See `Transient.value_grad`."""
        f, df = self.J.value_grad(x)
        return f + self.price / 2 * self.roughness(x), df + self.price * self._pull(x)

    def hvp(self, x: Vector, v: Vector) -> Vector:
        """See `Transient.hvp`."""
        return self.J.hvp(x, v) + self.price * self._pull(v)

    def _pull(self, x: Vector) -> Vector:
        """Half the derivative of the roughness."""
        change = np.diff(x.reshape(self._steps, -1), axis=0) / self._dt
        slopes = np.array([self._mass(row) for row in change])
        flat = np.zeros_like(slopes[:1])
        return -np.diff(np.concatenate([flat, slopes, flat]), axis=0).ravel()


def _mass(space: InTime) -> Callable[[Vector], Vector]:
    """a -> M a for one time."""
    each = space.each
    if isinstance(each, Weighted):
        return lambda a: each.weights * a
    if isinstance(each, Hilbert):
        return each.apply
    assert isinstance(each, Euclidean)
    return lambda a: a

"""Which iterate is predicted from which: references from the same run, a few stored iterates away.

During training a reference is drawn anew in every epoch, the iterate itself included, which teaches the operator to
stay where nothing changes. In evaluation the iterate itself is left out: it would hand over the answer.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from operators.errors import OperatorError

Indices = NDArray[np.intp]


@dataclass(frozen=True)
class Pairs:
    """Pairs of samples.

    Args:
        run, place: (N,) of each sample: which run, and where in it.
        reach: references are at most so many places away.
        itself: whether a sample may be its own reference.
        seed: the same seed gives the same pairs.

    Raises:
        OperatorError: the reach is no positive number; a run has one iterate only and may not refer to itself.
    """

    run: Indices
    place: Indices
    reach: int = 3
    itself: bool = True
    seed: int = 0

    def __post_init__(self) -> None:
        if self.reach < 1:
            raise OperatorError(f"references are at most {self.reach} iterates away: give at least 1")
        if not self.itself and (self._near().sum(axis=1) == 0).any():
            raise OperatorError("a run has one iterate only: give runs of two or more, or allow self-reference")

    def epoch(self, number: int) -> tuple[Indices, Indices]:
        """All samples once, in new order, each with a reference drawn uniformly from those in reach."""
        rng = np.random.default_rng([self.seed, number])
        query = rng.permutation(len(self.run))
        return query, self._drawn(rng)[query]

    def fixed(self) -> tuple[Indices, Indices]:
        """All samples in order, with the references of evaluation: the same at every call."""
        return np.arange(len(self.run)), self._drawn(np.random.default_rng([self.seed]))

    def _near(self) -> NDArray[np.bool_]:
        near = (self.run[:, None] == self.run) & (np.abs(self.place[:, None] - self.place) <= self.reach)
        if not self.itself:
            np.fill_diagonal(near, False)
        return near

    def _drawn(self, rng: np.random.Generator) -> Indices:
        # The largest of uniform numbers is at a uniformly drawn place.
        return np.argmax(np.where(self._near(), rng.random((len(self.run), len(self.run))), -1.0), axis=1)


def square_turns(cells: int) -> Indices:
    """The eight symmetries of a square grid of (cells + 1)^2 nodes in `ij` order, (8, nodes): f[turns[k]] is f turned.

    The first is the identity.
    """
    number = np.arange((cells + 1) ** 2).reshape(cells + 1, cells + 1)
    turned = [np.rot90(flipped, k) for flipped in (number, number.T) for k in range(4)]
    return np.stack([t.ravel() for t in turned])

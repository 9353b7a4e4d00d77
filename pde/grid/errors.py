"""What can go wrong on a grid, in the words of the person who asked."""

from collections.abc import Sequence


class GridError(ValueError):
    """A question that has no answer on this grid: wrong shapes, no support, a modulus that is not a number."""


class SolverError(RuntimeError):
    """The linear solver did not reach its tolerance. The last iterate is not returned: it is not an answer.

    Attributes:
        residuals: relative residual after each iteration, as far as it came.
    """

    def __init__(self, message: str, residuals: Sequence[float] = ()) -> None:
        super().__init__(message)
        self.residuals = tuple(residuals)

    def of_case(self, case: int, count: int) -> "SolverError":
        """The same, and of which load case (from 0) if there are several: in words they are counted from 1."""
        return self if count == 1 else SolverError(f"load case {case + 1} of {count}: {self}", self.residuals)

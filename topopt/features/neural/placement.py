"""Where a feature lies, how large it is and how it is turned: the ranges, and the map that keeps free numbers in them.

    value = low + (high - low) sigmoid(w),      xi = Q(t) (x - o) / s

The published method optimises w without bounds. An optimiser that knows bounds, as the method of moving asymptotes
does, takes the values themselves: a sigmoid is flat near its ends, and a variable that got there hardly comes back.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit, logit

from topopt.features.errors import FeatureError

Field = NDArray[np.float64]

LOCAL = 1.0  # half the side of the square where the network is asked
OUTSIDE = 0.12  # of the domain's short side: how far an offset may leave it
SMALLEST = 3.0  # least scale, which is the base edge of a polygon, in element sizes
LARGEST = 1.5  # greatest scale, in short sides of the domain


@dataclass(frozen=True)
class Limits:
    """Ranges of offset (x and y), scale and rotation.

    Attributes:
        low, high: (4,) each; offset and scale in mm, rotation in radians.

    Raises:
        FeatureError: a range that is empty, or a scale that is not positive.
    """

    low: tuple[float, ...]
    high: tuple[float, ...]

    def __post_init__(self) -> None:
        if not (len(self.low) == len(self.high) == 4 and all(a < b for a, b in zip(self.low, self.high, strict=True))):
            raise FeatureError("limits of a placement: give four lows, each below its high (x, y, scale, rotation)")
        if self.low[2] <= 0:
            raise FeatureError(f"limits of a placement: the least scale is {self.low[2]:g} mm, it must be positive")

    @classmethod
    def of(cls, lower: Field, upper: Field, h: float) -> "Limits":
        """For a domain between the corners lower, upper (2,) in mm and elements of size h mm."""
        short = float((upper - lower).min())
        low, high = lower - OUTSIDE * short, upper + OUTSIDE * short
        least = min(SMALLEST * h, 0.5 * LARGEST * short)
        return cls((*low.tolist(), least, -np.pi), (*high.tolist(), LARGEST * short, np.pi))

    @property
    def bounds(self) -> tuple[Field, Field]:
        """low and high as arrays (4,)."""
        return np.array(self.low), np.array(self.high)


def bounded(free: Field, low: Field, high: Field) -> Field:
    """Values between low and high from any numbers; all of one shape."""
    return low + (high - low) * expit(free)


def free(value: Field, low: Field, high: Field) -> Field:
    """The inverse of `bounded`; values at a bound or beyond are drawn just inside."""
    share = np.clip((value - low) / (high - low), 1e-6, 1 - 1e-6)
    return logit(share)

"""The box on which mass is moved: a regular cell-centred grid in two or three dimensions."""

import math
from dataclasses import dataclass

from transport.errors import TransportError


@dataclass(frozen=True)
class Domain:
    """Omega = [0, L_1] x ... x [0, L_d], cut into n_1 x ... x n_d cells; mass sits at cell centres.

    Args:
        shape: (n_1, ..., n_d), d = 2 or 3, each at least 2.
        lengths: (L_1, ..., L_d). Default: square cells, the longest side has length 1.

    Raises:
        TransportError: another dimension, a side of fewer than two cells, a length that is not positive.
    """

    shape: tuple[int, ...]
    lengths: tuple[float, ...] = ()

    def __post_init__(self) -> None:
        object.__setattr__(self, "shape", tuple(int(n) for n in self.shape))
        if len(self.shape) not in (2, 3) or min(self.shape) < 2:
            raise TransportError(f"a density has two or three axes of at least two cells each, not shape {self.shape}")
        lengths = self.lengths or tuple(n / max(self.shape) for n in self.shape)
        if len(lengths) != len(self.shape) or not all(math.isfinite(a) and a > 0 for a in lengths):
            raise TransportError(f"lengths must be {len(self.shape)} positive numbers, not {self.lengths}")
        object.__setattr__(self, "lengths", tuple(float(a) for a in lengths))

    @property
    def dim(self) -> int:
        return len(self.shape)

    @property
    def size(self) -> int:
        """Number of cells."""
        return math.prod(self.shape)

    @property
    def steps(self) -> tuple[float, ...]:
        """Edge lengths of a cell."""
        return tuple(a / n for a, n in zip(self.lengths, self.shape, strict=True))

    def coarser(self) -> "Domain":
        """The same box with half as many cells along each axis, rounded up."""
        return Domain(tuple(max(2, (n + 1) // 2) for n in self.shape), self.lengths)

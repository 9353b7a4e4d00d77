"""What goes in: masses per cell, checked, brought to mean one, and the weights that go with them."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike, NDArray

from transport.domain import Domain
from transport.errors import TransportError

Field = NDArray[np.float64]

FLOATS_PER_CELL = 12
"""Numbers of eight bytes that an ascent holds per cell and measure, measured; three more per cell of its own."""


def as_density(values: ArrayLike, name: str = "the density") -> Field:
    """Values per cell as a density of mean one, float64.

    Raises:
        TransportError: not a number, negative, or without any mass.
    """
    try:
        density = np.array(values, np.float64)
    except (TypeError, ValueError) as error:
        raise TransportError(f"{name} is not an array of real numbers") from error
    if density.ndim not in (2, 3) or min(density.shape) < 2:
        raise TransportError(f"{name} has shape {density.shape}: two or three axes of at least two cells are needed")
    if not np.isfinite(density).all():
        raise TransportError(f"{name} holds values that are not finite (NaN or infinity): replace them first")
    if density.min() < 0:
        raise TransportError(f"{name} holds negative values (down to {density.min():.3g}): masses cannot be negative; shift or clip it first")  # fmt: skip  # noqa: E501
    largest = density.max()
    if largest == 0:
        raise TransportError(f"{name} has no mass: all its values are zero")
    density /= largest  # so that the sum of large values does not overflow
    density *= density.size / density.sum()
    return density


def as_stack(measures: Sequence[ArrayLike] | NDArray) -> Field:
    """Densities of the same shape, each of mean one: (m, n_1, ..., n_d).

    Raises:
        TransportError: none, different shapes, or one that is no density.
    """
    if len(measures) == 0:
        raise TransportError("no densities were given")
    densities = [as_density(mu, f"density {i + 1}") for i, mu in enumerate(measures)]
    for i, density in enumerate(densities):
        if density.shape != densities[0].shape:
            raise TransportError(
                f"density {i + 1} has shape {density.shape}, density 1 has {densities[0].shape}: "
                "resize them to one shape"
            )
    return np.stack(densities)


def as_weights(weights: ArrayLike | None, count: int) -> Field:
    """Weights of sum one. None: equal.

    Raises:
        TransportError: another number of them, negative, not finite, or all zero.
    """
    if weights is None:
        return np.full(count, 1 / count)
    try:
        w = np.array(weights, np.float64)
    except (TypeError, ValueError) as error:
        raise TransportError("the weights are not numbers") from error
    if w.shape != (count,):
        raise TransportError(f"{count} densities need {count} weights, not {w.size}")
    if not np.isfinite(w).all() or w.min() < 0:
        raise TransportError("weights must be finite and not negative")
    if w.sum() == 0:
        raise TransportError("the weights sum to zero: at least one must be positive")
    return w / w.sum()


def centroids(densities: Field, domain: Domain) -> Field:
    """Centres of mass: (m, d)."""
    out = np.empty((len(densities), domain.dim))
    for axis, (n, h) in enumerate(zip(domain.shape, domain.steps, strict=True)):
        others = tuple(a + 1 for a in range(domain.dim) if a != axis)
        out[:, axis] = densities.mean(axis=others) @ ((np.arange(n) + 0.5) * h) / n
    return out


def centroid_value(densities: Field, weights: Field, domain: Domain) -> float:
    """F_c = sum_i w_i 1/2 |c_i - c|^2, the part of the objective that the centroids alone decide."""
    c = centroids(densities, domain)
    return float(0.5 * weights @ ((c - weights @ c) ** 2).sum(axis=1))


def bytes_per_cell(measures: int) -> int:
    """Bytes that a solve needs for each cell of the grid."""
    return 8 * (FLOATS_PER_CELL * measures + 3)


def require_memory(measures: int, domain: Domain, available: float | None = None) -> None:
    """Refuse what would not fit.

    Args:
        available: bytes; default, what is free now.

    Raises:
        TransportError: says how much is needed and which size would fit.
    """
    if available is None:
        import psutil

        available = psutil.virtual_memory().available
    per_cell = bytes_per_cell(measures)
    needed = per_cell * domain.size
    if needed > available:
        side = int(max(domain.shape) * (available / needed) ** (1 / domain.dim))
        raise TransportError(
            f"{measures} densities of {' x '.join(map(str, domain.shape))} cells need {needed / 1e9:.1f} GB, but "
            f"{available / 1e9:.1f} GB are free: choose a size of at most {side}"
        )

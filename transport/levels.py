"""From fine to coarse and back: masses keep their mass, potentials keep their shape."""

from functools import lru_cache

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from transport.domain import Domain

Field = NDArray[np.float64]

COARSEST = 32
"""Cells along the longest axis of the first level, about."""


def hierarchy(domain: Domain, coarsest: int = COARSEST) -> tuple[Domain, ...]:
    """Grids of the same box, coarse to fine, each axis halved (rounded up) from one to the next."""
    levels = [domain]
    while max(levels[-1].shape) >= 2 * coarsest and min(levels[-1].shape) >= 8:
        levels.append(levels[-1].coarser())
    return tuple(reversed(levels))


def resample(densities: Field, domain: Domain) -> Field:
    """Mean densities on another grid of the same box, by overlap of the cells.

    Args:
        densities: (m, n_1, ..., n_d).
        domain: the grid to go to, coarser or finer.
    """
    out = densities
    for axis, n in enumerate(domain.shape, start=1):
        out = _along(out, axis, _overlap(out.shape[axis], n))
    return np.ascontiguousarray(out)


def interpolate(f: Field, domain: Domain) -> Field:
    """Potentials on another grid of the same box: linear between cell centres, constant beyond the outermost.

    Args:
        f: (m, n_1, ..., n_d).
    """
    out = f
    for axis, n in enumerate(domain.shape, start=1):
        out = _along(out, axis, _linear(out.shape[axis], n))
    return np.ascontiguousarray(out)


def places(domain: Domain) -> list[Field]:
    """Coordinates of the cell centres, one array (n_1, ..., n_d) per axis."""
    axes = [(np.arange(n) + 0.5) * h for n, h in zip(domain.shape, domain.steps, strict=True)]
    return [np.asarray(x, np.float64) for x in np.meshgrid(*axes, indexing="ij")]


def _along(a: Field, axis: int, matrix: sp.csr_matrix | None) -> Field:
    if matrix is None:
        return a
    moved = np.moveaxis(a, axis, 0)
    flat = matrix @ np.ascontiguousarray(moved).reshape(moved.shape[0], -1)
    return np.moveaxis(flat.reshape(-1, *moved.shape[1:]), 0, axis)


@lru_cache(maxsize=16)
def _overlap(n: int, m: int) -> sp.csr_matrix | None:
    """(m, n): which part of each of the m cells each of the n cells covers. None if nothing changes."""
    if n == m:
        return None
    edges = np.union1d(np.arange(n + 1) * m, np.arange(m + 1) * n)  # in units in which the side is n m long
    middles, widths = (edges[1:] + edges[:-1]) / 2, np.diff(edges)
    places = ((middles // n).astype(int), (middles // m).astype(int))
    return sp.csr_matrix(sp.coo_matrix((widths / n, places), shape=(m, n)))


@lru_cache(maxsize=16)
def _linear(n: int, m: int) -> sp.csr_matrix | None:
    if n == m:
        return None
    at = np.clip((np.arange(m) + 0.5) * n / m - 0.5, 0, n - 1)
    left = np.minimum(at.astype(int), n - 2)
    right_share = at - left
    rows = np.arange(m)
    entries = (np.r_[1 - right_share, right_share], (np.r_[rows, rows], np.r_[left, left + 1]))
    return sp.csr_matrix(sp.coo_matrix(entries, shape=(m, n)))

"""The sweeps over memory between the transforms, each fused into one pass: they would otherwise cost as much.

Stacks are (m, cells), weights (m,). Every cell is independent of the others, so threads take ranges of cells.
"""

import numpy as np
from numba import njit
from numpy.typing import NDArray

from transport.threads import run_blocks

Field = NDArray[np.float64]
GRAIN = 1024


def _on_cells(kernel, cells: int, m: int, threads: int, *arguments) -> None:
    def work(a: int, b: int) -> None:
        kernel(a * GRAIN, min(b * GRAIN, cells), *arguments)

    run_blocks(work, -(-cells // GRAIN), cells * m, threads)


def extrapolate(f: Field, previous: Field, beta: float, out: Field, threads: int) -> None:
    """out = f + beta (f - previous)."""
    m, cells = len(f), f[0].size
    flat = (a.reshape(m, cells) for a in (f, previous, out))
    _on_cells(_extrapolate, cells, m, threads, *flat, beta)


def recentre(f: Field, weights: Field, threads: int) -> None:
    """f_i -= sum_k w_k f_k, in place: the same for all i, so that the weighted sum is zero afterwards."""
    m, cells = len(f), f[0].size
    _on_cells(_recentre, cells, m, threads, f.reshape(m, cells), weights)


def mean_and_differences(images: Field, weights: Field, mean: Field, out: NDArray, threads: int) -> None:
    """mean = sum_i w_i R_i, out_i = mean - R_i."""
    m, cells = len(images), images[0].size
    arrays = images.reshape(m, cells), weights, mean.reshape(cells), out.reshape(m, cells)
    _on_cells(_mean_and_differences, cells, m, threads, *arrays)


def climb(f: Field, gradient: NDArray, step: float, out: Field, threads: int) -> None:
    """out = f + step gradient."""
    m, cells = len(f), f[0].size
    flat = (a.reshape(m, cells) for a in (f, gradient, out))
    _on_cells(_climb, cells, m, threads, *flat, step)


def means_of_products(a: Field, b: Field, threads: int) -> Field:
    """mean over the cells of a_i b_i : (m,). Sums of chunks of fixed length, so that the bits are always the same."""
    m, cells = len(a), a[0].size
    partial = np.zeros((m, -(-cells // GRAIN)))
    _on_cells(_partial_dots, cells, m, threads, a.reshape(m, cells), b.reshape(m, cells), partial)
    return partial.sum(axis=1) / cells


@njit(nogil=True, cache=True)
def _extrapolate(start, stop, f, previous, out, beta):
    for i in range(len(f)):
        for x in range(start, stop):
            out[i, x] = f[i, x] + beta * (f[i, x] - previous[i, x])


@njit(nogil=True, cache=True)
def _recentre(start, stop, f, weights):
    mean = np.empty(GRAIN)
    for first in range(start, stop, GRAIN):
        width = min(GRAIN, stop - first)
        mean[:] = 0
        for i in range(len(f)):
            for x in range(width):
                mean[x] += weights[i] * f[i, first + x]
        for i in range(len(f)):
            for x in range(width):
                f[i, first + x] -= mean[x]


@njit(nogil=True, cache=True)
def _mean_and_differences(start, stop, images, weights, mean, out):
    for first in range(start, stop, GRAIN):
        last = min(first + GRAIN, stop)
        mean[first:last] = 0
        for i in range(len(images)):
            for x in range(first, last):
                mean[x] += weights[i] * images[i, x]
        for i in range(len(images)):
            for x in range(first, last):
                out[i, x] = mean[x] - images[i, x]


@njit(nogil=True, cache=True)
def _climb(start, stop, f, gradient, out, step):
    for i in range(len(f)):
        for x in range(start, stop):
            out[i, x] = f[i, x] + step * gradient[i, x]


@njit(nogil=True, cache=True)
def _partial_dots(start, stop, a, b, partial):
    for i in range(len(a)):
        for first in range(start, stop, GRAIN):
            total = 0.0
            for x in range(first, min(first + GRAIN, stop)):
                total += a[i, x] * b[i, x]
            partial[i, first // GRAIN] = total

"""The c-transform of quadratic cost, exact on the grid and in linear time: the Legendre transform line by line.

    f^c(y) = min_x  1/2 |x - y|^2 - f(x)          x, y over the cell centres

With u(x) = 1/2 x^2 - f(x) this is 1/2 y^2 - u*(y), u* the convex conjugate (Brenier 1991). The squared distance is a
sum over axes, so the minimum is taken along one axis after the other (Lucet 1997; Felzenszwalb and Huttenlocher 2012),
and each line needs one pass for the lower convex hull of u and one for the minimisers, which move only forwards.

Being an exact minimum over the grid points, it makes every dual value a rigorous bound for the discrete problem.
"""

import math

import numpy as np
from numba import int64, njit, uint64
from numpy.typing import NDArray

from transport.errors import TransportError
from transport.threads import run_blocks

Field = NDArray[np.float64]

LINES = 16
"""Lines across the memory order that are copied together: one cache line holds eight of them."""


def c_transform(f: Field, steps: tuple[float, ...], *, out: Field | None = None, threads: int = 1) -> Field:
    """f^c of every potential of a stack.

    Args:
        f: (..., n_1, ..., n_d) float64, contiguous; the axes before the last d are a stack.
        steps: (h_1, ..., h_d), edge lengths of a cell.
        out: where to write; must not be `f`.

    Returns:
        f^c, same shape as `f`. The bits do not depend on `threads`.
    """
    out = np.empty_like(f) if out is None else out
    source, sign = f, 1.0
    for axis in reversed(range(len(steps))):
        k = f.ndim - len(steps) + axis
        view = (math.prod(f.shape[:k]), f.shape[k], math.prod(f.shape[k + 1 :]))
        _along(source.reshape(view), out.reshape(view), steps[axis], sign, threads)
        source, sign = out, -1.0  # the next axis minimises over what this one left, so its f is minus that
    return out


def legendre(u: Field, steps: tuple[float, ...], *, threads: int = 1) -> Field:
    """Convex conjugate u*(p) = max_x p x - u(x), x and p over the cell centres (j + 1/2) h.

    Args:
        u: (n_1, ..., n_d), finite.

    Raises:
        TransportError: values that are not finite.
    """
    u = np.ascontiguousarray(u, np.float64)
    if not np.isfinite(u).all():
        raise TransportError("the function to be conjugated must be finite everywhere")
    half = half_square(u.shape, steps)
    return half - c_transform(half - u, steps, threads=threads)


def half_square(shape: tuple[int, ...], steps: tuple[float, ...]) -> Field:
    """1/2 |x|^2 at the cell centres."""
    squares = [0.5 * ((np.arange(n) + 0.5) * h) ** 2 for n, h in zip(shape, steps, strict=True)]
    return sum(np.meshgrid(*squares, indexing="ij"))  # type: ignore[return-value]


def _along(source: Field, out: Field, step: float, sign: float, threads: int) -> None:
    outer, n, inner = source.shape
    h2 = step * step
    if inner == 1:
        rows, results = source.reshape(outer, n), out.reshape(outer, n)
        run_blocks(lambda a, b: _rows(rows, results, h2, sign, a, b), outer, source.size, threads)
    else:
        groups = outer * -(-inner // LINES)
        run_blocks(lambda a, b: _columns(source, out, h2, sign, a, b), groups, source.size, threads)


@njit(nogil=True, cache=True, error_model="numpy")
def _rows(source, out, h2, sign, start, stop):
    n = source.shape[1]
    f, u, slope = np.empty(n), np.empty(n), np.empty(n + 1)
    hull, count = np.empty(n + 1, np.uint32), np.empty(n + 1, np.uint32)
    for r in range(start, stop):
        for i in range(n):
            f[i] = sign * source[r, i]
        _line(f, n, h2, u, slope, hull, count, out[r])


@njit(nogil=True, cache=True, error_model="numpy")
def _columns(source, out, h2, sign, start, stop):
    n, inner = source.shape[1], source.shape[2]
    groups = -(-inner // LINES)
    # Eight values more than a line: a stride of a power of two would map all lines to the same places of the cache.
    f, result = np.empty((LINES, n + 8)), np.empty((LINES, n + 8))
    u, slope = np.empty(n), np.empty(n + 1)
    hull, count = np.empty(n + 1, np.uint32), np.empty(n + 1, np.uint32)
    for g in range(start, stop):
        o, first = g // groups, (g % groups) * LINES
        width = min(LINES, inner - first)
        for i in range(n):
            for c in range(width):
                f[c, i] = sign * source[o, i, first + c]
        for c in range(width):
            _line(f[c], n, h2, u, slope, hull, count, result[c])
        for i in range(n):
            for c in range(width):
                out[o, i, first + c] = result[c, i]


@njit(nogil=True, cache=True, error_model="numpy")
def _line(f, n, h2, u, slope, hull, count, out):
    """out[j] = min_i h2/2 (i - j)^2 - f[i]. Unsigned indices spare the test for negative ones.

    hull[k] is the k-th vertex of the lower hull of u, slope[k] the slope of the edge that ends there, in units in which
    neighbours are 1 apart: vertex k is the minimiser for slope[k] <= j < slope[k+1]. Counting the edges whose slope
    lies below j gives k without a search.
    """

    one, scale = uint64(1), 1.0 / h2
    for i in range(n):
        u[uint64(i)] = 0.5 * i * i - f[uint64(i)] * scale
        count[uint64(i)] = 0
    count[uint64(n)] = 0
    top, last, u_last, steepest = uint64(0), uint64(0), u[0], -np.inf
    hull[0] = 0
    slope[0] = -np.inf
    for ii in range(1, n):
        i = uint64(ii)
        u_i = u[i]
        d = u_i - u_last
        if last + one != i:
            d /= int64(i) - int64(last)
        while d <= steepest:
            top -= one
            last = uint64(hull[top])
            u_last, steepest = u[last], slope[top]
            d = (u_i - u_last) / (int64(i) - int64(last))
        top += one
        hull[top] = i
        slope[top] = d
        last, u_last, steepest = i, u_i, d
    for m in range(1, top + one):
        place = min(max(np.ceil(slope[uint64(m)]), 0.0), n * 1.0)
        count[uint64(int64(place))] += 1
    k = uint64(0)
    for j in range(n):
        k += uint64(count[uint64(j)])
        q = uint64(hull[k])
        away = int64(q) - j
        out[uint64(j)] = 0.5 * h2 * (away * away) - f[q]

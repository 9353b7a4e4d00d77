"""The c-transform on many lines at once: the minimisers of coarse positions enclose those of the finer ones.

On a line,  f^c_j = min_i C_ij,  C_ij = h^2/2 (i - j)^2 - f_i,  and for i < i', j < j'

    C_ij' + C_i'j - C_ij - C_i'j' = h^2 (i' - i)(j' - j) >= h^2,

so the minimisers i(j) do not go back (Aggarwal, Klawe, Moran, Shor and Wilber 1987 call such a matrix totally
monotone). Row 0 is searched whole; then rows n/2; then n/4, 3n/4; ... each only between the minimisers of its two
neighbours, together at most n + (number of rows) candidates per line and level, log2 n levels. All lines and rows of a
level are one segmented minimum, which suits a GPU; the result does not depend on the order of its threads.

The minimum found is that of the computed C_ij to the last bit: rounding errs by less than e = 2^-52 max |C|, so a
minimiser of the computed row j and one of row j' could only be in the wrong order if h^2 <= 4 e, and h^2 is some 1e-8.
"""

import math

import torch
from torch import Tensor

CANDIDATES = 1 << 24
"""Entries that one call of the segmented minimum may hold, about: 0.6 GB of working memory."""


def c_transform(f: Tensor, steps: tuple[float, ...]) -> Tensor:
    """f^c of every potential of a stack, (..., n_1, ..., n_d) float64, as `transport.legendre.c_transform`."""
    out, sign = f, 1.0
    for axis in reversed(range(len(steps))):
        dim = f.ndim - len(steps) + axis
        lines = (sign * out).movedim(dim, -1)
        moved = lines.shape
        out = _minima(lines.reshape(-1, moved[-1]), steps[axis] ** 2).reshape(moved).movedim(-1, dim).contiguous()
        sign = -1.0  # the next axis minimises over what this one left, so its f is minus that
    return out


def _minima(f: Tensor, h2: float) -> Tensor:
    """min_i h^2/2 (i - j)^2 - f_i for every line of (lines, n)."""
    n = f.shape[1]
    block = max(1, CANDIDATES // (2 * n))
    return torch.cat([_block(part, h2) for part in f.split(block)])


def _block(f: Tensor, h2: float) -> Tensor:
    lines, n = f.shape
    out, places = torch.empty_like(f), torch.empty((lines, n), dtype=torch.int64, device=f.device)
    i = torch.arange(n, device=f.device)
    first = 0.5 * h2 * (i * i).double() - f
    # The first of equal minima, as in the rows below.
    out[:, 0], places[:, 0] = first.min(1)
    stride = 1 << max(0, math.ceil(math.log2(n)))
    while stride > 1:
        half = stride // 2
        rows = torch.arange(half, n, stride, device=f.device)
        if len(rows):
            low = places[:, rows - half]
            above = rows + half
            high = places[:, above.clamp(max=n - 1)].where(above < n, n - 1)
            out[:, rows], places[:, rows] = _between(f, rows, low, high, h2)
        stride = half
    return out


def _between(f: Tensor, rows: Tensor, low: Tensor, high: Tensor, h2: float) -> tuple[Tensor, Tensor]:
    """The least C_ij, low <= i <= high, of these rows of every line, and the first i that has it."""
    lines, n = f.shape
    count = (high - low + 1).flatten()
    segments = torch.arange(len(count), device=f.device)
    owner = segments.repeat_interleave(count)
    begin = count.cumsum(0) - count
    i = torch.arange(len(owner), device=f.device) - (begin - low.flatten())[owner]
    away = i - rows.repeat(lines)[owner]
    line = owner // len(rows)
    values = 0.5 * h2 * (away * away).double() - f.reshape(-1)[line * n + i]
    least = torch.full((len(count),), math.inf, dtype=f.dtype, device=f.device)
    least.scatter_reduce_(0, owner, values, "amin")
    place = torch.full((len(count),), n - 1, dtype=torch.int64, device=f.device)
    place.scatter_reduce_(0, owner, i.where(values == least[owner], n - 1), "amin")
    return least.view(lines, -1), place.view(lines, -1)

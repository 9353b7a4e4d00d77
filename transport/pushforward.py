"""Moving mass along a gradient map, conservatively.

A potential f moves x to T(x) = x - grad f(x). T is taken at the cell corners, from the 2^d cells that share the corner.
No difference reaches across a face of the box, so its image is extrapolated from the two rows of corners next to it,
and where that lies within a cell of the face, the face stays: f = 0 is the identity, exactly, up to the border.

Between its corners a cell is mapped (bi/tri)linearly. It is cut into as many pieces as its image is cells long, and
each piece lays its mass down as a box of the size of its image, shared among the cells that it overlaps. Uniformly
stretched mass thus stays uniform: depositing points instead (Jacobs and Leger 2020) leaves a moire pattern.
"""

import numpy as np
from numba import njit, uint64
from numpy.typing import NDArray

from transport.domain import Domain
from transport.threads import run_blocks

Field = NDArray[np.float64]

STRIPS = 2
"""Accumulators per measure. Fixed, so that sums have the same order on any number of threads."""
MOST_PIECES = 128
"""Pieces of a cell along one axis at most; a longer image is laid down with gaps."""
TIE = 1e-9
"""Cells by which a place may miss a border and still lie on it. Slopes of discrete conjugates are multiples of a cell,
so that without it the last bit would decide, and every processor would decide differently."""


def push(f: Field, mu: Field, domain: Domain, *, out: Field | None = None, threads: int = 1) -> tuple[Field, Field]:
    """(id - grad f)_# mu for every pair of a stack.

    Args:
        f: (m, n_1, ..., n_d), potentials; zero is the identity.
        mu: (m, n_1, ..., n_d), masses per cell, not negative.

    Returns:
        the moved masses, same shape, each with the mass of its source to rounding, and the cost of the plan that
        was carried out, mean over the cells of mass 1/2 |x - y|^2 : (m,). It is an upper bound of half the squared
        Wasserstein distance between mu and what it was moved to.
    """
    m, shape = len(f), domain.shape
    out = np.empty_like(f) if out is None else out
    f3, mu3 = (np.ascontiguousarray(a).reshape(m, *shape) for a in (f, mu))
    kernel = _push2 if domain.dim == 2 else _push3
    steps = np.array(domain.steps)
    strips = STRIPS if domain.size >= 16_384 else 1
    cuts = _cuts(mu3, strips)
    parts = np.zeros((strips - 1, m, *shape))
    out[...] = 0
    costs = np.zeros((m, strips))

    def work(start: int, stop: int) -> None:
        for task in range(start, stop):
            i, s = task // strips, task % strips
            target = out[i] if s == 0 else parts[s - 1, i]
            costs[i, s] = kernel(f3[i], mu3[i], steps, target, cuts[i, s], cuts[i, s + 1])

    run_blocks(work, m * strips, f.size, threads)
    for part in parts:
        run_blocks(lambda a, b, part=part: np.add(out[a:b], part[a:b], out=out[a:b]), m, f.size, threads)
    return out, costs.sum(axis=1) / domain.size


def corner_map(f: Field, domain: Domain) -> Field:
    """T = id - grad f at the corners of the cells. f : (n_1, ..., n_d) -> (n_1 + 1, ..., n_d + 1, d), in lengths."""
    steps = np.array(domain.steps)
    out = np.empty((*(n + 1 for n in domain.shape), domain.dim))
    for i in range(domain.shape[0] + 1):
        if domain.dim == 2:
            _corners2(f, i, 1 / steps[0] ** 2, 1 / steps[1] ** 2, out[i, :, 0], out[i, :, 1])
        else:
            _corners3(f, i, 1 / steps**2, out[i])
    return out * steps


def _cuts(mu: Field, strips: int) -> NDArray[np.int64]:
    """First row of every strip of every measure, (m, strips + 1), so that strips hold equally many occupied cells."""
    rows = np.count_nonzero(mu.reshape(*mu.shape[:2], -1), axis=2).cumsum(axis=1)
    cuts = np.zeros((len(mu), strips + 1), np.int64)
    for s in range(1, strips):
        cuts[:, s] = (rows < rows[:, -1:] * s / strips).sum(axis=1)
    cuts[:, -1] = mu.shape[1]
    return cuts


@njit(nogil=True, cache=True, error_model="numpy", inline="always")
def _face(first, second):
    """Where a face goes, from the corners one and two cells inside; all distances from the face, in cells."""
    place = min(max(2 * first - second, 0.0), first)
    return place if place > 1 + TIE else 0.0


@njit(nogil=True, cache=True, error_model="numpy", inline="always")
def _across2(f, i, left, right, scale):
    """First component of the map at an interior row of corners, in cells."""
    n = f.shape[0]
    step = (f[i, left] - f[i - 1, left]) + (f[i, right] - f[i - 1, right])
    return min(max(i - 0.5 * scale * step, 0.0), float(n))


@njit(nogil=True, cache=True, error_model="numpy")
def _corners2(f, i, scale0, scale1, x, y):
    """Row i of the corner map, in cells: x[j], y[j], j = 0..n_2."""
    n0, n1 = f.shape
    up, down = max(i - 1, 0), min(i, n0 - 1)
    for j in range(n1 + 1):
        left, right = max(j - 1, 0), min(j, n1 - 1)
        step = (f[up, right] - f[up, left]) + (f[down, right] - f[down, left])
        y[j] = min(max(j - 0.5 * scale1 * step, 0.0), float(n1))
        if 0 < i < n0:
            x[j] = _across2(f, i, left, right, scale0)
        elif i == 0:
            x[j] = _face(_across2(f, 1, left, right, scale0), _across2(f, min(2, n0 - 1), left, right, scale0))
        else:
            first, second = (
                n0 - _across2(f, n0 - 1, left, right, scale0),
                n0 - _across2(f, max(n0 - 2, 1), left, right, scale0),
            )
            x[j] = n0 - _face(first, second)
    y[0] = _face(y[1], y[min(2, n1 - 1)])
    y[n1] = n1 - _face(n1 - y[n1 - 1], n1 - y[max(n1 - 2, 1)])


@njit(nogil=True, cache=True, error_model="numpy", inline="always")
def _pieces(length):
    """Into how many pieces an edge is cut whose image is `length` cells long."""
    return min(max(int(np.ceil(length - TIE)), 1), MOST_PIECES)


@njit(nogil=True, cache=True, error_model="numpy", inline="always")
def _share(centre, width, n):
    """A box of this width (at most one cell) around `centre`: the cell where it begins, and its share of the box."""
    width = min(width, 1.0)
    low = max(centre - 0.5 * width, 0.0)
    cell = min(int(low + TIE), n - 1)
    inside = cell + 1 - low
    if cell == n - 1 or inside >= width:
        return cell, 1.0
    return cell, inside / width


@njit(nogil=True, cache=True, error_model="numpy")
def _push2(f, mu, steps, out, start, stop):
    n0, n1 = f.shape
    one = uint64(1)
    scale0, scale1 = 1 / steps[0] ** 2, 1 / steps[1] ** 2
    x, y, u, v = np.empty(n1 + 1), np.empty(n1 + 1), np.empty(n1 + 1), np.empty(n1 + 1)
    cost0 = cost1 = 0.0
    _corners2(f, start, scale0, scale1, u, v)
    for i in range(start, stop):
        x, y, u, v = u, v, x, y
        _corners2(f, i + 1, scale0, scale1, u, v)
        for j in range(n1):
            mass = mu[i, j]
            if mass == 0:
                continue
            # Edges of the image along the first axis at j and j + 1, then along the second at i and i + 1.
            left0, right0, left1, right1 = u[j] - x[j], u[j + 1] - x[j + 1], v[j] - y[j], v[j + 1] - y[j + 1]
            up0, down0, up1, down1 = x[j + 1] - x[j], u[j + 1] - u[j], y[j + 1] - y[j], v[j + 1] - v[j]
            k0 = _pieces(max(max(abs(left0), abs(right0)), max(abs(left1), abs(right1))))
            k1 = _pieces(max(max(abs(up0), abs(down0)), max(abs(up1), abs(down1))))
            r0, r1 = 1.0 / k0, 1.0 / k1
            part = mass * (r0 * r1)
            for p in range(k0):
                s = (p + 0.5) * r0
                width1 = abs(up1 + s * (down1 - up1)) * r1
                x0, dx = x[j] + s * left0, up0 + s * (down0 - up0)
                y0, dy = y[j] + s * left1, up1 + s * (down1 - up1)
                for q in range(k1):
                    t = (q + 0.5) * r1
                    row, a = _share(x0 + t * dx, abs(left0 + t * (right0 - left0)) * r0, n0)
                    column, b = _share(y0 + t * dy, width1, n1)
                    r, c, top, low = uint64(row), uint64(column), part * a, part - part * a
                    across = top * b
                    out[r, c] += across
                    if b < 1:
                        out[r, c + one] += top - across
                    if a < 1:
                        across = low * b
                        out[r + one, c] += across
                        if b < 1:
                            out[r + one, c + one] += low - across
                    away0, away1 = row - i, column - j
                    cost0 += part * (away0 * away0) + low * (2 * away0 + 1)
                    cost1 += part * (away1 * away1) + part * (1 - b) * (2 * away1 + 1)
    return 0.5 * (cost0 * steps[0] ** 2 + cost1 * steps[1] ** 2)


@njit(nogil=True, cache=True, error_model="numpy")
def _interior3(f, i, j, k, axis, scale):
    """One component of the map at a corner that is not on a face of that axis, in cells."""
    n0, n1, n2 = f.shape
    up, down = max(i - 1, 0), min(i, n0 - 1)
    left, right = max(j - 1, 0), min(j, n1 - 1)
    back, front = max(k - 1, 0), min(k, n2 - 1)
    a, b, c, d = f[up, left, back], f[up, left, front], f[up, right, back], f[up, right, front]
    e, g, p, q = f[down, left, back], f[down, left, front], f[down, right, back], f[down, right, front]
    if axis == 0:
        place, step, n = i, (e - a) + (g - b) + (p - c) + (q - d), n0
    elif axis == 1:
        place, step, n = j, (c - a) + (d - b) + (p - e) + (q - g), n1
    else:
        place, step, n = k, (b - a) + (d - c) + (g - e) + (q - p), n2
    return min(max(place - 0.25 * scale[axis] * step, 0.0), float(n))


@njit(nogil=True, cache=True, error_model="numpy")
def _corners3(f, i, scale, where):
    """Layer i of the corner map, in cells: where[j, k, :], j = 0..n_2, k = 0..n_3."""
    n0, n1, n2 = f.shape
    for j in range(n1 + 1):
        for k in range(n2 + 1):
            if i == 0:
                second = _interior3(f, min(2, n0 - 1), j, k, 0, scale)
                where[j, k, 0] = _face(_interior3(f, 1, j, k, 0, scale), second)
            elif i == n0:
                second = n0 - _interior3(f, max(n0 - 2, 1), j, k, 0, scale)
                where[j, k, 0] = n0 - _face(n0 - _interior3(f, n0 - 1, j, k, 0, scale), second)
            else:
                where[j, k, 0] = _interior3(f, i, j, k, 0, scale)
            if 0 < j < n1:
                where[j, k, 1] = _interior3(f, i, j, k, 1, scale)
            if 0 < k < n2:
                where[j, k, 2] = _interior3(f, i, j, k, 2, scale)
        where[j, 0, 2] = _face(where[j, 1, 2], where[j, min(2, n2 - 1), 2])
        where[j, n2, 2] = n2 - _face(n2 - where[j, n2 - 1, 2], n2 - where[j, max(n2 - 2, 1), 2])
    for k in range(n2 + 1):
        where[0, k, 1] = _face(where[1, k, 1], where[min(2, n1 - 1), k, 1])
        where[n1, k, 1] = n1 - _face(n1 - where[n1 - 1, k, 1], n1 - where[max(n1 - 2, 1), k, 1])


@njit(nogil=True, cache=True, error_model="numpy")
def _push3(f, mu, steps, out, start, stop):
    _, n1, n2 = f.shape
    scale = 1 / steps**2
    lower, upper = np.empty((n1 + 1, n2 + 1, 3)), np.empty((n1 + 1, n2 + 1, 3))
    cost = np.zeros(3)
    coefficient = np.empty((8, 3))
    _corners3(f, start, scale, upper)
    for i in range(start, stop):
        lower, upper = upper, lower
        _corners3(f, i + 1, scale, upper)
        for j in range(n1):
            for k in range(n2):
                if mu[i, j, k] > 0:
                    _trilinear(lower, upper, j, k, coefficient)
                    _lay_down3(coefficient, mu[i, j, k], i, j, k, out, cost)
    return 0.5 * (cost[0] * steps[0] ** 2 + cost[1] * steps[1] ** 2 + cost[2] * steps[2] ** 2)


@njit(nogil=True, cache=True, error_model="numpy")
def _trilinear(lower, upper, j, k, t):
    """Coefficients of 1, r, s, q, rs, rq, sq, rsq of the image of a cell, r, s, q in [0, 1]."""
    for c in range(3):
        o, z, y, yz = lower[j, k, c], lower[j, k + 1, c], lower[j + 1, k, c], lower[j + 1, k + 1, c]
        x, xz, xy, xyz = upper[j, k, c], upper[j, k + 1, c], upper[j + 1, k, c], upper[j + 1, k + 1, c]
        t[0, c], t[1, c], t[2, c], t[3, c] = o, x - o, y - o, z - o
        t[4, c], t[5, c], t[6, c] = xy - x - y + o, xz - x - z + o, yz - y - z + o
        t[7, c] = xyz - xy - xz - yz + x + y + z - o


@njit(nogil=True, cache=True, error_model="numpy", inline="always")
def _longest(t, along, first, second):
    """Longest component of the four edges along one axis; `first` and `second` are its mixed coefficients."""
    longest = 0.0
    for c in range(3):
        edge, a, b = t[along, c], t[first, c], t[second, c]
        longest = max(longest, max(abs(edge), abs(edge + a)))
        longest = max(longest, max(abs(edge + b), abs(edge + a + b + t[7, c])))
    return longest


@njit(nogil=True, cache=True, error_model="numpy")
def _lay_down3(t, mass, i, j, k, out, cost):
    n0, n1, n2 = out.shape
    k0, k1, k2 = _pieces(_longest(t, 1, 4, 5)), _pieces(_longest(t, 2, 4, 6)), _pieces(_longest(t, 3, 5, 6))
    part = mass / (k0 * k1 * k2)
    for n in range(k0 * k1 * k2):
        r, s, q = (n // (k1 * k2) + 0.5) / k0, (n // k2 % k1 + 0.5) / k1, (n % k2 + 0.5) / k2
        z0, z1, z2 = t[0, 0], t[0, 1], t[0, 2]
        for m, power in enumerate((r, s, q, r * s, r * q, s * q, r * s * q)):
            z0, z1, z2 = z0 + power * t[m + 1, 0], z1 + power * t[m + 1, 1], z2 + power * t[m + 1, 2]
        w0 = abs(t[1, 0] + s * t[4, 0] + q * t[5, 0] + s * q * t[7, 0]) / k0
        w1 = abs(t[2, 1] + r * t[4, 1] + q * t[6, 1] + r * q * t[7, 1]) / k1
        w2 = abs(t[3, 2] + r * t[5, 2] + s * t[6, 2] + r * s * t[7, 2]) / k2
        a, fa = _share(z0, w0, n0)
        b, fb = _share(z1, w1, n1)
        c, fc = _share(z2, w2, n2)
        for da in range(2):
            share_a = part * (1 - fa if da else fa)
            for db in range(2):
                share_b = share_a * (1 - fb if db else fb)
                for dc in range(2):
                    share = share_b * (1 - fc if dc else fc)
                    if share > 0:
                        out[a + da, b + db, c + dc] += share
        cost[0] += part * (fa * (a - i) ** 2 + (1 - fa) * (a + 1 - i) ** 2)
        cost[1] += part * (fb * (b - j) ** 2 + (1 - fb) * (b + 1 - j) ** 2)
        cost[2] += part * (fc * (c - k) ** 2 + (1 - fc) * (c + 1 - k) ** 2)

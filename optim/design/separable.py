"""The sums of `subproblem` in one pass over the variables, compiled for NumPy arrays.

Each block of variables adds up for itself and the blocks are added in order, so the bits do not depend on threads.
"""

from typing import Any

import numba
import numpy as np
from numba import prange

from optim.arrays import Host

BLOCK = 4096
ALONE = 8 * BLOCK  # up to so many variables one thread is done before others have woken up


def dual(weights: Host, *arguments: Any) -> tuple[Host, Host]:
    """g_i = sum_j p_ij/(U - x) + q_ij/(x - L) at x(lam), (m,), and sum_free h h^T / w, (m, m)."""
    m, n = arguments[1].shape
    parts = _fitting(_dual, n)(weights, *arguments, -(-n // BLOCK))
    total = parts.sum(axis=0)
    return total[:m], total[m:].reshape(m, m)


def sums(*arguments: Any) -> Host:
    """The same g, at the x where the approximation touches."""
    n = arguments[1].shape[1]
    return _fitting(_touching, n)(*arguments, -(-n // BLOCK)).sum(axis=0)


def primal(weights: Host, *arguments: Any) -> Host:
    """x(lam), (n,)."""
    out = np.empty_like(arguments[0])
    _fitting(_primal, out.size)(weights, *arguments, out, -(-out.size // BLOCK))
    return out


@numba.njit(inline="always")
def _both(weights, df, J, j, flat_0, flats, width):  # pragma: no cover (compiled)
    """Coefficients of P/(U - x) and Q/(x - L) without their squared distances."""
    g = df[j]
    a, b = max(g, 0.0), max(-g, 0.0)
    flat = flat_0
    for i in range(J.shape[0]):
        w, g = weights[i + 1], J[i, j]
        a += w * max(g, 0.0)
        b += w * max(-g, 0.0)
        flat += w * flats[i + 1]
    flat /= width[j]
    return 1.001 * a + 0.001 * b + flat, 0.001 * a + 1.001 * b + flat


@numba.njit(parallel=True, cache=True)
def _primal(weights, df, J, x, low, upp, alpha, beta, width, rho, out, blocks):  # pragma: no cover (compiled)
    n = x.size
    for block in prange(blocks):
        for j in range(block * BLOCK, min(n, (block + 1) * BLOCK)):
            a, b = _both(weights, df, J, j, rho[0], rho, width)
            p, q = (upp[j] - x[j]) * np.sqrt(a), (x[j] - low[j]) * np.sqrt(b)
            out[j] = min(max((p * low[j] + q * upp[j]) / (p + q), alpha[j]), beta[j])


@numba.njit(parallel=True, cache=True)
def _dual(weights, df, J, x, low, upp, alpha, beta, width, rho, blocks):  # pragma: no cover (compiled)
    n, m = x.size, J.shape[0]
    out = np.zeros((blocks, m + m * m))
    for block in prange(blocks):
        row, h = np.zeros(m + m * m), np.empty(m)
        for j in range(block * BLOCK, min(n, (block + 1) * BLOCK)):
            a, b = _both(weights, df, J, j, rho[0], rho, width)
            ahead, behind = upp[j] - x[j], x[j] - low[j]
            p, q = ahead * np.sqrt(a), behind * np.sqrt(b)
            inner = (p * low[j] + q * upp[j]) / (p + q)
            at = min(max(inner, alpha[j]), beta[j])
            up, down = 1.0 / (upp[j] - at), 1.0 / (at - low[j])
            free = alpha[j] < inner < beta[j]
            pp, qq = ahead * ahead * up, behind * behind * down
            for i in range(m):
                g = J[i, j]
                s, t, flat = max(g, 0.0), max(-g, 0.0), rho[i + 1] / width[j]
                p_i, q_i = pp * (1.001 * s + 0.001 * t + flat), qq * (0.001 * s + 1.001 * t + flat)
                row[i] += p_i + q_i
                h[i] = p_i * up - q_i * down
            if free:
                w = 1.0 / (2.0 * p * p * up**3 + 2.0 * q * q * down**3)
                for i in range(m):
                    hw = h[i] * w
                    for k in range(i + 1):
                        row[m + i * m + k] += hw * h[k]
        for i in range(m):
            for k in range(i):
                row[m + k * m + i] = row[m + i * m + k]
        out[block] = row
    return out


@numba.njit(parallel=True, cache=True)
def _touching(df, J, x, low, upp, alpha, beta, width, rho, blocks):  # pragma: no cover (compiled)
    n, m = x.size, J.shape[0]
    out = np.zeros((blocks, m))
    for block in prange(blocks):
        row = np.zeros(m)
        for j in range(block * BLOCK, min(n, (block + 1) * BLOCK)):
            ahead, behind = upp[j] - x[j], x[j] - low[j]
            for i in range(m):
                s, t, flat = max(J[i, j], 0.0), max(-J[i, j], 0.0), rho[i + 1] / width[j]
                row[i] += ahead * (1.001 * s + 0.001 * t + flat) + behind * (0.001 * s + 1.001 * t + flat)
        out[block] = row
    return out


_ALONE = {kernel: numba.njit(cache=True)(kernel.py_func) for kernel in (_primal, _dual, _touching)}


def _fitting(kernel: Any, n: int) -> Any:
    """The same kernel with or without threads; the bits are the same."""
    return _ALONE[kernel] if n <= ALONE else kernel

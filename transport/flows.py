"""Evening out: mass in the wrong cell is handed to a neighbour, as a potential flow says, never more than is there.

With  -Laplace p = R - nu  the flow (p_a - p_b) / h^2 over the face from a to b evens out the difference of R and nu. A
cell hands on the shares of its mass that the flow asks for; where it asks for more than all, the shares are scaled
down. On blocks of 2^k cells the same is done with a move of 2^k cells, for mass that has far to go. Fine before coarse:
moving everything a little is cheaper than moving a little far.

A step multiplies a stack (the mass of every cell and the moments that it carries) by one matrix with columns of sum
one, so that it is a Markov kernel whatever the potential is.
"""

import numpy as np
from numba import njit
from numpy.typing import NDArray

from transport.domain import Domain
from transport.poisson import inverse_laplacian
from transport.threads import run_blocks

Field = NDArray[np.float64]

SWEEPS = (0,) * 8 + (1,) * 4 + (2,) * 4 + (3,) * 4 + (2, 2, 1, 1, 0, 0)
"""k of the steps, in order."""
MULTIPLE = 8
"""Sides must be multiples of this: of the largest block."""


def even_out(stack: Field, nu: Field, domain: Domain, threads: int = 1) -> Field:
    """Bring the masses of a stack nearer to nu. The stack is overwritten; -> the new one.

    Args:
        stack: (q, n_1, ..., n_d): masses first, then moments. Sides are multiples of 8.
        nu: (n_1, ..., n_d), of the same mass.
    """
    shape = (1, *domain.shape)[-3:]
    other = np.empty_like(stack)
    for k in SWEEPS:
        side = 2**k
        blocks = Domain(tuple(max(2, n // side) for n in domain.shape), domain.lengths)
        if any(n // side < 2 for n in domain.shape):
            continue
        mass = _sums(stack[0], side)
        potential, _ = inverse_laplacian((mass - _sums(nu, side))[None], blocks, threads=threads)
        coarse = (1, *blocks.shape)[-3:]
        shares = np.zeros((6, *coarse))
        scales = np.array((1.0, *(1 / h**2 for h in blocks.steps))[-3:])
        _shares(potential.reshape(coarse), mass.reshape(coarse), scales, shares)
        flat, target = stack.reshape(len(stack), *shape), other.reshape(len(stack), *shape)
        rows = shape[0] * shape[1]
        run_blocks(
            lambda a, b, s=side, p=shares, f=flat, t=target: _hand_on(f, p, s, t, a, b), rows, stack.size, threads
        )
        stack, other = other, stack
    return stack


def _sums(a: Field, side: int) -> Field:
    """Sums over blocks of `side` cells along each axis; a power of two that divides them."""
    if side == 1:
        return a.copy()
    while side > 1:
        for axis in range(a.ndim):
            even, odd = (a[(slice(None),) * axis + (slice(start, None, 2),)] for start in (0, 1))
            a = even + odd
        side //= 2
    return a


@njit(nogil=True, cache=True, error_model="numpy")
def _shares(p, mass, scales, shares):
    """shares[2 a], shares[2 a + 1] : the part of a block that goes one block up, down along axis a.

    A flow leaves where p is higher.
    """
    n0, n1, n2 = p.shape
    for i in range(n0):
        for j in range(n1):
            for k in range(n2):
                here, total = p[i, j, k], 0.0
                for face in range(6):
                    a, b, c = i, j, k
                    move = 1 - 2 * (face % 2)
                    if face < 2:
                        a += move
                    elif face < 4:
                        b += move
                    else:
                        c += move
                    if 0 <= a < n0 and 0 <= b < n1 and 0 <= c < n2:
                        flow = max((here - p[a, b, c]) * scales[face // 2], 0.0)
                        shares[face, i, j, k] = flow
                        total += flow
                whole = max(total, mass[i, j, k])
                if mass[i, j, k] > 0 and whole > 0:
                    for face in range(6):
                        shares[face, i, j, k] /= whole
                else:
                    for face in range(6):
                        shares[face, i, j, k] = 0.0


@njit(nogil=True, cache=True, error_model="numpy")
def _hand_on(stack, shares, s, out, start, stop):
    """One step, gathered per target cell; `start`, `stop` count rows along the last axis."""
    n0, n1, n2 = stack.shape[1:]
    s0 = s if n0 > 1 else 1
    weight = np.empty(n2)
    for row in range(start, stop):
        i, j = row // n1, row % n1
        bi, bj = i // s0, j // s
        for k in range(n2):
            weight[k] = 1.0
        for face in range(6):
            _take_away(shares[face, bi, bj], s, weight)
        for m in range(len(stack)):
            _set(stack[m, i, j], weight, out[m, i, j])
        for face in range(6):
            # What comes over this face comes from the block on its other side.
            back = 2 * (face % 2) - 1
            a, b, c = i, j, 0
            if face < 2:
                a += back * s0
            elif face < 4:
                b += back * s
            else:
                c = back * s
            if not (0 <= a < n0 and 0 <= b < n1):
                continue
            _spread(shares[face, a // s0, b // s], s, weight)
            for m in range(len(stack)):
                _add(stack[m, a, b], weight, c, out[m, i, j])


@njit(nogil=True, cache=True, error_model="numpy")
def _take_away(share, s, weight):
    for k in range(len(weight)):
        weight[k] = max(weight[k] - share[k // s], 0.0)


@njit(nogil=True, cache=True, error_model="numpy")
def _spread(share, s, weight):
    for k in range(len(weight)):
        weight[k] = share[k // s]


@njit(nogil=True, cache=True, error_model="numpy")
def _set(a, weight, out):
    for k in range(len(a)):
        out[k] = weight[k] * a[k]


@njit(nogil=True, cache=True, error_model="numpy")
def _add(a, weight, shift, out):
    """out[k] += weight[k + shift] a[k + shift], where that is a cell."""
    for k in range(max(0, -shift), min(len(a), len(a) - shift)):
        out[k] += weight[k + shift] * a[k + shift]

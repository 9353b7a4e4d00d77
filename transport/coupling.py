"""What a given transport surely costs: an upper bound of 1/2 W2^2 from a plan that is feasible to the last grain.

A plan from mu to nu with joint law gamma costs

    1/2 E|x - z|^2 = 1/2 E|x|^2 + 1/2 E|z|^2 - E[x . z],        E[x . z] = sum_z z . B(z),  B(z) = sum_x x gamma(x, z)

so that besides mu and nu only the first moments B of what arrives at z are needed, not gamma itself. Four steps:

1. the map of a potential takes mu to an image R, nearly nu, and the masses mu x_k to the moments of R;
2. R is evened out: cells hand mass on to their neighbours (`transport.flows`), and with it its moments;
3. min(R, nu) stays where it is. In every block of 2 x 2 (x 2) cells the excess over nu meets the deficit, in proportion
   and independently of each other, then in blocks of blocks, until at the top nothing is left;
4. the value is the formula above.

Proof that it is no less than 1/2 W2^2(mu, nu): steps 1 to 3 are Markov kernels, applied to whatever lies in a cell
without regard to where it came from: the push lays down the mass of a source cell in fixed shares, evening out and
meeting send fixed shares of a cell elsewhere. A composition of Markov kernels that ends in nu is a coupling of mu with
nu, moments go through kernels linearly, and no coupling costs less than the optimal one (Kantorovich 1942). Only
rounding is left out of account: some 1e-15 of the side squared.

Meeting in dyadic blocks is the classical bound of Wasserstein distances (Weed and Bach 2019); every level is met in all
2^d alignments of its blocks, so that neighbours across a border find each other early.
"""

import numpy as np
from numba import njit
from numpy.typing import NDArray

from transport.domain import Domain
from transport.flows import MULTIPLE, even_out
from transport.levels import places
from transport.threads import run_blocks

Field = NDArray[np.float64]


def plan_costs(mu: Field, images: Field, moments: Field, nu: Field, domain: Domain, threads: int = 1) -> Field:
    """Cost of a feasible plan from every mu_i to nu by way of its image: upper bounds of 1/2 W2^2(mu_i, nu) : (m,).

    Args:
        mu: (m, n_1, ..., n_d), of mean one; nu: (n_1, ..., n_d), of mean one.
        images: R_i, where a map takes mu_i, same shape as mu.
        moments: (m, d, n_1, ..., n_d), where the same map takes the masses mu_i x_k.
    """
    half_squares = sum(0.5 * x**2 for x in places(domain))
    at_goal = float((half_squares * nu).sum())
    wider = tuple(-(-n // MULTIPLE) * MULTIPLE for n in domain.shape)
    box = Domain(wider, tuple(n * h for n, h in zip(wider, domain.steps, strict=True)))
    goal = _padded(nu, wider)
    stacks = [_padded(np.stack([r, *b]), wider) for r, b in zip(images, moments, strict=True)]
    out = np.empty(len(mu))

    def work(start: int, stop: int) -> None:
        for i in range(start, stop):
            gained = _inner_products(even_out(stacks[i], goal, box), goal, box)
            out[i] = (float((half_squares * mu[i]).sum()) + at_goal - gained) / domain.size

    run_blocks(work, len(mu), mu.size, threads)
    return out


def _padded(a: Field, shape: tuple[int, ...]) -> Field:
    """Empty cells behind the last ones. Mass may pass through them: a plan says only where it comes from and goes."""
    before = a.ndim - len(shape)
    return np.pad(a, [(0, 0)] * before + [(0, n - m) for n, m in zip(shape, a.shape[before:], strict=True)])


def _inner_products(stack: Field, nu: Field, box: Domain) -> float:
    """E[x . z], times the number of cells, of the plan that lets excess and deficit meet. stack: (1 + d, ...)"""
    image, moment = stack[0], stack[1:]
    stays = np.minimum(image, nu)
    part = np.divide(stays, image, out=np.ones_like(image), where=image > 0)
    x = places(box)
    total = float(sum((part * b * a).sum() for a, b in zip(x, moment, strict=True)))
    # Per cell: excess and its moments of x, deficit and its moments of z.
    deficit = nu - stays
    loose = np.stack([image - stays, *((1 - part) * moment), deficit, *(deficit * a for a in x)])
    loose = loose.reshape(len(loose), *(1, *box.shape)[-3:])
    while max(loose.shape[1:]) > 1:
        for shift in np.ndindex(*(2 if n > 1 else 1 for n in loose.shape[1:])):
            total += _meet(loose, np.array(shift))
        loose = _paired(loose)
    return total + _meet(loose, np.zeros(3, np.int64))


def _paired(stack: Field) -> Field:
    """Sums over blocks of two cells along each axis; a last single one stays single."""
    for axis, n in enumerate(stack.shape[1:], start=1):
        stack = np.add.reduceat(stack, np.arange(0, n, 2), axis=axis)
    return stack


@njit(nogil=True, cache=True, error_model="numpy")
def _meet(stack, shift):
    """Match excess and deficit inside the blocks of two cells that begin at -shift; -> what it adds to E[x . z].

    Within a block an excess cell goes to every deficit cell in proportion, so E[x . z] gains the product of the means.
    """
    q, n0, n1, n2 = stack.shape
    d = q // 2 - 1
    sums, total = np.zeros(q), 0.0
    for i in range(-shift[0], n0, 2):
        for j in range(-shift[1], n1, 2):
            for k in range(-shift[2], n2, 2):
                sums[:] = 0
                for a in range(max(i, 0), min(i + 2, n0)):
                    for b in range(max(j, 0), min(j + 2, n1)):
                        for c in range(max(k, 0), min(k + 2, n2)):
                            for m in range(q):
                                sums[m] += stack[m, a, b, c]
                excess, deficit = sums[0], sums[1 + d]
                if not (excess > 0 and deficit > 0):
                    continue
                matched = min(excess, deficit)
                for m in range(d):
                    total += matched * (sums[1 + m] / excess) * (sums[2 + d + m] / deficit)
                left_excess, left_deficit = (excess - matched) / excess, (deficit - matched) / deficit
                for a in range(max(i, 0), min(i + 2, n0)):
                    for b in range(max(j, 0), min(j + 2, n1)):
                        for c in range(max(k, 0), min(k + 2, n2)):
                            for m in range(1 + d):
                                stack[m, a, b, c] *= left_excess
                                stack[1 + d + m, a, b, c] *= left_deficit
    return total

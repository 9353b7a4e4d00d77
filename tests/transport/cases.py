"""Densities whose barycenters are known in closed form, on Omega = [0, 1]^d, rasterised with 4 x 4 points per cell.

Location-scale family: images of one profile Z under x -> m_i + s_i x. Barycenter: the same profile with mean m and s;
1/2 W2^2 = 1/2 |m_i - m|^2 + 1/2 (s_i - s)^2 E|Z|^2.
"""

from dataclasses import dataclass

import numpy as np

POINTS = 4


@dataclass(frozen=True)
class Case:
    """measures (m, n, n), weights (m,), the objective F at the barycenter, the barycenter or None."""

    measures: np.ndarray
    weights: np.ndarray
    value: float
    answer: np.ndarray | None


def raster(shape, function):
    """Cell means of a function of coordinate arrays, scaled to mean one. shape may be (n, n) or (n1, n2) or 3-D."""
    axes = [(np.arange(n * POINTS) + 0.5) / (n * POINTS) for n in shape]
    values = np.asarray(function(*np.meshgrid(*axes, indexing="ij")), float)
    cells = values.reshape([k for n in shape for k in (n, POINTS)]).mean(axis=tuple(range(1, 2 * len(shape), 2)))
    return cells / cells.mean()


def bump(shape, m, s):
    return raster(shape, lambda x, y: np.maximum(1 - ((x - m[0]) ** 2 + (y - m[1]) ** 2) / (2.4 * s) ** 2, 0) ** 3)


def disk(shape, m, r):
    return raster(shape, lambda x, y: (x - m[0]) ** 2 + (y - m[1]) ** 2 < r * r)


def box(shape, low, high):
    return raster(shape, lambda x, y: (x > low[0]) & (x < high[0]) & (y > low[1]) & (y < high[1]))


def gaussian(shape, m, covariance):
    inverse = np.linalg.inv(covariance)

    def value(*x):
        d = np.stack([a - b for a, b in zip(x, m, strict=True)])
        return np.exp(-0.5 * np.einsum("i...,ij,j...->...", d, inverse, d))

    return raster(shape, value)


def t1(shape, weights=(0.25, 0.25, 0.25, 0.25), value=0.0273531):
    m = np.array([(0.30, 0.32), (0.68, 0.36), (0.36, 0.70), (0.62, 0.64)])
    s, w = np.array([0.045, 0.070, 0.055, 0.090]), np.array(weights)
    return Case(np.stack([bump(shape, a, b) for a, b in zip(m, s, strict=True)]), w, value, bump(shape, w @ m, w @ s))


def t1w(shape):
    return t1(shape, (0.4, 0.3, 0.2, 0.1), 0.0273812640)


def t2(shape, weights=(0.25, 0.25, 0.25, 0.25), value=0.06278125):
    m = np.array([(0.25, 0.25), (0.75, 0.25), (0.25, 0.75), (0.75, 0.75)])
    r, w = np.array([0.06, 0.09, 0.12, 0.15]), np.array(weights)
    return Case(np.stack([disk(shape, a, b) for a, b in zip(m, r, strict=True)]), w, value, disk(shape, w @ m, w @ r))


def t2w(shape):
    return t2(shape, (0.1, 0.2, 0.3, 0.4), 0.056475)


def t3(shape, weights=(0.5, 0.5), value=0.0204875):
    m, half, w = np.array([(0.3, 0.5), (0.7, 0.5)]), np.array([(0.06, 0.14), (0.12, 0.05)]), np.array(weights)
    boxes = np.stack([box(shape, a - b, a + b) for a, b in zip(m, half, strict=True)])
    return Case(boxes, w, value, box(shape, w @ m - w @ half, w @ m + w @ half))


def t3w(shape):
    return t3(shape, (0.75, 0.25), 0.015365625)


def t4(shape):
    def ring(inner, outer):
        return raster(shape, lambda x, y: (np.hypot(x - 0.5, y - 0.5) >= inner) & (np.hypot(x - 0.5, y - 0.5) < outer))

    # Radii of the q-quantiles are averaged: r(q) = 1/2 (.2 sqrt(q) + sqrt(.04 + .12 q)); density dq / (pi d(r^2)).
    q = np.linspace(0, 1, 20001)
    r = 0.5 * (0.2 * np.sqrt(q) + np.sqrt(0.04 + 0.12 * q))
    per_area = np.gradient(q, np.pi * r**2)

    def averaged(x, y):
        here = np.hypot(x - 0.5, y - 0.5)
        return np.where((here > 0.1) & (here < 0.3), np.interp(here, r, per_area), 0)

    return Case(np.stack([ring(0, 0.2), ring(0.2, 0.4)]), np.full(2, 0.5), 0.0039669550, raster(shape, averaged))


def t5(shape):
    """Gaussians apart: covariances .06^2, .03^2, and .07^2, .025^2 turned by 60 degrees; at (.35, .40), (.65, .60)."""
    c, s = np.cos(np.pi / 3), np.sin(np.pi / 3)
    turn = np.array([[c, -s], [s, c]])
    first, second = np.diag([0.06**2, 0.03**2]), turn @ np.diag([0.07**2, 0.025**2]) @ turn.T
    mean = np.array([[0.00248499, 0.00098594], [0.00098594, 0.00201159]])
    a, b = gaussian(shape, (0.35, 0.40), first), gaussian(shape, (0.65, 0.60), second)
    return Case(np.stack([a, b]), np.full(2, 0.5), 0.01650796, gaussian(shape, (0.5, 0.5), mean))


def t6(shape):
    def slab(low, high):
        return raster(shape, lambda x, y: (x > low) & (x < high))

    return Case(np.stack([slab(0, 0.2), slab(0.6, 1)]), np.full(2, 0.5), 0.0616666667, slab(0.3, 0.6))

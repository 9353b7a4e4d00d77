"""The convex separable subproblem of the method of moving asymptotes, and its dual (Svanberg 1987, 2002).

    min  sum_j p_0j/(U_j - x_j) + q_0j/(x_j - L_j) + sum_i (c_i y_i + d_i y_i^2 / 2)
    s.t. sum_j p_ij/(U_j - x_j) + q_ij/(x_j - L_j) - b_i <= y_i,    alpha <= x <= beta,    y >= 0

Given multipliers, each x_j has a closed form, so the dual is concave and has m variables, however many x there are.
It is climbed by Newton steps within lam >= 0. y_i > 0 sets in at the kink lam_i = c_i; a step stops there, so that the
quadratic model is the right one on either side. No matrix larger than m x n is ever formed.
"""

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from optim.arrays import Array, Host, Namespace

MOST_DUAL_LOOKS = 50


@dataclass(frozen=True)
class Dual:
    """The dual at one lam: slope (m,), its derivative's negative `curvature` (m, m)."""

    slope: Host
    curvature: Host


@dataclass
class Subproblem:
    """One approximation. All vectors (n,) in double precision; df : (n,); J : (m, n); c : (m,) values at x.

    p_ij = (U - x)^2 (1.001 g+ + .001 g- + rho_i / width) and q_ij = (x - L)^2 (.001 g+ + 1.001 g- + rho_i / width)
    with g+- the parts of the derivative of function i (0 is the objective). rho : (1 + m,).
    """

    xp: Namespace
    x: Array
    df: Array
    J: Array
    c: Host
    low: Array
    upp: Array
    alpha: Array
    beta: Array
    width: Array
    rho: Host
    penalty: Host
    curvature: Host
    looks: int = 0
    b: Host = field(init=False)

    def __post_init__(self) -> None:
        if self.xp.name == "numpy":
            from optim.design import separable

            self._compiled = separable
        else:
            self._compiled = None
            self._p, self._q = self._coefficients()
        self.b = self._sums_at(self.x) - self.c

    # -- primal -------------------------------------------------------------------------------------------------------

    def primal(self, lam: Host) -> Array:
        """x(lam), (n,)."""
        weights = np.concatenate([[1.0], lam])
        if self._compiled:
            return self._compiled.primal(weights, *self._arguments())
        xp = self.xp
        P, Q = (xp.sqrt(xp.like(weights, self.x) @ a) for a in (self._p, self._q))
        return xp.clip((P * self.low + Q * self.upp) / (P + Q), self.alpha, self.beta)

    def models(self, x: Array, f: float) -> Host:
        """Values of the approximations of objective and constraints at x, (1 + m,), given f and c where they touch."""
        xp, out = self.xp, []
        ahead = (x - self.x) * (self.upp - self.x) / (self.upp - x)
        behind = (self.x - x) * (self.x - self.low) / (x - self.low)
        for value, g, rho in zip([f, *self.c], [self.df, *self.J], self.rho, strict=True):
            up, down, flat = xp.maximum(g, 0.0), xp.maximum(-g, 0.0), float(rho) / self.width
            rise = ahead * (1.001 * up + 0.001 * down + flat) + behind * (0.001 * up + 1.001 * down + flat)
            out.append(value + float(rise.sum()))
        return np.array(out)

    def distance(self, x: Array) -> float:
        """sum (U - L)(x - x_k)^2 / ((U - x)(x - L) width), which rho multiplies in the approximation."""
        d = (self.upp - self.low) * (x - self.x) ** 2 / ((self.upp - x) * (x - self.low) * self.width)
        return float(d.sum())

    # -- dual ---------------------------------------------------------------------------------------------------------

    def dual(self, lam: Host) -> Dual:
        self.looks += 1
        weights = np.concatenate([[1.0], lam])
        if self._compiled:
            g, H = self._compiled.dual(weights, *self._arguments())
        else:
            g, H = self._dual(weights)
        y = np.maximum(0, (lam - self.penalty) / self.curvature)
        return Dual(g - self.b - y, H)

    def solve(self, lam: Host | None) -> tuple[Array, Host]:
        """Solution (n,) and multipliers (m,), from a guess of the latter."""
        m = len(self.c)
        if not m:
            return self.primal(np.zeros(0)), np.zeros(0)
        best = self._climb(np.ones(m) if lam is None else lam) if m <= 50 else None
        if best is None:
            from optim.design.interior import solve

            p, q = (self._p, self._q) if not self._compiled else self._coefficients()
            best = solve(self, p, q)
        return self.primal(best), best

    def _climb(self, lam: Host) -> Host | None:
        """Newton steps on the dual; None when the kinks of small problems make it walk in circles."""
        scale = 1.0 + np.abs(self.b)
        at = self.dual(lam)
        while self.looks < MOST_DUAL_LOOKS:
            free = (lam > 0) | (at.slope > 0)
            if not free.any() or (np.abs(at.slope[free]) <= 1e-13 * scale[free]).all():
                return lam
            step = np.zeros_like(lam)
            # Beyond the penalty y_i bends the dual; at the kink it does so on the side the step will take.
            bend = (lam > self.penalty) | ((lam == self.penalty) & (at.slope > 0))
            H = at.curvature + np.diag(bend / self.curvature)
            H = H[np.ix_(free, free)]
            tiny = 1e-12 * max(float(np.trace(H)), 1e-12)
            step[free] = np.linalg.solve(H + tiny * np.eye(len(H)), at.slope[free])
            moved, after = self._search(lam, at, step)
            if np.abs(moved - lam).max() <= 1e-15 * (1 + np.abs(lam).max()):
                small = np.abs(after.slope[free]) <= 1e-9 * scale[free]
                return moved if small.all() else None
            lam, at = moved, after
        return None

    def _search(self, lam: Host, at: Dual, step: Host) -> tuple[Host, Dual]:
        """Along the step, bent at 0 and stopped at the penalty, to where the slope has fallen enough but not turned.

        The dual is concave, so its slope along a line falls; a secant on the slope needs no values, which for many
        variables would drown in rounding.
        """
        below, above = lam < self.penalty, lam > self.penalty
        ceiling = np.where(below, self.penalty, np.inf)
        floor = np.where(above, self.penalty, 0.0)
        first = float(at.slope @ step)
        t, low, low_slope, high = 1.0, 0.0, first, np.inf
        while True:
            moved = np.clip(lam + t * step, floor, ceiling)
            after = self.dual(moved)
            slope = float(after.slope @ (moved - lam)) / t
            if abs(slope) <= 0.5 * first or slope > 0 or self.looks >= MOST_DUAL_LOOKS:
                return moved, after
            high = t
            secant = low + (high - low) * low_slope / (low_slope - slope)
            t = min(max(secant, low + 0.05 * (high - low)), high - 0.2 * (high - low))

    def _arguments(self) -> tuple[Any, ...]:
        return (self.df, self.J, self.x, self.low, self.upp, self.alpha, self.beta, self.width, self.rho)

    def _sums_at(self, x: Array) -> Host:
        """sum_j p_ij/(U_j - x_j) + q_ij/(x_j - L_j) at the current x, (m,)."""
        if self._compiled:
            return self._compiled.sums(*self._arguments())
        up, down = 1 / (self.upp - x), 1 / (x - self.low)
        return self.xp.host(self._p[1:] @ up + self._q[1:] @ down)

    def _coefficients(self) -> tuple[Array, Array]:
        """p and q, (1 + m, n)."""
        xp = self.xp
        g = xp.concatenate([self.df[None], self.J])
        up, down = xp.maximum(g, 0.0), xp.maximum(-g, 0.0)
        flat = xp.like(self.rho, self.x)[:, None] / self.width
        p = (self.upp - self.x) ** 2 * (1.001 * up + 0.001 * down + flat)
        q = (self.x - self.low) ** 2 * (0.001 * up + 1.001 * down + flat)
        return p, q

    def _dual(self, weights: Host) -> tuple[Host, Host]:
        xp = self.xp
        w = xp.like(weights, self.x)
        P, Q = w @ self._p, w @ self._q
        p, q = xp.sqrt(P), xp.sqrt(Q)
        inner = (p * self.low + q * self.upp) / (p + q)
        x = xp.clip(inner, self.alpha, self.beta)
        up, down = 1 / (self.upp - x), 1 / (x - self.low)
        g = self._p[1:] @ up + self._q[1:] @ down
        bend = 2 * P * up**3 + 2 * Q * down**3
        weight = xp.where((inner > self.alpha) & (inner < self.beta), 1 / bend, xp.zeros_like(bend))
        h = self._p[1:] * up**2 - self._q[1:] * down**2
        return xp.host(g), xp.host((h * weight) @ h.T)

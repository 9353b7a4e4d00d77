"""Primal-dual Newton for the separable subproblem: many constraints, or a dual with too many kinks.

The complementarity conditions xi (x - alpha) = eta (beta - x) = mu y = lam s = eps are followed to eps = 1e-11
(Svanberg 2007, section 5; Wright 1997). All unknowns of size n are eliminated, which leaves one m x m system per step.
"""

from typing import TYPE_CHECKING

import numpy as np

from optim.arrays import Array, Host

if TYPE_CHECKING:
    from optim.design.subproblem import Subproblem

MOST_STEPS = 60


def solve(sub: "Subproblem", p: Array, q: Array) -> Host:
    """Multipliers (m,). p, q : (1 + m, n) coefficients of the subproblem."""
    xp, m = sub.xp, len(sub.c)
    # A fixed variable has no interior; the sliver it gets here is undone by the closed form of x(lam).
    sliver = 1e-9 * sub.width
    alpha, beta = xp.minimum(sub.alpha, sub.x - sliver), xp.maximum(sub.beta, sub.x + sliver)
    # Rounding must not put x onto a bound: the least distances that x can have.
    grain = 4 * np.finfo(float).eps * xp.maximum(xp.maximum(alpha, -alpha), xp.maximum(beta, -beta))
    x = (alpha + beta) / 2
    xi, eta = xp.maximum(1 / (x - alpha), 1.0), xp.maximum(1 / (beta - x), 1.0)
    lam, y, s, mu = np.ones(m), np.ones(m), np.ones(m), np.maximum(1.0, sub.penalty / 2)
    eps = 1.0
    while eps > 1e-12:
        for _ in range(MOST_STEPS):
            up, down = 1 / (sub.upp - x), 1 / (x - sub.low)
            w = xp.like(np.concatenate([[1.0], lam]), x)
            P, Q = w @ p, w @ q
            slope = P * up**2 - Q * down**2
            g = xp.host(p[1:] @ up + q[1:] @ down) - sub.b
            rx = slope - xi + eta
            ry = sub.penalty + sub.curvature * y - mu - lam
            worst = [xp.largest(rx), np.abs(ry).max(), np.abs(g - y + s).max()]
            worst += [xp.largest(xi * (x - alpha) - eps), xp.largest(eta * (beta - x) - eps)]
            if max(*worst, np.abs(mu * y - eps).max(), np.abs(lam * s - eps).max()) < 0.9 * eps:
                break
            G = p[1:] * up**2 - q[1:] * down**2
            bend = 2 * P * up**3 + 2 * Q * down**3 + xi / (x - alpha) + eta / (beta - x)
            tx = slope - eps / (x - alpha) + eps / (beta - x)
            bend_y = sub.curvature + mu / y
            ty = sub.penalty + sub.curvature * y - lam - eps / y
            right = g - y + eps / lam + ty / bend_y - xp.host(G @ (tx / bend))
            matrix = xp.host((G / bend) @ G.T) + np.diag(s / lam + 1 / bend_y)
            dlam = np.linalg.solve(matrix, right)
            dx = -(tx + xp.like(dlam, x) @ G) / bend
            dy = (dlam - ty) / bend_y
            dxi = -xi + (eps - xi * dx) / (x - alpha)
            deta = -eta + (eps + eta * dx) / (beta - x)
            dmu, ds = -mu + (eps - mu * dy) / y, -s + (eps - s * dlam) / lam
            shrink = max(
                1.0,
                *(float((-1.01 * d / v).max()) for d, v in ((dxi, xi), (deta, eta), (dx, x - alpha), (-dx, beta - x))),
                *(float((-1.01 * d / v).max()) for d, v in ((dlam, lam), (dy, y), (dmu, mu), (ds, s))),
            )
            t = 1 / shrink
            x, xi, eta = xp.clip(x + t * dx, alpha + grain, beta - grain), xi + t * dxi, eta + t * deta
            lam, y, mu, s = lam + t * dlam, y + t * dy, mu + t * dmu, s + t * ds
        eps /= 10
    return lam

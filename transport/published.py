"""The two published outer loops, for comparison, on the kernels of this package.

WDHA, Kim, Yao, Zhu and Chen (2025): descent of the barycenter nu in Wasserstein space, ascent of one potential per
measure in H^1, a double conjugate in place of the projection of the theory. Parameters as in the authors' runs.

    f_i <- (f_i + eta_i (-Laplace)^-1 (nu - R_i))^cc         eta_i shrinks by 1 % when its dual value falls
    nu  <- (id - tau_t grad sum_i w_i f_i)_# nu               tau_t = exp(-t / T)

SGA, Kim, Zhou, Zhu and Chen (2025): ascent of D alone; one potential is eliminated, f_n = -sum w_i f_i / w_n. Here n is
the measure of largest weight, because the elimination divides by it.

    f_i <- f_i + eta_t w_i (-Laplace)^-1 (R_n - R_i)          eta_t constant, or eta / sqrt(t)
"""

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from transport.ascent import Row
from transport.domain import Domain
from transport.errors import TransportError
from transport.legendre import c_transform
from transport.poisson import inverse_laplacian
from transport.pushforward import push
from transport.sweeps import means_of_products, recentre

Field = NDArray[np.float64]
Watch = Callable[[Row], object]


@dataclass(frozen=True)
class PublishedSettings:
    """Parameters of the published methods.

    Args:
        iterations: T, fixed in advance.
        dual_step: eta. None: 0.05 for WDHA (as released), 0.1 for SGA.
        decreasing: SGA only: eta / sqrt(t) in place of a constant step.
    """

    iterations: int = 300
    dual_step: float | None = None
    decreasing: bool = False

    def __post_init__(self) -> None:
        if self.iterations < 1 or (self.dual_step is not None and self.dual_step <= 0):
            raise TransportError("iterations and dual_step must be positive")


def wdha(
    mu: Field, weights: Field, domain: Domain, settings: PublishedSettings, watch: Watch, threads: int
) -> tuple[Field, Field, tuple[Row, ...]]:
    """-> barycenter (n_1, ..., n_d), feasible potentials (m, n_1, ..., n_d), history.

    `watch` sees every row and may return True to stop. The dual value of a row is sum_i w_i I_i, not a bound.
    """
    steps, eta = domain.steps, np.full(len(mu), settings.dual_step or 0.05)
    nu, f = mu[0].copy(), np.zeros_like(mu)
    conjugate, last, history = np.zeros_like(mu), np.full(len(mu), -math.inf), []
    for t in range(1, settings.iterations + 1):
        images, _ = push(conjugate, mu, domain, threads=threads)
        gradient, energies = inverse_laplacian(nu - images, domain, threads=threads)
        f += _column(eta, f.ndim) * gradient
        conjugate = c_transform(f, steps, threads=threads)
        f = c_transform(conjugate, steps, threads=threads)
        duals = means_of_products(f, np.broadcast_to(nu, f.shape).copy(), threads)
        duals += means_of_products(conjugate, mu, threads)
        eta[duals < last] *= 0.99
        last = duals
        mean = np.tensordot(weights, f, 1)
        tau = math.exp(-t / settings.iterations)
        nu = push(tau * mean[None], nu[None], domain, threads=threads)[0][0]
        row = Row(t, domain.shape, float(weights @ duals), float(weights @ energies), float(eta.max()), False)
        history.append(row)
        if watch(row):
            break
    recentre(f, weights, threads)
    return nu, f, tuple(history)


def sga(
    mu: Field, weights: Field, domain: Domain, settings: PublishedSettings, watch: Watch, threads: int
) -> tuple[Field, Field, tuple[Row, ...]]:
    """-> barycenter sum_i w_i R_i of the iterate with the highest dual value, its potentials, history.

    `watch` as in `wdha`. The dual value of a row is D, a lower bound.
    """
    last = int(np.argmax(weights))
    f, best, best_dual = np.zeros_like(mu), np.zeros_like(mu), -math.inf
    history = []
    for t in range(1, settings.iterations + 1):
        conjugate = c_transform(f, domain.steps, threads=threads)
        dual = float(weights @ means_of_products(conjugate, mu, threads))
        if dual > best_dual:
            best[...], best_dual = f, dual
        images, _ = push(conjugate, mu, domain, threads=threads)
        gradient, energies = inverse_laplacian(images[last] - images, domain, threads=threads)
        step = (settings.dual_step or 0.1) / (math.sqrt(t) if settings.decreasing else 1.0)
        f += step * _column(weights, f.ndim) * gradient
        f[last] = 0
        f[last] = -np.tensordot(weights, f, 1) / weights[last]
        row = Row(t, domain.shape, dual, float(weights @ energies), step, False)
        history.append(row)
        if watch(row):
            break
    images, _ = push(c_transform(best, domain.steps, threads=threads), mu, domain, threads=threads)
    recentre(best, weights, threads)  # to the last bit; it moves nothing
    return np.tensordot(weights, images, 1), best, tuple(history)


def _column(values: Field, ndim: int) -> Field:
    return values.reshape(-1, *(1,) * (ndim - 1))

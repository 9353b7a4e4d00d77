"""Half the squared Wasserstein distance of two densities on a grid, with potentials, map and certificate.

    1/2 W2^2(nu, mu) = max_f  mean(f nu) + mean(f^c mu)

`accelerated`: ascent in H^1 with momentum, convexification and restarts, coarse to fine, as for barycenters.
`back-and-forth`: Jacobs and Leger (2020): a step in f, then a step in g = f^c, on one grid, their step rule.
Every value of the right-hand side is a rigorous lower bound of the discrete problem.
"""

import math
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from transport.ascent import Settings
from transport.densities import as_stack
from transport.domain import Domain
from transport.errors import AscentError, TransportError
from transport.kernels import Kernels, Stack, host, kernels_on
from transport.levels import hierarchy, interpolate, resample
from transport.pushforward import corner_map

Field = NDArray[np.float64]
Method = Literal["accelerated", "back-and-forth"]

DISTANCE_ITERATIONS = (60, 60, 60, 80)


@dataclass(frozen=True)
class Distance:
    """How far two densities are apart.

    Attributes:
        half_squared: 1/2 W2^2, the dual value: a certified lower bound.
        plan_cost: cost of the plan that the map carries out, from mu to an image of it near nu.
        residual: |nu - image|_{H^-1}, how near the image is to nu.
        potential: f, on the side of nu; `conjugate`: f^c, on the side of mu. Each up to a constant.
        history: dual values, one per iteration, all levels.
    """

    half_squared: float
    plan_cost: float
    residual: float
    potential: Field
    conjugate: Field
    domain: Domain
    history: tuple[float, ...]

    @property
    def value(self) -> float:
        """W2, a certified lower bound, in the unit of the domain's lengths."""
        return math.sqrt(2 * max(self.half_squared, 0.0))

    def map_from_mu(self) -> Field:
        """Where mu goes: positions at the cell corners, (n_1 + 1, ..., n_d + 1, d)."""
        return corner_map(self.conjugate, self.domain)

    def map_from_nu(self) -> Field:
        """Where nu goes: positions at the cell corners."""
        return corner_map(self.potential, self.domain)


def w2(
    mu: ArrayLike,
    nu: ArrayLike,
    method: Method = "accelerated",
    *,
    lengths: tuple[float, ...] = (),
    settings: Settings | None = None,
    start: Field | None = None,
    threads: int = 0,
    device: str = "cpu",
) -> Distance:
    """Optimal transport between two densities.

    Args:
        mu, nu: (n_1, ..., n_d), not negative; each is scaled to mean one.
        lengths: sides of the box. Default: square cells, the longest side is 1.
        settings: iterations per level, step, tolerance. Back-and-forth takes the first number of iterations
            (default 300) and its own step.
        device: "cpu", "torch" or "cuda", see `transport.kernels`.
        start: a potential on the side of nu; the ascent then begins on the finest grid.

    Raises:
        TransportError: an input that is no density, different shapes, an unknown method.
        AscentError: the ascent broke down.
    """
    stack = as_stack([mu, nu])
    domain = Domain(stack.shape[1:], lengths)
    on = kernels_on(device, threads)
    if start is not None and np.shape(start) != domain.shape:
        raise TransportError(f"start has shape {np.shape(start)}, the densities {domain.shape}")
    mu, nu = on.put(stack[:1]), on.put(stack[1:])
    if method == "back-and-forth":
        count = (settings or Settings((300,))).iterations_on(domain.size, 0)
        f, history = _back_and_forth(mu, nu, domain, count, start, on)
    elif method == "accelerated":
        f, history = _accelerated(stack, domain, settings or Settings(DISTANCE_ITERATIONS), start, on)
    else:
        raise TransportError(f"method must be 'accelerated' or 'back-and-forth', not {method!r}")
    conjugate = on.c_transform(f, domain.steps)
    image, cost = on.push(conjugate, mu, domain)
    dual = _dual(f, conjugate, mu, nu, on)
    if not math.isfinite(dual):
        raise AscentError("the dual value is not finite: lower settings.step")
    _, energy = on.inverse_laplacian(nu - image, domain)
    residual = math.sqrt(max(float(energy[0]), 0.0))
    return Distance(dual, float(cost[0]), residual, on.get(f)[0], on.get(conjugate)[0], domain, tuple(history))


def _dual(f: Stack, conjugate: Stack, mu: Stack, nu: Stack, on: Kernels) -> float:
    return float(on.means_of_products(f, nu)[0] + on.means_of_products(conjugate, mu)[0])


def _accelerated(
    stack: Field, domain: Domain, settings: Settings, start: Field | None, on: Kernels
) -> tuple[Stack, list[float]]:
    """f : (1, n_1, ..., n_d), and the dual values."""
    domains = hierarchy(domain, settings.coarsest) if start is None else (domain,)
    history: list[float] = []
    f = np.zeros((1, *domains[0].shape)) if start is None else np.array(start, np.float64)[None]
    for k, d in enumerate(domains):
        here = resample(stack, d)
        count = settings.iterations_on(d.size, len(domains) - 1 - k)
        f, duals = _level(here, on.put(interpolate(host(f), d)), d, count, settings, on)
        history += duals
    return f, history


def _level(
    stack: Field, f: Stack, domain: Domain, count: int, settings: Settings, on: Kernels
) -> tuple[Stack, list[float]]:
    mu, nu, steps = on.put(stack[:1]), on.put(stack[1:]), domain.steps
    # The distance is symmetric, so the smoother of both decides how long a step is stable: both images matter.
    step, t, previous, best, last = settings.step / float(stack.max()), 1.0, f, f, -math.inf
    duals: list[float] = []
    for _ in range(count):
        t, beta = 0.5 * (1 + math.sqrt(1 + 4 * t * t)), t - 1
        y = f + beta / t * (f - previous)
        conjugate = on.c_transform(y, steps)
        y = on.c_transform(conjugate, steps)  # y^cc, whose c-transform is y^c again
        dual = _dual(y, conjugate, mu, nu, on)
        if dual < last:
            t, step = 1.0, max(0.8 * step, 0.1 * settings.step / float(stack.max()))
        if not duals or dual > max(duals):
            best = y
        last = dual
        duals.append(dual)
        if len(duals) > 10 and max(duals) - max(duals[:-10]) <= settings.tolerance * abs(max(duals)):
            break
        image, _ = on.push(conjugate, mu, domain)
        gradient, _ = on.inverse_laplacian(nu - image, domain)
        previous, f = f, y + step * gradient
    return best, duals


def _back_and_forth(
    mu: Stack, nu: Stack, domain: Domain, count: int, start: Field | None, on: Kernels
) -> tuple[Stack, list[float]]:
    """The published iteration; the step grows or shrinks with the gain of a step, against what was promised."""
    steps, measures = domain.steps, (mu, nu)
    f = on.put(np.zeros((1, *domain.shape)) if start is None else np.array(start, np.float64)[None])
    conjugate = on.c_transform(f, steps)
    sigma, duals, best = 4.0 / max(float(mu.max()), float(nu.max())), [_dual(f, conjugate, mu, nu, on)], f
    for _ in range(count):
        for side in (1, 0):
            # The potential of this side climbs; the other one is its c-transform.
            image, _ = on.push(conjugate, measures[1 - side], domain)
            gradient, energy = on.inverse_laplacian(measures[side] - image, domain)
            climbed = f + sigma * gradient
            conjugate = on.c_transform(climbed, steps)
            f = on.c_transform(conjugate, steps)
            pair = (f, conjugate) if side == 1 else (conjugate, f)
            gain = _dual(*pair, mu, nu, on) - duals[-1]
            promised = sigma * float(energy[0])
            sigma *= 1 / 0.95 if gain > 0.75 * promised else (0.95 if gain < 0.25 * promised else 1.0)
            duals.append(duals[-1] + gain)
            if duals[-1] >= max(duals):
                best = pair[0]
            f, conjugate = conjugate, f
    return best, duals

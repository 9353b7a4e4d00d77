"""Wasserstein barycenters of densities on a grid, with a certificate.

    F(nu) = sum_i w_i 1/2 W2^2(nu, mu_i)        nu* = argmin F        (Agueh and Carlier 2011)

The answer carries feasible dual potentials, so its dual value is a lower bound of min F that anyone can check: one
c-transform per measure and a sum. Feasible plans bound F of the answer from above (`transport.coupling`). Because the
centroids decide most of F, it is the shape part F - F_c that tells how good a barycenter is:

    shape_bound <= min F - F_c <= F(answer) - F_c <= shape_upper
"""

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from transport.ascent import Ascent, Row, Settings
from transport.coupling import plan_costs
from transport.debiased import DebiasedSettings, debiased
from transport.densities import as_stack, as_weights, centroid_value, require_memory
from transport.distance import DISTANCE_ITERATIONS, Distance, w2
from transport.domain import Domain
from transport.errors import TransportError
from transport.published import Published, PublishedSettings, PublishedState
from transport.pushforward import corner_map
from transport.sweeps import recentre
from transport.threads import thread_count

Field = NDArray[np.float64]
Method = Literal["accelerated", "wdha", "sga", "debiased"]
SETTINGS = {
    "accelerated": Settings,
    "wdha": PublishedSettings,
    "sga": PublishedSettings,
    "debiased": DebiasedSettings,
}
Callback = Callable[[Row], object]

PRIMAL_ITERATIONS = 12


@dataclass(frozen=True)
class Barycenter:
    """A barycenter and what is known about it. m measures on n_1 x ... x n_d cells.

    Attributes:
        density: (n_1, ..., n_d), mean one.
        weights: (m,), of sum one.
        potentials: f_i : (m, n_1, ..., n_d), sum_i w_i f_i = 0.
        conjugates: f_i^c : same shape.
        images: R_i, where the maps take the measures: same shape. All equal the barycenter at the optimum.
        dual_value: D(f), a certified lower bound of min F for the discrete problem.
        primal_value: F(density), from warm-started distances. It converges from below: after 12 iterations it may be
            some per cent of the shape part too low, and more `primal_iterations` bring it up.
        upper_value: a certified upper bound of F(density), from feasible plans; infinite where none was asked for.
        distances: 1/2 W2^2(density, mu_i) : (m,), from the same as `primal_value`.
        plan_value: sum_i w_i cost of the plans from mu_i to R_i.
        centroid_value: F_c, the part of F that the centroids decide.
        residual: sum_i w_i |R_i - density|^2_{H^-1}: how far the images are apart.
        history: one row per iteration.
    """

    density: Field
    weights: Field
    potentials: Field
    conjugates: Field
    images: Field
    dual_value: float
    primal_value: float
    upper_value: float
    distances: Field
    plan_value: float
    centroid_value: float
    residual: float
    history: tuple[Row, ...]
    domain: Domain
    method: Method

    @property
    def shape_value(self) -> float:
        """F_shape = F - F_c of the density."""
        return self.primal_value - self.centroid_value

    @property
    def shape_bound(self) -> float:
        """The certified lower bound of F_shape."""
        return self.dual_value - self.centroid_value

    @property
    def shape_upper(self) -> float:
        """The certified upper bound of F_shape of the density."""
        return self.upper_value - self.centroid_value

    @property
    def entropic(self) -> bool:
        """Whether the method minimises F with an entropy, so that its answer is smooth and not the exact one."""
        return self.method == "debiased"

    @property
    def certified_gap(self) -> float:
        """How far the density is from the optimum at most, relative to the shape part; infinite without upper bound."""
        return self._relative(self.upper_value - self.dual_value)

    @property
    def gap(self) -> float:
        """How far the density may be from the optimum, relative to the shape part. 0 where everything coincides."""
        return self._relative(self.primal_value - self.dual_value)

    def _relative(self, slack: float) -> float:
        scale = abs(self.shape_bound)
        return slack / scale if scale > 1e-12 * sum(a * a for a in self.domain.lengths) else 0.0

    def map_to_barycenter(self, i: int) -> Field:
        """Where measure i goes: positions at the cell corners, (n_1 + 1, ..., n_d + 1, d)."""
        return corner_map(self.conjugates[i], self.domain)

    def map_to_input(self, i: int) -> Field:
        """Where the barycenter goes on the way to measure i: positions at the cell corners."""
        return corner_map(self.potentials[i], self.domain)


def barycenter(
    measures: Sequence[ArrayLike] | NDArray,
    weights: ArrayLike | None = None,
    method: Method = "accelerated",
    *,
    lengths: tuple[float, ...] = (),
    mask: NDArray[np.bool_] | None = None,
    start: Field | None = None,
    settings: Settings | PublishedSettings | DebiasedSettings | None = None,
    threads: int = 0,
    device: str = "cpu",
    callback: Callback | None = None,
    checkpoint: Path | None = None,
    checkpoint_every: int = 10,
    resume: bool = False,
    primal_iterations: int = PRIMAL_ITERATIONS,
    upper_bound: bool = True,
) -> Barycenter:
    """The density that is nearest to all measures, in the mean of squared Wasserstein distances.

    Args:
        measures: m densities of one shape, two or three axes, not negative; each is scaled to mean one.
        weights: m numbers, not negative, not all zero; scaled to sum one. None: equal. A measure of weight zero does
            not count, but its potentials and map are found too (by the accelerated method).
        method: "accelerated" (`transport.ascent`), "wdha" or "sga" as published (`transport.published`), or "debiased",
            the entropic barycenter of POT (`transport.debiased`), which is smooth, and not the exact one.
        lengths: sides of the box. Default: square cells, the longest side is 1. All values are in this unit squared.
        mask: where the barycenter may have mass, bool; accelerated only.
        start: potentials of a similar problem; accelerated only. Fewer levels are then needed.
        settings: `Settings`, `PublishedSettings` for the published methods, or `DebiasedSettings`.
        threads: 0 means all. The bits of the answer do not depend on it.
        device: "cpu" (compiled loops), or "cuda" or "torch" (PyTorch on a GPU or on the processor); others than "cpu"
            for the accelerated method only.
        callback: sees every iteration; when it returns True, the best answer so far is returned.
        checkpoint: file that is written every `checkpoint_every` iterations; not for "debiased".
        resume: continue from `checkpoint` if it exists, to the same bits as without interruption.
        primal_iterations: of the distances behind `primal_value`, one measure at a time.
        upper_bound: also look for feasible plans, which costs about as much as thirty iterations on the finest grid.

    Raises:
        TransportError: input that has no answer; says which and what to do.
        AscentError: the ascent broke down.
    """
    mu = as_stack(measures)
    w = as_weights(weights, len(mu))
    domain = Domain(mu.shape[1:], lengths)
    if mask is not None and np.shape(mask) != domain.shape:
        raise TransportError(f"mask has shape {np.shape(mask)}, the densities {domain.shape}")
    require_memory(len(mu), domain)
    threads = thread_count(threads)
    if method not in SETTINGS:
        raise TransportError(f"method must be one of {', '.join(map(repr, SETTINGS))}, not {method!r}")
    if settings is not None and not isinstance(settings, SETTINGS[method]):
        raise TransportError(f"method {method!r} takes {SETTINGS[method].__name__}, not {type(settings).__name__}")
    if method != "accelerated" and (mask is not None or start is not None or device != "cpu"):
        raise TransportError("mask, start and device belong to the accelerated method")
    if method == "debiased" and checkpoint is not None:
        raise TransportError("method 'debiased' runs in one piece: leave `checkpoint` out")
    ascent = Ascent(mu, w, domain, settings if isinstance(settings, Settings) else None, mask, threads, device)
    density, potentials, history = None, None, ()
    if method == "debiased":
        chosen = settings if isinstance(settings, DebiasedSettings) else DebiasedSettings()
        density = debiased(mu, w, domain, chosen, threads)
    else:
        loop = ascent
        if method != "accelerated":
            published = settings if isinstance(settings, PublishedSettings) else PublishedSettings()
            loop = Published(method, mu, w, domain, published, threads)
        resumed = resume and checkpoint is not None and checkpoint.exists()
        state = (
            loop.load(checkpoint)
            if resumed and checkpoint
            else (ascent.start(start) if loop is ascent else loop.start())
        )
        while not state.done:
            state = loop.step(state)  # type: ignore[arg-type]
            if checkpoint is not None and (state.done or state.iteration % checkpoint_every == 0):
                state.save(checkpoint)
            if callback is not None and callback(state.history[-1]):
                break
        history = state.history
        if isinstance(loop, Published) and isinstance(state, PublishedState):
            density, potentials = loop.answer(state)
        else:
            potentials = ascent.potentials(state)  # type: ignore[arg-type]
    return finish(ascent, potentials, history, method, density, primal_iterations, upper_bound)


def barycenters(
    measures: Sequence[ArrayLike] | NDArray,
    weight_vectors: ArrayLike,
    *,
    start: Field | None = None,
    **options: object,
) -> Iterator[Barycenter]:
    """Barycenters for many weight vectors, each started from the potentials of the one before: a path, or a table.

    Args:
        weight_vectors: (b, m).
        options: as for `barycenter`.
    """
    for weights in np.atleast_2d(np.asarray(weight_vectors, np.float64)):
        result = barycenter(measures, weights, start=start, **options)  # type: ignore[arg-type]
        start = result.potentials
        yield result


def finish(
    ascent: Ascent,
    potentials: Field | None,
    history: tuple[Row, ...],
    method: Method = "accelerated",
    density: Field | None = None,
    primal_iterations: int = PRIMAL_ITERATIONS,
    upper_bound: bool = True,
) -> Barycenter:
    """From feasible potentials, a density, or both to the answer.

    Args:
        potentials: default, those of the distances to the density, recentred.
        density: default, the weighted mean of the images.
    """
    level, w = ascent.levels[-1], ascent.weights
    mu, domain = ascent.kernels.get(level.mu), level.domain
    found: list[Distance] = []
    if potentials is None:
        assert density is not None
        found = distances_to(density, mu, domain, None, primal_iterations, ascent.threads, ascent.device)
        potentials = np.stack([d.potential for d in found])
        recentre(potentials, w, ascent.threads)
    seen = ascent.images(potentials)
    if density is None:
        density = np.tensordot(w, seen.images, 1)
    density = density * (density.size / density.sum())
    if not found:
        found = distances_to(density, mu, domain, potentials, primal_iterations, ascent.threads, ascent.device)
    halves = np.array([d.half_squared for d in found])
    return Barycenter(
        density=density,
        weights=w,
        potentials=potentials,
        conjugates=seen.conjugates,
        images=seen.images,
        dual_value=seen.dual,
        # Weak duality: a distance that has not quite converged must not pretend to beat the bound.
        primal_value=max(float(w @ halves), seen.dual),
        upper_value=upper_value(ascent, density, found) if upper_bound else math.inf,
        distances=halves,
        plan_value=float(w @ seen.costs),
        centroid_value=centroid_value(mu, w, domain),
        residual=ascent.residual(seen.images, density),
        history=history,
        domain=domain,
        method=method,
    )


def upper_value(ascent: Ascent, density: Field, found: Sequence[Distance]) -> float:
    """A certified upper bound of F(density), from the maps of the distances to it. density: of mean one."""
    level = ascent.levels[-1]
    mu, conjugates = ascent.kernels.get(level.mu), np.stack([d.conjugate for d in found])
    images, moments = ascent.moments(conjugates)
    return float(ascent.weights @ plan_costs(mu, images, moments, density, level.domain, ascent.threads))


def distances_to(
    density: Field,
    measures: Field,
    domain: Domain,
    start: Field | None = None,
    iterations: int = PRIMAL_ITERATIONS,
    threads: int = 1,
    device: str = "cpu",
) -> list[Distance]:
    """The distances of all measures to a density. start: potentials to begin with; without, all levels are run."""
    # Short steps: near the optimum long ones swing, and the value is a lower bound that must come up.
    counts = (iterations,) if start is not None else (iterations, *DISTANCE_ITERATIONS[1:])
    settings = Settings(counts, step=1.0, tolerance=0.0)
    options = {"lengths": domain.lengths, "settings": settings, "threads": threads, "device": device}
    warm = [None] * len(measures) if start is None else list(start)
    return [w2(mu, density, start=f, **options) for mu, f in zip(measures, warm, strict=True)]


def objective_parts(
    density: Field,
    measures: Field,
    domain: Domain,
    start: Field | None = None,
    iterations: int = PRIMAL_ITERATIONS,
    threads: int = 1,
) -> Field:
    """1/2 W2^2(density, mu_i) : (m,), from `distances_to`."""
    return np.array([d.half_squared for d in distances_to(density, measures, domain, start, iterations, threads)])

"""Wasserstein barycenters of densities on a grid, with a certificate.

    F(nu) = sum_i w_i 1/2 W2^2(nu, mu_i)        nu* = argmin F        (Agueh and Carlier 2011)

The answer carries feasible dual potentials, so its dual value is a lower bound of min F that anyone can check: one
c-transform per measure and a sum. Because the centroids decide most of F, it is the shape part F - F_c that tells how
good a barycenter is.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from transport.ascent import Ascent, Row, Settings
from transport.densities import as_stack, as_weights, centroid_value, require_memory
from transport.distance import w2
from transport.domain import Domain
from transport.errors import TransportError
from transport.published import PublishedSettings, sga, wdha
from transport.pushforward import corner_map
from transport.threads import thread_count

Field = NDArray[np.float64]
Method = Literal["accelerated", "wdha", "sga"]
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
        distances: 1/2 W2^2(density, mu_i) : (m,), from the same.
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
    def gap(self) -> float:
        """How far the density may be from the optimum, relative to the shape part. 0 where everything coincides."""
        slack, scale = self.primal_value - self.dual_value, abs(self.shape_bound)
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
    settings: Settings | PublishedSettings | None = None,
    threads: int = 0,
    callback: Callback | None = None,
    checkpoint: Path | None = None,
    checkpoint_every: int = 10,
    resume: bool = False,
    primal_iterations: int = PRIMAL_ITERATIONS,
) -> Barycenter:
    """The density that is nearest to all measures, in the mean of squared Wasserstein distances.

    Args:
        measures: m densities of one shape, two or three axes, not negative; each is scaled to mean one.
        weights: m numbers, not negative, not all zero; scaled to sum one. None: equal. A measure of weight zero does
            not count, but its potentials and map are found too (by the accelerated method).
        method: "accelerated" (`transport.ascent`), or "wdha" or "sga" as published (`transport.published`).
        lengths: sides of the box. Default: square cells, the longest side is 1. All values are in this unit squared.
        mask: where the barycenter may have mass, bool; accelerated only.
        start: potentials of a similar problem; accelerated only. Fewer levels are then needed.
        settings: `Settings`, or `PublishedSettings` for the published methods.
        threads: 0 means all. The bits of the answer do not depend on it.
        callback: sees every iteration; when it returns True, the best answer so far is returned.
        checkpoint: file that is written every `checkpoint_every` iterations; accelerated only.
        resume: continue from `checkpoint` if it exists, to the same bits as without interruption.
        primal_iterations: of the distances behind `primal_value`, one measure at a time.

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
    expected = Settings if method == "accelerated" else PublishedSettings
    if settings is not None and not isinstance(settings, expected):
        raise TransportError(f"method {method!r} takes {expected.__name__}, not {type(settings).__name__}")
    if method != "accelerated":
        if method not in ("wdha", "sga"):
            raise TransportError(f"method must be 'accelerated', 'wdha' or 'sga', not {method!r}")
        if mask is not None or start is not None or checkpoint is not None:
            raise TransportError("mask, start and checkpoint belong to the accelerated method")
        loop = wdha if method == "wdha" else sga
        ascent = Ascent(mu, w, domain, threads=threads)
        published = settings if isinstance(settings, PublishedSettings) else PublishedSettings()
        density, potentials, history = loop(mu, w, domain, published, callback or _ignore, threads)
        return finish(ascent, potentials, history, method, density, primal_iterations)
    ascent = Ascent(mu, w, domain, settings if isinstance(settings, Settings) else None, mask, threads)
    state = ascent.load(checkpoint) if resume and checkpoint and checkpoint.exists() else ascent.start(start)
    while not state.done:
        state = ascent.step(state)
        if checkpoint is not None and (state.done or state.iteration % checkpoint_every == 0):
            state.save(checkpoint)
        if callback is not None and callback(state.history[-1]):
            break
    return finish(ascent, ascent.potentials(state), state.history, method, None, primal_iterations)


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
    potentials: Field,
    history: tuple[Row, ...],
    method: Method = "accelerated",
    density: Field | None = None,
    primal_iterations: int = PRIMAL_ITERATIONS,
) -> Barycenter:
    """From feasible potentials to the answer. density: default, the weighted mean of the images."""
    level, w = ascent.levels[-1], ascent.weights
    conjugates, images, costs, dual = ascent.images(potentials)
    if density is None:
        density = np.tensordot(w, images, 1)
    density = density * (density.size / density.sum())
    distances = objective_parts(density, level.mu, w, level.domain, potentials, primal_iterations, ascent.threads)
    return Barycenter(
        density=density,
        weights=w,
        potentials=potentials,
        conjugates=conjugates,
        images=images,
        dual_value=dual,
        # Weak duality: a distance that has not quite converged must not pretend to beat the bound.
        primal_value=max(float(w @ distances), dual),
        distances=distances,
        plan_value=float(w @ costs),
        centroid_value=centroid_value(level.mu, w, level.domain),
        residual=ascent.residual(images, density),
        history=history,
        domain=level.domain,
        method=method,
    )


def objective_parts(
    density: Field,
    measures: Field,
    weights: Field,
    domain: Domain,
    start: Field | None = None,
    iterations: int = PRIMAL_ITERATIONS,
    threads: int = 1,
) -> Field:
    """1/2 W2^2(density, mu_i) : (m,). start: potentials to begin with; without, all levels are run."""
    # Short steps: near the optimum long ones swing, and the value is a lower bound that must come up.
    settings = Settings((iterations, 60, 60, 80) if start is None else (iterations,), step=1.0, tolerance=0.0)
    warm = [None] * len(measures) if start is None else list(start)
    found = [
        w2(mu, density, lengths=domain.lengths, settings=settings, start=f, threads=threads).half_squared
        for mu, f in zip(measures, warm, strict=True)
    ]
    return np.array(found)


def _ignore(row: Row) -> bool:
    return False

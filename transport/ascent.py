"""Accelerated dual ascent for the barycenter, coarse to fine: our formulation of Sobolev gradient ascent.

    D(f_1 .. f_n) = sum_i w_i mean(f_i^c mu_i),     sum_i w_i f_i = 0,     D(f) <= F(nu) for every nu

The derivative of D in f_i is -w_i R_i, with R_i = (id - grad f_i^c)_# mu_i. One step is

    y_i  = f_i + beta (f_i - f_i before)               momentum (Nesterov 1983)
    y_i <- y_i^cc,  y_i <- y_i - sum_k w_k y_k         convexify and recentre: D does not fall, see below
    f_i  = y_i + s (-Laplace)^-1 (m - R_i(y)),  m = sum_k w_k R_k       ascent in H^1 (Kim, Zhou, Zhu and Chen 2025)

with a restart of the momentum and a shorter step whenever D falls (O'Donoghue and Candes 2015). Why the second line is
free: f^cc >= f, so the recentring subtracts something not negative, f_i' <= f_i^cc, and f_i'^c >= f_i^ccc = f_i^c.

Levels double the grid; a potential of the coarse level is feasible and almost optimal on the next.
"""

import math
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from transport.densities import centroid_value
from transport.domain import Domain
from transport.errors import AscentError, TransportError
from transport.kernels import Kernels, Stack, host, kernels_on
from transport.levels import hierarchy, interpolate, places, resample
from transport.mask import Mask

Field = NDArray[np.float64]

DEFAULT_ITERATIONS = ((2_000, 100), (20_000, 60), (80_000, 30), (300_000, 16))
"""Cells up to which a level may take so many iterations; larger ones take `LARGE_ITERATIONS`. The coarse levels do the
work, the finest one only smooths."""
LARGE_ITERATIONS = 10


@dataclass(frozen=True)
class Settings:
    """How the ascent is run.

    Args:
        iterations: at most, per level, finest first; coarser levels than given take the last number. None: by size.
        step: s = step * factor / max density. 0.5 to 5 work; it shrinks by itself.
        tolerance: a level ends when D gained less than this part of its shape part over ten iterations.
        coarsest: cells along the longest axis of the first level, about.
    """

    iterations: tuple[int, ...] | None = None
    step: float = 3.0
    tolerance: float = 1e-6
    coarsest: int = 32

    def __post_init__(self) -> None:
        if self.iterations is not None and (not self.iterations or min(self.iterations) < 1):
            raise TransportError("iterations must name at least one iteration per level")
        if not (self.step > 0 and self.tolerance >= 0 and self.coarsest >= 4):
            raise TransportError("step must be positive, tolerance not negative, and coarsest at least 4")

    def iterations_on(self, cells: int, from_finest: int) -> int:
        """Iterations at most on a level of so many cells, `from_finest` levels above the finest."""
        if self.iterations is None:
            return next((n for most, n in DEFAULT_ITERATIONS if cells <= most), LARGE_ITERATIONS)
        return self.iterations[min(from_finest, len(self.iterations) - 1)]


@dataclass(frozen=True)
class Row:
    """One iteration: the dual value, the weighted squared H^-1 residual sum_i w_i |R_i - m|^2, and the step taken."""

    iteration: int
    shape: tuple[int, ...]
    dual: float
    residual: float
    step: float
    restarted: bool


@dataclass
class State:
    """Where an ascent is. Plain data: what `save` writes and `load` reads continues to the same bits."""

    level: int
    inner: int  # iterations done on this level
    f: Stack  # (m, *shape of the level)
    previous: Stack
    best: Stack  # the potentials with the highest dual value of this level, feasible
    best_dual: float = -math.inf
    last_dual: float = -math.inf
    t: float = 1.0  # Nesterov's sequence
    factor: float = 1.0  # of the step; shrinks on restarts
    done: bool = False
    history: tuple[Row, ...] = ()
    spare: Stack | None = field(default=None, repr=False)  # a buffer, never read

    @property
    def iteration(self) -> int:
        return len(self.history)

    def save(self, path: Path) -> None:
        """Write as .npz, whole or not at all."""
        numbers = np.array([self.best_dual, self.last_dual, self.t, self.factor])
        part = path.with_name(path.name + ".part")
        with part.open("wb") as file:
            np.savez(
                file,
                place=np.array([self.level, self.inner, self.done]),
                numbers=numbers,
                rows=row_table(self.history),
                f=host(self.f),
                previous=host(self.previous),
                best=host(self.best),
            )
        part.replace(path)

    @classmethod
    def load(cls, path: Path) -> "State":
        """Read what `save` wrote.

        Raises:
            TransportError: missing, or not a checkpoint.
        """
        try:
            with np.load(path, allow_pickle=False) as data:
                level, inner, done = (int(v) for v in data["place"])
                best_dual, last_dual, t, factor = (float(v) for v in data["numbers"])
                history = read_rows(data["rows"])
                f, previous, best = data["f"], data["previous"], data["best"]
        except (OSError, KeyError, ValueError) as error:
            raise TransportError(f"{path} is not a checkpoint of a barycenter") from error
        return cls(level, inner, f, previous, best, best_dual, last_dual, t, factor, bool(done), history)


@dataclass(frozen=True)
class Level:
    """The measures on one grid."""

    domain: Domain
    mu: Stack
    mask: Mask | None
    peak: float  # largest density
    centroid_value: float
    iterations: int


@dataclass(frozen=True)
class Images:
    """From feasible potentials: f_i^c, R_i = (id - grad f_i^c)_# mu_i, the costs of these plans, and the dual value."""

    conjugates: Field
    images: Field
    costs: Field
    dual: float


class Ascent:
    """The ascent for given measures and weights.

    Args:
        mu: (m, n_1, ..., n_d), densities of mean one, of positive-weight and of zero-weight measures; the latter are
            followed too, so that their maps to the barycenter are known.
        weights: (m,), of sum one.
        mask: (n_1, ..., n_d) bool, where the barycenter may have mass. None: everywhere.
        threads: 0 means all.
        device: see `transport.kernels`.
    """

    def __init__(
        self,
        mu: Field,
        weights: Field,
        domain: Domain,
        settings: Settings | None = None,
        mask: NDArray[np.bool_] | None = None,
        threads: int = 1,
        device: str = "cpu",
    ) -> None:
        self.weights, self.settings = weights, settings or Settings()
        self.kernels: Kernels = kernels_on(device, threads)
        self.threads, self.device = threads, device
        domains = hierarchy(domain, self.settings.coarsest)
        self.levels = tuple(self._level(mu, d, mask, len(domains) - 1 - k) for k, d in enumerate(domains))

    def start(self, potentials: Field | None = None) -> State:
        """The first state: from nothing, or from potentials of a similar problem, which one step makes feasible."""
        level = 0
        if potentials is not None:
            wanted = tuple(self.levels[-1].mu.shape)
            if potentials.shape != wanted:
                raise TransportError(f"the warm start has shape {potentials.shape}, the measures {wanted}")
            level = max(0, len(self.levels) - 3)
        domain = self.levels[level].domain
        shape = (len(self.weights), *domain.shape)
        f = np.zeros(shape) if potentials is None else resample(potentials, domain)
        return self._begun(level, f)

    def iterations_left(self, state: State) -> int:
        """Iterations to come, at most."""
        return sum(lv.iterations for lv in self.levels[state.level :]) - state.inner if not state.done else 0

    def step(self, state: State) -> State:
        """One iteration, or the change to the next level and one iteration. The arrays of `state` are reused."""
        if state.inner == self.levels[state.level].iterations or self._settled(state):
            state = self._refined(state)
        lv, on = self.levels[state.level], self.kernels
        t = 0.5 * (1 + math.sqrt(1 + 4 * state.t**2))
        y = on.extrapolate(state.f, state.previous, (state.t - 1) / t, state.spare)
        scratch = state.previous
        y = self._convexify(y, scratch, lv)
        conjugate = self._conjugate(y, scratch, lv)
        dual = float(self.weights @ on.means_of_products(conjugate, lv.mu))
        if not math.isfinite(dual):
            raise AscentError(f"the dual value is not finite on the level {lv.domain.shape}: lower settings.step")
        images, _ = on.push(conjugate, lv.mu, lv.domain)
        if lv.mask is not None:
            on.gather(images, lv.mask)
        gradient, energies = on.inverse_laplacian(on.differences(images, self.weights), lv.domain)
        restarted = dual < state.last_dual
        if restarted:
            t, state.factor = 1.0, max(0.8 * state.factor, 0.1)
        step = self.settings.step * state.factor / lv.peak
        # The older iterate is no longer needed, so it makes room for the new one.
        climbed = on.climb(y, gradient, step, scratch)
        state.previous, state.f = state.f, climbed
        if dual > state.best_dual:
            state.best, y, state.best_dual = y, state.best, dual
        row = Row(state.iteration + 1, lv.domain.shape, dual, float(self.weights @ energies), step, restarted)
        state = replace(state, inner=state.inner + 1, last_dual=dual, t=t, history=(*state.history, row), spare=y)
        last = state.level == len(self.levels) - 1
        return replace(state, done=last and (state.inner == lv.iterations or self._settled(state)))

    def potentials(self, state: State) -> Field:
        """The best potentials so far, on the finest grid, feasible. (m, n_1, ..., n_d)"""
        f = self.kernels.put(interpolate(host(state.best), self.levels[-1].domain))
        self.kernels.recentre(f, self.weights)
        return self.kernels.get(f)

    def images(self, potentials: Field) -> "Images":
        """What feasible potentials of the finest level say about the measures."""
        lv, on = self.levels[-1], self.kernels
        conjugate = self._conjugate(on.put(potentials), None, lv)
        images, costs = on.push(conjugate, lv.mu, lv.domain)
        if lv.mask is not None:
            on.gather(images, lv.mask)
        dual = float(self.weights @ on.means_of_products(conjugate, lv.mu))
        return Images(on.get(conjugate), on.get(images), costs, dual)

    def moments(self, conjugates: Field) -> tuple[Field, Field]:
        """Where maps take the measures and the masses mu_i x_k : (m, n_1, ..., n_d), (m, d, n_1, ..., n_d)."""
        lv, on = self.levels[-1], self.kernels
        mu, f = on.get(lv.mu), on.put(conjugates)
        images = on.get(on.push(f, lv.mu, lv.domain)[0])
        return images, np.stack([on.get(on.push(f, on.put(mu * x), lv.domain)[0]) for x in places(lv.domain)], axis=1)

    def residual(self, images: Field, density: Field) -> float:
        """sum_i w_i |R_i - density|^2_{H^-1}, both on the finest grid."""
        energies = self.kernels.inverse_laplacian(self.kernels.put(density - images), self.levels[-1].domain)[1]
        return float(self.weights @ energies)

    def load(self, path: Path) -> State:
        """A state that `State.save` wrote.

        Raises:
            TransportError: not a checkpoint, or one of another problem.
        """
        state = State.load(path)
        if state.level >= len(self.levels) or state.f.shape != tuple(self.levels[state.level].mu.shape):
            raise TransportError(f"{path} belongs to measures of another number or shape")
        state.f, state.previous, state.best = (self.kernels.put(a) for a in (state.f, state.previous, state.best))
        return state

    # -- parts of a step ----------------------------------------------------------------------------------------------

    def _convexify(self, y: Stack, scratch: Stack, lv: Level) -> Stack:
        on, steps = self.kernels, lv.domain.steps
        y = on.c_transform(on.c_transform(self._masked(y, lv), steps, out=scratch), steps, out=y)
        on.recentre(y, self.weights)
        return y

    def _conjugate(self, y: Stack, out: Stack | None, lv: Level) -> Stack:
        source = y if lv.mask is None else self._masked(y + 0, lv)  # a copy
        return self.kernels.c_transform(source, lv.domain.steps, out=out)

    def _masked(self, y: Stack, lv: Level) -> Stack:
        return y if lv.mask is None else self.kernels.close(y, lv.mask)

    def _settled(self, state: State) -> bool:
        lv = self.levels[state.level]
        if state.inner <= 10:
            return False
        shape_part = max(state.best_dual - lv.centroid_value, 1e-9 * sum(a * a for a in lv.domain.lengths))
        past = max(row.dual for row in state.history[:-10][-(state.inner - 10) :])
        return state.best_dual - past <= self.settings.tolerance * shape_part

    def _refined(self, state: State) -> State:
        lv = self.levels[state.level + 1]
        f = interpolate(host(state.best), lv.domain)
        # A step that had to shrink on this grid is too long on the next one too, but less so: the densities are new.
        factor = math.sqrt(state.factor)
        return replace(self._begun(state.level + 1, f), factor=factor, history=state.history)

    def _begun(self, level: int, f: Field) -> State:
        return State(level, 0, *(self.kernels.put(f.copy()) for _ in range(3)))

    def _level(self, mu: Field, domain: Domain, mask: NDArray[np.bool_] | None, from_finest: int) -> Level:
        here = mu if domain.shape == mu.shape[1:] else resample(mu, domain)
        if here is not mu:
            here /= here.mean(axis=tuple(range(1, here.ndim)), keepdims=True)
        return Level(
            domain,
            self.kernels.put(here),
            None if mask is None else Mask.on(mask, domain),
            float(here.max()),
            centroid_value(here, self.weights, domain),
            self.settings.iterations_on(domain.size, from_finest),
        )


def row_table(history: tuple[Row, ...]) -> Field:
    """Rows as numbers, for a checkpoint."""
    return np.array([(*_padded(r.shape), r.iteration, r.dual, r.residual, r.step, r.restarted) for r in history])


def read_rows(table: Field) -> tuple[Row, ...]:
    """What `row_table` made of them."""
    return tuple(_row(r) for r in table)


def _padded(shape: tuple[int, ...]) -> tuple[int, ...]:
    return (*shape, 0)[:3]


def _row(r: Any) -> Row:
    shape = tuple(int(n) for n in r[:3] if n > 0)
    return Row(int(r[3]), shape, float(r[4]), float(r[5]), float(r[6]), bool(r[7]))

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
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from transport.ascent import Row, read_rows, row_table
from transport.domain import Domain
from transport.errors import TransportError
from transport.legendre import c_transform
from transport.poisson import inverse_laplacian
from transport.pushforward import push
from transport.sweeps import means_of_products, recentre

Field = NDArray[np.float64]


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


@dataclass
class PublishedState:
    """Where a published method is. Plain data: what `save` writes and `load` reads continues to the same bits.

    density and conjugates belong to WDHA, best and best_dual to SGA; etas and duals are one per measure.
    """

    f: Field
    density: Field
    conjugates: Field
    best: Field
    etas: Field
    duals: Field
    best_dual: float = -math.inf
    history: tuple[Row, ...] = ()
    done: bool = False

    @property
    def iteration(self) -> int:
        return len(self.history)

    def save(self, path: Path) -> None:
        """Write as .npz, whole or not at all."""
        part = path.with_name(path.name + ".part")
        arrays = {k: v for k, v in vars(self).items() if isinstance(v, np.ndarray)}
        with part.open("wb") as file:
            np.savez(file, rows=row_table(self.history), numbers=np.array([self.best_dual, self.done]), **arrays)  # type: ignore[arg-type]
        part.replace(path)

    @classmethod
    def load(cls, path: Path) -> "PublishedState":
        """Read what `save` wrote.

        Raises:
            TransportError: missing, or not a checkpoint.
        """
        try:
            with np.load(path, allow_pickle=False) as data:
                best_dual, done = data["numbers"]
                arrays = {k: data[k] for k in ("f", "density", "conjugates", "best", "etas", "duals")}
                history = read_rows(data["rows"])
        except (OSError, KeyError, ValueError) as error:
            raise TransportError(f"{path} is not a checkpoint of a published method") from error
        return cls(**arrays, best_dual=float(best_dual), history=history, done=bool(done))


@dataclass(frozen=True)
class Published:
    """A published method for given measures and weights.

    Args:
        mu: (m, n_1, ..., n_d), of mean one. weights: (m,), of sum one.
    """

    method: Literal["wdha", "sga"]
    mu: Field
    weights: Field
    domain: Domain
    settings: PublishedSettings
    threads: int = 1

    def start(self) -> PublishedState:
        m, zeros = len(self.mu), np.zeros_like(self.mu)
        etas = np.full(m, self.settings.dual_step or 0.05)
        if self.method == "sga":
            none = np.zeros(0)
            return PublishedState(zeros, none, none, zeros.copy(), etas, none)
        duals = np.full(m, -math.inf)
        return PublishedState(zeros, self.mu[0].copy(), zeros.copy(), np.zeros(0), etas, duals)

    def load(self, path: Path) -> PublishedState:
        """A state that `PublishedState.save` wrote.

        Raises:
            TransportError: not a checkpoint, or one of another problem.
        """
        state = PublishedState.load(path)
        if state.f.shape != self.mu.shape or (state.density.size > 0) != (self.method == "wdha"):
            raise TransportError(f"{path} belongs to another method, or to measures of another number or shape")
        return state

    def iterations_left(self, state: PublishedState) -> int:
        return 0 if state.done else self.settings.iterations - state.iteration

    def step(self, state: PublishedState) -> PublishedState:
        """One iteration. The arrays of `state` are reused."""
        state = self._wdha(state) if self.method == "wdha" else self._sga(state)
        return replace(state, done=state.iteration >= self.settings.iterations)

    def answer(self, state: PublishedState) -> tuple[Field, Field]:
        """Barycenter (n_1, ..., n_d) and feasible potentials (m, n_1, ..., n_d).

        SGA: sum_i w_i R_i of the iterate with the highest dual value.
        """
        f = (state.f if self.method == "wdha" else state.best).copy()
        density = state.density
        if self.method == "sga":
            conjugate = c_transform(f, self.domain.steps, threads=self.threads)
            density = np.tensordot(self.weights, push(conjugate, self.mu, self.domain, threads=self.threads)[0], 1)
        recentre(f, self.weights, self.threads)  # of SGA to the last bit; it moves nothing
        return density, f

    def _wdha(self, state: PublishedState) -> PublishedState:
        """The dual value of its row is sum_i w_i I_i, not a bound."""
        mu, w, domain, threads = self.mu, self.weights, self.domain, self.threads
        t, eta, nu = state.iteration + 1, state.etas, state.density
        images, _ = push(state.conjugates, mu, domain, threads=threads)
        gradient, energies = inverse_laplacian(nu - images, domain, threads=threads)
        f = state.f + _column(eta, mu.ndim) * gradient
        conjugates = c_transform(f, domain.steps, threads=threads)
        f = c_transform(conjugates, domain.steps, threads=threads)
        duals = means_of_products(f, np.broadcast_to(nu, f.shape).copy(), threads)
        duals += means_of_products(conjugates, mu, threads)
        eta = np.where(duals < state.duals, 0.99 * eta, eta)
        tau = math.exp(-t / self.settings.iterations)
        nu = push(tau * np.tensordot(w, f, 1)[None], nu[None], domain, threads=threads)[0][0]
        row = Row(t, domain.shape, float(w @ duals), float(w @ energies), float(eta.max()), False)
        return PublishedState(f, nu, conjugates, state.best, eta, duals, history=(*state.history, row))

    def _sga(self, state: PublishedState) -> PublishedState:
        """The dual value of its row is D, a lower bound."""
        mu, w, domain, threads = self.mu, self.weights, self.domain, self.threads
        t, last, f = state.iteration + 1, int(np.argmax(self.weights)), state.f
        conjugate = c_transform(f, domain.steps, threads=threads)
        dual = float(w @ means_of_products(conjugate, mu, threads))
        best, best_dual = (f.copy(), dual) if dual > state.best_dual else (state.best, state.best_dual)
        images, _ = push(conjugate, mu, domain, threads=threads)
        gradient, energies = inverse_laplacian(images[last] - images, domain, threads=threads)
        step = (self.settings.dual_step or 0.1) / (math.sqrt(t) if self.settings.decreasing else 1.0)
        f += step * _column(w, f.ndim) * gradient
        f[last] = 0
        f[last] = -np.tensordot(w, f, 1) / w[last]
        row = Row(t, domain.shape, dual, float(w @ energies), step, False)
        return replace(state, f=f, best=best, best_dual=best_dual, history=(*state.history, row))


def _column(values: Field, ndim: int) -> Field:
    return values.reshape(-1, *(1,) * (ndim - 1))

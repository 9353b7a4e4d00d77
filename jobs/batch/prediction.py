"""How long a job will take, learned from those that have been.

The model is that of the scaling laws of solvers: log t = a_kind + sum_f b_f log f over the size features of a job, by
ridge regression (Hoerl and Kennard, 1970) towards exponents of one, which is what a kind is given before it has
enough runs of different sizes to say otherwise. Residuals of the kind give the quantiles. A kind that was never seen
gets the median of all, and says so.
"""

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

SHORTEST = 0.01  # seconds
UNKNOWN = 60.0  # seconds, where nothing has ever run
RIDGE = 1.0
RECENT = 400
"""Runs per kind that are looked at: the newest, since code and machine change."""


@dataclass(frozen=True)
class Prediction:
    """Seconds. known: whether the kind has been seen before."""

    low: float
    median: float
    high: float
    known: bool

    def after(self, elapsed: float) -> float:
        """The whole run time, once so much has passed: an overrun prediction doubles until it is not overrun."""
        predicted = max(self.median, SHORTEST)
        while predicted < elapsed:
            predicted *= 2
        return predicted


@dataclass(frozen=True)
class _Law:
    names: tuple[str, ...]
    centre: tuple[float, ...]
    intercept: float
    exponents: tuple[float, ...]
    residuals: tuple[float, ...]

    def __call__(self, features: Mapping[str, float]) -> float:
        logs = _logs(features, self.names, self.centre)
        return self.intercept + sum(b * (x - c) for b, x, c in zip(self.exponents, logs, self.centre, strict=True))


@dataclass
class Predictor:
    """Run times by kind and size.

    Args:
        history: (kind, features, seconds) of finished jobs, oldest first.
    """

    history: Iterable[tuple[str, Mapping[str, float], float]] = ()
    laws: dict[str, _Law] = field(default_factory=dict)

    def __post_init__(self) -> None:
        kinds: dict[str, list[tuple[Mapping[str, float], float]]] = {}
        for kind, features, seconds in self.history:
            kinds.setdefault(kind, []).append((features, math.log(max(seconds, SHORTEST))))
        self.laws = {kind: _fit(rows[-RECENT:]) for kind, rows in kinds.items()}
        everything = sorted(t for rows in kinds.values() for _, t in rows)
        self.overall = math.exp(_quantile(everything, 0.5)) if everything else UNKNOWN

    def __call__(self, kind: str, features: Mapping[str, float]) -> Prediction:
        law = self.laws.get(kind)
        if law is None:
            return Prediction(self.overall / 4, self.overall, 4 * self.overall, known=False)
        low, median, high = (law(features) + _quantile(law.residuals, q) for q in (0.1, 0.5, 0.9))
        return Prediction(math.exp(low), math.exp(median), math.exp(high), known=True)

    def error(self, kind: str) -> float | None:
        """Nine of ten runs took between the prediction divided by this and times this."""
        law = self.laws.get(kind)
        return None if law is None else math.exp(_quantile(sorted(abs(r) for r in law.residuals), 0.9))


def _fit(rows: Sequence[tuple[Mapping[str, float], float]]) -> _Law:
    """Minimise sum (t - a - b.(x - c))^2 + RIDGE |b - 1|^2, with c the mean of x."""
    import numpy as np

    names = tuple(sorted({name for features, _ in rows for name in features}))
    times = np.array([t for _, t in rows])
    if not names:
        a = float(np.median(times))
        return _Law((), (), a, (), tuple(sorted((times - a).tolist())))
    known = [[math.log(f[n]) for f, _ in rows if f.get(n, 0) > 0] for n in names]
    centre = tuple(sum(logs) / len(logs) if logs else 0.0 for logs in known)
    x = np.array([_logs(features, names, centre) for features, _ in rows]) - np.array(centre)
    shift = times - x.sum(axis=1)  # what exponents of one leave
    a = float(np.mean(shift))
    correction = np.linalg.solve(x.T @ x + RIDGE * np.eye(len(names)), x.T @ (shift - a))
    exponents = 1 + correction
    residuals = times - a - x @ exponents
    return _Law(names, centre, a, tuple(exponents.tolist()), tuple(sorted(residuals.tolist())))


def _logs(features: Mapping[str, float], names: Sequence[str], centre: Sequence[float]) -> list[float]:
    """A feature that a job does not have counts as typical."""
    return [math.log(features[n]) if features.get(n, 0) > 0 else c for n, c in zip(names, centre, strict=True)]


def _quantile(ordered: Sequence[float], q: float) -> float:
    """Of sorted values, linear between them."""
    if not ordered:
        return 0.0
    place = q * (len(ordered) - 1)
    below = math.floor(place)
    above = min(below + 1, len(ordered) - 1)
    return ordered[below] + (place - below) * (ordered[above] - ordered[below])


def size_features(spec: Mapping[str, Any], input_bytes: float = 0.0) -> dict[str, float]:
    """Numbers of a resolved job that its run time may follow, all positive.

    Every kind: bytes of its input files. By name, wherever they stand: counts of elements, cells, steps, iterations,
    samples and epochs; an element size counts as its inverse cube, which is how many of them fill a body.
    """
    found: dict[str, float] = {"input": input_bytes} if input_bytes > 0 else {}
    for name, value in _numbers(spec):
        if name == "voxels.size" and value > 0:
            found["voxels.count"] = float(value) ** -3
        elif name.rpartition(".")[2] in _COUNTS and value > 0:
            found[name] = float(value)
    return found


_COUNTS = frozenset(
    [
        "count",
        "size",
        "steps",
        "seconds",
        "iterations",
        "max_iterations",
        "primal_iterations",
        "samples",
        "epochs",
        "nelx",
        "nely",
        "nelz",
        "nx",
        "ny",
        "nz",
        "n",
        "cells",
        "refine",
        "degree",
        "trajectories",
        "width",
        "depth",
    ]
)


def _numbers(data: Mapping[str, Any], prefix: str = "") -> Iterable[tuple[str, float]]:
    for key, value in data.items():
        if isinstance(value, Mapping):
            yield from _numbers(value, f"{prefix}{key}.")
        elif isinstance(value, int | float) and not isinstance(value, bool):
            yield f"{prefix}{key}", value

"""The feature design: voids or bars that move, turn and change their form until the plate is stiffest.

    min 10 ln(c / c_first)   over the variables of all features,   V / V_target - 1 <= 0

by MMA with move limits of about an element, under a volume target that falls to the goal and a Heaviside function that
grows sharper. After each step every feature is made valid again. The volume that counts is that of the outline, so the
target is shifted by what the smooth field shows too much or too little; the last step grows or shrinks all features by
the same small amount until the thresholded volume meets the goal.

A run is `start / step / finish`; states are plain data.
"""

import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

import optim
from optim import prepared
from optim.design import MMA, mma
from topopt.features.analytic import Analytic
from topopt.features.backend import Backend, Box, Ruled
from topopt.features.bridges import widened
from topopt.features.errors import FeatureError
from topopt.features.finish import Result, finished
from topopt.features.problem import FeatureProblem, Settings
from topopt.features.state import Info, State
from topopt.features.union import Union
from topopt.features.validity import Rules

Field = NDArray[np.float64]

TEN = 10.0  # size of the objective, so that its multiplier and the constraint's are of like size
DAMPING = 0.2
THICKNESS_STEPS = 25  # moves from the thinnest to the thickest plate


@dataclass(frozen=True)
class Look:
    """One evaluation: densities (m,), compliance, volume fraction, and their derivatives (n,)."""

    rho: Field
    compliance: float
    volume: float
    dc: Field
    dv: Field


class FeatureDesign:
    """The method, bound to one problem.

    Args:
        backend: what the features are made of; default `Analytic` for the shapes of `problem.start`.
    """

    def __init__(self, problem: FeatureProblem, settings: Settings, backend: Backend | None = None) -> None:
        self.problem, self.settings = problem, settings
        self.backend = backend or Analytic(problem.start, settings.fractions)
        self.union = Union(settings.union, settings.rho_min, settings.gamma, problem.solid)
        plate = problem.plate
        self.share = plate.areas / plate.areas.sum()
        self.border = plate.border

    @property
    def rules(self) -> Rules:
        """Validity in mm."""
        s, h = self.settings, self.problem.plate.h
        return Rules(
            edge=s.edge * h,
            radius=max(s.radius * h, s.tool),
            sine=s.sine,
            fractions=s.fractions,
            length=1.5 * h,
        )

    def start(self) -> State:
        """The first state: the features of the problem, made valid."""
        x = self.backend.corrected(self.backend.variables(self.problem.start), self.rules)
        if self.problem.thickness is not None:
            x = np.append(x, np.mean(self.problem.thickness))
        return State(x, x, x, np.zeros_like(x), np.zeros_like(x), np.ones(1))

    def look(self, x: Field, sharpness: float) -> Look:
        """Evaluate variables; sharpness in 1/mm."""
        p = self.problem
        features, t = self._split(x)
        h = self.backend.heaviside(p.plate.points, features, sharpness)
        rho = np.where(p.kept, 1.0, self.union.density(h))
        response = p.plate.response(rho)
        if not np.isfinite(response.compliance) or response.compliance <= 0:
            raise FeatureError(f"compliance is {response.compliance}: check supports, loads and the start features")
        area = float(self.share @ rho)
        rows = []
        for weights in (response.gradient, self.share):
            pulled = self.union.vjp(h, np.where(p.kept, 0.0, weights))
            rows.append(self.backend.pullback(p.plate.points, features, sharpness, pulled))
        if p.thickness is None:
            return Look(rho, response.compliance, area, *rows)
        # A plate of thickness t in plane stress or strain: c falls as 1/t, material grows as t.
        most, stiffer = p.thickness[1], t / p.plate.thickness
        c = response.compliance / stiffer
        dc, dv = np.append(rows[0] / stiffer, -c / t), np.append(rows[1] * t / most, area / most)
        return Look(rho, c, area * t / most, dc, dv)

    def step(self, state: State) -> tuple[State, Info]:
        """One iteration: look, propose, correct."""
        s, began, h = self.settings, time.perf_counter(), self.problem.plate.h
        sharpness = s.k(state.iteration, h)
        look = self.look(state.x, sharpness)
        first = state.first or look.compliance
        thresholded = self.thresholded_volume(look.rho, state.x)
        target, shift = self._target(state, look.volume, thresholded)
        after = self._propose(state, look, first, target)
        grey = float(4 * self.share @ (look.rho * (1 - look.rho)))
        change = float(np.abs(after.x - state.x).max()) / h
        info = Info(
            state.iteration,
            look.compliance,
            look.volume,
            thresholded,
            target,
            sharpness * h,
            grey,
            change,
            time.perf_counter() - began,
        )
        after = replace(after, first=first, target=target, shift=shift, history=(*state.history, info))
        return replace(after, done=self._is_done(after)), info

    def thresholded_volume(self, rho: Field, x: Field) -> float:
        """Of the cells at least half full, with the thickness."""
        t = self._split(x)[1]
        scale = 1.0 if self.problem.thickness is None else t / self.problem.thickness[1]
        return scale * float(self.share @ (rho >= 0.5))

    def finish(self, state: State) -> Result:
        """Clean up, meet the volume, and evaluate what is left as it leaves for CAD."""
        features, t = self._split(state.x)
        return finished(self, state, features, t if self.problem.thickness is not None else None)

    def _split(self, x: Field) -> tuple[Field, float]:
        return (x, 1.0) if self.problem.thickness is None else (x[:-1], float(x[-1]))

    def _target(self, state: State, volume: float, thresholded: float) -> tuple[float, float]:
        """The volume target of this iteration and the shift between the smooth and the thresholded volume."""
        s, goal, shift = self.settings, self.problem.goal, state.shift
        if state.iteration >= (s.soft + s.sharp) // 2:
            shift += DAMPING * (thresholded - volume - shift)
        end = goal - shift
        if not state.target:
            return max(volume - s.volume_step, end) if volume > end else end, shift
        if volume > state.target + s.lag:
            return max(state.target, end), shift
        return max(state.target - s.volume_step, end), shift

    def _box(self, x: Field) -> Box:
        p = self.problem
        features, _ = self._split(x)
        lower, upper = p.plate.bounds
        box = self.backend.box(features, lower, upper, p.plate.h)
        if p.thickness is None:
            return box
        low, high = p.thickness
        step = (high - low) / THICKNESS_STEPS
        return Box(np.append(box.lower, low), np.append(box.upper, high), np.append(box.move, step))

    def _propose(self, state: State, look: Look, first: float, target: float) -> State:
        """MMA in units of the move limits, then validity."""
        s, box = self.settings, self._box(state.x)
        features, _ = self._split(state.x)
        f = TEN * np.log(look.compliance / first)
        values, rows = np.array([look.volume / target - 1]), look.dv[None] / target
        if isinstance(self.backend, Ruled):
            broken, slopes = self.backend.validity(features, self.rules)
            slopes = np.pad(slopes, ((0, 0), (0, len(state.x) - len(features))))
            values, rows = np.append(values, broken), np.vstack([rows, slopes])
        now = prepared.Evaluation(float(f), TEN / look.compliance * look.dc * box.move, values, rows * box.move)
        unit, m = 1 / box.move, len(values)
        ready = prepared.Prepared(
            optim.Problem(optim.Linear(now.df[None], np.zeros(1))),  # pyright: ignore[reportArgumentType]
            prepared.namespace(now.df),
            len(now.df),
            box.lower * unit,
            box.upper * unit,
            np.zeros(m, bool),
            np.ones(1 + m),
            now.df.dtype,
        )
        method = MMA(
            move=s.move(state.iteration) / s.width,
            asymptote=s.asymptote,
            width=s.width,
            nearest=s.nearest,
            farthest=s.farthest,
        )
        units = [v * unit for v in (state.x, state.before, state.before_that, state.low, state.upp)]
        at, before, before_that, low, upp = units
        lam = np.append(state.lam, np.ones(m - 1))  # which rules bind changes from step to step
        memory = mma.State(at, now, lam, before, before_that, low, upp, state.iteration)
        found = method.propose(ready, memory)
        x = found.x * box.move
        features, _ = self._split(x)
        corrected = self.backend.corrected(features, self.rules)
        if s.bridge and not self.problem.solid and state.iteration >= s.steady:
            shapes = self.backend.shapes(corrected)
            apart = widened(shapes, self.border, s.bridge)
            corrected = corrected if apart == shapes else self.backend.variables(apart)
        x = corrected if self.problem.thickness is None else np.append(corrected, x[-1])
        return replace(
            state,
            x=x,
            before=state.x,
            before_that=state.before,
            low=found.low * box.move,
            upp=found.upp * box.move,
            lam=found.lam[:1],
            iteration=state.iteration + 1,
        )

    def _is_done(self, state: State) -> bool:
        s = self.settings
        if state.iteration >= s.iterations:
            return True
        recent = state.history[-11:]
        if state.iteration <= s.sharp + 10 or len(recent) < 11:
            return False
        values = np.array([info.compliance for info in recent])
        met = abs(recent[-1].volume / recent[-1].target - 1) < 1e-3
        return bool(met and np.ptp(values) < s.change * values[-1])


def optimize(
    problem: FeatureProblem,
    settings: Settings | None = None,
    *,
    backend: Backend | None = None,
    restarts: int = 1,
    seed: int = 0,
    callback: Callable[[State, Info], Any] | None = None,
    resume: State | None = None,
    **changes: Any,
) -> Result:
    """Find the stiffest plate for the material allowed.

    Args:
        problem: from `topopt.features.tasks`, or made by hand.
        settings: keyword arguments change single entries (`iterations=60`, `union="product"`).
        backend: default: exact distances of the problem's start features.
        restarts: how many starts are tried; the best one is kept. See `topopt.features.restarts`.
        seed: of the starts after the first.
        callback: called as (state, info) after every step; StopIteration ends the run cleanly.
        resume: a state to go on from, of a run with one start.

    Raises:
        FeatureError: if the problem cannot be right, or the plate cannot be solved.
    """
    from topopt.features.restarts import Restarts, Series

    if resume is not None and restarts > 1:
        raise FeatureError("resume goes on with one start: leave restarts away, or save the series of starts")
    runs = Restarts(problem, replace(settings or Settings(), **changes), backend, restarts, seed)
    series = runs.start() if resume is None else Series((resume,), 1)
    while not series.done:
        series, info = runs.step(series)
        try:
            if callback is not None:
                callback(series.current, info)
        except StopIteration:
            break
    return runs.finish(series)[0]

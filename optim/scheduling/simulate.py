"""Replay a trace under an order: a preemptive simulator on equal machines, driven by events."""

import math
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from optim.scheduling.errors import SchedulingError
from optim.scheduling.orders import Order
from optim.scheduling.trace import Trace, Waiting

Array = NDArray[np.float64]


@dataclass(frozen=True)
class Outcome:
    """What became of a trace. ends: (n,) seconds, in the order of the trace; switches: interruptions."""

    trace: Trace
    ends: Array
    switches: int

    @property
    def stretch(self) -> Array:
        """(n,) (end - release) / size."""
        return (self.ends - self.trace.release) / self.trace.size

    @property
    def largest_stretch(self) -> float:
        return float(self.stretch.max())

    @property
    def mean_stretch(self) -> float:
        return float(self.stretch.mean())


def simulate(
    trace: Trace, order: Order, *, machines: int = 1, fair_share: float = 0.0, switch_cost: float = 0.0
) -> Outcome:
    """Run every job of a trace; predictions that a job outruns are doubled.

    Args:
        order: ranks the waiting jobs whenever one arrives, ends, outruns its prediction or is overtaken.
        machines: the best so many jobs run, each on one machine.
        fair_share: part of each machine that all waiting jobs share equally whatever the order says. On one machine
            with at most n jobs waiting no stretch exceeds n / fair_share, however wrong the predictions are.
        switch_cost: seconds of work that an interruption adds to the job interrupted. A job is not interrupted when
            less than five times this is left of it (as predicted).

    Raises:
        SchedulingError: fair_share outside [0, 1], no machine, a negative cost.
    """
    if not 0 <= fair_share <= 1 or machines < 1 or switch_cost < 0:
        raise SchedulingError("fair_share must lie in [0, 1], machines be at least 1, switch_cost at least 0")
    return _Replay(trace, order, machines, fair_share, switch_cost).run()


@dataclass
class _Replay:
    trace: Trace
    order: Order
    machines: int
    fair_share: float
    switch_cost: float
    now: float = 0.0
    coming: int = 0
    switches: int = 0
    smallest: float = math.inf
    largest: float = 0.0
    active: NDArray[np.intp] = field(default_factory=lambda: np.zeros(0, dtype=np.intp))

    def run(self) -> Outcome:
        count = self.trace.count
        self.left, self.guess = self.trace.size.copy(), self.trace.predicted.copy()
        self.served, self.ends = np.zeros(count), np.zeros(count)
        self.running = np.zeros(count, dtype=bool)
        self.now = float(self.trace.release[0]) if count else 0.0
        while self.coming < count or self.active.size:
            self._admit()
            jobs = self._waiting()
            self._decide(jobs)
            self._advance(jobs)
        return Outcome(self.trace, self.ends, self.switches)

    def _admit(self) -> None:
        release = self.trace.release
        if not self.active.size:
            self.now = max(self.now, float(release[self.coming]))
        until = int(np.searchsorted(release, self.now, side="right"))
        if until > self.coming:
            new = np.arange(self.coming, until)
            self.active = np.concatenate([self.active, new])
            self.smallest = min(self.smallest, float(self.guess[new].min()))
            self.largest = max(self.largest, float(self.guess[new].max()))
            self.coming = until

    def _waiting(self) -> Waiting:
        a = self.active
        return Waiting(self.trace.release[a], self.guess[a], self.served[a], self.smallest, self.largest)

    def _decide(self, jobs: Waiting) -> None:
        """Choose who runs: the best, but nobody is interrupted for little."""
        runs = self.running[self.active]
        # Active jobs stand in the order of release, so a stable sort gives ties to the earlier one.
        ranked = np.argsort(-self.order.priority(jobs, self.now), kind="stable")
        if self.switch_cost > 0:
            near = runs & (jobs.remaining <= 5 * self.switch_cost)
            ranked = np.concatenate([ranked[near[ranked]], ranked[~near[ranked]]])
        chosen = np.zeros(self.active.size, dtype=bool)
        chosen[ranked[: self.machines]] = True
        stopped = self.active[runs & ~chosen]
        self.switches += stopped.size
        self.left[stopped] += self.switch_cost
        self.running[self.active] = chosen

    def _advance(self, jobs: Waiting) -> None:
        """Work until the next event."""
        runs = self.running[self.active]
        shared = min(1.0, self.fair_share * self.machines / self.active.size)
        rate = np.where(runs, min(1.0, shared + 1.0 - self.fair_share), shared)
        step = self._until_event(jobs, rate, runs)
        self.now += step
        self.left[self.active] -= rate * step
        self.served[self.active] += rate * step
        done = self.left[self.active] <= 1e-12 * self.trace.size[self.active]
        outran = self.active[~done & (self.served[self.active] >= self.guess[self.active] * (1 - 1e-12))]
        if outran.size:
            self.guess[outran] *= 2.0
            self.largest = max(self.largest, float(self.guess[outran].max()))
        if done.any():
            ended = self.active[done]
            self.ends[ended] = self.now
            self.smallest = min(self.smallest, float(self.trace.size[ended].min()))
            self.active = self.active[~done]

    def _until_event(self, jobs: Waiting, rate: Array, runs: NDArray[np.bool_]) -> float:
        moving, rate = self.active[rate > 0], rate[rate > 0]
        ends = self.left[moving] / rate
        outruns = (self.guess[moving] - self.served[moving]) / rate
        events = [float(ends.min()), float(outruns.min())]
        if self.coming < self.trace.count:
            events.append(float(self.trace.release[self.coming]) - self.now)
        if self.active.size > self.machines:
            events += [self.order.crossing(jobs, int(k), self.now) - self.now for k in np.flatnonzero(runs)]
        return max(min(events), 0.0)

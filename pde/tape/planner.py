"""What to keep, what to compute again, what to move elsewhere: decided from sizes and speeds, and said beforehand.

A state that was computed at the beginning is needed again at the end, so there is time to move it away and back. With

    k = (2 bytes / bandwidth) / (time of a step forwards and back)

everything moves beside the computation without slowing it down where k <= 1; the ratio is that of PipeOffload (Wan et
al. 2025), the rules after it are our formulation:

1. All states fit into the budget: keep them.
2. k <= 1: move all of them.
3. Otherwise binomial checkpointing with as many snapshots as fit, and the oldest of some more snapshots moved, as many
   as make the run shortest; those stay longest, so they move least often.

On one device the peak is at the turn: moving q of l states saves q / l of the memory, no more.
"""

import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from optim.arrays import Array
from pde.tape.errors import TapeError
from pde.tape.schedule import Advance, Drop, Load, Reverse, Schedule, Store, Turn, actions
from pde.tape.stores import OnDisk, OnHost

MIB = 2**20


@dataclass(frozen=True)
class Timing:
    """Args: step, pull, seconds for one step forwards and back. bandwidth, bytes per second to the other place."""

    step: float
    pull: float
    bandwidth: float

    @classmethod
    def measured(
        cls, chain: Any, first: Array, place: Literal["host", "disk"] | None, folder: Path | None = None
    ) -> "Timing":
        """One step forwards, and one state there and back. A step back is taken to be as long as one forwards."""
        chain.step(0, first)  # what is compiled or factorised once is not counted
        step = _seconds(lambda: chain.step(0, first))
        if place is None:
            return cls(step, step, 0.0)
        store = OnDisk(folder) if place == "disk" else OnHost()
        try:
            moved = min(_seconds(lambda: (store.put(0, first), store.get(0))) for _ in range(3))
        finally:
            store.close()
        return cls(step, step, 2 * first.nbytes / max(moved, 1e-9))

    @classmethod
    def slowest(cls, parts: Sequence["Timing"]) -> "Timing":
        """Of several that wait for each other."""
        return cls(max(p.step for p in parts), max(p.pull for p in parts), min(p.bandwidth for p in parts))


@dataclass(frozen=True)
class Budget:
    """How much memory a tape may take.

    Args:
        memory: bytes, for states and cotangents at the peak.
        offload: where else snapshots may go: "host", "disk", or None: nowhere.
        timing: speeds; None: they are measured on the first step. They change what is kept, never the derivative.
    """

    memory: int
    offload: Literal["host", "disk"] | None = None
    timing: Timing | None = None


@dataclass(frozen=True)
class Cost:
    """Of a schedule. Attributes: arrays, most in memory at once; repeated, steps; moves of a state, there or back."""

    arrays: int
    repeated: int
    moves: int


@dataclass(frozen=True)
class Plan:
    """A schedule, and what it will cost.

    Attributes:
        size: bytes of a state. peak: bytes in memory at once, of states and cotangents. ratio: k, 0 where nothing can
        be moved. seconds: of the run forwards and back.
    """

    schedule: Schedule
    steps: int
    size: int
    cost: Cost
    ratio: float
    seconds: float

    @property
    def peak(self) -> int:
        return self.cost.arrays * self.size

    def __str__(self) -> str:
        slots = self.schedule.slots(self.steps)
        moved = sum(self.schedule.place_of(slot) != "memory" for slot in range(slots))
        away = f", {moved} of them on {self.schedule.place}" if moved else ""
        cost = self.cost
        return (
            f"{self.steps} steps, {slots} snapshots of {self.size / MIB:.3g} MiB{away}, "
            f"peak {self.peak / MIB:.3g} MiB, "
            f"{cost.repeated} steps again, {cost.moves} moves, {self.seconds:.3g} s (k = {self.ratio:.2g})"
        )


def plan(steps: int, size: int, budget: Budget, timing: Timing, room: int) -> Plan:
    """The schedule for a budget.

    Args:
        size: bytes of a state. room: bytes that are free on the disk.

    Raises:
        TapeError: not even one snapshot fits.
    """

    def planned(schedule: Schedule) -> Plan:
        cost = cost_of(steps, schedule)
        seconds = steps * (timing.step + timing.pull) + cost.repeated * timing.step
        moving = cost.moves * size / timing.bandwidth if timing.bandwidth else 0.0
        # All states move beside the computation; a mixed schedule is charged in full.
        seconds = max(seconds, moving) if schedule.offloaded is None else seconds + moving
        return Plan(schedule, steps, size, cost, ratio, seconds)

    ratio = 2 * size / timing.bandwidth / (timing.step + timing.pull) if timing.bandwidth else 0.0
    everything = planned(Schedule())
    if everything.peak <= budget.memory:
        return everything
    if budget.offload is not None and timing.bandwidth:
        most = room // size if budget.offload == "disk" else steps
        moved = planned(Schedule(None, budget.offload))
        if ratio <= 1 and most >= steps - 1 and moved.peak <= budget.memory:
            return moved
    else:
        most = 0
    # Binomial schedules with q more snapshots elsewhere, q = 0, 1, 2, 4, ...
    counts = [0] + [2**k for k in range(steps.bit_length()) if 2**k <= min(most, steps - 1)]
    fitting = [p for q in counts if (p := _largest(steps, size, budget, q, planned)) is not None]
    if not fitting:
        least = planned(Schedule(1)).peak
        raise TapeError(
            f"a tape of {steps} steps needs at least {least / MIB:.3g} MiB for states of {size / MIB:.3g} MiB, "
            f"the budget is {budget.memory / MIB:.3g} MiB: allow more memory"
        )
    return min(fitting, key=lambda p: p.seconds)


def cost_of(steps: int, schedule: Schedule) -> Cost:
    """By acting the schedule out on the numbers of the states."""
    kept: set[int] = set()  # in memory
    on_disk = schedule.place == "disk"
    writing: set[int] = set()
    reading: set[int] = set()
    pair: set[int] = set()  # a complete tape keeps all, to be read again
    complete = schedule.complete(steps)
    here, after, end, taken, moves, most, bars = 0, None, steps, 0, 0, 0, 0

    def count(*more: int) -> None:
        nonlocal most
        live = kept | pair | writing | reading | {here, *more} | (set() if after is None else {after})
        most = max(most, len(live) + bars)

    for action in actions(steps, schedule.slots(steps)):
        match action:
            case Store(n, slot):
                if schedule.place_of(slot) == "memory":
                    kept.add(n)
                else:
                    moves += 1
                    writing = {n} if on_disk else set()
            case Advance(start, stop):
                for n in range(start, stop):
                    here = n
                    count(n + 1)
                taken += stop - start
                if stop == steps:
                    here, after = steps - 1, steps
                else:
                    here = stop
            case Turn():
                bars = 1
                pair = {steps - 1, steps} if complete else set()
            case Load(n, slot):
                here = n
                if schedule.place_of(slot) != "memory":
                    moves += 1
                    writing = set()
                    reading = {n - 1} if on_disk and n == end - 1 and slot else set()
                count()
            case Reverse(n):
                bars = 2
                count()
                bars, after, end = 1, n, n
            case Drop(n, _):
                kept -= set() if complete else {n}
    return Cost(most, taken - steps, moves)


def _largest(steps: int, size: int, budget: Budget, moved: int, planned: Any) -> Plan | None:
    """The plan with most snapshots in memory that fits, with so many more elsewhere."""

    def attempt(in_memory: int) -> Plan:
        if not moved:
            return planned(Schedule(in_memory))
        return planned(Schedule(in_memory + moved, budget.offload or "disk", moved))

    # Beside the snapshots there are at least four arrays, and at most three more.
    found = None
    guess = budget.memory // size - 7
    for in_memory in range(max(0 if moved else 1, guess), max(0, guess + 4)):
        candidate = attempt(in_memory)
        if candidate.peak > budget.memory:
            break
        found = candidate
    return found


def _seconds(action: Any) -> float:
    start = time.perf_counter()
    action()
    return time.perf_counter() - start

"""Which states of a long computation are kept, and in which order the rest is computed again.

A run of l steps s_0 -> s_1 -> ... -> s_l is to be gone through backwards; going back over step n needs s_n, s_(n+1).
With room for c snapshots, the one of s_0 among them, binomial checkpointing (Griewank and Walther 2000) computes as
little as possible again. With beta(c, r) = binomial(c + r, c) and r the smallest number for which l <= beta(c, r),

    t(l, c) = r l - beta(c + 1, r - 1)

steps reach s_0, ..., s_(l-1) in backward order. The first run takes l - 1 of them, so t(l, c) - (l - 1) are repeated:
none for c >= l - 1, l (l - 1) / 2 in all for c = 1.

A schedule is a list of actions. Between `Turn` and the first `Reverse` the caller may do as it likes, for instance not
go back at all.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from math import comb
from typing import Literal

from pde.tape.errors import TapeError

type Place = Literal["memory", "host", "disk"]


@dataclass(frozen=True)
class Store:
    """Keep s_n, which is at hand, in a slot. Slots fill from 0; the lowest are kept longest."""

    n: int
    slot: int


@dataclass(frozen=True)
class Advance:
    """Compute s_stop from s_start, which is at hand."""

    start: int
    stop: int


@dataclass(frozen=True)
class Turn:
    """s_l has been reached, and s_(l-1) is still at hand: the way back begins."""


@dataclass(frozen=True)
class Load:
    """Take s_n from its slot."""

    n: int
    slot: int


@dataclass(frozen=True)
class Reverse:
    """Go back over step n; s_n and s_(n+1) are at hand."""

    n: int


@dataclass(frozen=True)
class Drop:
    """s_n is not needed any more; its slot is free."""

    n: int
    slot: int


type Action = Store | Advance | Turn | Load | Reverse | Drop


@dataclass(frozen=True)
class Schedule:
    """How a tape is kept. Made by `keep_all`, `revolve` and `pde.tape.planner.plan`.

    Args:
        snapshots: at most so many states are kept; None: all.
        place: where: "memory" (as they are), "host" (memory of the processor, for states on a GPU) or "disk".
        offloaded: only the so many oldest snapshots, those kept longest, go to `place`, the others stay in memory;
            None: all go there.

    Raises:
        TapeError: snapshots is less than 1, or there is no such place.
    """

    snapshots: int | None = None
    place: Place = "memory"
    offloaded: int | None = None

    def __post_init__(self) -> None:
        if self.snapshots is not None and self.snapshots < 1:
            raise TapeError(f"{self.snapshots} snapshots are too few: allow at least 1, for the first state")
        if self.place not in ("memory", "host", "disk"):
            raise TapeError(f"there is no place {self.place!r} for snapshots: choose 'memory', 'host' or 'disk'")

    def slots(self, steps: int) -> int:
        """Snapshots that so many steps can use: s_0 to s_(l-2), for s_(l-1) and s_l are at hand at the turn."""
        most = max(1, steps - 1)
        return most if self.snapshots is None else min(self.snapshots, most)

    def complete(self, steps: int) -> bool:
        """Nothing is computed again."""
        return self.slots(steps) >= steps - 1

    def place_of(self, slot: int) -> Place:
        """Where the snapshot in this slot is."""
        return self.place if self.offloaded is None or slot < self.offloaded else "memory"


def keep_all(place: Place = "memory") -> Schedule:
    """Every state is kept."""
    return Schedule(None, place)


def revolve(snapshots: int, place: Place = "memory") -> Schedule:
    """Binomial checkpointing with so many snapshots, the first state among them."""
    return Schedule(snapshots, place)


def least_steps(steps: int, snapshots: int) -> int:
    """t(l, c): steps that binomial checkpointing takes to reach all states before the last in backward order."""
    r = _repetitions(steps, snapshots)
    return r * steps - comb(snapshots + r, snapshots + 1)


def repeated_steps(steps: int, snapshots: int) -> int:
    """How many of these come on top of the first run."""
    return least_steps(steps, snapshots) - (steps - 1)


def actions(steps: int, snapshots: int) -> Iterator[Action]:
    """The schedule for a run of so many steps with so many snapshots, both at least 1."""
    kept, end, here, turned = [0], steps, 0, False
    yield Store(0, 0)
    while True:
        while here < end - 1:
            free = snapshots - len(kept)
            hop = _hop(end - here, free + 1) if free else end - 1 - here
            yield Advance(here, here + hop)
            here += hop
            if here < end - 1:
                kept.append(here)
                yield Store(here, len(kept) - 1)
        if not turned:
            yield Advance(steps - 1, steps)
            yield Turn()
            turned = True
        end -= 1
        yield Reverse(end)
        if kept[-1] == end:
            yield Drop(end, len(kept) - 1)
            kept.pop()
        if not kept:
            return
        here = kept[-1]
        yield Load(here, len(kept) - 1)


def _repetitions(steps: int, snapshots: int) -> int:
    r = 0
    while comb(snapshots + r, snapshots) < steps:
        r += 1
    return r


def _hop(steps: int, snapshots: int) -> int:
    """Where the next snapshot goes, from the one at hand: any hop that leaves both parts their share is optimal."""
    c, r = snapshots, _repetitions(steps, snapshots)
    least = comb(c + r - 2, c) if r > 1 else 1
    return max(1, least, steps - comb(c - 1 + r, c - 1))

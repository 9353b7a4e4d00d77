"""Machines that can each host few classes of jobs: how many pieces of each class go where.

A class is a set of jobs that share something dear to load: a mesh with its factorisation, a model, a kernel. After
"Minimalistic Predictions for Online Class Constraint Scheduling" (ICLR 2025), our formulation and our bound.
"""

import math
from collections.abc import Hashable, Mapping
from dataclasses import dataclass, field

from optim.scheduling.errors import SchedulingError

Class = Hashable


@dataclass(frozen=True)
class Piece:
    """A part of one class on one machine. quota: seconds of predicted work, its load cost included."""

    machine: int
    quota: float


@dataclass(frozen=True)
class ClassPlan:
    """Where each class goes.

    Attributes:
        length: T, no schedule of the predicted work is shorter than this or the bounds that it grew from.
        pieces: of each class, in the order in which they are filled.
        largest: p_max, the largest predicted job.
    """

    machines: int
    slots: int
    length: float
    largest: float
    volumes: Mapping[Class, float]
    pieces: Mapping[Class, tuple[Piece, ...]]

    def bound(self, actual: Mapping[Class, float]) -> float:
        """No machine gets more than 2 T + 2 p_max + sum of max(0, actual - predicted volume).

        Pieces sorted by size and dealt in turn give each machine at most the mean plus the largest, 2 T. Only the last
        job of a full piece overshoots its quota, and a machine holds at most two full pieces. What was not predicted
        lands in last pieces.
        """
        surplus = sum(max(0.0, volume - self.volumes.get(name, 0.0)) for name, volume in actual.items())
        return 2 * self.length + 2 * self.largest + surplus


def plan_classes(
    volumes: Mapping[Class, float],
    machines: int,
    slots: int,
    largest: float,
    load_cost: Mapping[Class, float] | None = None,
) -> ClassPlan:
    """Cut each class into pieces of one length and deal them to machines of few slots.

    Args:
        volumes: predicted seconds of work per class, on a reference machine. slots: classes that a machine can host.
        largest: the largest predicted job, seconds. load_cost: seconds to load a class; each piece pays it.

    Raises:
        SchedulingError: more classes than slots in all; a volume that is not above 0.
    """
    costs = {name: float((load_cost or {}).get(name, 0.0)) for name in volumes}
    if machines < 1 or slots < 1 or largest < 0 or any(not 0 < v < math.inf for v in volumes.values()):
        raise SchedulingError("machines and slots must be at least 1, volumes finite and above 0")
    if len(volumes) > machines * slots:
        raise SchedulingError(
            f"{len(volumes)} classes do not fit into {machines} machines with {slots} slots each: "
            "drop classes, or let slots be replaced"
        )
    length = _length(volumes, machines, slots, largest, costs)
    cut = [
        (size + costs[name], name)
        for name, volume in volumes.items()
        for size in _cut(volume, length)
    ]  # fmt: skip
    cut.sort(key=lambda piece: -piece[0])
    pieces: dict[Class, list[Piece]] = {name: [] for name in volumes}
    for turn, (size, name) in enumerate(cut):
        pieces[name].append(Piece(turn % machines, size))
    return ClassPlan(machines, slots, length, largest, dict(volumes), {k: tuple(v) for k, v in pieces.items()})


def _cut(volume: float, length: float) -> list[float]:
    full = _count(volume, length) - 1
    return [length] * full + [volume - full * length]


def _count(volume: float, length: float) -> int:
    return max(1, math.ceil(volume / length * (1 - 1e-12)))


def _length(
    volumes: Mapping[Class, float], machines: int, slots: int, largest: float, costs: Mapping[Class, float]
) -> float:
    """Smallest T >= p_max with at most slots x machines pieces, and all work and loading within machines x T."""
    total = sum(volumes.values())

    def pieces(length: float) -> dict[Class, int]:
        return {name: _count(volume, length) for name, volume in volumes.items()}

    def work(counts: Mapping[Class, int]) -> float:
        return (total + sum(costs[name] * n for name, n in counts.items())) / machines

    def fits(length: float) -> bool:
        counts = pieces(length)
        return sum(counts.values()) <= slots * machines and work(counts) <= length * (1 + 1e-12)

    floor = max(total / machines, largest)
    if fits(floor):
        return floor
    # Counts change only at volume / j, and `fits` is monotone: the first such length that fits, or a point below it.
    steps = sorted({v / j for v in volumes.values() for j in range(1, slots * machines + 1) if v / j > floor})
    steps.append(max([floor, *steps]) + sum(costs.values()) + total)
    low, high = 0, len(steps) - 1
    while low < high:
        middle = (low + high) // 2
        low, high = (low, middle) if fits(steps[middle]) else (middle + 1, high)
    below = steps[low - 1] if low else floor
    inside = max(work(pieces((below + steps[low]) / 2)), below * (1 + 1e-9))
    return inside if inside < steps[low] and fits(inside) else steps[low]


@dataclass
class Dispatch:
    """Sends arriving jobs after a plan, once and for all: the first piece of its class whose quota is not reached.

    loads: seconds on each machine. Jobs of a class that was not planned are refused; `resident.choose` takes them.
    """

    plan: ClassPlan
    loads: list[float] = field(default_factory=list)
    filled: dict[tuple[Class, int], float] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.loads = self.loads or [0.0] * self.plan.machines

    def send(self, name: Class, size: float) -> int:
        """-> the machine of a job of class `name` and `size` seconds.

        Raises:
            SchedulingError: the plan knows no such class.
        """
        if name not in self.plan.pieces:
            raise SchedulingError(f"class {name!r} is not in the plan: plan again with it")
        pieces = self.plan.pieces[name]
        place = next(
            (k for k, piece in enumerate(pieces) if self.filled.get((name, k), 0.0) < piece.quota * (1 - 1e-12)),
            len(pieces) - 1,
        )
        self.filled[name, place] = self.filled.get((name, place), 0.0) + size
        self.loads[pieces[place].machine] += size
        return pieces[place].machine

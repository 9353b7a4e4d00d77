"""Placing jobs where what they need is warm, if slots may be emptied at a cost: the plan is then a preference."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from optim.scheduling.slots import Class


@dataclass(frozen=True)
class Machine:
    """A worker as the placement sees it.

    Attributes:
        queued: seconds of work before it would begin. speed: against the reference machine.
        resident: classes that are warm there, the longest unused first. slots: how many it can hold.
        overrun: seconds by which it is over its quota of each class, 0 where not named.
    """

    queued: float
    resident: tuple[Class, ...] = ()
    slots: int = 1
    speed: float = 1.0
    overrun: Mapping[Class, float] | None = None


@dataclass(frozen=True)
class Placement:
    """machine: its number; evicts: the class that has to leave for it; warm: nothing has to be loaded."""

    machine: int
    warm: bool
    evicts: Class | None = None


def choose(
    name: Class, size: float, load_cost: float, machines: Sequence[Machine], *, overrun_weight: float = 0.1
) -> Placement:
    """The machine with the least queued work + load cost where the class is cold + weight x overrun of its quota.

    A cold class costs `load_cost` more where another one must leave for it, so that full machines keep what they hold
    while an empty slot is to be had. Ties go to the first machine.

    Args:
        size: predicted seconds of the job, on the reference machine. load_cost: seconds to load its class.
    """
    best, least = 0, math.inf
    for number, machine in enumerate(machines):
        warm = name in machine.resident
        loads = 0 if warm else 1 + (len(machine.resident) >= machine.slots)
        over = (machine.overrun or {}).get(name, 0.0)
        score = machine.queued + size / machine.speed + load_cost * loads + overrun_weight * over
        if score < least - 1e-12:
            best, least = number, score
    machine = machines[best]
    warm = name in machine.resident
    full = not warm and len(machine.resident) >= machine.slots
    return Placement(best, warm, machine.resident[0] if full and machine.resident else None)


def worth_waiting(free_in: float, load_cost: float) -> bool:
    """Delay scheduling: hold a job for a busy warm machine only while that saves more than loading elsewhere costs."""
    return free_in < load_cost

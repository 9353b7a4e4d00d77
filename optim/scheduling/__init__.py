"""Which job next, and where: orders that keep the largest stretch small, and plans for machines with few warm slots.

Stretch of a job: (completion - release) / size. Everything here is a pure algorithm on numbers; the job layer calls it
with its queue, and `simulate` replays a trace of jobs in microseconds each.

    from optim.scheduling import ORDERS, Trace, optimal_stretch, simulate
    outcome = simulate(Trace(release, size, predicted), ORDERS["guess_edf"])
    outcome.largest_stretch, optimal_stretch(release, size)
"""

from optim.scheduling.errors import SchedulingError
from optim.scheduling.optimum import optimal_stretch
from optim.scheduling.orders import ORDERS, Fifo, GuessEdf, Order, RelaxedGreedy, ShortestRemaining
from optim.scheduling.resident import Machine, choose
from optim.scheduling.simulate import Outcome, simulate
from optim.scheduling.slots import ClassPlan, Dispatch, plan_classes
from optim.scheduling.trace import Trace, Waiting

__all__ = [
    "ORDERS",
    "ClassPlan",
    "Dispatch",
    "Fifo",
    "GuessEdf",
    "Machine",
    "Order",
    "Outcome",
    "RelaxedGreedy",
    "SchedulingError",
    "ShortestRemaining",
    "Trace",
    "Waiting",
    "choose",
    "optimal_stretch",
    "plan_classes",
    "simulate",
]

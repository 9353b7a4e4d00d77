"""What other orders would have made of the jobs that have been: `optim.scheduling.simulate` on the store's history."""

from dataclasses import dataclass

from jobs.batch.history import trace
from jobs.batch.store import Store
from jobs.errors import JobError


@dataclass(frozen=True)
class Replayed:
    """One order. Stretch: time from release to end, over size."""

    order: str
    largest_stretch: float
    mean_stretch: float
    switches: int


def replay(store: Store, sweep: str = "all", machines: int = 1, fair_share: float = 0.0) -> list[Replayed]:
    """Every order of `optim.scheduling`, the smallest largest stretch first.

    Raises:
        JobError: no job has finished, or the options cannot be.
    """
    from optim.scheduling import ORDERS, SchedulingError, Trace, simulate

    jobs = trace(store, None if sweep == "all" else store.sweep(sweep)["id"])
    if not jobs:
        raise JobError("no job has finished yet, so there is nothing to replay")
    sizes = [job.size for job in jobs]
    predicted = [job.predicted or job.size for job in jobs]
    past = Trace([job.released_at for job in jobs], sizes, predicted)
    try:
        outcomes = {
            name: simulate(past, order, machines=machines, fair_share=fair_share) for name, order in ORDERS.items()
        }
    except SchedulingError as error:
        raise JobError(str(error)) from error
    rows = [Replayed(name, o.largest_stretch, o.mean_stretch, o.switches) for name, o in outcomes.items()]
    return sorted(rows, key=lambda row: (row.largest_stretch, row.mean_stretch))

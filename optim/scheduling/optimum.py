"""The best possible largest stretch on one machine when everything is known: what orders are measured against."""

import heapq
import math

import numpy as np
from numpy.typing import ArrayLike, NDArray

from optim.scheduling.trace import Trace

Array = NDArray[np.float64]


def optimal_stretch(release: ArrayLike, size: ArrayLike) -> float:
    """Smallest S for which preemptive earliest-deadline-first meets every deadline release + S size.

    Earliest deadline first meets deadlines whenever any schedule does (Horn 1974), and its schedule depends on S only
    through the order of deadlines: so S falls, order by order, until the order no longer changes the answer.
    """
    trace = Trace(release, size)
    order = np.arange(trace.count)
    stretch = math.inf
    while True:
        ends = preemptive_ends(trace.release, trace.size, order)
        needed = float(((ends - trace.release) / trace.size).max())
        if not needed < stretch * (1 - 1e-13):
            return min(needed, stretch)
        stretch = needed
        order = np.lexsort((-trace.size, trace.release + stretch * trace.size))


def preemptive_ends(release: Array, size: Array, order: NDArray[np.intp]) -> Array:
    """When each job ends if the released one that stands first in `order` always runs.

    Args:
        release: (n,) ascending. size: (n,). order: (n,) jobs, the most urgent first.
    """
    rank = np.empty(len(order), dtype=np.intp)
    rank[order] = np.arange(len(order))
    left, ends = size.astype(float), np.zeros(len(size))
    ready: list[tuple[int, int]] = []
    now, coming = -math.inf, 0
    while coming < len(release) or ready:
        if not ready:
            now = max(now, release[coming])
        while coming < len(release) and release[coming] <= now:
            heapq.heappush(ready, (int(rank[coming]), coming))
            coming += 1
        job = ready[0][1]
        until = release[coming] if coming < len(release) else math.inf
        if now + left[job] <= until:
            now += left[job]
            ends[job] = now
            heapq.heappop(ready)
        else:
            left[job] -= until - now
            now = until
    return ends

"""Blocks of independent work on a few threads. What a block computes never depends on which thread runs it."""

import os
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import lru_cache
from itertools import pairwise

SERIAL_BELOW = 65_536
"""Cells below which waking a second thread costs more than it brings."""


def thread_count(threads: int) -> int:
    """Threads to use; 0 means one per processor that this process may run on, or as OMP_NUM_THREADS says."""
    if threads > 0:
        return threads
    allowed, said = len(os.sched_getaffinity(0)), os.environ.get("OMP_NUM_THREADS", "")
    return min(allowed, int(said)) if said.isdecimal() and int(said) > 0 else allowed


def run_blocks(work: Callable[[int, int], object], units: int, cells: int, threads: int) -> None:
    """Call `work(start, stop)` on contiguous ranges that cover `range(units)`.

    Args:
        work: must write to places of its own and release the GIL.
        units: independent pieces of work (lines, groups of lines, strips).
        cells: how much work it is in all; below `SERIAL_BELOW` it stays on this thread.
        threads: as many ranges at the same time at most.
    """
    threads = min(threads, units)
    if threads <= 1 or cells < SERIAL_BELOW:
        work(0, units)
        return
    # More ranges than threads: the machine may be busy, and lines differ in cost.
    count = min(units, 4 * threads)
    cuts = [units * k // count for k in range(count + 1)]
    for future in [_pool(threads).submit(work, a, b) for a, b in pairwise(cuts)]:
        future.result()


@lru_cache(maxsize=4)
def _pool(threads: int) -> ThreadPoolExecutor:
    return ThreadPoolExecutor(threads, thread_name_prefix="transport")

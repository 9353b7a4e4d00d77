"""The recorded traces, and the comparison of orders on them."""

import numpy as np
import pytest

from benchmarks import _traces
from benchmarks.jobs import whole
from optim.scheduling import ORDERS, Trace, simulate


def test_releases_fill_four_fifths_of_the_time():
    sizes = np.random.default_rng(1).lognormal(size=200)
    at = _traces.releases(sizes, 3)
    assert at[0] == 0 and (np.diff(at) > 0).all()
    span = at[-1] * 200 / 199  # one mean gap more
    assert sizes.sum() / span == pytest.approx(0.8, rel=0.02)
    assert np.array_equal(at, _traces.releases(sizes, 3))


def test_without_interruptions():
    trace = Trace([0, 1, 2], [10, 4, 2])
    assert whole(trace, ORDERS["srpt"]).ends.tolist() == [10, 16, 12]
    assert whole(trace, ORDERS["fifo"]).ends.tolist() == [10, 14, 16]
    late = Trace([0, 20], [5, 1], [1, 1])
    assert whole(late, ORDERS["guess_edf"]).ends.tolist() == [5, 21]


def test_there_is_a_trace_of_every_mix():
    assert set(_traces.read()) == set(_traces.MIXES)


@pytest.mark.parametrize("name", sorted(_traces.read()))
def test_a_recorded_trace_is_what_it_says(name):
    trace = _traces.read()[name]
    assert 15 <= trace.count <= 60
    assert trace.size.sum() / (trace.release[-1] * trace.count / (trace.count - 1)) == pytest.approx(0.8, rel=0.15)
    assert whole(trace, ORDERS["fifo"]).largest_stretch == pytest.approx(
        simulate(trace, ORDERS["fifo"]).largest_stretch, rel=1e-9
    )

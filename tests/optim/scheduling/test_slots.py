"""Plans for machines with few slots: the bound, the cap, brute force, and warm placement."""

import itertools
from collections import deque

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from optim.scheduling import Dispatch, Machine, SchedulingError, choose, plan_classes

VOLUMES = st.lists(st.floats(0.1, 100.0), min_size=1, max_size=6)


@settings(max_examples=150, deadline=None)
@given(volumes=VOLUMES, machines=st.integers(2, 5), slots=st.integers(1, 3), cost=st.floats(0, 3))
def test_a_plan_keeps_the_slots_and_holds_all_the_work(
    volumes: list[float], machines: int, slots: int, cost: float
) -> None:
    named = dict(enumerate(volumes))
    if len(named) > machines * slots:
        with pytest.raises(SchedulingError, match="do not fit"):
            plan_classes(named, machines, slots, 1.0)
        return
    plan = plan_classes(named, machines, slots, 1.0, dict.fromkeys(named, cost))
    hosted = [0] * machines
    for name, pieces in plan.pieces.items():
        assert sum(p.quota - cost for p in pieces) == pytest.approx(named[name])
        for piece in pieces:
            hosted[piece.machine] += 1
    assert max(hosted) <= slots
    assert plan.length >= max(sum(volumes) / machines, 1.0) * (1 - 1e-9)


def test_the_length_is_the_smallest_that_fits() -> None:
    # Two classes of 10 and 2 on two machines with one slot: no cut is possible, so T is the larger class.
    assert plan_classes({"a": 10.0, "b": 2.0}, 2, 1, 1.0).length == pytest.approx(10.0)
    # With two slots each, four pieces: 10 in three pieces of 10/3 and one of 2 would do, but 12/2 = 6 is the mean.
    assert plan_classes({"a": 10.0, "b": 2.0}, 2, 2, 1.0).length == pytest.approx(6.0)
    # Loading costs 1 a piece: at T = 6 there are 3 pieces, (12 + 3) / 2 = 7.5 within two pieces of `a`.
    assert plan_classes({"a": 10.0, "b": 2.0}, 2, 2, 1.0, {"a": 1.0, "b": 1.0}).length == pytest.approx(7.5)


def test_the_bound_holds_for_wrong_predictions() -> None:
    rng = np.random.default_rng(4)
    for _ in range(400):
        machines, slots, classes = int(rng.integers(2, 6)), int(rng.integers(1, 4)), int(rng.integers(1, 5))
        if classes > machines * slots:
            continue
        jobs = [(int(rng.integers(classes)), float(rng.uniform(0.1, 3))) for _ in range(60)]
        actual = {c: sum(s for k, s in jobs if k == c) for c in range(classes)}
        predicted = {c: max(v, 0.1) * float(rng.uniform(0.5, 1.5)) for c, v in actual.items()}
        plan = plan_classes(predicted, machines, slots, max(s for _, s in jobs))
        dispatch = Dispatch(plan)
        homes: dict[int, set[int]] = {m: set() for m in range(machines)}
        for name, size in jobs:
            homes[dispatch.send(name, size)].add(name)
        assert max(dispatch.loads) <= plan.bound(actual)
        assert max(len(home) for home in homes.values()) <= slots


def _brute(jobs: list[tuple[int, float]], machines: int, slots: int) -> float:
    best = float("inf")
    for places in itertools.product(range(machines), repeat=len(jobs)):
        hosted = [{name for (name, _), place in zip(jobs, places, strict=True) if place == m} for m in range(machines)]
        if max(map(len, hosted)) <= slots:
            loads = [sum(s for (_, s), p in zip(jobs, places, strict=True) if p == m) for m in range(machines)]
            best = min(best, max(loads))
    return best


def test_with_exact_predictions_no_plan_is_worse_than_four_optima() -> None:
    rng = np.random.default_rng(9)
    for _ in range(12):
        machines, slots = int(rng.integers(2, 4)), int(rng.integers(1, 3))
        jobs = [(int(rng.integers(2)), float(rng.uniform(0.2, 4))) for _ in range(6)]
        volumes = {c: sum(s for k, s in jobs if k == c) for c in {name for name, _ in jobs}}
        dispatch = Dispatch(plan_classes(volumes, machines, slots, max(s for _, s in jobs)))
        for name, size in jobs:
            dispatch.send(name, size)
        assert max(dispatch.loads) <= 4 * _brute(jobs, machines, slots) + 1e-12


def test_without_a_plan_one_class_alone_costs_as_much_as_there_are_machines() -> None:
    # One slot each. Who spreads a first class is lost when the others come; who does not serves it on one machine.
    machines, jobs = 4, [("a", 1.0)] * 8
    homes = [Machine(queued=0.0, resident=("a",) if m == 0 else (f"later {m}",)) for m in range(machines)]
    queued = [0.0] * machines
    for name, size in jobs:
        at = choose(name, size, 1e9, [Machine(q, h.resident) for q, h in zip(queued, homes, strict=True)])
        assert at.warm
        queued[at.machine] += size
    assert max(queued) == machines * (len(jobs) / machines)
    plan = plan_classes({"a": 8.0}, machines, 1, 1.0)
    dispatch = Dispatch(plan)
    for name, size in jobs:
        dispatch.send(name, size)
    assert max(dispatch.loads) == len(jobs) / machines


def test_stable_classes_stay_warm() -> None:
    rng = np.random.default_rng(2)
    machines, slots = 3, 2
    resident = [deque[int](maxlen=slots) for _ in range(machines)]
    free, hits, now = [0.0] * machines, 0, 0.0
    for _ in range(1000):
        now += float(rng.exponential(0.45))
        name, size = int(rng.integers(machines * slots)), float(rng.uniform(0.5, 1.5))
        seen = [Machine(max(f - now, 0.0), tuple(r), slots) for f, r in zip(free, resident, strict=True)]
        at = choose(name, size, 5.0, seen)
        hits += at.warm
        home = resident[at.machine]
        if at.warm:
            home.remove(name)
        assert at.evicts is None or at.evicts == home[0]
        home.append(name)
        assert len(home) <= slots
        free[at.machine] = max(free[at.machine], now) + size + (0 if at.warm else 5.0)
    assert hits >= 900


def test_an_unplanned_class_is_refused() -> None:
    with pytest.raises(SchedulingError, match="not in the plan"):
        Dispatch(plan_classes({"a": 1.0}, 1, 1, 1.0)).send("b", 1.0)

"""Warm workers, turns by age, and stepping back: the rules, and what they do to a queue of probes."""

import json
import threading

import pytest
from batches import jobs_of, queue_probes, run_probes, work_off
from hypothesis import given
from hypothesis import strategies as st

from jobs.batch import order, scheduler
from jobs.batch.classes import UNKNOWN_LOAD, LoadCosts, default_class, load_costs
from jobs.batch.lane import Lane
from jobs.batch.local import CLASS_SLOTS
from jobs.batch.order import ORDERS, QueuedJob, RunningJob, WorkerView, fifo
from jobs.batch.placement import Busy, Placement, place, shares
from jobs.batch.preemption import exchange
from jobs.batch.quotas import RENEW_EVERY, Quotas
from jobs.batch.store import Store
from jobs.batch.warm import Slots
from jobs.errors import JobError
from jobs.spec import parse_job


def queued(id, at=0.0, predicted=10.0, **more):
    return QueuedJob(id, at, predicted, predicted, known=True, **more)


# -- classes and placement ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("spec", "name"),
    [
        ({"preset": {"name": "mbb_beam"}}, "structure preset.name=mbb_beam"),
        ({"job": "pde", "problem": "bar"}, "pde problem=bar"),
        ({"job": "probe"}, ""),
        ({"job": "probe", "warm": "mesh"}, "probe warm=mesh"),
    ],
)
def test_a_job_has_a_class_of_its_own_accord(spec, name):
    assert default_class(parse_job(spec).model_dump(mode="json")) == name


def test_a_body_is_known_by_what_its_file_holds():
    spec = {"job": "structure", "body": {"file": "inputs/0123456789abcdef/bracket.step"}}
    assert default_class(spec) == "structure body.file=inputs/0123456789abcdef/bracket.step"


def test_a_warm_worker_is_waited_for_only_while_that_saves_something():
    job, cold = queued("j", class_key="mesh"), WorkerView("cold")
    busy = WorkerView("warm", ("mesh",))
    soon = Busy(busy, 0.5)
    assert place(job, [cold], [soon], load_cost=1.0) is soon
    assert place(job, [cold], [Busy(busy, 1.5)], load_cost=1.0) is cold
    assert place(job, [cold], [Busy(busy, 0.0)], load_cost=0.0) is cold
    assert place(job, [cold], [Busy(busy, 0.5)], load_cost=1.0, shares=False) is cold
    full, part = WorkerView("full", ("a", "b"), 2), WorkerView("part", ("a",), 2)
    assert place(job, [full, part], load_cost=1.0) is part  # nothing has to leave


def test_classes_go_where_the_plan_has_them():
    """Class a is the larger one and planned for the first worker, so a first job of class b goes to the second."""
    jobs = [queued(f"b{k}", predicted=2.0, class_key="b") for k in range(3)]
    jobs += [queued(f"a{k}", predicted=4.0, class_key="a") for k in range(3)]
    placement, free = Placement(LoadCosts({}, 1.0)), [WorkerView("w0"), WorkerView("w1")]
    assert placement.find(jobs[0], free, list, {}, {}, 0.0) is free[0]
    placement.plan(jobs, ["w0", "w1"], 1, 0.0)
    assert placement.find(jobs[0], free, list, {}, {}, 0.0) is free[1]
    assert placement.find(jobs[3], free, list, {}, {}, 0.0) is free[0]


@given(
    st.dictionaries(st.sampled_from("abcdef"), st.lists(st.floats(0.1, 20), min_size=1, max_size=8)), st.integers(1, 3)
)
def test_no_worker_is_planned_for_more_classes_than_it_holds(sizes, workers):
    jobs = [queued(f"{n}{k}", predicted=s, class_key=n) for n, seconds in sizes.items() for k, s in enumerate(seconds)]
    quotas, names = Quotas(), [f"w{k}" for k in range(workers)]
    assert quotas.renew(jobs, names, CLASS_SLOTS, lambda name: 1.0, 0.0)
    planned = {name for _, name in quotas.quota}
    assert planned == (set(sizes) if len(sizes) <= CLASS_SLOTS * workers else set())
    for worker in names:
        assert sum(of == worker for of, _ in quotas.quota) <= CLASS_SLOTS
    for name in planned:
        whole = sum(seconds for (_, of), seconds in quotas.quota.items() if of == name)
        assert whole >= sum(sizes[name]) * (1 - 1e-9)


def test_the_plan_is_renewed_when_it_is_old_or_wrong():
    jobs = [queued(f"a{k}", predicted=4.0, class_key="a") for k in range(10)]
    quotas = Quotas()
    assert quotas.renew(jobs, ["w0"], 1, lambda name: 1.0, 0.0)
    quotas.count("w0", jobs[0])
    assert quotas.overrun("w0", jobs[0]) == {"a": 0.0}
    assert not quotas.renew(jobs[1:], ["w0"], 1, lambda name: 1.0, 1.0)  # what was sent is work of the plan
    assert not quotas.renew([*jobs[1:], *jobs[:2]], ["w0"], 1, lambda name: 1.0, 2.0)  # a fifth more
    assert quotas.renew([*jobs[1:], *jobs[:3]], ["w0"], 1, lambda name: 1.0, 3.0)
    assert not quotas.renew(jobs, ["w0"], 1, lambda name: 1.0, 3.0 + RENEW_EVERY - 1)
    assert quotas.renew(jobs, ["w0"], 1, lambda name: 1.0, 3.0 + RENEW_EVERY)


@given(st.lists(st.sampled_from("abcdef"), max_size=60), st.integers(1, 4))
def test_never_more_classes_than_slots_and_the_longest_unused_leaves(names, slots):
    process, used = Slots(), []
    for name in names:
        expected = name in used[-slots:]
        assert process.enter(name, slots) == expected
        used = [*(other for other in used if other != name), name]
        assert process.resident == used[-slots:]
        assert process.get("object", lambda name=name: name) == name


def test_what_loading_costs_is_learned(root):
    run_probes(root, "seed=1,2", base={"seconds": 0.0})
    ids = queue_probes(root, "seed=range(10,15)", base={"warm": "mesh", "load_seconds": 0.4})
    assert work_off(root, workers=1)
    with Store(root) as store:
        costs = load_costs(store)
        (name,) = {row["class_key"] for row in jobs_of(root, ids)}
    assert costs(name) == pytest.approx(0.4, abs=0.25)
    assert costs("never seen") == costs.typical == costs(name)
    assert LoadCosts()("x") == UNKNOWN_LOAD


def test_stable_classes_are_found_warm_nine_times_in_ten(root):
    run_probes(root, "seed=1,2", workers=1)  # so that the time of a probe is known, and processes are shared
    ids = queue_probes(root, "seed=range(100,149)", "warm=a,b", base={"load_seconds": 0.1})
    assert work_off(root, workers=2)
    results = [json.loads(row["result_json"]) for row in jobs_of(root, ids)]
    assert len(results) == 100 and all(result["found"] in "ab" for result in results)
    assert sum(result["loaded"] for result in results) <= 10, "the rate of hits is below 0.9"
    assert max(result["held"] for result in results) <= CLASS_SLOTS


def test_more_classes_than_slots_take_turns_in_them(root):
    run_probes(root, "seed=1,2", workers=1)
    ids = queue_probes(root, "warm=a,b,c,d,e", "seed=1,2,3", base={"load_seconds": 0.02})
    assert work_off(root, workers=1)
    results = [json.loads(row["result_json"]) for row in jobs_of(root, ids)]
    assert max(result["held"] for result in results) == CLASS_SLOTS
    assert 5 <= sum(result["loaded"] for result in results) <= 15


# -- the fair share ----------------------------------------------------------------------------------------------------


def test_one_turn_in_ten_goes_to_whoever_has_waited_longest():
    lane, line = Lane(0.1), [queued(f"{k:02d}", at=100.0 - k) for k in range(40)]
    started, turns = [], []
    while line:
        job, by_age = next(lane.in_turn(line, {"39": 1000.0}))
        lane.count(by_age)
        line.remove(job)
        started.append(job.id)
        turns.append(by_age)
    assert [k for k, by_age in enumerate(turns) if by_age] == [9, 19, 29, 39]
    # 39 was released first, but has just been served.
    assert [started[k] for k in (9, 19, 29)] == ["38", "37", "36"]
    assert started[0:9] == [f"{k:02d}" for k in range(9)]


def test_age_does_not_pass_priority_and_nothing_is_lost_where_it_does_not_fit():
    lane = Lane(1.0)
    old, young, urgent = queued("old", 0.0), queued("young", 9.0), queued("urgent", 10.0, priority=1)
    assert [job.id for job, _ in lane.in_turn([urgent, young, old], {})] == ["urgent", "young", "old"]
    lane = Lane(1.0)
    assert [job.id for job, _ in lane.in_turn([young, old], {})] == ["old", "young"]
    assert [job.id for job, by_age in Lane(0.0).in_turn([young, old], {}) if by_age] == []
    with pytest.raises(JobError, match="between 0 and 1"):
        Lane(1.5)


@pytest.mark.parametrize(("share", "place_of_it"), [(0.1, 9), (0.0, 24)])
def test_a_job_that_every_order_passes_over_gets_the_tenth_turn(root, share, place_of_it):
    def unfair(queued, running, workers, now):
        return sorted(queued, key=lambda job: -job.released_at)

    ids = queue_probes(root, "seed=range(1,25)")
    assert work_off(root, workers=1, order=unfair, fair_share=share)
    with Store(root) as store:
        rows = store.rows("SELECT job_id FROM attempts ORDER BY started")
    assert [row["job_id"] for row in rows].index(ids[0]) == place_of_it


# -- stepping back -----------------------------------------------------------------------------------------------------


def at_work(id, predicted, at=0.0, **more):
    return RunningJob(id, at, at, predicted, "w", **more)


@pytest.mark.parametrize("rule", ["guess_edf", "rg"])
def test_only_for_a_quarter_more_and_only_where_much_is_left(rule):
    def asked(waits, works, cost=1.0, fits=True, now=40.0):
        found = exchange(ORDERS[rule], [waits], [works], [works], lambda _: cost, lambda *_: fits, now)
        return found and found.victim.id

    short, long = queued("short", at=10.0, predicted=10.0), at_work("long", 1000.0)
    assert asked(short, long) == "long"
    assert asked(short, long, fits=False) is None
    assert asked(short, long, cost=200.0) is None  # 960 s are left, stopping costs a fifth of 1000 s
    assert asked(queued("twin", at=1.0, predicted=1000.0), long) is None
    assert asked(queued("low", at=10.0, predicted=10.0, priority=-1), long) is None
    assert asked(queued("high", at=39.0, predicted=1000.0, priority=1), long) == "long"


def test_the_margin_is_a_quarter():
    class Stated:
        def __init__(self, *urgent):
            self.urgent = urgent

        def urgency(self, jobs, now):
            return list(self.urgent)

    works, waits = at_work("works", 100.0), queued("waits")
    for urgent, steps_back in ((1.24, False), (1.26, True)):
        found = exchange(Stated(urgent, 1.0), [waits], [works], [works], lambda _: 1.0, lambda *_: True, 0.0)
        assert (found is not None) == steps_back


def test_a_long_job_saves_itself_for_a_short_one_and_loses_nothing(root, monkeypatch):
    monkeypatch.setattr(order, "SHORTEST", 0.1)
    monkeypatch.setattr(scheduler, "RECONSIDER", 0.2)
    monkeypatch.setattr(scheduler, "SWITCH", 0.05)
    # A past from which both sizes are predicted: seconds follow the number of steps.
    run_probes(root, "steps=2,20,40", "seed=900,901", base={"seconds": 0.05}, workers=2)
    (long,) = queue_probes(root, "seed=1", base={"steps": 160, "seconds": 0.05})
    short = []

    def later():
        short.extend(queue_probes(root, "seed=2,3", base={"steps": 2, "seconds": 0.05}))

    thread = threading.Thread(target=later)  # this one has to read the note that it leaves

    def look(scheduler):
        work = next(iter(scheduler.at_work.values()), None)
        if work is not None and work.beat and not thread.ident:
            thread.start()

    assert work_off(root, workers=1, order=ORDERS["guess_edf"], fair_share=0.0, on_turn=look)
    thread.join()
    with Store(root) as store:
        attempts = store.rows("SELECT job_id, n, reason, counts, checkpoint FROM attempts ORDER BY started")
        events = store.rows("SELECT job_id FROM events WHERE kind = 'preempted'")
    ours = [a for a in attempts if a["job_id"] in (long, *short)]
    assert ours[0]["job_id"] == long and (ours[0]["reason"], ours[0]["counts"]) == ("stopped", 0)
    assert {a["job_id"] for a in ours[1:3]} == set(short) and [row["job_id"] for row in events] == [long]
    assert (ours[3]["job_id"], ours[3]["reason"], len(ours)) == (long, "succeeded", 4)
    assert 0 < ours[0]["checkpoint"] < 160
    (row,) = jobs_of(root, [long])
    (calm,) = run_probes(root.with_name("calm"), "seed=1", base={"steps": 160})
    assert json.loads(row["result_json"])["x"] == json.loads(calm["result_json"])["x"]


def test_nobody_steps_back_where_the_order_cannot_compare(root, monkeypatch):
    assert not hasattr(fifo, "urgency")
    monkeypatch.setattr(scheduler, "RECONSIDER", 0.05)
    ids = queue_probes(root, "seed=1,2", base={"steps": 10, "seconds": 0.05})
    assert work_off(root, workers=1)
    with Store(root) as store:
        assert [len(store.attempts(id)) for id in ids] == [1, 1]


def test_jobs_with_a_class_share_a_process_up_to_half_a_minute():
    for seconds, name, expected in ((4, "", True), (6, "", False), (6, "a", True), (31, "a", False)):
        assert shares(queued("j", predicted=seconds, class_key=name)) == expected
    assert not shares(QueuedJob("j", 0.0, 1.0, 1.0, known=False, class_key="a"))

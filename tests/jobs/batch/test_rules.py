"""Pure rules: what follows from an end, identity, prediction, order."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from jobs.batch.assignment import Assignment
from jobs.batch.capacity import Capacity
from jobs.batch.identity import Inputs
from jobs.batch.local import LocalExecutor, worker_environment
from jobs.batch.order import ORDERS, QueuedJob, WorkerView, order_named, ranked, shortest_first
from jobs.batch.placement import place
from jobs.batch.prediction import Predictor, size_features
from jobs.batch.probe import ProbeJob
from jobs.batch.request import Request, read_duration
from jobs.batch.retry import MAX_LOSSES, Outcome, Past, judge
from jobs.errors import JobError
from jobs.spec import parse_job


def past(reason, hash=None, iteration=None, counts=True):
    return Past(reason, hash, iteration, counts)


@pytest.mark.parametrize(
    ("outcome", "before", "wanted", "state", "settings"),
    [
        (Outcome("succeeded"), [], "", "succeeded", {}),
        (Outcome("succeeded"), [], "cancel", "succeeded", {}),
        (Outcome("stopped", iteration=3), [], "cancel", "cancelled", {}),
        (Outcome("stopped", iteration=3), [], "drain", "checkpointed", {}),
        (Outcome("stopped"), [], "", "queued", {}),
        (Outcome("refused", "no"), [], "", "failed", {}),
        (Outcome("stopped", iteration=5), [], "wall", "checkpointed", {}),
        (Outcome("stopped", iteration=5), [past("stopped", iteration=5)], "wall", "timed_out", {}),
        (Outcome("lost"), [], "wall", "timed_out", {}),
        (Outcome("memory", "much"), [], "", "queued", {"memory_factor": 1.5}),
        (Outcome("memory", "much"), [past("memory")], "", "failed", {}),
        (Outcome("numerical", "nan"), [], "", "failed", {}),
        (Outcome("numerical", "nan", can_damp=True), [], "", "queued", {"damped": True}),
        (Outcome("numerical", "nan", can_damp=True), [past("numerical")], "", "failed", {}),
        (Outcome("error", "bug", "a"), [], "", "queued", {}),
        (Outcome("error", "bug", "a"), [past("error", "a")], "", "failed", {}),
        (Outcome("error", "bug", "a"), [past("error", "b")], "", "queued", {}),
        (Outcome("error", "bug", "a"), [past("error", "b"), past("error", "c")], "", "failed", {}),
        (Outcome("lost", iteration=2), [], "", "checkpointed", {}),
        (Outcome("lost"), [past("error", "a"), past("error", "b")], "", "queued", {}),
        (Outcome("lost"), [past("lost", counts=False)] * (MAX_LOSSES - 1), "", "lost", {}),
        (Outcome("lost", iteration=9), [past("lost", iteration=4, counts=False)] * MAX_LOSSES, "", "checkpointed", {}),
    ],
)
def test_what_follows(outcome, before, wanted, state, settings):
    verdict = judge(outcome, before, wanted, allowed=3)
    assert (verdict.state, verdict.settings) == (state, settings)
    assert verdict.final == (state not in ("queued", "checkpointed"))


def test_identity_is_content_and_not_names_or_places(tmp_path):
    for folder, text in (("a", "one"), ("b", "one"), ("c", "two")):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / f"{folder}.txt").write_text(text)
    inputs = Inputs(tmp_path / "batch")
    ids = {
        name: inputs.identify(parse_job({"job": "probe", "name": name, "data": f"{name}.txt"}, base=tmp_path / name))
        for name in "abc"
    }
    assert ids["a"].id == ids["b"].id != ids["c"].id
    assert (tmp_path / "batch" / ids["a"].spec["data"]).read_text() == "one"
    plain = [inputs.identify(ProbeJob(**entries)).id for entries in ({}, {"seed": 0}, {"seed": 1})]
    assert plain[0] == plain[1] != plain[2]  # a default is the same as saying it
    with pytest.raises(JobError, match="does not exist"):
        inputs.identify(ProbeJob(data=tmp_path / "nothing"))


def test_prediction_learns_a_power_law_and_its_spread():
    import numpy as np

    rng = np.random.default_rng(1)
    sizes = 10 ** rng.uniform(3, 6, 200)
    noise = rng.normal(0, 0.2, 200)
    history = [("solve", {"n": s}, 1e-4 * s**1.3 * float(np.exp(e))) for s, e in zip(sizes, noise, strict=True)]
    guess = Predictor(history)("solve", {"n": 1e5})
    assert guess.known and guess.median == pytest.approx(1e-4 * 1e5**1.3, rel=0.1)
    assert guess.high / guess.median == pytest.approx(np.exp(1.2816 * 0.2), rel=0.15)
    assert guess.low < guess.median < guess.high
    assert Predictor(history).error("solve") == pytest.approx(np.exp(1.645 * 0.2), rel=0.15)


def test_prediction_before_anything_is_known():
    assert not Predictor()("x", {}).known
    few = Predictor([("a", {"n": 10.0}, 1.0)])
    assert few("a", {"n": 100.0}).median == pytest.approx(10.0)  # work grows with size until shown otherwise
    assert few("a", {}).median == pytest.approx(1.0)
    other = few("b", {})
    assert not other.known and other.median == pytest.approx(1.0)
    assert few("a", {"n": 10.0}).after(5.0) == pytest.approx(8.0)  # doubled until it is not overrun


def test_size_features():
    spec = parse_job({"preset": {"name": "mbb_beam"}, "voxels": {"size": 2}}).model_dump(mode="json")
    features = size_features(spec, input_bytes=1000.0)
    assert features["voxels.count"] == pytest.approx(1 / 8) and features["optimize.max_iterations"] == 200
    assert features["input"] == 1000.0 and all(value > 0 for value in features.values())


jobs_strategy = st.lists(
    st.builds(
        QueuedJob,
        id=st.uuids().map(str),
        released_at=st.floats(0, 100),
        predicted=st.floats(0.1, 100),
        high=st.just(1.0),
        priority=st.integers(-2, 2),
    ),
    max_size=20,
)


@given(jobs_strategy)
def test_orders_are_permutations_and_priority_stands_above(queued):
    for order in ORDERS.values():
        found = ranked(order, queued, [], [], 0.0)
        assert sorted(found, key=lambda j: j.id) == sorted(queued, key=lambda j: j.id)
        priorities = [job.priority for job in found]
        assert priorities == sorted(priorities, reverse=True)
    equal = [job for job in ranked(shortest_first, queued, [], [], 0.0) if job.priority == 0]
    assert [job.predicted for job in equal] == sorted(job.predicted for job in equal)


def test_stretch_orders_let_short_jobs_pass_and_long_ones_not_starve():
    long, short = QueuedJob("long", 0.0, 1000.0, 1000.0), QueuedJob("short", 10.0, 10.0, 10.0)
    late = QueuedJob("late", 5000.0, 10.0, 10.0)
    for name in ("guess_edf", "rg"):
        assert [job.id for job in ORDERS[name]([long, short], [], [], 30.0)] == ["short", "long"]
    # By now the long one has waited for five times its size, and the late one has just come.
    assert ORDERS["rg"]([long, late], [], [], 5001.0)[0].id == "long"
    assert shortest_first([long, late], [], [], 5001.0)[0].id == "late"


def test_placement_goes_where_it_is_warm():
    warm, cold, other = WorkerView("a", ("mesh=1",)), WorkerView("b"), WorkerView("c", ("mesh=2",))
    job = QueuedJob("j", 0.0, 1.0, 1.0, class_key="mesh=1")
    assert place(job, [other, cold, warm]) is warm
    assert place(job, [other, cold]) is cold
    assert place(QueuedJob("j", 0.0, 1.0, 1.0), [other, cold]) is cold


def test_capacity_is_kept_and_what_lacks_is_said():
    have = Capacity(cpus=4, gpus=1.0, memory_mb=8000.0, share_mb=2000.0, slots=4)
    busy = [Assignment("a", 1, "", "", {}, cpus=2, gpus=0.5, memory_mb=5000.0)]
    assert have.has_room(Request(cpus=2, gpus=0.5, memory=3.0), busy)
    assert not have.has_room(Request(cpus=3), busy)
    assert not have.has_room(Request(gpus=0.6), busy)
    assert not have.has_room(Request(memory=3.1), busy)
    assert have.has_room(Request(), busy) and have.granted_mb(Request()) == 2000.0
    assert have.lacks(Request(cpus=4, gpus=1, memory=8)) == ""
    assert "5 of 4 cores, 2 of 1 GPUs, 9.0 of 8.0 GB" in have.lacks(Request(cpus=5, gpus=2, memory=9))


def test_devices_are_shared_out_whole_or_in_parts(tmp_path, monkeypatch):
    from batches import nursery

    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "0,1,2")
    executor = LocalExecutor(tmp_path, 2, nursery=nursery())
    assert executor.capacity.gpus == 3.0
    assert executor._claim_devices(0.5) == executor._claim_devices(0.5) == (("0", 0.5),)  # the fullest with room
    assert [name for name, _ in executor._claim_devices(2)] == ["1", "2"]
    assert executor.devices == {"0": 0.0, "1": 0.0, "2": 0.0}
    assert worker_environment(3, ["1"]) == {**worker_environment(3, []), "CUDA_VISIBLE_DEVICES": "1"}
    assert worker_environment(3, [])["OMP_NUM_THREADS"] == "3"
    executor.close()


@pytest.mark.parametrize(("text", "gb"), [("8GB", 8.0), ("500MB", 0.5), (2, 2.0), ("1GiB", 1.073741824)])
def test_memory_is_read(text, gb):
    assert Request(memory=text).memory == pytest.approx(gb)


@pytest.mark.parametrize(
    ("text", "seconds"), [("2h", 7200.0), ("30min", 1800.0), ("90s", 90.0), (90, 90.0), ("1d", 86400.0)]
)
def test_time_is_read(text, seconds):
    assert Request(wall=text).wall == seconds == read_duration(str(text))


def test_unknown_order():
    with pytest.raises(JobError, match="fifo"):
        order_named("lifo")

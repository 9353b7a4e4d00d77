"""The grammar of axes, the sampling of points, and sweeps from files and command lines."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from jobs.batch.axes import axis, is_swept
from jobs.batch.sampling import points
from jobs.batch.sweep import class_key, load_sweep, make_sweep, set_entry
from jobs.errors import JobError


@pytest.mark.parametrize(
    ("text", "values"),
    [
        ("1,2,3", (1, 2, 3)),
        ("0.2, 0.4", (0.2, 0.4)),
        ("oc,mma", ("oc", "mma")),
        ("[x],[x, y]", (["x"], ["x", "y"])),
        ("'a,b',c", ("a,b", "c")),
        ("range(1, 4)", (1, 2, 3, 4)),
        ("range(1.5, 3.5, 0.5)", (1.5, 2.0, 2.5, 3.0, 3.5)),
        ("range(0, 1, 0.3)", (0, 0.3, 0.6, 0.9)),
        ("range(3, 1, -1)", (3, 2, 1)),
        ("lin(0, 1, 5)", (0.0, 0.25, 0.5, 0.75, 1.0)),
        ("log(1e-3, 1, 4)", (0.001, 0.01, 0.1, 1.0)),
        ("integer(2, 4)", (2, 3, 4)),
        ("true,false", (True, False)),
        ("null", (None,)),
    ],
)
def test_values_of_an_axis(text, values):
    assert axis("k", text).values == values


@pytest.mark.parametrize(
    "text",
    ["range(1)", "range(1, 2, 0)", "range(1, 2, -1)", "log(0, 1, 3)", "lin(0, 1, 1.5)", "uniform(2, 1)", "range(a, b)"],
)
def test_axes_that_cannot_be(text):
    with pytest.raises(JobError, match="k"):
        axis("k", text)


def test_what_is_swept():
    assert [is_swept(t) for t in ("1,2", "range(1,3)", "uniform(0,1)")] == [True] * 3
    assert [is_swept(t) for t in ("1", "[1, 2]", "part(1).step", "{a: 1, b: 2}", "'x,y'")] == [False] * 5


@given(st.lists(st.integers(1, 5), min_size=1, max_size=4))
def test_a_grid_holds_every_combination_once(lengths):
    axes = [axis(f"k{n}", list(range(length))) for n, length in enumerate(lengths)]
    rows = points(axes)
    product = 1
    for length in lengths:
        product *= length
    assert len(rows) == product == len({tuple(row.values()) for row in rows})


@given(st.integers(1, 60), st.integers(1, 4), st.integers(0, 10**6))
def test_a_latin_hypercube_has_one_point_in_every_stratum(samples, dimension, seed):
    axes = [axis(f"k{n}", "uniform(0, 1)") for n in range(dimension)]
    rows = points(axes, "latin_hypercube", samples, seed)
    assert rows == points(axes, "latin_hypercube", samples, seed)
    for n in range(dimension):
        # Values carry six digits; at a stratum's end that may be the next one's beginning.
        strata = sorted(row[f"k{n}"] * samples for row in rows)
        assert all(k - 1e-3 <= u <= k + 1 + 1e-3 for k, u in enumerate(strata))


def test_random_points_are_inside_and_follow_the_seed():
    axes = [axis("a", "loguniform(1e-3, 10)"), axis("b", ["x", "y"]), axis("c", "integer(1, 3)")]
    rows = points(axes, "random", 200, seed=3)
    assert all(1e-3 <= row["a"] <= 10 and row["b"] in ("x", "y") and row["c"] in (1, 2, 3) for row in rows)
    assert {row["c"] for row in rows} == {1, 2, 3}
    assert sum(row["a"] < 0.1 for row in rows) == pytest.approx(100, abs=25)  # half of the decades
    assert rows != points(axes, "random", 200, seed=4)


def test_side_by_side():
    assert points([axis("a", [1, 2]), axis("b", [3, 4])], "zip") == [{"a": 1, "b": 3}, {"a": 2, "b": 4}]
    with pytest.raises(JobError, match="a has 1, b has 2"):
        points([axis("a", [1]), axis("b", [3, 4])], "zip")


@pytest.mark.parametrize(
    ("arguments", "word"),
    [
        (([],), "nothing varies"),
        (([axis("a", "uniform(0,1)")],), "continuum"),
        (([axis("a", [1])], "random"), "samples"),
        (([axis("a", [1])], "grid", 5), "samples"),
        (([axis(k, "range(1,1000)") for k in "abc"],), "too many"),
    ],
)
def test_points_that_cannot_be(arguments, word):
    with pytest.raises(JobError, match=word):
        points(*arguments)


def test_a_sweep_file(tmp_path):
    (tmp_path / "probe.yaml").write_text("job: probe\nname: n\nsteps: 2\n")
    (tmp_path / "sweep.yaml").write_text(
        "name: two by two\nbase: probe.yaml\nset: {seconds: 0.5}\nsweep: {steps: [1, 2], seed: 'range(5, 6)'}\n"
        "resources: {memory: 8GB, wall: 2h}\nclass: [steps]\n"
    )
    sweep = load_sweep(tmp_path / "sweep.yaml")
    assert [m.values for m in sweep.members] == [{"steps": s, "seed": k} for s in (1, 2) for k in (5, 6)]
    assert [m.job.name for m in sweep.members] == ["n 1", "n 2", "n 3", "n 4"]
    assert all(m.job.seconds == 0.5 for m in sweep.members)
    assert (sweep.spec.resources.memory, sweep.spec.resources.wall) == (8.0, 7200.0)
    assert class_key(sweep.members[0].job.model_dump(), sweep.spec.class_keys) == "steps=1"
    more = load_sweep(tmp_path / "sweep.yaml", ["steps=7", "seed=1,2,3"], resources={"cpus": 2}, name="other")
    assert [(m.job.steps, m.job.seed) for m in more.members] == [(7, 1), (7, 2), (7, 3)]
    assert (more.name, more.spec.resources.cpus, more.spec.resources.memory) == ("other", 2, 8.0)
    plain = load_sweep(tmp_path / "probe.yaml", ["seed=1,2"])
    assert [m.job.seed for m in plain.members] == [1, 2]


@pytest.mark.parametrize(
    ("data", "sentence"),
    [
        ({"base": {"job": "probe"}, "sweeep": {}}, "unknown key 'sweeep' in the job: did you mean 'sweep'"),
        ({"base": {"job": "probe"}, "sweep": {"stepps": [1]}}, r"job 1 of the sweep \(stepps=1\): unknown key"),
        ({"base": {"job": "probe"}, "sweep": {"steps": [1, 0]}}, "job 2 of the sweep"),
        ({"base": {"job": "probe"}, "sweep": {"seed": [1]}, "resources": {"memory": "8 parsecs"}}, "8GB"),
        ({"base": {"job": "probe"}, "sweep": {"seed": [1]}, "resources": {"memoy": 1}}, "memory"),
        ({"base": {"job": "probe"}, "sweep": {"seed.x": [1]}}, "cannot be set|seed"),
    ],
)
def test_sweeps_that_cannot_be(data, sentence):
    with pytest.raises(JobError, match=sentence):
        make_sweep(data)


def test_entries_inside_lists_and_new_mappings():
    data = {"loads": [{"weight": 1}, {"weight": 1}]}
    set_entry(data, "loads.1.weight", 2)
    set_entry(data, "voxels.size", 3)
    assert data == {"loads": [{"weight": 1}, {"weight": 2}], "voxels": {"size": 3}}
    with pytest.raises(JobError, match="entry of a list of 2"):
        set_entry(data, "loads.2.weight", 2)


def test_the_shipped_sweep():
    from batches import ROOT

    sweep = load_sweep(ROOT / "assets" / "jobs" / "bracket_sweep.yaml")
    assert len(sweep.members) == 12 and all(m.job.kind() == "structure" for m in sweep.members)

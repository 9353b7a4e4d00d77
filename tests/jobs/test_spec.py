"""Job files: what is refused, and in which words; overrides; the resolved job."""

import contextlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from jobs.barycenter_spec import BarycenterJob
from jobs.errors import JobError
from jobs.spec import dump_job, load_job, parse_job
from jobs.structure_spec import StructureJob

MINIMAL = {"job": "structure", "preset": {"name": "mbb_beam"}}


def refused(data) -> str:
    with pytest.raises(JobError) as error:
        parse_job(data)
    assert "\n" not in str(error.value)
    return str(error.value)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"optimise": {}}, "'optimise' in the job: did you mean 'optimize'"),
        ({"optimize": {"volume_fration": 0.3}}, "'volume_fration' in optimize: did you mean 'volume_fraction'"),
        ({"loads": [{"aply": []}]}, "'aply' in loads: did you mean 'apply'"),
        ({"supports": [{"on": {}, "fixed": "all"}]}, "did you mean 'fix'"),
        ({"loads": [{"apply": [{"on": {"all": True}, "forse": [1, 0, 0]}]}]}, "did you mean 'force'"),
    ],
)
def test_unknown_keys_are_refused_with_the_nearest_known_one(change, words):
    assert words in refused({**MINIMAL, **change})


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"optimize": {"filter_radius": -1}}, "optimize.filter_radius"),
        ({"optimize": {"filter_radius": float("nan")}}, "optimize.filter_radius"),
        ({"optimize": {"max_iterations": 0}}, "optimize.max_iterations"),
        ({"voxels": {"size": 1, "count": 10}}, "either size or count"),
        ({"loads": [{"apply": [{"on": {}, "force": [1, 2]}]}]}, "loads.0.apply.0.force"),
        ({"loads": [{"apply": [{"on": {}, "force": [float("inf"), 0, 0]}]}]}, "loads.0.apply.0.force"),
        ({"loads": [{"apply": [{"on": {}, "force": [1, 0, 0], "pressure": 1}]}]}, "exactly one of"),
        ({"body": {"file": "part.stl"}}, "either a body"),
        ({"name": "../../etc"}, "name"),
        ({"export": {"formats": ["exe"]}}, "export.formats.0"),
    ],
)
def test_values_that_cannot_be_name_their_field(change, words):
    assert words in refused({**MINIMAL, **change})


def test_overrides_reach_into_maps_and_lists(tmp_path):
    file = tmp_path / "job.yaml"
    file.write_text("preset: {name: mbb_beam}\nloads: [{weight: 1}]\n")
    job = load_job(
        file, ["optimize.volume_fraction=0.25", "loads.0.weight=2.5", "export.formats=[stl]", "name=my beam"]
    )
    assert (job.optimize.volume_fraction, job.loads[0].weight) == (0.25, 2.5)
    assert (job.export.formats, job.name) == (["stl"], "my beam")


@pytest.mark.parametrize("override", ["volume", "=3", "loads.7.weight=1", "preset.name.x=1", "a=[1,"])
def test_overrides_that_cannot_be(tmp_path, override):
    file = tmp_path / "job.yaml"
    file.write_text("preset: {name: mbb_beam}\nloads: [{weight: 1}]\n")
    with pytest.raises(JobError):
        load_job(file, [override])


@pytest.mark.parametrize("text", ["a: [1, 2", "- just\n- a list\n", "", "\x00\x01", "!!python/object:os.system {}"])
def test_files_that_hold_no_job(tmp_path, text):
    file = tmp_path / "job.yaml"
    file.write_text(text)
    with pytest.raises(JobError):
        load_job(file)


def test_a_missing_file(tmp_path):
    with pytest.raises(JobError, match="does not exist"):
        load_job(tmp_path / "nothing.yaml")


def test_the_resolved_job_holds_every_default_and_reads_back_the_same(tmp_path):
    job = parse_job({**MINIMAL, "optimize": {"volume_fraction": 0.4}})
    dump_job(job, tmp_path / "config.yaml")
    text = (tmp_path / "config.yaml").read_text()
    assert "max_iterations: 200" in text and "smoothing: 10" in text
    assert load_job(tmp_path / "config.yaml") == job


def test_the_body_is_relative_to_the_job_file(tmp_path):
    (tmp_path / "job.yaml").write_text("body: {file: parts/a.stl}\n")
    assert load_job(tmp_path / "job.yaml").body.file == tmp_path / "parts" / "a.stl"


values = st.recursive(
    st.none() | st.booleans() | st.floats() | st.text(max_size=8) | st.integers(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3),
    max_leaves=12,
)


KEYS = [*StructureJob.model_fields, *BarycenterJob.model_fields, "other"]


@given(st.dictionaries(st.sampled_from(KEYS), values, max_size=5))
def test_anything_else_is_a_job_or_a_job_error(data):
    with contextlib.suppress(JobError):
        assert isinstance(parse_job(data), StructureJob | BarycenterJob)

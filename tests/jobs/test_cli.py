"""The command line on whole runs: a small part from STL to report, stop and resume, and every refusal."""

import json
import os
import re
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

from jobs.cli import app
from jobs.store import Run
from topopt.density import State

ROOT = Path(__file__).parents[2]

# A lug, 24 x 8 x 12 mm: clamped on the left, pulled down in its hole.
JOB = """
job: structure
name: lug
body: {file: lug.stl}
material: PA12
voxels: {size: 1}
supports: [{on: {faces: {normal: [-1, 0, 0]}}}]
loads: [{apply: [{on: {cylinder: {radius: 2.5}}, force: [0, 0, -50]}]}]
optimize: {volume_fraction: 0.45}
export: {formats: [stl, 3mf]}
verify: {reanalysis: false}
"""


@pytest.fixture
def job(tmp_path):
    """A folder with a part and its job file."""
    _lug().export(tmp_path / "lug.stl")
    (tmp_path / "job.yaml").write_text(JOB)
    return tmp_path / "job.yaml"


def _lug(gap: float = 0.0, island: bool = False):
    import trimesh
    from manifold3d import Manifold

    def box(x, y, z, at):
        return Manifold.cube([x, y, z]).translate(at)

    hole = Manifold.cylinder(20, 2.5, circular_segments=64).rotate([90, 0, 0]).translate([18, 14, 6])
    solid = box(24, 8, 12, [0, 0, 0]) - hole
    if gap:
        solid = solid - box(gap, 20, 20, [8, -5, -5])
    if island:
        solid = solid + box(3, 3, 3, [40, 2, 2])
    mesh = solid.to_mesh()
    return trimesh.Trimesh(mesh.vert_properties[:, :3], mesh.tri_verts, process=False)


def formgrad(*words):
    return CliRunner().invoke(app, [str(w) for w in words])


def refused(job, *words) -> str:
    """The one sentence with which a run is refused; nothing may be left that looks like a result."""
    out = job.parent / "out"
    shutil.rmtree(out, ignore_errors=True)
    answer = formgrad("run", job, *words, *([] if "--out" in words else ["--out", out]))
    assert answer.exit_code == 2, answer.output
    lines = [line for line in answer.stderr.splitlines() if line]
    assert len(lines) == 1 and lines[0].startswith("formgrad: "), answer.stderr
    assert not (out / "result.json").exists()
    assert not list(out.glob("artifacts/*"))
    return lines[0]


def test_help_is_quick_and_imports_nothing_heavy():
    code = "import sys, jobs.cli; print(sorted({'numpy','torch','gradio','pyvista','trimesh'} & set(sys.modules)))"
    assert subprocess.check_output([sys.executable, "-c", code], cwd=ROOT, text=True).strip() == "[]"


def test_a_part_from_file_to_report(job):
    out = job.parent / "run"
    answer = formgrad("run", job, "--out", out)
    assert answer.exit_code == 0, answer.output
    result = json.loads((out / "result.json").read_text())
    assert result["status"] == "succeeded" and result["voxels"] > 1500
    assert result["volume_fraction"] == pytest.approx(0.45, abs=1e-6)
    assert abs(result["referee"]["relative_difference"]) < 0.15
    assert [hole["measured_mm"] for hole in result["holes"]] == pytest.approx([2.5], abs=0.05)
    for row in result["exports"]:
        assert row["watertight"] and row["components"] == 1
        assert row["volume_mm3"] == pytest.approx(result["volume_mm3"], rel=5e-3)
        assert (out / row["path"]).is_file()
    page = (out / "artifacts" / "report.html").read_text()
    assert "lug" in page and "<svg" in page
    assert not re.search(r"(src|href)=\"(?!data:|#)", page), "the report must not need anything else"
    assert len(Run(out).progress()) == result["iterations"]
    assert Run(out).status()["state"] == "succeeded"
    assert formgrad("show", out).exit_code == 0
    assert "already holds a run" in formgrad("run", job, "--out", out).stderr


@pytest.mark.slow
@pytest.mark.fem
def test_every_kind_of_load_and_support_agrees_with_the_reanalysis(job):
    """Pressure, moment, gravity, a roller and a partly held face, on voxels and on body-fitted quadratic tetrahedra."""
    job.write_text("""
body: {file: lug.stl}
material: PA12
voxels: {size: 0.5}
supports:
  - {on: {faces: {normal: [-1, 0, 0]}}, fix: roller}
  - {on: {faces: {normal: [0, 0, -1]}, box: {min: [-1, -1, -1], max: [6, 9, 1]}}, fix: [y, z]}
loads:
  - name: pressure and moment
    apply:
      - {on: {faces: {normal: [1, 0, 0]}}, pressure: 0.5}
      - {on: {cylinder: {radius: 2.5}}, moment: [0, 100, 0]}
  - {name: own weight, weight: 1000, gravity: [0, 0, -50]}
optimize: {mass_kg: 0.0012, filter_radius: 1.5}
export: {formats: [stl]}
""")
    answer = formgrad("run", job, "--out", job.parent / "run")
    assert answer.exit_code == 0, answer.output
    result = Run(job.parent / "run").result()
    assert result["mass_kg"] == pytest.approx(0.0012, rel=2e-3)
    assert abs(result["referee"]["relative_difference"]) < 0.03
    assert abs(result["reanalysis"]["relative_difference"]) < 0.03
    claims, checked = result["compliance_per_case"], result["reanalysis"]["per_case"]
    assert [case["compliance"] for case in checked] == pytest.approx(claims, rel=0.05)


def test_a_preset_from_the_job_file(tmp_path):
    (tmp_path / "job.yaml").write_text(
        "preset: {name: cantilever, options: {nx: 30, ny: 20}}\n"
        "optimize: {projection: true, filter_radius: 2, max_iterations: 60}\nexport: {formats: [stl], thickness: 4}\n"
    )
    answer = formgrad("run", tmp_path / "job.yaml", "--out", tmp_path / "run")
    assert answer.exit_code == 0, answer.output
    result = Run(tmp_path / "run").result()
    (row,) = result["exports"]
    assert row["watertight"] and row["volume_mm3"] == pytest.approx(0.4 * 600 * 4, rel=5e-3)
    assert result["reanalysis"] is None and abs(result["referee"]["relative_difference"]) < 0.1


def _spawn(*words):
    return subprocess.Popen(
        [sys.executable, "-m", "jobs.cli", *map(str, words)], cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.STDOUT
    )


def _wait_for_iteration(run, number, process):
    for _ in range(600):
        if len(run.progress()) >= number:
            return
        assert process.poll() is None, process.stdout.read().decode()
        time.sleep(0.05)
    pytest.fail("the run did not get going")


@pytest.mark.parametrize(("signal_", "code"), [(signal.SIGINT, 75), (signal.SIGKILL, -9)], ids=["ctrl-c", "kill -9"])
def test_stopped_or_killed_then_resumed_is_the_same_as_undisturbed(job, tmp_path, signal_, code):
    fine = ["voxels.size=0.8", "optimize.max_iterations=24", "resources.checkpoint_every=3"]
    run = Run(tmp_path / "disturbed")
    process = _spawn("run", job, *fine, "--out", run.folder)
    _wait_for_iteration(run, 7, process)
    process.send_signal(signal_)
    said = process.communicate(timeout=60)[0].decode()
    assert process.returncode == code, said
    assert run.result() is None
    if signal_ == signal.SIGINT:
        assert f"formgrad resume {run.folder}" in said
        assert run.status()["state"] == "stopped"
        assert run.latest_checkpoint().name == f"step-{len(run.progress()):06d}.npz"
    else:
        assert run.status()["state"] == "failed"
        assert run.latest_checkpoint().name >= "step-000006.npz"
    assert formgrad("resume", run.folder).exit_code == 0
    assert formgrad("run", job, *fine, "--out", tmp_path / "undisturbed").exit_code == 0
    one, other = Run(run.folder), Run(tmp_path / "undisturbed")
    states = [State.load(r.latest_checkpoint()) for r in (one, other)]
    assert np.array_equal(states[0].x, states[1].x) and np.array_equal(states[0].u, states[1].u)
    assert one.result()["compliance"] == other.result()["compliance"]
    assert [r["compliance"] for r in one.progress()] == [r["compliance"] for r in other.progress()]
    assert (one.artifacts / "part.stl").read_bytes() == (other.artifacts / "part.stl").read_bytes()


def test_a_run_folder_may_be_moved_and_its_sources_deleted(job, tmp_path):
    import trimesh

    trimesh.creation.box((4, 10, 4)).apply_translation([2, 4, 12]).export(job.parent / "notch.stl")
    words = ["keep_out=[{body: notch.stl}]", "optimize.max_iterations=4", "verify.referee=false"]
    run = Run(tmp_path / "run")
    process = _spawn("run", job, *words, "voxels.size=0.5", "resources.checkpoint_every=1", "--out", run.folder)
    _wait_for_iteration(run, 1, process)
    process.send_signal(signal.SIGINT)
    process.communicate(timeout=60)
    for name in ("lug.stl", "notch.stl"):
        (job.parent / name).unlink()
    moved = Run(run.folder.rename(tmp_path / "elsewhere"))
    assert sorted(p.name for p in moved.inputs.iterdir()) == ["lug.stl", "notch.stl"]
    answer = formgrad("resume", moved.folder)
    assert answer.exit_code == 0, answer.output
    assert moved.result()["iterations"] == 4


def test_a_finished_run_and_no_run_cannot_be_resumed(tmp_path):
    assert "holds no run" in formgrad("resume", tmp_path).stderr


# -- refusals ---------------------------------------------------------------------------------------------------------


def test_job_file_missing(tmp_path):
    answer = formgrad("run", tmp_path / "none.yaml")
    assert answer.exit_code == 2 and "does not exist" in answer.stderr


def test_body_file_missing(job):
    assert "does not exist" in refused(job, "body.file=other.stl")


def test_open_mesh(job):
    mesh = _lug()
    mesh.update_faces(np.arange(len(mesh.faces)) > 4)
    mesh.export(job.parent / "lug.stl")
    assert "open" in refused(job)


def test_step_without_a_solid(job):
    (job.parent / "empty.step").write_text(
        "ISO-10303-21;\nHEADER;\nFILE_DESCRIPTION((''),'2;1');\nFILE_NAME('','',(''),(''),'','','');\n"
        "FILE_SCHEMA(('AUTOMOTIVE_DESIGN'));\nENDSEC;\nDATA;\nENDSEC;\nEND-ISO-10303-21;\n"
    )
    assert "solid" in refused(job, "body.file=empty.step")


def test_no_support(job):
    assert "supports" in refused(job, "supports=[]")


def test_no_load(job):
    assert "loads" in refused(job, "loads=[]")


def test_load_on_nothing(job):
    words = refused(job, "loads.0.apply.0.on={cylinder: {radius: 4}}")
    assert "selects nothing" in words and "2.5" in words
    assert "no material" in refused(job, "keep_out=[{cylinder: {axis: y, center: [18, 0, 6], radius: 5}}]")


def test_floating_part(job):
    _lug(island=True).export(job.parent / "lug.stl")
    assert re.search("bodies|float", refused(job))


def test_one_of_several_bodies_is_named(job):
    _lug(island=True).export(job.parent / "lug.stl")
    assert "it holds lug 1, lug 2" in refused(job, "body.name=lever")
    words = ["body.name=lug 1", "verify.referee=false", "--out", job.parent / "named"]
    answer = formgrad("run", job, *words)
    assert answer.exit_code == 0, answer.output


def test_disconnected_load_path(job):
    assert "disconnected load path" in refused(job, "keep_out=[{box: {min: [7, -1, -1], max: [10, 9, 13]}}]")


def test_unknown_key_names_the_nearest(job):
    assert "did you mean 'volume_fraction'" in refused(job, "optimize.volum_fraction=0.3")
    assert re.search("did you mean .radius", refused(job, "supports.0.on={cylinder: {radios: 3}}"))


@pytest.mark.parametrize("value", ["0", "1.2", "-0.1", ".nan"])
def test_volume_fraction_outside(job, value):
    assert "volume_fraction" in refused(job, f"optimize.volume_fraction={value}")


def test_not_a_number(job):
    assert "force" in refused(job, "loads.0.apply.0.force=[.nan, 0, 0]")


def test_too_many_voxels_for_the_memory(job):
    words = refused(job, "voxels.size=0.05", "resources.memory_gb=1")
    assert re.search(r"[\d,]+ fit", words) and "voxels.size" in words


def test_output_folder_not_writable(job):
    assert "choose another --out" in refused(job, "--out", "/proc/formgrad")


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can make a small disk to fill")
def test_disk_full(job, tmp_path):
    disk = tmp_path / "disk"
    disk.mkdir()
    if subprocess.run(["mount", "-t", "tmpfs", "-o", "size=300k", "tmpfs", disk], capture_output=True).returncode:
        pytest.skip("this system lets nobody mount a small disk")
    try:
        words = refused(job, "--out", disk / "out")
        assert "full" in words or "no space" in words
        assert not list((disk / "out").rglob("*.part"))
    finally:
        subprocess.run(["umount", disk], check=True)


def test_a_part_that_is_ten_times_too_large_asks_for_units(job):
    mesh = _lug()
    mesh.apply_scale(1000)
    mesh.export(job.parent / "lug.stl")
    assert "units" in refused(job)

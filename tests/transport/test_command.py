"""`formgrad barycenter` on whole runs: files in, run folder out, resume to the same bits, every refusal."""

import json
import zipfile

import numpy as np
import pytest
from PIL import Image
from typer.testing import CliRunner

from jobs.cli import app
from jobs.store import Run
from tests.transport import cases
from transport import barycenter
from transport.images import to_pixels


@pytest.fixture
def pictures(tmp_path):
    """Four disks of 64 x 64 pixels; case T2."""
    paths = []
    for name, density in zip("abcd", cases.t2((64, 64)).measures, strict=True):
        paths.append(tmp_path / f"{name}.png")
        Image.fromarray(to_pixels(density)).save(paths[-1])
    return paths


def call(*arguments):
    return CliRunner().invoke(app, ["barycenter", *map(str, arguments)])


def test_pictures_become_a_run_folder(pictures, tmp_path):
    out = tmp_path / "out"
    result = call(*pictures, "--weights", "1,2,3,4", "-o", out, "--volume-fraction", "0.045")
    assert result.exit_code == 0, result.output
    assert "certified" in result.output and str(out / "artifacts" / "barycenter.png") in result.output
    found = json.loads((out / "result.json").read_text())
    assert found["weights"] == [0.1, 0.2, 0.3, 0.4]
    assert found["dual_value"] == pytest.approx(0.056475, rel=2e-3)  # T2w, rastered with 64 cells and 8 bits
    assert found["dual_value"] <= found["primal_value"]
    density = np.load(out / "artifacts" / "barycenter.npy")
    assert density.shape == (64, 64) and density.mean() == pytest.approx(1, abs=1e-12)
    design = np.load(out / "artifacts" / "design.npy")
    assert design.sum() == round(0.045 * 64 * 64)
    rows = Run(out).progress()
    assert [r["iteration"] for r in rows] == list(range(1, found["iterations"] + 1)) and rows[-1]["left"] == 0
    assert Run(out).status()["state"] == "succeeded"
    with Image.open(out / "artifacts" / "barycenter.png") as picture:
        assert picture.size == (64, 64)
    # A finished run is an input of the next one.
    again = call(out, pictures[0], "-o", tmp_path / "again")
    assert again.exit_code == 0, again.output


def test_stopped_runs_resume_to_the_same_bits(pictures, tmp_path, monkeypatch):
    whole, halves = tmp_path / "whole", tmp_path / "halves"
    assert call(*pictures, "-o", whole).exit_code == 0
    original = Run.append_progress

    def stopping(self, row):
        original(self, row)
        if row["iteration"] == 23:
            self.request_stop()

    monkeypatch.setattr(Run, "append_progress", stopping)
    stopped = call(*pictures, "-o", halves)
    assert stopped.exit_code == 75 and "formgrad resume" in stopped.output
    assert not (halves / "result.json").exists() and Run(halves).status()["state"] == "stopped"
    monkeypatch.undo()
    resumed = CliRunner().invoke(app, ["resume", str(halves)])
    assert resumed.exit_code == 0, resumed.output
    first, second = (np.load(f / "artifacts" / "barycenter.npy") for f in (whole, halves))
    assert np.array_equal(first, second)
    numbers = [json.loads((f / "result.json").read_text()) for f in (whole, halves)]
    assert numbers[0]["dual_value"] == numbers[1]["dual_value"]
    assert [r["dual"] for r in Run(whole).progress()] == [r["dual"] for r in Run(halves).progress()]
    assert "is finished" in CliRunner().invoke(app, ["resume", str(halves)]).output


def stopped_then_resumed(arguments, folder, stop, monkeypatch):
    """A run that is stopped after `stop` iterations and resumed: its folder."""
    original = Run.append_progress

    def stopping(self, row):
        original(self, row)
        if row["iteration"] == stop:
            self.request_stop()

    monkeypatch.setattr(Run, "append_progress", stopping)
    stopped = CliRunner().invoke(app, [*map(str, arguments), str(folder)])
    assert stopped.exit_code == 75, stopped.output
    monkeypatch.undo()
    resumed = CliRunner().invoke(app, ["resume", str(folder)])
    assert resumed.exit_code == 0, resumed.output


@pytest.mark.parametrize("method", ["wdha", "sga"])
def test_published_methods_resume_to_the_same_bits(method, pictures, tmp_path, monkeypatch):
    job, whole, halves = tmp_path / "job.yaml", tmp_path / "whole", tmp_path / "halves"
    job.write_text(f"job: barycenter\ninputs: [a.png, b.png]\nsize: 32\nmethod: {method}\niterations: 40\n")
    assert CliRunner().invoke(app, ["run", str(job), "--out", str(whole)]).exit_code == 0
    stopped_then_resumed(["run", job, "--out"], halves, 27, monkeypatch)
    results = [json.loads((f / "result.json").read_text()) for f in (whole, halves)]
    assert results[0]["iterations"] == results[1]["iterations"] == 40
    assert results[0]["upper_value"] == results[1]["upper_value"]
    assert np.array_equal(*(np.load(f / "artifacts" / "barycenter.npy") for f in (whole, halves)))
    rows = [[(r["iteration"], r["dual"]) for r in Run(f).progress()] for f in (whole, halves)]
    assert rows[0] == rows[1] and len(rows[0]) == 40


def test_a_path_of_weights_becomes_a_film_and_resumes_to_the_same_bits(pictures, tmp_path, monkeypatch):
    whole, halves = tmp_path / "whole", tmp_path / "halves"
    options = [
        "barycenter",
        *pictures[:3],
        "--size",
        32,
        "--weights",
        "1,0,0",
        "--to",
        "0,1,0/0,0,1",
        "--frames",
        7,
        "-o",
    ]
    assert CliRunner().invoke(app, [*map(str, options), str(whole)]).exit_code == 0
    result = json.loads((whole / "result.json").read_text())
    assert result["artifacts"][-2:] == ["artifacts/frames.npy", "artifacts/film.gif"]
    frames = np.load(whole / "artifacts" / "frames.npy")
    assert frames.shape == (7, 32, 32) and frames.dtype == np.float32
    assert np.abs(frames.mean(axis=(1, 2)) - 1).max() < 1e-6
    # The centre of mass goes from a to b to c in straight lines.
    x = (np.arange(32) + 0.5) / 32
    centres = np.array([[f.sum(axis=1) @ x, f.sum(axis=0) @ x] / f.sum() for f in frames])
    ends = centres[[0, 3, 6]]
    assert ends == pytest.approx(np.array([(0.25, 0.25), (0.75, 0.25), (0.25, 0.75)]), abs=5e-3)
    between = np.array([(2 * ends[0] + ends[1]) / 3, (ends[0] + 2 * ends[1]) / 3])
    assert centres[[1, 2]] == pytest.approx(between, abs=0.25 / 32)  # a quarter of a cell
    with Image.open(whole / "artifacts" / "film.gif") as film:
        assert film.n_frames == 12 and film.size == (32, 32)
    assert not (whole / "artifacts" / "frames").exists()
    solve = len([r for r in Run(whole).progress() if "frame" not in r])
    stopped_then_resumed(options, halves, solve + 4, monkeypatch)
    assert np.array_equal(np.load(halves / "artifacts" / "frames.npy"), frames)
    assert (halves / "artifacts" / "film.gif").read_bytes() == (whole / "artifacts" / "film.gif").read_bytes()


def test_a_path_in_a_job_file_and_frames_as_pictures(pictures, tmp_path):
    job, out = tmp_path / "job.yaml", tmp_path / "out"
    job.write_text("job: barycenter\ninputs: [a.png, b.png]\nsize: 32\npath: {to: [0, 1], frames: 3, format: png}\n")
    assert CliRunner().invoke(app, ["run", str(job), "--out", str(out)]).exit_code == 0
    with zipfile.ZipFile(out / "artifacts" / "frames.zip") as archive:
        assert archive.namelist() == ["frame-0000.png", "frame-0001.png", "frame-0002.png"]
        assert archive.read("frame-0001.png")[:4] == b"\x89PNG"
    for volume, kind in enumerate(("gif", "npy")):
        rng = np.random.default_rng(volume)
        for name in ("u", "v"):
            np.save(tmp_path / f"{name}.npy", rng.random((12, 12, 12)))
        job.write_text(f"job: barycenter\ninputs: [u.npy, v.npy]\npath: {{to: [0, 1], frames: 2, format: {kind}}}\n")
        result = CliRunner().invoke(app, ["run", str(job), "--out", str(tmp_path / kind)])
        assert result.exit_code == (2 if kind == "gif" else 0), result.output
        assert kind == "npy" or "for volumes say format: npy" in result.output
    assert np.load(tmp_path / "npy" / "artifacts" / "frames.npy").shape == (2, 12, 12, 12)


def test_runs_of_the_command_line_leave_the_pictures_of_the_page(pictures, tmp_path):
    out = tmp_path / "out"
    assert call(*pictures[:2], "--size", 32, "--no-upper-bound", "-o", out).exit_code == 0
    assert sorted(p.name for p in (out / "looks").iterdir()) == ["input-1.png", "input-2.png", "preview.png"]
    with Image.open(out / "looks" / "preview.png") as look, Image.open(out / "looks" / "input-1.png") as first:
        assert look.size == (64, 64) and first.size == (64, 64)
        # The disk of input 1 lies lower left: x to the right, y up.
        assert np.asarray(first)[48, 16] == 255 and np.asarray(first)[16, 48] == 0
    assert json.loads((out / "result.json").read_text())["upper_value"] is None


def test_the_entropic_method_is_labelled(pictures, tmp_path):
    pytest.importorskip("ot")
    out = tmp_path / "out"
    result = call(*pictures[:2], "--size", 32, "--method", "debiased", "--threads", 1, "-o", out)
    assert result.exit_code == 0, result.output
    found = json.loads((out / "result.json").read_text())
    assert found["entropic"] and found["notes"][0].startswith("entropic: ")
    assert found["dual_value"] <= found["primal_value"] <= found["upper_value"]
    assert not (out / "artifacts" / "film.gif").exists()


def test_a_job_file_does_the_same_as_the_options(pictures, tmp_path):
    job = tmp_path / "job.yaml"
    job.write_text("job: barycenter\ninputs: [a.png, b.png]\nsize: 32\nmethod: sga\n")
    out = tmp_path / "out"
    result = CliRunner().invoke(app, ["run", str(job), "--out", str(out)])
    assert result.exit_code == 0, result.output
    found = json.loads((out / "result.json").read_text())
    assert found["method"] == "sga" and found["shape"] == [32, 32] and found["iterations"] == 300


def test_the_library_and_the_command_give_the_same_answer(tmp_path):
    mu = cases.t2((48, 48)).measures[:2]
    for k, density in enumerate(mu):
        np.save(tmp_path / f"{k}.npy", density)
    result = call(tmp_path / "0.npy", tmp_path / "1.npy", "--weights", "1,3", "-o", tmp_path / "out")
    assert result.exit_code == 0, result.output
    direct = barycenter(mu, [1, 3])
    found = json.loads((tmp_path / "out" / "result.json").read_text())
    assert found["dual_value"] == pytest.approx(direct.dual_value, rel=1e-12)


def test_every_refusal_is_one_sentence_and_exit_code_two(pictures, tmp_path):
    Image.new("L", (64, 64)).save(tmp_path / "black.png")
    Image.new("L", (32, 64), 255).save(tmp_path / "narrow.png")
    frames = [Image.new("L", (8, 8), v) for v in (0, 255)]
    frames[0].save(tmp_path / "film.gif", save_all=True, append_images=frames[1:])
    np.save(tmp_path / "nan.npy", np.full((64, 64), np.nan))
    np.save(tmp_path / "negative.npy", -np.ones((64, 64)))
    a, b = pictures[:2]
    for arguments, sentence in (
        ([a, tmp_path / "black.png"], "black.png has no mass"),
        ([a, tmp_path / "negative.npy"], "negative"),
        ([a, tmp_path / "nan.npy"], "not finite"),
        ([a, tmp_path / "narrow.png"], "--resize"),
        ([a], "at least two"),
        ([a, b, "--weights", "0,0"], "sum to zero"),
        ([a, b, "--weights", "1,x"], "list of numbers"),
        ([a, b, "--weights", "1,2,3"], "need 2 weights"),
        ([a, tmp_path / "film.gif"], "animated"),
        ([a, tmp_path / "missing.png"], "does not exist"),
        ([a, b, "--size", "65536"], "choose a size of at most"),
        ([a, b, "--method", "magic"], "method"),
        ([a, b, "--device", "tpu"], "device"),
        ([a, b, "--to", "1,2,3"], "need 2 weights"),
        ([a, b, "--to", "0,1", "--frames", "1"], "frames"),
        ([a, b, "--to", "0,1", "--film", "avi"], "format"),
        ([a, b, "--volume-fraction", "0"], "volume_fraction"),
    ):
        result = call(*arguments, "-o", tmp_path / "out", "--overwrite")
        assert result.exit_code == 2, (arguments, result.output)
        lines = [line for line in result.output.splitlines() if line.startswith("formgrad: ")]
        assert len(lines) == 1 and sentence in lines[0], result.output
        assert "Traceback" not in result.output


def test_job_files_with_unknown_keys_are_refused(pictures, tmp_path):
    file = tmp_path / "job.yaml"
    file.write_text("job: barycenter\ninputs: [a.png, b.png]\nwieghts: [1, 2]\n")
    result = CliRunner().invoke(app, ["run", str(file), "--out", str(tmp_path / "out")])
    assert result.exit_code == 2 and "wieghts" in result.output and "Traceback" not in result.output

"""`formgrad barycenter` on whole runs: files in, run folder out, resume to the same bits, every refusal."""

import json

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

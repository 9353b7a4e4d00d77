"""`formgrad operator`: data, training and judgement from the command line, and what it says when something is wrong."""

import json
from pathlib import Path

from typer.testing import CliRunner

from jobs.commands.operator import app
from operators.models import card


def test_from_data_to_judgement(tmp_path: Path) -> None:
    run, data, out = CliRunner(), str(tmp_path / "data"), str(tmp_path / "small.safetensors")
    for runs in ("0:3", "100:102"):
        made = run.invoke(app, ["data", "inversion", "-o", data, "--runs", runs])
        assert made.exit_code == 0, made.output
    again = run.invoke(app, ["data", "inversion", "-o", data, "--runs", "0:3"])
    assert "0 runs made, 3 were there" in again.output
    options = ["--data", data, "-o", out, "--kind", "virtual_fourier", "--steps", "3", "--sensitivity", "0"]
    trained = run.invoke(app, ["train", "inversion", *options])
    assert trained.exit_code == 0, trained.output
    about = card(Path(out))
    assert about["steps"] == 3
    assert "--kind virtual_fourier" in about["command"]
    judged = run.invoke(app, ["eval", "inversion", out, "--data", data, "--json"])
    assert judged.exit_code == 0, judged.output
    rows = {row["where"]: row for row in json.loads(judged.output.splitlines()[-1])["rows"]}
    assert rows["unseen runs"]["count"] == 32
    assert 0 < rows["unseen runs"]["state"] < 1
    shown = run.invoke(app, ["eval", "inversion", out, "--data", data])
    assert "probe step" in shown.output


def test_what_is_wrong_is_one_sentence(tmp_path: Path) -> None:
    run = CliRunner()
    for arguments, told in (
        (["data", "unknown", "-o", str(tmp_path)], "there is no recipe for 'unknown'"),
        (["data", "inversion", "-o", str(tmp_path), "--runs", "3"], "not FIRST:LAST"),
        (["train", "inversion", "--data", str(tmp_path), "-o", "x"], "holds no runs"),
        (["eval", "inversion", str(tmp_path / "none"), "--data", str(tmp_path)], "does not exist"),
    ):
        found = run.invoke(app, arguments)
        assert found.exit_code == 2
        assert told in found.output

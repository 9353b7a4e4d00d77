"""`formgrad features`: training writes weights with their card, and testing judges them."""

import json

import pytest
from typer.testing import CliRunner

from jobs.commands.features import app


def run(*words):
    return CliRunner().invoke(app, [str(word) for word in words])


@pytest.mark.slow
def test_a_training_that_is_too_short_is_not_accepted(tmp_path):
    out = tmp_path / "small.safetensors"
    short = ("--steps", 24, "--code-steps", 24, "--width", 48, "--threads", 1)
    found = run("train", "--out", out, "--folder", tmp_path / "run", *short)
    assert found.exit_code == 1, found.output
    assert "not accepted (field 0.0004, code 0.0003)" in found.output
    card = json.loads(out.with_suffix(".json").read_text(encoding="utf-8"))
    assert card["command"] == "formgrad features train --steps 24 --code-steps 24 --width 48"
    assert card["bytes"] == out.stat().st_size
    assert card["points seen"] == 24 * 256 * 8
    again = run("test", out, "--shapes", 5, "--points", 20)
    assert again.exit_code == 1


def test_the_shipped_weights_are_accepted():
    found = run("test", "--shapes", 60, "--points", 100, "--seed", 5)
    assert found.exit_code == 0, found.output
    assert "accepted" in found.output


def test_what_cannot_be_is_said_in_one_sentence(tmp_path):
    found = run("train", "--out", tmp_path / "w.safetensors", "--folder", tmp_path, "--steps", 25)
    assert found.exit_code == 2
    assert found.stderr.strip() == "formgrad: steps and code_steps must be multiples of block (24)"
    assert run("test", tmp_path / "none.safetensors").exit_code == 2

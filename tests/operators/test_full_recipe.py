"""The recipes for a GPU: published sizes, runs of their own, and the same judgement; a few steps of one on a CPU."""

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch
from typer.testing import CliRunner

from jobs.commands.operator import app
from operators.models import build, card
from operators.recipes import PLACES, find
from operators.recipes.full import full


def numbers(model: torch.nn.Module) -> int:
    return sum(p.numel() * (2 if p.is_complex() else 1) for p in model.parameters())


@pytest.mark.parametrize("name", PLACES)
def test_it_judges_by_what_the_small_one_is_judged_by_and_learns_from_none_of_it(name: str) -> None:
    small, large = find(name), full(find(name))
    assert large.unseen == small.unseen and large.probe == small.probe and large.hybrid == small.hybrid
    assert len(large.runs) == 1000
    assert not {*large.runs} & {*small.unseen, *small.runs}
    assert large.training.weights == small.training.weights


@pytest.mark.parametrize("name", PLACES)
def test_networks_on_grids_are_larger_and_can_be_built(name: str) -> None:
    kinds = [build(recipe.settings("fno", "increment"), find(name).kept) for recipe in (find(name), full(find(name)))]
    assert numbers(kinds[1]) > 5 * numbers(kinds[0])


def test_virtual_fourier_has_the_published_number_of_parameters() -> None:
    """686,620 with 4 inputs and 4 outputs; the counts of the micro-reactor are in `test_layers`."""
    sizes = full(find("reactor")).settings("virtual_fourier", "state")
    assert numbers(build(replace(sizes, inputs=4, frequencies=0)).inner.psi) == 686_620


def test_a_few_steps_on_a_cpu(tmp_path: Path) -> None:
    run, data, out = CliRunner(), str(tmp_path / "data"), str(tmp_path / "full.safetensors")
    for runs in ("100:102", "120:123"):
        made = run.invoke(app, ["data", "inversion", "-o", data, "--runs", runs, "--full"])
        assert made.exit_code == 0, made.output
    options: list[Any] = ["--data", data, "-o", out, "--steps", "3", "--sensitivity", "0", "--full"]
    trained = run.invoke(app, ["train", "inversion", *options])
    assert trained.exit_code == 0, trained.output
    about = card(Path(out))
    assert about["training"]["batch"] == 32 and about["runs"] == [120, 121, 2]
    assert about["command"].count("--full") == 2 and "data/inversion-full" in about["command"]
    judged = run.invoke(app, ["eval", "inversion", out, "--data", data, "--json", "--full"])
    assert judged.exit_code == 0, judged.output
    rows = {row["where"]: row for row in json.loads(judged.output.splitlines()[-1])["rows"]}
    assert 0 < rows["unseen runs"]["state"] < 1

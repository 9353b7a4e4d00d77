"""Training: reproducible, resumable bit for bit, and it learns."""

from dataclasses import replace

import numpy as np
import pytest
import torch

from topopt.features.errors import FeatureError
from topopt.features.neural.model import Model
from topopt.features.neural.settings import Settings
from topopt.features.neural.training import train

SMALL = Settings(steps=36, code_steps=24, width=64, depth=4, shapes=48, points=4, block=12, save_every=0.0)


class Killed(Exception):
    pass


def same(a, b):
    return all(torch.equal(x, y) for x, y in zip(a.state_dict().values(), b.state_dict().values(), strict=True))


@pytest.mark.parametrize("last", [1, 4])  # in the first stage, in the second
def test_a_run_that_was_killed_reaches_the_same_bits(tmp_path, last):
    whole = train(SMALL, tmp_path / "whole", lambda _: None)
    said = []

    def until(line):
        said.append(line)
        if len(said) == last:
            raise Killed

    with pytest.raises(Killed):
        train(SMALL, tmp_path / "killed", until)
    assert same(whole, train(SMALL, tmp_path / "killed", lambda _: None))


def test_seeds_differ_and_settings_are_kept_apart(tmp_path):
    first = train(SMALL, tmp_path / "a", lambda _: None)
    other = replace(SMALL, seed=8)
    assert not same(first, train(other, tmp_path / "b", lambda _: None))
    with pytest.raises(FeatureError, match="another seed"):
        train(other, tmp_path / "a", lambda _: None)


@pytest.mark.slow
def test_it_learns(tmp_path):
    settings = replace(SMALL, steps=480, code_steps=120, width=48, shapes=48, points=8, save_every=1e9)
    rng = np.random.default_rng
    torch.manual_seed(settings.seed)
    before = Model.fresh(settings.width, settings.depth).eval().errors(rng(0), 30, 100)
    after = train(settings, tmp_path, lambda _: None).errors(rng(0), 30, 100)
    assert after["field"] < 0.3 * before["field"]
    assert after["code"] < 0.3 * before["code"]


@pytest.mark.parametrize(
    ("change", "word"), [({"steps": 37}, "multiples of block"), ({"decay": 0.0}, "decay"), ({"shapes": 47}, "three")]
)
def test_settings_are_checked(change, word):
    with pytest.raises(FeatureError, match=word):
        replace(SMALL, **{"block": 1 if "shapes" in change else 12, **change})


def test_weights_come_back_bit_for_bit(tmp_path):
    torch.manual_seed(5)
    model = Model.fresh(48, 4).eval()
    model.measure_limits(np.random.default_rng(0), 50)
    file = tmp_path / "weights.safetensors"
    model.save(file)
    again = Model.load(file)
    assert same(model, again)
    again.save(tmp_path / "again.safetensors")
    assert file.read_bytes() == (tmp_path / "again.safetensors").read_bytes()


def test_files_that_are_no_weights(tmp_path):
    with pytest.raises(FeatureError, match="formgrad features train"):
        Model.load(tmp_path / "none.safetensors")
    (tmp_path / "text.safetensors").write_text("these are no weights")
    with pytest.raises(FeatureError, match="does not hold the weights"):
        Model.load(tmp_path / "text.safetensors")

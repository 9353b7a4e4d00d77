"""Operators of states that are proportional to a load: twice the load, twice the state, untrained or not."""

from dataclasses import replace
from pathlib import Path

import torch

from operators.models import build, load, save, size_of
from operators.settings import Settings

SMALL = Settings(
    "virtual_fourier", 3, 2, width=16, blocks=1, modes=3, heads=2, sensors=8, hidden=1, reference_dropout=0.0
)


def drawn(seed: int, channels: int) -> torch.Tensor:
    return torch.randn(3, 12, channels, generator=torch.Generator().manual_seed(seed)).double()


def test_the_answer_is_proportional_to_the_reference_state() -> None:
    x, x_r, u_r = drawn(0, 3), drawn(1, 3), drawn(2, 2)
    factors = torch.tensor([2.0, 1e3, 1e-4], dtype=torch.float64)[:, None, None]
    for homogeneous in (True, False):
        model = build(replace(SMALL, homogeneous=homogeneous)).double().eval()
        model.fit(drawn(3, 3), 1 + drawn(4, 2))
        once, more = model(x, (x_r, u_r)), model(x, (x_r, factors * u_r))
        assert torch.allclose(more, factors * once, rtol=1e-9, atol=0) is homogeneous


def test_statistics_are_of_states_of_unit_size() -> None:
    states = torch.tensor([1.0, 100.0, 1e-3], dtype=torch.float64)[:, None, None] * drawn(5, 2)
    model = build(replace(SMALL, homogeneous=True)).double()
    model.fit(drawn(3, 3), states)
    torch.testing.assert_close(size_of(states / size_of(states)).ravel(), torch.ones(3, dtype=torch.float64))
    assert 0.5 < float(model.of_states.std.max()) < 2


def test_a_file_keeps_it(tmp_path: Path) -> None:
    model = build(replace(SMALL, homogeneous=True))
    save(model, tmp_path / "a.safetensors")
    assert load(tmp_path / "a.safetensors").settings.homogeneous

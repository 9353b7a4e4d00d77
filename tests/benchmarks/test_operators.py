"""The table of operators: rows are kept and not made twice, and the points without an order are seen in two ways."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from benchmarks import operators as benchmark
from benchmarks._operator_points import SIDE, drawn, gridded, scattered
from benchmarks._operator_rows import VARIANTS, Case, affordable, name_of, training
from operators.recipes import find
from operators.recipes.inversion import square

SMALL = [
    "--kinds",
    "virtual_fourier",
    "--seeds",
    "1",
    "--budgets",
    "steps",
    "--steps",
    "2",
    "--runs",
    "3",
    "--unseen",
    "1",
    "--long",
    "0",
]


def test_rows_are_kept_and_the_missing_ones_made(tmp_path: Path) -> None:
    kept = ["--data", str(tmp_path), "--table", str(tmp_path / "table.json")]
    first = benchmark.main([*SMALL, "--problems", "inversion", *kept])
    again = benchmark.main([*SMALL, "--problems", "inversion", "points", *kept])
    assert again["problems"]["inversion"] == first["problems"]["inversion"]
    rows = json.loads((tmp_path / "table.json").read_text())["rows"]
    assert [row["problem"] for row in rows] == ["inversion", "points"]
    assert rows[0]["steps"] == 2
    assert rows[0]["curve"][-1][0] == 2
    line = again["problems"]["points"]["summary"][0]
    assert line["state"] == [pytest.approx(rows[1]["state"], abs=1e-4)] * 3
    assert 0 < again["problems"]["inversion"]["nothing_learnt"]["state"] < 0.2


def test_steps_follow_from_what_a_plain_and_a_curved_one_cost() -> None:
    case = Case("inversion", "fno", "base", "time", 10.0, 2e-3, 0)
    prices = {name_of("fno", "increment", False): 0.02, name_of("fno", "increment", True): 0.04}
    settings = training(case, find("inversion"))
    assert affordable(case, prices, settings) == int(10 / (0.35 * 0.02 + 0.65 * 0.04))
    plain = Case("inversion", "fno", "plain", "time", 10.0, 2e-3, 0)
    assert affordable(plain, prices, training(plain, find("inversion"))) == 500
    assert training(Case("inversion", "fno", "none", "time", 1.0, 2e-3, 0), find("inversion")).reach == 0


def test_what_is_priced_later_is_told_in_the_seconds_of_the_first_time(monkeypatch: pytest.MonkeyPatch) -> None:
    fno, other = (Case("inversion", kind, "plain", "time", 10.0, 2e-3, 0) for kind in ("fno", "virtual_fourier"))
    asked: list[int] = []

    def measured(cases: list[Case], _: object) -> dict[str, float]:
        asked.append(len(cases))
        return {"fno increment plain": 0.01, "virtual_fourier increment plain": 0.03}

    monkeypatch.setattr(benchmark, "costs", measured)
    known = benchmark.prices({"fno increment plain": 0.02}, [fno, other], Any)  # pyright: ignore[reportArgumentType]
    assert known == {"fno increment plain": 0.02, "virtual_fourier increment plain": pytest.approx(0.06)}
    assert benchmark.prices(known, [fno, other], Any) == known  # pyright: ignore[reportArgumentType]
    assert asked == [2]


def test_every_way_is_made_for_every_budget_and_seed() -> None:
    options = benchmark.arguments(["--variants", *VARIANTS, "--budgets", "time", "steps", "--long", "0"])
    made = list(benchmark.cases("reactor", options))
    assert len(made) == len(set(made)) == 6 * 2 * 3 * 3
    assert {(case.output, case.curved) for case in made} == {
        (output, curved) for output in ("increment", "state", "none") for curved in (True, False)
    }


def test_a_field_comes_back_from_the_points_and_from_their_grid() -> None:
    x, y = square().points.T
    field = torch.as_tensor(np.sin(np.pi * x) * np.sin(np.pi * y)).float()
    for view, lost in ((scattered(), 0.01), (gridded(), 0.02)):
        values = view.down(field[None])
        assert values.shape == (1, SIDE * SIDE, 1)
        assert float((view.up(values)[0] - field).norm() / field.norm()) < lost
    assert torch.equal(scattered().down(field[None])[0, :, 0], field[drawn()])


def test_the_grid_sees_what_the_points_see_of_the_design() -> None:
    z = torch.randn(1, square().prior.shape[1], generator=torch.Generator().manual_seed(0))
    onto = gridded().gridded
    assert onto is not None
    there, seen = scattered().features(z)[0, :, 3], gridded().features(z)[0, :, 3]
    torch.testing.assert_close(onto @ there, seen, rtol=1e-3, atol=1e-4)

"""The job kind `features`: a domain of one's own, or a published task, to STEP, DXF, SVG and a second opinion."""

import json
from pathlib import Path
from typing import Any

import pytest

from jobs.errors import JobError
from jobs.launch import prepare
from jobs.observer import Log
from jobs.runner import open_run, run_job
from jobs.spec import load_job, parse_job

PLATE: dict[str, Any] = {
    "job": "features",
    "volume": 0.55,
    "grid": [3, 2],
    "thickness": 4.0,
    "iterations": 10,
    "checkpoint_every": 3,
    "domain": {
        "outline": [[0, 0], [60, 0], [60, 30], [0, 30]],
        "h": 2.0,
        "E": 70000.0,
        "supports": [{"box": [[0, 0], [0, 30]]}],
        "loads": [[{"box": [[60, 0], [60, 10]], "force": [0, -100]}]],
    },
}


def test_a_plate_of_ones_own_leaves_as_exact_cad(tmp_path: Path) -> None:
    from topopt.cad.dxf_read import read_dxf
    from topopt.cad.step import read_step_bytes

    result = run_job(*prepare(parse_job(PLATE), tmp_path / "run"), Log())
    assert result is not None
    folder = tmp_path / "run" / "artifacts"
    assert sorted(path.name for path in folder.iterdir()) == ["part.dxf", "part.json", "part.step", "part.svg"]
    assert result["volume"] == pytest.approx(0.55, abs=2e-3)
    assert result["difference"] == pytest.approx(0, abs=0.05)
    area = sum(region.area for region in read_dxf(folder / "part.dxf"))
    assert area == pytest.approx(result["outline_volume"] * 1800, rel=1e-9)
    volume, solids, closed = read_step_bytes((folder / "part.step").read_bytes())
    assert (solids, closed) == (1, True) and volume == pytest.approx(4 * area, rel=1e-9)
    assert (tmp_path / "run" / "looks" / "outlines.svg").read_text().startswith("<?xml")


def test_a_run_that_was_killed_goes_on_to_the_same_bits(tmp_path: Path) -> None:
    whole = run_job(*prepare(parse_job(PLATE), tmp_path / "whole"), Log())
    job, run = prepare(parse_job(PLATE), tmp_path / "parts")
    run_job(job, run, Log())
    (run.folder / "result.json").unlink()
    for late in sorted(run.checkpoints.glob("step-*.npz"))[-1:]:  # the last one was never written
        late.unlink()
    parts = run_job(*open_run(run.folder), Log(), resume=True)
    assert whole and parts and parts["compliance"] == whole["compliance"]
    files = [tmp_path / name / "artifacts" / "part.json" for name in ("whole", "parts")]
    assert files[0].read_bytes() == files[1].read_bytes()


def test_a_drawing_is_a_domain(tmp_path: Path) -> None:
    from topopt.cad.drawing import dxf_bytes
    from topopt.cad.region import Region
    from topopt.cad.wires import circle, rectangle

    (tmp_path / "plate.dxf").write_bytes(dxf_bytes([Region(rectangle((0, 0), (60, 30)), (circle((30, 15), 5),))]))
    domain = {**PLATE["domain"], "file": "plate.dxf"}
    del domain["outline"]
    job = parse_job({**PLATE, "domain": domain, "iterations": 2, "volume": 0.8}, base=tmp_path)
    result = run_job(*prepare(job, tmp_path / "run"), Log())
    assert result and 0.7 < result["outline_volume"] < 0.85
    config = load_job(tmp_path / "run" / "config.yaml")
    assert config.files()[0].parent == tmp_path / "run" / "input"


@pytest.mark.slow
def test_a_published_task_beats_the_best_published_value(tmp_path: Path) -> None:
    result = run_job(*prepare(parse_job({"job": "features", "task": 3}), tmp_path / "run"), Log())
    assert result and result["compliance"] < result["published"] and result["sound"]
    assert json.loads((tmp_path / "run" / "result.json").read_text())["notes"] == []


@pytest.mark.parametrize(
    ("changed", "words"),
    [
        ({"task": 3}, "either a task"),
        ({"volume": None}, "volume: give the fraction"),
        ({"task": 9, "domain": None}, "task"),
        ({"feature": "bar", "backend": "neural"}, "bars are analytic"),
        ({"domain": {**PLATE["domain"], "outline": [[0, 0], [1, 0]]}}, "three corners"),
        ({"grid": [0, 2]}, "grid"),
    ],
)
def test_what_cannot_be_is_said_in_one_sentence(changed: dict[str, Any], words: str) -> None:
    with pytest.raises(JobError, match=words):
        parse_job({**PLATE, **changed})


def test_a_load_that_meets_nothing_is_named(tmp_path: Path) -> None:
    domain = {**PLATE["domain"], "loads": [[{"box": [[70, 0], [70, 10]], "force": [0, -100]}]]}
    job, run = prepare(parse_job({**PLATE, "domain": domain}), tmp_path / "run")
    with pytest.raises(ValueError, match="load"):
        run_job(job, run, Log())
    assert run.status()["state"] == "failed"

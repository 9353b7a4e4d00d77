"""The job kind `features`: a domain of one's own, or a published task, to STEP, DXF, SVG and a second opinion."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from typer.testing import CliRunner

from jobs.cli import app
from jobs.errors import JobError
from jobs.launch import prepare
from jobs.observer import Log
from jobs.runner import open_run, run_job
from jobs.spec import load_job, parse_job
from topopt.cad.picture import can_render

PLATE: dict[str, Any] = {
    "job": "features",
    "volume": 0.55,
    "grid": [3, 2],
    "thickness": 4.0,
    "iterations": 10,
    "checkpoint_every": 3,
    "picture": False,
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

    # At 2 mm the triangles alone make 6 % of compliance, at 1.5 mm 2.8 %.
    plate = {**PLATE, "picture": True, "domain": {**PLATE["domain"], "h": 1.5}}
    result = run_job(*prepare(parse_job(plate), tmp_path / "run"), Log())
    assert result is not None
    folder = tmp_path / "run" / "artifacts"
    names = ["part.dxf", "part.json", "part.step", "part.svg", *(["picture.png"] if can_render() else [])]
    assert sorted(path.name for path in folder.iterdir()) == names
    assert result["artifacts"] == [f"artifacts/{name}" for name in names]
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


def test_the_best_of_several_starts_is_exported(tmp_path: Path) -> None:
    one, two = PLATE, {**PLATE, "restarts": 2, "seed": 4}
    alone = run_job(*prepare(parse_job(one), tmp_path / "one"), Log())
    job, run = prepare(parse_job(two), tmp_path / "two")
    best = run_job(job, run, Log())
    assert alone and best and len(best["starts"]) == 2
    assert alone["compliance"] in best["starts"]
    assert best["compliance"] == best["starts"][0]
    assert best["notes"] or best["compliance"] == min(best["starts"])
    assert [row["iteration"] for row in run.progress()] == list(range(1, 21))
    assert [row["start"] for row in run.progress()] == [1] * 10 + [2] * 10


def test_an_edited_parameter_file_is_exported_again(tmp_path: Path) -> None:
    from topopt.cad.step import read_step_bytes

    plate = {
        "schema": "formgrad.planar/1",
        "name": "lid",
        "thickness": 2.0,
        "domain": {"outer": {"kind": "rectangle", "lower": [0, 0], "upper": [60, 20]}},
        "voids": [{"kind": "circle", "centre": [20, 10], "radius": 4}],
    }
    (tmp_path / "lid.json").write_text(json.dumps(plate))
    command = ["features", "rebuild", str(tmp_path / "lid.json"), "--out", str(tmp_path / "out"), "--no-picture"]
    first = CliRunner().invoke(app, command)
    assert first.exit_code == 0, first.output
    made = sorted(path.name for path in (tmp_path / "out").iterdir())
    assert made == ["lid.dxf", "lid.json", "lid.step", "lid.svg"]
    text = (tmp_path / "out" / "lid.json").read_text()
    (tmp_path / "lid.json").write_text(text.replace('"radius": 4.0', '"radius": 5.0'))
    assert CliRunner().invoke(app, command).exit_code == 0
    volume, solids, closed = read_step_bytes((tmp_path / "out" / "lid.step").read_bytes())
    assert (solids, closed) == (1, True)
    assert volume == pytest.approx(2 * (1200 - np.pi * 25), rel=1e-9)


def test_a_plane_density_leaves_as_lines_and_arcs(tmp_path: Path) -> None:
    from topopt.cad.dxf_read import read_dxf

    x, y = np.meshgrid(np.arange(60) + 0.5, np.arange(40) + 0.5, indexing="ij")
    density = np.clip(np.hypot(x - 30, y - 20) - 10 + 0.5, 0, 1)  # a round void of radius 10 elements
    np.savez(tmp_path / "density.npz", density=density, spacing=0.5)
    command = ["features", "outline", str(tmp_path / "density.npz"), "--out", str(tmp_path / "out"), "--thickness", "3"]
    done = CliRunner().invoke(app, [*command, "--no-picture"])
    assert done.exit_code == 0, done.output
    made = sorted(path.name for path in (tmp_path / "out").iterdir())
    assert made == ["part.dxf", "part.json", "part.step", "part.svg"]
    (region,) = read_dxf(tmp_path / "out" / "part.dxf")
    assert region.area == pytest.approx(density.sum() * 0.25, rel=1e-3)
    assert len(region.holes) == 1
    assert np.hypot(*(region.holes[0].vertices - [15, 10]).T) == pytest.approx(5, abs=0.2)


def test_a_textbook_run_hands_over_drawings_and_an_outline(tmp_path: Path) -> None:
    from topopt.cad.dxf_read import read_dxf

    job: dict[str, Any] = {
        "preset": {"name": "l_bracket", "options": {"n": 24, "arm": 10}},
        "optimize": {"projection": True, "max_iterations": 40},
        "export": {"formats": ["stl"], "thickness": 2.0},
        "verify": {"referee": False},
    }
    result = run_job(*prepare(parse_job(job), tmp_path / "run"), Log())
    assert result and result["artifacts"] == ["artifacts/part.dxf", "artifacts/part.svg"]
    area = sum(region.area for region in read_dxf(tmp_path / "run" / "artifacts" / "part.dxf"))
    assert area == pytest.approx(result["volume_mm3"] / 2, rel=5e-3)
    command = ["features", "outline", str(tmp_path / "run"), "--out", str(tmp_path / "out"), "--no-picture"]
    done = CliRunner().invoke(app, command)
    assert done.exit_code == 0, done.output
    again = sum(region.area for region in read_dxf(tmp_path / "out" / "part.dxf"))
    assert again == pytest.approx(area, rel=1e-9)


@pytest.mark.parametrize(
    ("name", "content", "words"),
    [
        ("part.json", "{", "of the design file"),
        ("part.json", '{"thickness": -1, "domain": {"outer": {"kind": "circle"}}}', "of the design file"),
        ("missing.json", None, "there is no file"),
    ],
)
def test_a_parameter_file_that_is_none_is_named(tmp_path: Path, name: str, content: str | None, words: str) -> None:
    if content is not None:
        (tmp_path / name).write_text(content)
    done = CliRunner().invoke(app, ["features", "rebuild", str(tmp_path / name), "--out", str(tmp_path / "out")])
    assert done.exit_code == 2
    assert words in done.output and "Traceback" not in done.output
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize(
    ("arrays", "words"),
    [
        ({"density": np.ones((3, 3, 3))}, "has 3 axes"),
        ({"rho": np.ones((3, 3))}, "no array `density`"),
        ({"density": np.full((3, 3), 2.0)}, r"lie in \[0, 1\]"),
        ({"density": np.full((8, 8), np.nan)}, "must be finite"),
        ({"density": np.ones((8, 8)), "fraction": np.ones((7, 8))}, "must have the shape"),
        ({"density": np.ones((8, 8)), "spacing": -1.0}, "spacing must be positive"),
        ({"density": np.ones((8, 8)), "spacing": [1, 2, 3]}, "cannot be read as arrays"),
        ({"density": np.ones((2, 2)), "fraction": np.eye(2)}, "2 bodies"),
        (None, "cannot be read as arrays"),
    ],
)
def test_arrays_that_are_no_plane_density_are_named(tmp_path: Path, arrays: dict[str, Any] | None, words: str) -> None:
    import re

    file = tmp_path / "density.npz"
    file.write_bytes(b"nothing") if arrays is None else np.savez(file, **arrays)
    done = CliRunner().invoke(app, ["features", "outline", str(file), "--out", str(tmp_path / "out"), "--no-picture"])
    assert done.exit_code == 2, done.output
    assert re.search(words, done.output) and "Traceback" not in done.output
    assert len(done.output.strip().splitlines()) == 1


def test_a_run_without_a_plane_density_is_named(tmp_path: Path) -> None:
    prepare(parse_job(PLATE), tmp_path / "run")
    done = CliRunner().invoke(app, ["features", "outline", str(tmp_path / "run"), "--no-picture"])
    assert done.exit_code == 2 and "holds no plane density" in done.output
    done = CliRunner().invoke(app, ["features", "outline", str(tmp_path), "--no-picture"])
    assert done.exit_code == 2 and "holds no run" in done.output


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


@pytest.mark.parametrize("cells", ["triangles", "pixels"])
def test_a_face_of_a_body_is_designed_by_its_edges(tmp_path: Path, cells: str) -> None:
    from topopt.cad.dxf_read import read_dxf
    from topopt.cad.flat_file import faces_of_file

    pytest.importorskip("OCP")
    file = Path(__file__).parents[2] / "assets" / "parts" / "rocker.step"
    region = faces_of_file(file)[0].region
    bore, _, eye = region.holes
    held, loaded = ([list(edge.point(0.5)) for edge in hole.edges] for hole in (bore, eye))
    domain = {
        "file": str(file),
        "h": 5.0,
        "cells": cells,
        "rim": 6.0,
        "supports": [{"edges": held}],
        "loads": [[{"edges": loaded, "force": [0, -1000]}]],
    }
    job = parse_job({**PLATE, "grid": [8, 4], "iterations": 4, "tidy": 0, "domain": domain})
    result = run_job(*prepare(job, tmp_path / "run"), Log())
    assert result and result["sound"] and result["notes"] == []
    assert result["outline_volume"] == pytest.approx(0.55, abs=0.03)
    (part,) = read_dxf(tmp_path / "run" / "artifacts" / "part.dxf")
    assert part.area == pytest.approx(result["outline_volume"] * region.area, rel=1e-9)
    # The rims stay: the bore and the eye are holes of the part, unchanged.
    areas = [abs(hole.area) for hole in part.holes]
    assert all(any(abs(area - abs(hole.area)) < 1e-6 for area in areas) for hole in (bore, eye))


def test_a_thicker_plate_is_stiffer_in_proportion(tmp_path: Path) -> None:
    one, two = (
        run_job(*prepare(parse_job({**PLATE, "thickness": t, "iterations": 2}), tmp_path / f"{t}"), Log())
        for t in (1.0, 4.0)
    )
    assert one and two
    assert one["compliance"] == pytest.approx(4 * two["compliance"], rel=1e-9)
    assert one["outline_compliance"] == pytest.approx(4 * two["outline_compliance"], rel=1e-9)


def test_a_body_is_handed_over_as_a_light_mesh(tmp_path: Path) -> None:
    from topopt.cad.read import read_body
    from topopt.cad.threemf import read_threemf_bytes

    file = Path(__file__).parents[2] / "assets" / "parts" / "rocker.stl"
    out = tmp_path / "light.3mf"
    done = CliRunner().invoke(app, ["features", "lighten", str(file), "--triangles", "400", "--out", str(out)])
    assert done.exit_code == 0, done.output
    surface, title = read_threemf_bytes(out.read_bytes())
    assert title.startswith("decimated triangle mesh") and title.endswith("not CAD") and title in done.output
    assert len(surface.faces) <= 400
    assert surface.volume == pytest.approx(read_body(file).volume, rel=0.01)
    for words, wrong in (
        ("can hold the shape|would close|cannot hold", [str(file), "--triangles", "4", "--out", str(out)]),
        ("neither .3mf nor .stl", [str(file), "--out", str(tmp_path / "light.step")]),
        ("holds no STL", [str(tmp_path), "--out", str(out)]),
    ):
        done = CliRunner().invoke(app, ["features", "lighten", *wrong])
        assert done.exit_code == 2 and "Traceback" not in done.output
        assert any(part in done.output for part in words.split("|")), done.output


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
        ({"restarts": 0}, "restarts"),
        ({"tidy": 1.5}, "tidy"),
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

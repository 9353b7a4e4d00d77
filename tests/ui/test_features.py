"""The form becomes a job of kind `features`, or one sentence; its runs are shown with outlines and CAD files."""

import os
from pathlib import Path
from typing import Any

import gradio as gr
import pytest
from ruamel.yaml import YAML

from jobs.errors import JobError
from jobs.features_spec import FeaturesJob
from jobs.spec import dump_job, parse_job
from jobs.store import Run
from topopt.features.tasks import TASKS
from ui import runs
from ui.features import outlines, setup
from ui.features.checks import checked_job, findings
from ui.features.fields import Setup
from ui.features.form import fresh, job_text
from ui.features.plates import FRESH, HELD, LOADED, plate
from ui.features.sketches import TITLES, task_css
from ui.features.watch import result_rows
from ui.run_view import watch

RUN_ID = "plate-20260101-120000"
BASE: dict[str, Any] = {
    "source": "task",
    "task": 3,
    **FRESH,
    **outlines.FRESH,
    "volume_percent": 42.89,
    "feature": "void",
    "nx": 6,
    "ny": 2,
    "thickness": 1,
    "min_radius": 0,
    "bridge": 0,
    "backend": "analytic",
    "name": "",
    "iterations": 160,
    "restarts": 1,
}
PLATE = {**BASE, "source": "plate", **dict(zip(setup.FOLLOWING, fresh("plate", 3), strict=True))}


@pytest.mark.parametrize("number", list(TITLES))
def test_every_task_runs_as_published(number: int) -> None:
    form = {**BASE, "task": number, **dict(zip(setup.FOLLOWING, fresh("task", number), strict=True))}
    task, job = TASKS[number], checked_job(form)
    assert job == FeaturesJob(name=task.name, task=number, volume=task.goal, grid=task.grid)
    assert any("best published" in line.text for line in findings(form))
    assert task_css().count("::before") == len(TITLES) == 6


def test_plate_becomes_its_job() -> None:
    job = checked_job(PLATE)
    assert isinstance(job, FeaturesJob) and job.domain and job.task is None
    assert (job.volume, job.grid, job.thickness, job.min_radius, job.bridge) == (0.45, (5, 3), 6, 1.5, 3)
    assert job.domain.outline == [(0, 0), (120, 0), (120, 27.5), (120, 32.5), (120, 60), (0, 60)]
    assert job.domain.supports[0].box == ((0, 0), (0, 60)) and job.domain.supports[0].fix == "all"
    assert job.domain.loads[0][0].force == (0, -400) and job.domain.loads[0][0].box == ((120, 27.5), (120, 32.5))
    assert parse_job(YAML(typ="safe", pure=True).load(job_text(PLATE))) == job


@pytest.mark.parametrize("held", HELD.values())
@pytest.mark.parametrize("loaded", LOADED.values())
def test_supports_and_loads_end_in_corners_of_the_outline(held: str, loaded: str) -> None:
    form = {**PLATE, "held": held, "loaded": loaded}
    if held == "ends" and loaded in ("right", "below"):
        with pytest.raises(JobError, match="edge that is held"):
            plate(form)
        return
    stated = plate(form)
    for box in (*(box for box, _ in stated.held), stated.loaded):
        assert set(box) <= set(stated.outline)
    x, y = zip(*stated.outline, strict=True)
    doubled = sum(x[k - 1] * y[k] - x[k] * y[k - 1] for k in range(len(x)))
    assert doubled / 2 == pytest.approx(120 * 60)
    assert checked_job(form).kind() == "features"


@pytest.mark.parametrize(
    ("change", "says", "field"),
    [
        ({"volume_percent": 0}, "Volume: ", "amount"),
        ({"volume_percent": None}, "Volume: give a number", "amount"),
        ({"nx": 2.5}, "Features along x: give a whole number", "start-grid"),
        ({"ny": 0}, "Features along y: ", "start-grid"),
        ({"nx": 1000}, "Grid.0: ", "start-grid"),
        ({"thickness": 0}, "Thickness: ", "making"),
        ({"bridge": -1}, "Bridge: ", "making"),
        ({"feature": "bar", "backend": "neural"}, "Backend: bars are analytic", "advanced"),
        ({"iterations": 0}, "Iterations: ", "advanced"),
        ({"restarts": 100}, "Restarts: ", "advanced"),
        ({"source": "plate", "width": -5}, "Width: give a number above 0", "source-block"),
        ({"source": "plate", "h": 20}, "Element: 20 mm leaves fewer than 8", "source-block"),
        ({"source": "plate", "h": 0.1}, "choose larger elements", "source-block"),
        ({"source": "plate", "fy": 0}, "Force: both parts are zero", "source-block"),
    ],
)
def test_what_is_wrong_is_said_in_one_sentence(change: dict[str, Any], says: str, field: str) -> None:
    (wrong,) = [line for line in findings({**BASE, **change}) if line.kind == "missing"]
    assert says in wrong.text and wrong.text.endswith(".") and wrong.field == field
    with pytest.raises(JobError):
        checked_job({**BASE, **change})


def test_form_has_the_fields_that_the_job_needs() -> None:
    form = Setup()
    with gr.Blocks(analytics_enabled=False):
        setup.build(form)
    assert form.read({component: component.value for component in form.inputs}) == BASE


def made(root: Path) -> Run:
    run = Run.create(root / RUN_ID)
    dump_job(parse_job({"job": "features", "name": "plate", "task": 3, "iterations": 40, "restarts": 2}), run.config)
    for number in (1, 2, 3):
        row = {"iteration": number, "compliance": 1e-3 / number, "volume": 0.5, "thresholded": 0.51, "change": 1.5}
        run.append_progress(row)
    (run.folder / "looks").mkdir()
    (run.folder / "looks" / "outlines.svg").write_text('<svg xmlns="http://www.w3.org/2000/svg"/>')
    run.set_status("running", "optimise", "moving the features", pid=os.getpid())
    return run


def test_outlines_are_shown_as_an_image_while_they_move(tmp_path: Path) -> None:
    made(tmp_path)
    view = runs.view(tmp_path, RUN_ID)
    shown, told = watch.picture(view), watch.state(view)
    assert f'<img src="/runs/{RUN_ID}/looks/outlines.svg?at=' in shown and "<svg" not in shown
    assert 'aria-valuemax="80"' in told and "3 of 80 at most" in told
    assert 'class="line change"' in watch.plot(view)


def test_results_and_cad_files(tmp_path: Path) -> None:
    run = made(tmp_path)
    names = ("part.dxf", "part.json", "part.step", "part.svg")
    for name in names:
        (run.artifacts / name).write_text("0")
    figures = {"smooth": 1.3e-3, "compliance": 1.2e-3, "outline_compliance": 1.212e-3, "difference": 0.01}
    about = {"goal": 0.4289, "volume": 0.4288, "outline_volume": 0.4291, "published": 1.545e-3, "features": 9}
    about |= {"iterations": 77, "starts": [1.2e-3, 1.3e-3]}
    listed = {"artifacts": [f"artifacts/{name}" for name in names], "notes": ["feature 3: 0.9 mm to the border"]}
    run.write_json("result.json", {"job": "features", "backend": "analytic", **figures, **about, **listed})
    run.set_status("succeeded", "done", "the part is ready")
    view = runs.view(tmp_path, RUN_ID)
    rows = {name: (value, more) for name, value, more in result_rows(view)}
    assert rows["Compliance, outline [N mm]"] == ("0.001212", "+1.0\u2009%, re-analysis")
    assert rows["Best published [N mm]"][0] == "0.001545" and rows["Features"] == ("9", "analytic")
    assert rows["Iterations"] == ("77", "best of 2 starts") and "Thickness [mm]" not in rows
    assert [d.name for d in view.downloads][:4] == ["part.step", "part.dxf", "part.svg", "part.json"]
    assert f'<img src="/runs/{RUN_ID}/files/part.svg"' in watch.picture(view)
    assert "Feature 3: 0.9 mm to the border" in watch.results(view)

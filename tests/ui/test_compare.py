"""Two methods side by side: one chart over solves, both fields, one table; and how the two runs belong together."""

import json
import re
import xml.etree.ElementTree as ElementTree
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import jobs.launch
import jobs.worker
from jobs.launch import start_both
from jobs.spec import parse_job
from jobs.store import Run
from tests.ui.test_pde_runs import PIXEL, RUN_ID, made
from ui import curves, runs
from ui.curves import Curve, chart
from ui.pde.compare import curve, solves, table
from ui.run_view import watch
from ui.run_view.shown import _resumable

METHODS = ("hybrid_corrected", "solver_only")


@pytest.fixture
def pair(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> tuple[Run, Run]:
    """Two runs of one member that wait; no worker is started."""
    monkeypatch.setattr(jobs.launch, "spawn", lambda run, *after: 0)
    made = [parse_job({"job": "hybrid", "name": f"darcy {m}", "problem": "darcy", "method": m}) for m in METHODS]
    return start_both(made[0], made[1], tmp_path)


def told(run: Run, best: list[float], adjoints: int = 1) -> None:
    for number, value in enumerate(best, start=1):
        counts = {"forward": number, "adjoint": adjoints * (number - 1), "tangent": 0}
        run.append_progress({"iteration": number, "best": value, "J": value, **counts, "seconds": 0.1 * number})


def finish(run: Run, **changed: Any) -> None:
    (run.artifacts / "fields.png").write_bytes(PIXEL)
    last = run.progress()[-1]
    method = run.config.read_text().partition("method: ")[2].split()[0]
    result = {
        "job": "hybrid",
        "problem": "inversion",
        "method": method,
        "objective": last["best"],
        "believed": None,
        "verified": last["best"],
        "start": 50.0,
        "message": "optimal to 0.001",
        "counts": {"forward": last["forward"], "adjoint": last["adjoint"], "tangent": 0, "factorisations": 4},
        "search_seconds": last["seconds"],
        "artifacts": ["artifacts/fields.png"],
        "notes": [],
    }
    run.write_json("result.json", {**result, **changed})
    run.set_status("succeeded", "done", "the best solved design is ready")


def test_both_runs_know_each_other(pair: tuple[Run, Run], tmp_path: Path) -> None:
    first, second = (runs.view(tmp_path, run.folder.name) for run in pair)
    assert first.pair and second.pair
    assert [each.id for each in first.pair] == [each.id for each in second.pair] == [run.folder.name for run in pair]
    assert first.beside and first.beside.beside is None
    before = second.stamp
    told(pair[0], [5.0])
    assert runs.view(tmp_path, second.id).stamp != before


@pytest.mark.parametrize(
    "text", ["", "[]", '{"run": "../elsewhere"}', '{"run": "gone", "place": "first"}', '{"run": 3}']
)
def test_what_names_no_run_is_nothing(pair: tuple[Run, Run], tmp_path: Path, text: str) -> None:
    pair[0].folder.joinpath("beside.json").write_text(text)
    assert runs.view(tmp_path, pair[0].folder.name).pair is None


def test_state_tells_of_both(pair: tuple[Run, Run], tmp_path: Path) -> None:
    told(pair[0], [9.0, 4.0])
    shown = watch.state(runs.view(tmp_path, pair[0].folder.name))
    assert shown.count('class="state-line"') == 2 and shown.count("<run-address") == 1
    assert "darcy hybrid_corrected" in shown and "darcy solver_only" in shown and "Best solved <b>4.000000</b>" in shown


def test_one_chart_holds_both_and_fields_stand_beside_each_other(pair: tuple[Run, Run], tmp_path: Path) -> None:
    told(pair[0], [50.0, 5.0, 2.0])
    told(pair[1], [50.0, 30.0, 10.0, 4.0, 2.0])
    finish(pair[0])
    view = runs.view(tmp_path, pair[0].folder.name)
    plot = watch.plot(view)
    assert plot.count('class="line first"') == plot.count('class="line second"') == 2
    assert "Hybrid</b>" in plot and "Solver alone</b>" in plot and "2.000000 after 5 solves" in plot
    picture = watch.picture(view)
    assert "picture-stage pair" in picture and picture.count("<img") == 1
    finish(pair[1])
    assert watch.picture(runs.view(tmp_path, pair[0].folder.name)).count("<img") == 2


def test_the_table_tells_what_it_took_and_which_is_less(pair: tuple[Run, Run], tmp_path: Path) -> None:
    told(pair[0], [50.0, 5.0, 2.5])
    told(pair[1], [50.0, 30.0, 10.0, 4.0, 2.0])
    finish(pair[0], believed=1.5, message="<b>done</b>")
    finish(pair[1])
    view = runs.view(tmp_path, pair[0].folder.name)
    rows = {}
    for name, first, second in re.findall(
        r"<tr><th scope=\"row\">(.*?)</th>(<td.*?</td>)(<td.*?</td>)</tr>", table(view)
    ):
        rows[name] = tuple(re.sub("<.*?>", "", cell) for cell in (first, second))
    assert rows["Objective, solved"] == ("2.5000000", "2.0000000")
    assert rows["Believed by the surrogate"] == ("1.5000000", "–")
    assert rows["The same design, solved"] == ("2.5000000", "–")
    assert rows["Forward solves"] == ("3", "5") and rows["Solves in all"] == ("5", "9")
    assert rows["Factorisations"] == ("4", "4") and "Tangent solves" not in rows
    assert '<td class="least">2.0000000</td>' in table(view) and '<td class="least">3</td>' in table(view)
    shown = watch.results(view)
    assert "<b>done</b>" not in shown and shown.count("<h3>") == 2 and "Side by side" in shown
    # Opened from the other run it is the same table.
    assert table(runs.view(tmp_path, pair[1].folder.name)) == table(view)


def test_half_done_there_is_a_table_already(pair: tuple[Run, Run], tmp_path: Path) -> None:
    told(pair[0], [50.0, 5.0])
    assert watch.results(runs.view(tmp_path, pair[1].folder.name)) == ""
    finish(pair[0])
    assert "Side by side" in watch.results(runs.view(tmp_path, pair[1].folder.name))


def test_the_second_waits_and_is_stopped_with_the_first(
    pair: tuple[Run, Run], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    first, second = pair
    started: list[Path] = []
    monkeypatch.setattr(jobs.worker, "spawn", lambda run, *after: started.append(run.folder))
    codes = iter((0, 2, jobs.worker.STOPPED, 0))
    monkeypatch.setattr(jobs.worker, "work", lambda folder: next(codes))
    both = str(first.folder), str(second.folder)
    # Done, or refused: the other one begins. Stopped: neither.
    assert [jobs.worker.main(*both), jobs.worker.main(*both)] == [0, 2] and started == [second.folder] * 2
    assert jobs.worker.main(*both) == jobs.worker.STOPPED and len(started) == 2
    assert second.status()["state"] == "stopped" and "before it began" in second.status()["message"]
    second.set_status("queued", "start", "waiting", pid=0)
    second.request_stop()
    assert jobs.worker.main(*both) == 0 and len(started) == 2 and not (second.folder / "stop").exists()
    views = [runs.view(tmp_path, run.folder.name) for run in pair]
    assert [view.id for view in _resumable(views)] == []  # the first one still waits
    first.set_status("stopped", "optimise", "stopped after iteration 0", pid=1)
    views = [runs.view(tmp_path, run.folder.name) for run in pair]
    assert [view.id for view in _resumable(views)] == [view.id for view in views]


def test_a_lost_worker_loses_the_one_that_waits_for_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    class Gone:
        pid = 2**22 + 1  # above what Linux gives out

    monkeypatch.setattr(jobs.launch.subprocess, "Popen", lambda *_, **__: Gone())
    made = [parse_job({"job": "hybrid", "name": m, "method": m}) for m in METHODS]
    for run in start_both(made[0], made[1], tmp_path):
        assert run.status()["state"] == "failed" and "formgrad resume" in run.status()["message"]
        assert json.loads((run.folder / "beside.json").read_text())["place"] in ("first", "second")


def test_solves_are_counted_or_made_of_evaluations() -> None:
    assert solves({"forward": 4, "adjoint": 3, "tangent": 2}) == 9
    assert solves({"values": 4, "gradients": 3, "hessian_actions": 2}) == 11
    assert solves({"iteration": 3}) is None


def test_iterates_that_violate_constraints_are_not_drawn(tmp_path: Path) -> None:
    made(tmp_path, [3.0, 2.0, 5.0])
    view = runs.view(tmp_path, RUN_ID)
    rows = [{**row, "violation": violation} for row, violation in zip(view.rows, (1e-5, 0.3, 0.0), strict=True)]
    assert curve(replace(view, rows=rows)).points == [(8, 3.0), (24, 5.0)]


def test_curves_lie_where_their_values_say() -> None:
    svg = chart(
        [Curve("a", "first", [(0, 4.0), (10, 2.0), (20, 0.0)]), Curve("b", "second", [(0, 4.0), (20, 1.0)], True)]
    )
    ElementTree.fromstring(svg[svg.index("<svg") :])
    points = [
        np.array([[float(v) for v in p.split(",")] for p in text.split()]) for text in re.findall('points="(.*?)"', svg)
    ]
    straight, steps = points[0], points[1]
    assert np.allclose(np.diff(straight[:, 1]), curves.HEIGHT / 2, atol=0.11)
    assert np.allclose(np.diff(straight[:, 0]), (curves.WIDTH - curves.LEFT - curves.RIGHT) / 2, atol=0.11)
    # The lowest so far goes along first and down then.
    assert len(steps) == 3 and steps[1, 0] == steps[2, 0] == straight[2, 0] and steps[0, 1] == steps[1, 1]
    assert "The plot begins" in chart([Curve("a", "first", [(1, 2.0)])])


@pytest.mark.parametrize("values", [[3.0, 3.0], [1e-9, 1e-9], [-5.0, -7.0], [1e6, 1.0, 1.0], [0.0, 0.0]])
def test_any_curve_can_be_drawn(values: list[float]) -> None:
    svg = chart([Curve("<a>", "first", list(enumerate(values, start=1)))], wide=True)
    assert "nan" not in svg and "<a>" not in svg
    ElementTree.fromstring(svg[svg.index("<svg") :])

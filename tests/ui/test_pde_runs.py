"""Runs of kind `pde` as the page shows them: figures beside known answers, pictures as they evolve, files."""

import os
from pathlib import Path
from typing import Any

import pytest
from starlette.testclient import TestClient

import jobs.kinds
from jobs.spec import dump_job, parse_job
from jobs.store import Run
from ui import runs, top
from ui.pde.watch import plot, result_rows
from ui.run_view import watch
from ui.run_view.kinds import SHOWS
from ui.serve import application

RUN_ID = "poisson_control-20260101-120000"
PIXEL = bytes.fromhex(
    "89504e470d0a1a0a0000000d49484452000000010000000108060000001f15c4890000000d4944415478da63fcff9fa11e0007820280"
    "3d5b7a480000000049454e44ae426082"
)


def made(root: Path, objectives: list[float], violation: float = 0.0, **job: Any) -> Run:
    """A run folder as a worker leaves it in the middle."""
    run = Run.create(root / RUN_ID)
    parameters = {"n": 8, "alpha": 1e-4}
    dump_job(parse_job({"job": "pde", "problem": "poisson_control", "parameters": parameters, **job}), run.config)
    for number, value in enumerate(objectives, start=1):
        row = {"iteration": number, "objective": value, "kkt": 10.0**-number, "violation": violation, "step": 0.1}
        run.append_progress({**row, "values": number, "gradients": number, "hessian_actions": 3 * number})
    run.set_status("running", "optimise", "searching for the optimum", pid=os.getpid())
    return run


def look(run: Run, name: str = "fields.png", data: bytes = PIXEL) -> Path:
    (run.folder / "looks").mkdir(exist_ok=True)
    (run.folder / "looks" / name).write_bytes(data)
    return run.folder / "looks" / name


def finish(run: Run) -> None:
    for name in ("control.npz", "fields.vtu"):
        (run.artifacts / name).write_bytes(b"0")
    (run.artifacts / "fields.png").write_bytes(PIXEL)
    run.write_json(
        "result.json",
        {
            "job": "pde",
            "problem": "poisson_control",
            "method": "newton_cg",
            "status": "converged",
            "ended": "converged: optimal to 1e-10",
            "iterations": 3,
            "figures": {"objective": 1.02e-5, "control_error": 0.25, "<b>": None},
            "known": {"objective": 1e-5, "control_error": 0.0},
            "counts": {"values": 4, "states": 4, "adjoints": 12, "newton_steps": 0},
            "artifacts": [f"artifacts/{name}" for name in ("control.npz", "fields.png", "fields.vtu")],
            "notes": [],
        },
    )
    run.set_status("succeeded", "done", "the design is ready")


def test_figures_stand_beside_the_known_answers(tmp_path: Path) -> None:
    run = made(tmp_path, [3e-5, 2e-5, 1.02e-5])
    finish(run)
    view = runs.view(tmp_path, RUN_ID)
    rows = {name: (value, known) for name, value, known in result_rows(view)}
    assert rows["Objective"] == ("1.020000e-05", "1.000000e-05 (+2 %)")
    assert rows["Control error"] == ("0.2500000", "0") and rows["&lt;b&gt;"] == ("–", "")
    assert rows["Iterations"] == ("3", "Newton-CG") and rows["How it ended"] == ("", "converged: optimal to 1e-10")
    assert rows["Adjoint solves"] == ("12", "") and "Newton steps in them" not in rows
    shown = watch.results(view)
    assert "Known answer" in shown and "<b>objective" not in shown and 'id="results"' in shown
    names = ["fields.vtu", "fields.png", "control.npz", "progress.csv", "job.yaml"]
    assert [d.name for d in view.downloads] == names
    assert {d.name: d.about for d in view.downloads}["fields.vtu"] == "control and state, ParaView"


def test_progress_is_told(tmp_path: Path) -> None:
    made(tmp_path, [3e-5, 2e-5], violation=1e-3, max_iterations=40)
    text = watch.state(runs.view(tmp_path, RUN_ID))
    assert 'aria-valuemax="40"' in text and "2 of 40 at most" in text and "Violation" in text


def test_limit_of_the_problem_itself_is_not_guessed(tmp_path: Path) -> None:
    made(tmp_path, [3e-5, 2e-5])
    text = watch.state(runs.view(tmp_path, RUN_ID))
    assert 'class="bar moving"' in text and "at most" not in text and "Violation" not in text


@pytest.mark.parametrize(("objectives", "label"), [([3e-2, 1e-2, 2e-5], "1e-4"), ([3e-5, 2e-5, 1e-5], "2e-05")])
def test_objective_that_falls_far_has_a_logarithmic_axis(tmp_path: Path, objectives: list[float], label: str) -> None:
    made(tmp_path, objectives)
    drawn = plot(runs.view(tmp_path, RUN_ID))
    assert f">{label}</text>" in drawn and 'class="line kkt"' in drawn and 'class="line violation"' not in drawn


def test_fields_are_shown_as_they_evolve(tmp_path: Path) -> None:
    run = made(tmp_path, [3e-5, 2e-5])
    assert "appear here while it runs" in watch.picture(runs.view(tmp_path, RUN_ID))
    path = look(run)
    os.utime(path, (1e9, 1e9))
    before = runs.view(tmp_path, RUN_ID)
    shown = watch.picture(before)
    assert f'src="/runs/{RUN_ID}/looks/fields.png?at=1000000000.000"' in shown and "iteration 2" in shown
    os.utime(path, (1e9 + 2, 1e9 + 2))
    after = runs.view(tmp_path, RUN_ID)
    assert after.stamp != before.stamp and "?at=1000000002.000" in watch.picture(after)
    finish(run)
    done = watch.picture(runs.view(tmp_path, RUN_ID))
    assert f"/runs/{RUN_ID}/files/fields.png" in done and "looks" not in done and done.count("<img") == 1


def test_names_are_escaped(tmp_path: Path) -> None:
    run = made(tmp_path, [3e-5, 2e-5])
    run.config.write_text('name: "<img src=x>"\njob: pde\nmethod: "<b>"\n')
    finish(run)
    result = run.result()
    assert result
    run.write_json("result.json", {**result, "method": "<i>", "ended": "<script>"})
    view = runs.view(tmp_path, RUN_ID)
    text = watch.state(view) + watch.results(view) + watch.plot(view)
    assert "<img src=x" not in text and "<script" not in text and "<i>" not in text


def test_kind_is_told_in_the_list_of_runs(tmp_path: Path) -> None:
    made(tmp_path, [1.0])
    (entry,) = runs.history(tmp_path)
    assert entry.kind == "pde"
    (tmp_path / RUN_ID / "config.yaml").write_text('name: "job: features"\njob: <b>\n')
    assert runs.history(tmp_path)[0].kind == "structure"


def test_kinds_with_a_page_have_their_part_of_the_run_view() -> None:
    assert {page.kind for page in top.pages().values()} <= set(SHOWS) <= set(jobs.kinds.KINDS)


def test_run_of_another_kind_is_shown_by_its_numbers(tmp_path: Path) -> None:
    run = made(tmp_path, [3e-5])
    run.config.write_text("name: x\njob: another\n")
    run.write_json("result.json", {"best_<b>": 2.5, "done": "yes"})
    view = runs.view(tmp_path, RUN_ID)
    text = watch.state(view) + watch.plot(view) + watch.picture(view) + watch.results(view)
    assert "Objective <b>3.00000e-05</b>" in text and "Best &lt;b&gt;" in text and "2.50000" in text
    assert "Compliance" not in text


def test_page_without_its_kind_is_not_offered(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.delitem(jobs.kinds.KINDS, "features")
    assert "Features" not in top.pages() and "/features" not in top.top("PDE")
    client = TestClient(application(tmp_path), base_url="http://127.0.0.1")
    assert client.get("/pde").status_code == 200 and client.get("/features").status_code == 404


def test_drawings_are_attachments_that_can_do_nothing(tmp_path: Path) -> None:
    run = made(tmp_path, [1.0])
    look(run, "outlines.svg", b'<svg xmlns="http://www.w3.org/2000/svg"/>')
    look(run, "other.svg", b"<svg/>")
    client = TestClient(application(tmp_path), base_url="http://127.0.0.1")
    answer = client.get(f"/runs/{RUN_ID}/looks/outlines.svg?at=1.0")
    assert answer.status_code == 200 and answer.headers["content-type"] == "image/svg+xml"
    assert answer.headers["content-disposition"].startswith("attachment")
    assert answer.headers["content-security-policy"].endswith("sandbox")
    assert answer.headers["x-content-type-options"] == "nosniff"
    for name in ("other.svg", "outlines.svgz", "..%2Fconfig.yaml", "fields.png", "Outlines.svg"):
        assert client.get(f"/runs/{RUN_ID}/looks/{name}").status_code == 404

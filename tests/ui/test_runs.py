"""Run folders as the page sees them: complete, half-written, and asked for by people who should not."""

import os
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from jobs.errors import RunFolderError
from jobs.store import Run
from tests.ui.conftest import make_run
from ui import runs
from ui.downloads import artifact, progress_csv
from ui.run_view import watch
from ui.structure.watch import result_rows

OUTSIDE = [
    "..",
    "../x",
    "/etc",
    "%2e%2e",
    "a/b",
    "a\\b",
    "",
    ".",
    ".bodies",
    "a\0",
    "x" * 300,
    "ein lauf",
    "run\n",
    "\u2025",
]


def test_finished_run_has_its_figures_and_files(finished: Run, tmp_path: Path) -> None:
    view = runs.view(tmp_path, finished.folder.name)
    assert view.state == "succeeded" and not view.active and view.name == "beam"
    assert [d.name for d in view.downloads] == ["part.stl", "part.glb", "report.html", "progress.csv", "job.yaml"]
    assert view.downloads[0].size == (finished.artifacts / "part.stl").stat().st_size
    rows = {name: (value, difference) for name, value, difference in result_rows(view)}
    assert rows["Compliance, optimiser's claim"] == ("133.3", "")
    assert rows["Compliance, re-analysis"][1].startswith("+2.0")
    assert rows["Mass [kg]"][0] == "0.271"
    assert rows["Safety factor against yield"][0] == "8.80"


def test_notes_of_the_run_are_told(finished: Run, tmp_path: Path) -> None:
    result = finished.result()
    assert result
    result["notes"] = ["thin <member>", "claim: 0.0559, bound 0.05. Grey left in the design."]
    finished.write_json("result.json", result)
    view = runs.view(tmp_path, finished.folder.name)
    assert watch.remarks(view) == ["Thin <member>", "Claim: 0.0559, bound 0.05. Grey left in the design."]
    assert "Thin &lt;member&gt;" in watch.results(view)


def test_part_has_units_where_a_preset_has_none(tmp_path: Path) -> None:
    make_run(tmp_path, "p-1", preset=None, body={"file": "part.step"})
    names = [name for name, _, _ in result_rows(runs.view(tmp_path, "p-1"))]
    assert names[0] == "Compliance, optimiser's claim [N mm]"


def test_half_written_files_are_what_was_there_before(tmp_path: Path) -> None:
    run = make_run(tmp_path, "half-1", finished=False)
    with (run.folder / "progress.jsonl").open("a") as file:
        file.write('{"iteration": 4, "compl')
    (run.folder / "result.json").write_text('{"status": "succ')
    (run.folder / "status.json").write_text('{"state": "run')
    (run.folder / "config.yaml").write_text("name: [open")
    view = runs.view(tmp_path, "half-1")
    assert [row["iteration"] for row in view.rows] == [1, 2, 3]
    assert view.result is None and view.downloads == [] and view.job == {} and view.state == "queued"
    assert "half-1" in watch.state(view) and "<svg" in watch.plot(view) and watch.results(view) == ""


def test_empty_run_folder_is_shown(tmp_path: Path) -> None:
    run = make_run(tmp_path, "fresh-1", finished=False)
    (run.folder / "progress.jsonl").unlink()
    view = runs.view(tmp_path, "fresh-1")
    assert "The plot begins" in watch.plot(view) and "first picture" in watch.state(view)


def test_process_that_vanished_is_told(tmp_path: Path) -> None:
    run = make_run(tmp_path, "gone-1", finished=False)
    run.set_status("running", "optimise", "finding the form", pid=2**22 + 1)
    view = runs.view(tmp_path, "gone-1")
    assert view.state == "failed" and "resume" in watch.state(view)


def test_time_left_and_share_follow_the_progress(tmp_path: Path) -> None:
    run = make_run(tmp_path, "bar-1", finished=False)
    run.set_status("running", "optimise", "finding the form", pid=os.getpid())
    text = watch.state(runs.view(tmp_path, "bar-1"))
    # Three steps of half a second are done, one second is left: two more steps.
    assert 'aria-valuemax="5"' in text and 'aria-valuenow="3"' in text and "about 1\u2009s" in text


def test_stop_that_was_asked_for_is_told(tmp_path: Path) -> None:
    run = make_run(tmp_path, "stop-1", finished=False)
    run.set_status("running", "optimise", "finding the form", pid=os.getpid())
    before = runs.view(tmp_path, "stop-1")
    run.request_stop()
    after = runs.view(tmp_path, "stop-1")
    assert after.stamp != before.stamp and "stopping" in watch.state(after) and "stopping" not in watch.state(before)


@pytest.mark.parametrize("run_id", OUTSIDE)
def test_ids_that_are_no_ids(tmp_path: Path, run_id: str) -> None:
    (tmp_path / "x").mkdir()
    with pytest.raises(RunFolderError):
        runs.find_run(tmp_path / "runs", run_id)


@given(st.text(max_size=40))
def test_no_text_leads_outside_the_root(run_id: str) -> None:
    root = Path("/nonexistent/runs")
    with pytest.raises(RunFolderError):
        runs.find_run(root, run_id)


def test_link_out_of_the_root_is_refused(tmp_path: Path) -> None:
    make_run(tmp_path / "elsewhere", "secret-1")
    (tmp_path / "runs").mkdir()
    (tmp_path / "runs" / "inner").symlink_to(tmp_path / "elsewhere" / "secret-1")
    with pytest.raises(RunFolderError):
        runs.find_run(tmp_path / "runs", "inner")
    assert runs.history(tmp_path / "runs") == []


def test_only_listed_artifacts_are_handed_over(finished: Run) -> None:
    assert artifact(finished, "part.stl") == finished.artifacts / "part.stl"
    for name in ("unlisted.txt", "../config.yaml", "..", "/etc/passwd", "PART.STL", "part.stl/", ""):
        assert artifact(finished, name) is None


def test_listed_name_that_leads_outside_is_refused(finished: Run, tmp_path: Path) -> None:
    (tmp_path / "secret.txt").write_text("secret")
    (finished.artifacts / "link.txt").symlink_to(tmp_path / "secret.txt")
    result = finished.result()
    assert result
    result["exports"] = [{"path": p} for p in ("artifacts/link.txt", "../status.json", "/etc/hostname", 7, None)]
    finished.write_json("result.json", result)
    assert [d.name for d in runs.view(tmp_path, finished.folder.name).downloads][:1] == ["report.html"]
    assert artifact(finished, "link.txt") is None and artifact(finished, "hostname") is None


def test_history_is_newest_first(tmp_path: Path) -> None:
    for number, name in enumerate(["b-20260101-000000", "a-20260102-000000", "c-20260103-000000"]):
        os.utime(make_run(tmp_path, name).config, (1e9 + number, 1e9 + number))
    (tmp_path / ".bodies").mkdir()
    (tmp_path / "notes").mkdir()
    assert [(e.name, e.state) for e in runs.history(tmp_path)] == [(n, "succeeded") for n in "cab"]


def test_names_and_messages_are_escaped(tmp_path: Path) -> None:
    run = make_run(tmp_path, "x-1", finished=False)
    run.config.write_text('name: "<img src=x onerror=alert(1)>{{value}}${value}"\n')
    run.set_status("failed", "read", "<script>alert(1)</script>")
    run.log.write_text("<b>bold</b>\n")
    text = watch.state(runs.view(tmp_path, "x-1")) + watch.log(runs.view(tmp_path, "x-1"))
    assert "<img" not in text and "<script" not in text and "<b>bold" not in text
    assert "{{" not in text and "${" not in text and "&lt;script&gt;" in text


def test_csv_has_a_line_per_iteration(finished: Run) -> None:
    lines = progress_csv(finished).splitlines()
    assert lines[0].startswith("iteration,compliance,volume") and lines[3].startswith("3,3.33")
    assert len(lines) == 4


def test_uploads_are_forgotten_after_a_week(tmp_path):
    import os
    import time

    from ui.bodies import forget_old

    old, new = tmp_path / ".bodies" / ("0" * 32), tmp_path / ".bodies" / ("1" * 32)
    for folder in (old, new):
        folder.mkdir(parents=True)
        (folder / "about.json").write_text("{}")
    week_ago = time.time() - 8 * 86400
    os.utime(old, (week_ago, week_ago))
    forget_old(tmp_path)
    assert not old.exists() and new.exists()

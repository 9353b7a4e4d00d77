"""The run folder survives what happens to folders."""

import json
import os
import subprocess
import sys

import pytest

from jobs.errors import RunFolderError
from jobs.store import Run


def made(folder, **kwargs):
    run = Run.create(folder, **kwargs)
    run.config.write_text("job: structure\npreset: {name: mbb_beam}\n")
    return run


def test_a_new_run_is_empty(tmp_path):
    run = made(tmp_path / "run")
    assert run.status()["state"] == "queued"
    assert run.progress() == [] and run.result() is None and run.latest_checkpoint() is None


def test_another_run_is_not_overwritten_unless_asked(tmp_path):
    run = made(tmp_path / "run")
    run.write_json("result.json", {"status": "succeeded"})
    with pytest.raises(RunFolderError, match="already holds a run"):
        Run.create(run.folder)
    assert run.result() is not None
    assert Run.create(run.folder, overwrite=True).result() is None


def test_a_folder_with_other_things_is_left_alone(tmp_path):
    (tmp_path / "letter.txt").write_text("dear")
    with pytest.raises(RunFolderError, match="holds no run"):
        Run.create(tmp_path, overwrite=True)
    assert (tmp_path / "letter.txt").read_text() == "dear"


def test_a_file_is_no_folder(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(RunFolderError, match="is a file"):
        Run.create(tmp_path / "file")


def test_a_run_whose_process_is_gone_has_failed(tmp_path):
    run = made(tmp_path / "run")
    gone = subprocess.Popen([sys.executable, "-c", ""])
    gone.wait()
    run.set_status("running", "optimise", "", pid=gone.pid)
    assert run.status()["state"] == "failed" and "resume" in run.status()["message"]
    run.set_status("queued", pid=0)
    run.write_text("worker.pid", str(gone.pid))
    assert run.status()["state"] == "failed"


def test_a_run_at_work_is_not_overwritten(tmp_path):
    run = made(tmp_path / "run")
    run.set_status("running", "optimise", "", pid=os.getppid())
    with pytest.raises(RunFolderError, match="still being worked on"):
        Run.create(run.folder, overwrite=True)


def test_half_written_lines_and_files_are_not_believed(tmp_path):
    run = made(tmp_path / "run")
    run.append_progress({"iteration": 1})
    with (run.folder / "progress.jsonl").open("a") as file:
        file.write('{"iteration": 2, "comp')
    (run.folder / "result.json").write_text('{"status": "succ')
    assert run.progress() == [{"iteration": 1}]
    assert run.result() is None


def test_progress_after_a_checkpoint_is_forgotten(tmp_path):
    run = made(tmp_path / "run")
    for iteration in range(1, 6):
        run.append_progress({"iteration": iteration})
    run.truncate_progress(3)
    assert [row["iteration"] for row in run.progress()] == [1, 2, 3]


def test_the_newest_sound_checkpoint_counts(tmp_path):
    run = made(tmp_path / "run")
    for step in (5, 10, 15):
        run.save_checkpoint(step, lambda path, step=step: path.write_bytes(b"state %d" % step))
    assert sorted(p.name for p in run.checkpoints.glob("*.npz")) == ["step-000010.npz", "step-000015.npz"]
    (run.checkpoints / "step-000015.npz").write_bytes(b"stat")
    assert run.latest_checkpoint().name == "step-000010.npz"
    (run.checkpoints / "step-000010.sha256").unlink()
    assert run.latest_checkpoint() is None


def test_results_must_be_numbers(tmp_path):
    run = made(tmp_path / "run")
    with pytest.raises(ValueError):
        run.write_json("result.json", {"compliance": float("nan")})
    assert run.result() is None


@pytest.mark.skipif(
    os.geteuid() == 0, reason="root may write everywhere; the command-line test covers it on a read-only mount"
)
def test_a_folder_that_cannot_be_written(tmp_path):
    tmp_path.chmod(0o500)
    with pytest.raises(RunFolderError, match="cannot write"):
        Run.create(tmp_path / "run")


def test_result_is_whole_or_absent(tmp_path):
    run = made(tmp_path / "run")
    run.write_json("result.json", {"a": list(range(1000))})
    assert json.loads((run.folder / "result.json").read_text())["a"][-1] == 999
    assert not list(run.folder.glob("*.part"))

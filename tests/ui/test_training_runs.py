"""Runs of work on operators as the page shows them: what was recorded, and how a training went."""

from pathlib import Path
from typing import Any

import pytest

from jobs.spec import dump_job, parse_job
from jobs.store import Run
from tests.ui.test_pde_runs import PIXEL
from ui import runs
from ui.run_view import watch

RUN_ID = "operator-20260101-120000"
ROW = {
    "where": "unseen <i>runs</i>",
    "state": 0.0126,
    "gradient": 0.365,
    "cosine": 0.966,
    "low_cosine": 0.2,
    "count": 32,
}


def made(root: Path, result: dict[str, Any] | None = None, **job: Any) -> runs.RunView:
    run = Run.create(root / RUN_ID)
    dump_job(parse_job(job), run.config)
    for number in (1, 2, 3):
        losses = {"loss": 1.0 / number, "state_loss": 0.1**number, "error": 0.2 / number, "best": 0.2 / number}
        ends = {"run": number + 6, "iterates": 61, "start": 5000.0, "objective": 300.0 - number}
        run.append_progress({"iteration": number, **(losses if job["job"] == "operator_train" else ends)})
    run.set_status("running", "optimise", "at work")
    if result:
        for name in result["artifacts"]:
            (run.folder / name).write_bytes(PIXEL)
        run.write_json("result.json", result)
        run.set_status("succeeded", "done", "ready")
    return runs.view(root, RUN_ID)


def test_training_shows_losses_and_the_table(tmp_path: Path) -> None:
    result = {
        "table": [ROW],
        "steps": 12,
        "learnt": 9,
        "judged": 1,
        "parameters": 95321,
        "network": "fno",
        "output": "<b>",
        "artifacts": ["artifacts/weights.safetensors", "artifacts/loss.png"],
    }
    view = made(tmp_path, result, job="operator_train", data=["x"], steps=12)
    plot, shown = watch.plot(view), watch.results(view)
    assert 'class="line error"' in plot and 'class="line state_loss"' in plot
    assert "unseen &lt;i&gt;runs" in shown and "1.3\u2009%" in shown and "cosine 0.966" in shown and "<b>," not in shown
    assert [(d.label, d.about) for d in view.downloads][:2] == [
        ("PNG", "picture of the losses"),
        ("Weights", "the trained operator"),
    ]
    assert "Picture of the losses" in watch.picture(view)


def test_recording_shows_how_far_it_is(tmp_path: Path) -> None:
    view = made(tmp_path, job="operator_data", first=7, count=12)
    state = watch.state(view)
    assert 'aria-valuemax="12"' in state and "3 of 12" in state and "number 9, 61 iterates" in state
    assert 'class="line objective"' in watch.plot(view) and "Pictures come at the end" in watch.picture(view)


@pytest.mark.parametrize("kind", ["operator_data", "operator_train", "hybrid"])
def test_kind_stands_in_the_list_of_runs(tmp_path: Path, kind: str) -> None:
    more: dict[str, Any] = {"data": ["x"]} if kind == "operator_train" else {}
    made(tmp_path, job=kind, **more)
    assert runs.history(tmp_path)[0].kind == kind

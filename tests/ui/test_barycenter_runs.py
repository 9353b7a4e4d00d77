"""Runs of barycenters as the page shows them: figures, pictures, files, and their line in the history."""

import io
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image
from starlette.testclient import TestClient

from jobs.launch import prepare
from jobs.runner import run_job
from jobs.spec import parse_job
from jobs.store import Run
from tests.ui.conftest import make_run
from tests.ui.test_barycenter_form import BASE
from ui import runs
from ui.barycenter.checks import checked_job
from ui.barycenter.looks import leave_looks
from ui.barycenter.preview import previewed
from ui.barycenter.watch import result_rows
from ui.downloads import artifact
from ui.images import ImageCard, image_card
from ui.run_view import watch
from ui.serve import application

RUN_ID = "mine-20260101-120000"
FORM = {**BASE, "name": "mine", "size": 64, "volume_percent": 20}


class Silent:
    """An observer that says nothing."""

    def phase(self, name: str, message: str) -> None: ...

    def iteration(self, row: dict[str, Any], text: str) -> None: ...


@pytest.fixture(scope="module")
def cards() -> list[ImageCard]:
    found = [image_card(Path(), name) for name in BASE["ids"]]
    return [card for card in found if card]


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory, cards: list[ImageCard]) -> Path:
    """One barycenter that was really computed, and one structure."""
    root = tmp_path_factory.mktemp("runs")
    job, run = prepare(checked_job(FORM, cards), root / RUN_ID)
    leave_looks(run, previewed(FORM, cards), cards, False)
    run_job(job, run, Silent())
    make_run(root)
    return root


def test_results_are_those_of_the_run(root: Path) -> None:
    view = runs.view(root, RUN_ID)
    assert view.kind == "barycenter" and view.state == "succeeded" and view.result
    rows = {name: value for name, value, _ in result_rows(view)}
    assert float(rows["Shape part of F"]) == pytest.approx(view.result["shape_value"], rel=1e-3)
    assert float(rows["Certified bound"]) == pytest.approx(view.result["shape_bound"], rel=1e-3)
    assert rows["Cells"] == "64 × 64" and int(rows["Iterations"]) == len(view.rows)
    shown = watch.results(view)
    assert "Certified bound" in shown and "Compliance" not in shown and 'id="results"' in shown


def test_files_of_the_result_are_offered_and_no_others(root: Path) -> None:
    view, run = runs.view(root, RUN_ID), Run(root / RUN_ID)
    names = ["barycenter.png", "design.png", "barycenter.npy", "design.npy", "progress.csv", "job.yaml"]
    assert sorted(d.name for d in view.downloads) == sorted(names)
    (run.artifacts / "unlisted.npy").write_bytes(b"")
    assert artifact(run, "unlisted.npy") is None
    density = np.load(str(artifact(run, "barycenter.npy")))
    assert density.shape == (64, 64) and density.mean() == pytest.approx(1)
    labels = {d.name: (d.label, d.about) for d in view.downloads}
    assert labels["design.png"] == ("PNG, b/w", "black and white, of the volume asked for")
    assert labels["barycenter.png"] == ("PNG", "picture, 16 bit grey")


def test_picture_is_the_preview_until_the_result_is_there(root: Path, cards: list[ImageCard]) -> None:
    _, run = prepare(checked_job(FORM, cards), root / "young-20260101-120000")
    run.set_status("queued", "start", "waiting for a worker", pid=0)
    assert "The picture comes at the end" in watch.picture(runs.view(root, run.folder.name))
    leave_looks(run, previewed(FORM, cards), cards, False)
    shown = watch.picture(runs.view(root, run.folder.name))
    assert f"/runs/{run.folder.name}/looks/preview.png" in shown and "64 cells" in shown
    done = watch.picture(runs.view(root, RUN_ID))
    assert f"/runs/{RUN_ID}/files/barycenter.png" in done and "preview.png" not in done
    assert watch.picture(runs.view(root, "beam-20260101-120000")) == "" == watch.picture(None)


def test_inputs_are_shown_with_their_weights_and_distances(root: Path) -> None:
    view = runs.view(root, RUN_ID)
    text = watch.plot(view)
    assert [name in text for name in ("ring", "star", "cross")] == [True] * 3 and text.count("25 %") == 2
    assert text.count("½ W₂²") == 3 and f"/runs/{RUN_ID}/looks/input-3.png" in text
    assert 'class="line dual"' in text and 'class="line residual"' in text


def test_looks_are_pictures_of_the_page_only(root: Path) -> None:
    run = Run(root / RUN_ID)
    path = runs.look_file(run, "input-1.png")
    assert path and Image.open(path).size == (256, 256)
    (run.folder / "looks" / "other.png").write_bytes(b"")
    (run.folder / "looks" / "input-8.png").symlink_to(run.config)
    assert set(runs.view(root, RUN_ID).looks) == {"preview", "input-1", "input-2", "input-3"}
    for name in ("other.png", "input-8.png", "input-9.png", "../config.yaml", "preview.png\n", ""):
        assert runs.look_file(run, name) is None


def test_history_lists_both_kinds(root: Path) -> None:
    kinds = {entry.id: entry.kind for entry in runs.history(root)}
    assert kinds[RUN_ID] == "barycenter" and kinds["beam-20260101-120000"] == "structure"
    assert "mine  ·  barycenter  ·  " in watch.history_label("mine", "running", 0.0, "barycenter")
    assert "barycenter  ·  barycenter" not in watch.history_label("barycenter", "running", 0.0, "barycenter")


def test_progress_follows_what_the_ascent_expects(tmp_path: Path, cards: list[ImageCard]) -> None:
    _, run = prepare(checked_job(FORM, cards), tmp_path / RUN_ID)
    for iteration in (1, 2):
        row = {
            "iteration": iteration,
            "shape": [32, 32],
            "dual": 0.1 * iteration,
            "residual": 0.0,
            "left": 40 - iteration,
        }
        run.append_progress(row)
    run.set_status("running", "optimise", "climbing", pid=0)
    text = watch.state(runs.view(tmp_path, RUN_ID))
    assert 'aria-valuemax="40"' in text and "2 of 40 at most" in text and "32 × 32" in text
    # A residual of zero has no place on a logarithmic axis.
    assert 'class="line residual"' not in watch.plot(runs.view(tmp_path, RUN_ID))


def test_job_without_pictures_of_the_page_is_shown(tmp_path: Path, cards: list[ImageCard]) -> None:
    job = parse_job({"job": "barycenter", "inputs": [card.file for card in cards]})
    _, run = prepare(job, tmp_path / RUN_ID)
    run.config.write_text(run.config.read_text().replace("name: barycenter", 'name: "<b>x</b>"'))
    view = runs.view(tmp_path, RUN_ID)
    text = watch.state(view) + watch.plot(view) + watch.picture(view)
    assert "<b>x" not in text and text.count("33.3 %") == 3 and "<img" not in text


@pytest.fixture(scope="module")
def client(root: Path) -> TestClient:
    return TestClient(application(root), base_url="http://127.0.0.1")


def test_page_and_pictures_are_served(client: TestClient, root: Path) -> None:
    answer = client.get("/barycenter")
    assert answer.status_code == 200 and "default-src 'self'" in answer.headers["content-security-policy"]
    look = client.get(f"/runs/{RUN_ID}/looks/preview.png")
    assert look.content == (root / RUN_ID / "looks" / "preview.png").read_bytes()
    assert look.headers["content-disposition"].startswith("attachment")
    assert look.headers["x-content-type-options"] == "nosniff"
    density = client.get(f"/runs/{RUN_ID}/files/barycenter.npy")
    assert np.load(io.BytesIO(density.content)).shape == (64, 64)


@pytest.mark.parametrize(
    "path",
    [
        f"/runs/{RUN_ID}/looks/..%2Fconfig.yaml",
        f"/runs/{RUN_ID}/looks/%2e%2e%2fconfig.yaml",
        f"/runs/{RUN_ID}/files/ring.png",
        f"/runs/{RUN_ID}/input/ring.png",
        "/runs/.images/job.yaml",
        f"/images/{'0' * 32}/field.npy",
    ],
)
def test_nothing_else_is_handed_over(client: TestClient, path: str) -> None:
    assert client.get(path).status_code == 404

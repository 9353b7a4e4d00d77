"""The form becomes a job that `jobs` accepts, or one sentence; its preview is the library's answer."""

import base64
import io
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image
from ruamel.yaml import YAML

from jobs.barycenter_spec import BarycenterJob
from jobs.errors import JobError
from jobs.spec import parse_job
from transport import barycenter
from transport.frames import PREVIEW_SETTINGS
from transport.images import prepare, read_field, to_pixels
from ui.barycenter import setup
from ui.barycenter.asked import stage
from ui.barycenter.checks import checked_job, findings
from ui.barycenter.form import job_data, job_text, share_text, shares
from ui.barycenter.preview import mass_of, picture_source, previewed, thumbnail
from ui.images import ImageCard, image_card

BASE: dict[str, Any] = {
    "name": "",
    "ids": ["sample-ring", "sample-star", "sample-cross"],
    "weights": [0.5, 0.25, 0.25],
    "size": 512,
    "resize": True,
    "invert": False,
    "method": "accelerated",
    "padding": 0,
    "floor": 0,
    "volume_percent": None,
    "film": "",
    "frames": 24,
}


@pytest.fixture(scope="module")
def cards() -> list[ImageCard]:
    found = [image_card(Path(), name) for name in BASE["ids"]]
    return [card for card in found if card]


def array_card(folder: Path, values: np.ndarray, is_picture: bool = True) -> ImageCard:
    """An image as `ui.images.admit` leaves it."""
    np.save(folder / "field.npy", values)
    width, height = values.shape
    return ImageCard("0" * 32, str(folder / "shape.png"), (width, height), is_picture)


def test_form_becomes_its_job(cards: list[ImageCard]) -> None:
    job = checked_job(BASE, cards)
    plain = parse_job({"job": "barycenter", "inputs": [card.file for card in cards]})
    assert job == plain.model_copy(update={"weights": [0.5, 0.25, 0.25], "size": 512, "resize": True})


def test_every_field_reaches_the_job(cards: list[ImageCard]) -> None:
    asked = {
        "name": "mine",
        "size": 1024,
        "resize": False,
        "invert": True,
        "method": "wdha",
        "padding": 5,
        "floor": 2.5,
    }
    job = checked_job({**BASE, **asked, "volume_percent": 30}, cards)
    expected = {**asked, "padding": 0.05, "floor": 0.025, "volume_fraction": 0.3}
    assert {key: getattr(job, key) for key in expected} == expected


def test_job_file_says_the_same(cards: list[ImageCard]) -> None:
    text = job_text({**BASE, "invert": True, "padding": 10}, cards)
    data = YAML(typ="safe", pure=True).load(text)
    assert data["inputs"] == ["ring.png", "star.png", "cross.png"]
    assert parse_job(data, base=Path(cards[0].file).parent) == checked_job(
        {**BASE, "invert": True, "padding": 10}, cards
    )


@pytest.mark.parametrize(
    ("change", "says"),
    [
        ({"weights": [0, 0, 0]}, "All weights are zero"),
        ({"padding": 100}, "Padding: 100 % cannot be"),
        ({"floor": -1}, "Floor: -1 % cannot be"),
        ({"volume_percent": 120}, "Black and white: 120 % cannot be"),
        ({"name": "<b>"}, "Name"),
    ],
)
def test_what_is_wrong_is_said_in_one_sentence(cards: list[ImageCard], change: dict[str, Any], says: str) -> None:
    wrong = [line for line in findings({**BASE, **change}, cards) if line.kind == "missing"]
    assert len(wrong) == 1 and says in wrong[0].text and wrong[0].text.endswith(".") and wrong[0].field
    with pytest.raises(JobError):
        checked_job({**BASE, **change}, cards)


@pytest.mark.parametrize("count", [0, 1])
def test_too_few_images_are_said_first(cards: list[ImageCard], count: int) -> None:
    form = {**BASE, "weights": [1.0] * count}
    (line,) = findings(form, cards[:count])
    assert line.kind == "missing" and "A barycenter needs" in line.text
    assert job_text(form, cards[:count]).startswith("# images: at least two")
    assert "second image" in stage(cards[:count], form["weights"], False, None)


def test_different_sizes_are_allowed_or_refused(cards: list[ImageCard], tmp_path: Path) -> None:
    wide = array_card(tmp_path, np.ones((30, 20)))
    form = {**BASE, "weights": [1, 1]}
    assert checked_job(form, [cards[0], wide])
    with pytest.raises(JobError, match="ring has 256 × 256 pixels, shape 30 × 20"):
        checked_job({**form, "resize": False}, [cards[0], wide])


def test_what_to_know_is_told(cards: list[ImageCard]) -> None:
    lines = findings({**BASE, "weights": [0.0, 0.5, 0.5], "size": 1024, "method": "sga"}, cards)
    notes = " ".join(line.text for line in lines if line.kind == "note")
    assert "weight zero" in notes and "show no more than 256" in notes and "for comparison" in notes
    assert "only star" in " ".join(line.text for line in findings({**BASE, "weights": [0, 1, 0]}, cards)).lower()


def test_preview_is_the_librarys_answer(cards: list[ImageCard]) -> None:
    form = {**BASE, "invert": True, "padding": 10, "floor": 20}
    fields = [read_field(Path(card.file), invert=True) for card in cards]
    measures = prepare(fields, size=64, resize=True, padding=0.1, floor=0.2)
    expected = barycenter(measures, BASE["weights"], settings=PREVIEW_SETTINGS, threads=1)
    found = previewed(form, cards)
    assert found.density.shape == (64, 64) and np.array_equal(found.density, expected.density)


def test_preview_of_one_weight_is_that_image(cards: list[ImageCard]) -> None:
    found = previewed({**BASE, "weights": [0, 1, 0]}, cards)
    star = prepare([read_field(Path(card.file)) for card in cards], size=64)[1]
    # Maps splat mass over neighbouring cells, which blurs edges: what leaves a block of 8 x 8 cells is little.
    moved = np.abs((found.density - star).reshape(8, 8, 8, 8).sum(axis=(1, 3))).sum() / star.size
    assert moved < 0.02


def test_preview_is_instant(cards: list[ImageCard]) -> None:
    previewed(BASE, cards)
    began = time.process_time()
    previewed({**BASE, "weights": [0.1, 0.2, 0.7]}, cards)
    assert time.process_time() - began < 0.3


def test_dark_is_mass_in_pictures_only(tmp_path: Path) -> None:
    # 1 + 2e-16: what weights of colours, or means over cells, may leave of white.
    values = np.array([[0.0, 0.25], [1.0, 1.0 + 2.3e-16]])
    assert np.array_equal(mass_of(array_card(tmp_path, values), True), [[1, 0.75], [0, 0]])
    assert np.array_equal(mass_of(array_card(tmp_path, values, False), True), values)


def test_white_image_without_mass_is_told(tmp_path: Path, cards: list[ImageCard]) -> None:
    from transport.errors import TransportError

    white = array_card(tmp_path, np.ones((20, 20)))
    with pytest.raises(TransportError, match="shape has no mass"):
        previewed({**BASE, "invert": True, "weights": [1, 1]}, [cards[0], white])
    assert (
        findings({**BASE, "weights": [1, 1]}, [cards[0], white], "shape has no mass")[-1].text == "shape has no mass."
    )


def test_pictures_are_upright(cards: list[ImageCard]) -> None:
    star = next(card for card in cards if card.name == "star")
    shown = np.asarray(Image.open(io.BytesIO(base64.b64decode(thumbnail(star, False).partition(",")[2]))))
    drawn = np.asarray(Image.open(star.file).resize((112, 112), Image.Resampling.BOX)).astype(float)
    assert shown.shape == (112, 112) and np.abs(shown - drawn).mean() < 2 < np.abs(shown[::-1] - drawn).mean()
    density = np.arange(1.0, 7.0).reshape(2, 3)
    again = Image.open(io.BytesIO(base64.b64decode(picture_source(density).partition(",")[2])))
    assert np.array_equal(np.asarray(again), to_pixels(density)) and again.size == (2, 3)


def test_names_are_escaped(tmp_path: Path, cards: list[ImageCard]) -> None:
    plain = array_card(tmp_path, np.eye(16))
    evil = ImageCard(plain.id, str(tmp_path / "<img src=x onerror=1>.png"), plain.shape, True)
    shown = stage([evil, cards[1]], [1, 1], False, None)
    assert "<img src=x" not in shown and "&lt;img src=x" in shown


def test_shares_add_up_to_one() -> None:
    assert shares([1, 2, 1]) == [0.25, 0.5, 0.25] and shares([0, 0]) == [0, 0]
    assert [share_text(part) for part in (0, 0.125, 1 / 3, 1)] == ["0 %", "12.5 %", "33.3 %", "100 %"]


def test_form_has_the_fields_that_the_job_needs() -> None:
    import gradio as gr

    form = setup.Setup()
    with gr.Blocks(analytics_enabled=False):
        setup.build(form)
    values = form.read({component: component.value for component in form.inputs})
    assert set(values) == set(BASE)
    assert values["ids"] == BASE["ids"] and values["weights"] == [0.5] * 3
    assert values["resize"] and not values["invert"]


def test_a_film_goes_to_the_last_image(cards: list[ImageCard]) -> None:
    form = {**BASE, "weights": [0.5, 0.25, 0.25], "film": "gif", "frames": 12}
    job = parse_job(job_data(form, cards))
    assert isinstance(job, BarycenterJob) and job.path
    assert (job.path.stations, job.path.frames, job.path.format) == ([[0.0, 0.0, 1.0]], 12, "gif")
    assert "path" not in job_data({**form, "film": ""}, cards)
    wrong = findings({**form, "frames": 1}, cards)
    assert any(line.kind == "missing" and "frames" in line.text for line in wrong)


def test_what_must_be_installed_is_told_before(cards: list[ImageCard], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "/nowhere")
    lines = findings({**BASE, "weights": [1.0, 1.0, 1.0], "film": "mp4", "frames": 8}, cards)
    assert [line.text for line in lines if line.kind == "missing"] == [
        "An MP4 film is made by the program ffmpeg: install it (apt-get install ffmpeg), or ask for gif."
    ]

"""An outline of one's own: uploads are read apart and refused in words, edges are named, and the form becomes a job."""

from pathlib import Path
from typing import Any

import pytest
from ruamel.yaml import YAML

from jobs.errors import JobError
from jobs.features_spec import FeaturesJob
from jobs.spec import parse_job
from tests.ui.test_features import BASE
from topopt.cad.drawing import dxf_bytes
from topopt.cad.region import Region
from topopt.cad.wires import circle, polygon, rectangle, slot
from topopt.errors import BodyError, OutlineError
from ui.bodies import body_card
from ui.features import outlines, setup
from ui.features.asked import stage
from ui.features.checks import checked_job, findings
from ui.features.form import fresh, job_text
from ui.features.uploads import OutlineCard, admit, outline_card, with_card

LEVER = Path(__file__).parents[2] / "assets" / "outlines" / "lever.dxf"


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("outlines")


@pytest.fixture(scope="module")
def card(root: Path) -> OutlineCard:
    return admit(root, LEVER, None)


@pytest.fixture
def form(root: Path, card: OutlineCard) -> dict[str, Any]:
    (face,) = card.faces
    keys = {edge.words.partition(" · ")[2]: edge.key for edge in face.edges}
    chosen = {
        "source": "outline",
        "outline_id": card.id,
        "held_all": [keys["hole d9, at (12, 14)"], keys["hole d9, at (12, 56)"]],
        "load1": [keys["hole d16, at (122, 52)"]],
        "load1_y": -500,
    }
    lengths = dict(zip(setup.FOLLOWING, fresh("outline", 3), strict=True))
    return with_card({**BASE, **lengths, **outlines.suggested(face), **chosen}, root)


def test_an_upload_is_kept_and_described(root: Path, card: OutlineCard) -> None:
    assert outline_card(root, card.id) == card and card.name == "lever"
    (face,) = card.faces
    assert face.words == "1 · 140 × 70 mm, 3 holes" and face.size == pytest.approx((140, 70))
    told = [edge.words for edge in face.edges]
    assert "4 · line, 87.52 mm, at (91.08, 16.98)" in told and "10 · left edge, 58 mm, at (0, 35)" in told
    assert told[-3:] == ["11 · hole d16, at (122, 52)", "12 · hole d9, at (12, 14)", "13 · hole d9, at (12, 56)"]
    assert [edge.number for edge in face.edges] == list(range(1, 14))
    for stranger in (None, "", "../" + card.id, card.id[:-1], "0" * 32):
        assert outline_card(root, stranger) is None
    assert body_card(root, card.id) is None


def test_a_form_becomes_its_job(form: dict[str, Any], card: OutlineCard) -> None:
    job = checked_job(form)
    assert isinstance(job, FeaturesJob) and job.domain and job.name == "lever"
    assert job.domain.file == Path(card.file) and job.domain.face == 1 and job.domain.rim == 3
    assert job.domain.supports[0].fix == "all" and job.domain.supports[0].box is None
    assert sorted(job.domain.supports[0].edges or ()) == [(12, 9.5), (12, 18.5), (12, 51.5), (12, 60.5)]
    assert sorted(job.domain.loads[0][0].edges or ()) == [(122, 44), (122, 60)]
    assert job.domain.loads[0][0].force == (0, -500)
    told = parse_job(YAML(typ="safe", pure=True).load(job_text(form)))
    assert isinstance(told, FeaturesJob) and told.domain and told.domain.file == Path("lever.dxf")
    assert [line.kind for line in findings(form)] == ["good"] * 4
    assert "2 edges or holes held, 1 load in 1 case." in [line.text for line in findings(form)]


def test_loads_of_other_cases_and_other_directions(form: dict[str, Any], card: OutlineCard) -> None:
    top = next(edge.key for edge in card.faces[0].edges if "top edge" in edge.words)
    left = next(edge.key for edge in card.faces[0].edges if "left edge" in edge.words)
    more = {"load2": [top], "load2_x": 10, "case2": "3", "held_y": [left], "cells": "pixels", "rim": 0}
    job = checked_job({**form, **more})
    assert isinstance(job, FeaturesJob) and job.domain
    assert [len(case) for case in job.domain.loads] == [1, 1] and job.domain.loads[1][0].force == (10, 0)
    assert [support.fix for support in job.domain.supports] == ["all", "y"]
    assert job.domain.cells == "pixels" and job.domain.rim == 0


@pytest.mark.parametrize(
    ("change", "says", "field"),
    [
        ({"card": None}, "upload a DXF drawing", "source-block"),
        ({"face": 2}, "Face: choose one", "source-block"),
        ({"held_all": []}, "Supports: choose the edges", "own-supports"),
        ({"load1": []}, "Load 1: choose the edges", "own-loads"),
        ({"load1": [], "load1_y": 0}, "Loads: choose edges", "own-loads"),
        ({"load1_y": 0}, "Load 1: both parts", "own-loads"),
        ({"h": 50}, "fewer than 8 across", "source-block"),
        ({"h": 0.05}, "choose larger elements", "source-block"),
        ({"rim": -1}, "Rim: give a number", "own-loads"),
    ],
)
def test_what_is_missing_is_said_in_one_sentence(form: dict[str, Any], change: Any, says: str, field: str) -> None:
    (wrong,) = [line for line in findings({**form, **change}) if line.kind == "missing"]
    assert says in wrong.text and wrong.field == field
    with pytest.raises(JobError):
        checked_job({**form, **change})


def test_a_load_on_what_is_held_is_refused(form: dict[str, Any]) -> None:
    with pytest.raises(JobError, match="acts only on edges that are held"):
        checked_job({**form, "load1": form["held_all"][:1]})


def test_the_picture_shows_numbers_and_roles(form: dict[str, Any]) -> None:
    shown = stage(form)
    assert shown.count("<text") == 13 and "Outline with 13 numbered edges" in shown
    assert shown.count("stroke:var(--support)") == 2 and shown.count("stroke:var(--load)") == 2
    assert "Upload a DXF" in stage({**form, "card": None})


def test_holes_of_several_edges_can_be_chosen_whole(tmp_path: Path) -> None:
    path = tmp_path / "a plate {0}.dxf"
    region = Region(rectangle((0, 0), (60, 30)), (slot((20, 15), (40, 15), 4.0), circle((50, 15), 3.0)))
    path.write_bytes(dxf_bytes([region]))
    card = admit(tmp_path, path, "cm")
    assert Path(card.file).name == "a-plate-0.dxf" and card.faces[0].size == pytest.approx((600, 300))
    (whole,) = [edge for edge in card.faces[0].edges if "all round" in edge.words]
    assert whole.words == "9 · hole of edges 5 to 8, all round" and not whole.shown and len(whole.points) == 4
    assert card.faces[0].edges[-1].words == "10 · hole d60, at (500, 150)"


def test_what_is_no_outline_is_refused_and_leaves_nothing(tmp_path: Path) -> None:
    bow = polygon([(0, 0), (10, 10), (12, 0), (0, 8)])
    for name, content, error, says in (
        ("part.stl", b"solid", BodyError, "no plane outline"),
        ("part.step", b"not a body", BodyError, "part.step"),
        ("part.dxf", b"0\nSECTION\n", BodyError, r"no readable DXF|unit|holds no"),
        ("bow.dxf", dxf_bytes([Region(bow)]), BodyError, "crosses itself"),
    ):
        path = tmp_path / name
        path.write_bytes(content)
        with pytest.raises((error, OutlineError), match=says):
            admit(tmp_path / "runs", path, None)
    assert list((tmp_path / "runs" / ".bodies").glob("*")) == []

"""Faces in words, and as selectors that select exactly these faces."""

import json
from pathlib import Path

import numpy as np
import pytest

from topopt.cad.body import Body
from topopt.cad.read import read_body
from topopt.cad.select import select
from topopt.errors import BodyError
from ui import bodies
from ui.faces import matching, named_faces

PARTS = Path(__file__).parents[2] / "assets" / "parts"


@pytest.fixture(scope="module")
def bracket() -> Body:
    return read_body(PARTS / "bracket.step")


def test_bracket_in_words(bracket: Body) -> None:
    words = [face.words for face in named_faces(bracket)]
    assert words[0] == "all 4 holes d10, axis z"
    assert "hole d10, axis z, at (x 48, y 28)" in words
    assert "hole d30, axis y, at (x 0, z 38)" in words
    # 120 x 80 minus four holes d10.
    assert "plane, normal −z, z = 0, 9286 mm²" in words
    assert len([w for w in words if w.startswith("plane")]) == 10


@pytest.mark.parametrize("name", ["bracket.step", "bracket.stl", "hinge.step", "rocker.step"])
def test_selector_means_its_faces_and_no_other(name: str) -> None:
    body = read_body(PARTS / name)
    for face in named_faces(body):
        patch = select(body, face.selector)
        own = sum(float(body.surface.areas[body.faces[n].triangles].sum()) for n in face.faces)
        area = float(np.linalg.norm(np.cross(*np.diff(patch.triangles, axis=1).transpose(1, 0, 2)), axis=1).sum() / 2)
        assert area == pytest.approx(own, rel=1e-6), face.words


def test_every_face_is_named_once(bracket: Body) -> None:
    numbers = [n for face in named_faces(bracket) if face.key.startswith("f") for n in face.faces]
    assert sorted(numbers) == list(range(len(bracket.faces)))


def test_job_selector_is_found_among_the_choices(bracket: Body) -> None:
    faces = named_faces(bracket)
    bolts, bore = matching(faces, {"cylinder": {"radius": 5}}), matching(faces, {"cylinder": {"radius": 15}})
    assert bolts and bolts.words == "all 4 holes d10, axis z"
    assert bore and bore.words.startswith("hole d30")
    bottom = matching(faces, {"faces": {"normal": [0, 0, -1]}})
    assert bottom and "z = 0" in bottom.words
    assert matching(faces, {"cylinder": {"radius": 7}}) is None


def test_admitted_body_is_kept_with_its_picture(tmp_path: Path) -> None:
    card = bodies.admit(tmp_path, PARTS / "bracket.step", None)
    assert card.summary == "bracket.step: 120 × 80 × 60 mm, 334.7 cm³, 15 faces"
    assert bodies.body_card(tmp_path, card.id) == card
    folder = bodies.find_body(tmp_path, card.id)
    assert folder and (folder / "body.glb").read_bytes()[:4] == b"glTF"
    view = json.loads((folder / "faces.json").read_text())
    assert set(view["triangles"]) == set(range(15)) and len(view["edges"]) % 6 == 0
    # Every edge between two faces lies on the bounding box or inside it.
    ends = np.array(view["edges"]).reshape(-1, 3)
    assert (ends >= [-60, -40, 0]).all() and (ends <= [60, 40, 60]).all()
    # The rims of the bore are among them: circles of radius 15 about (0, 38) at both ends.
    rim = ends[np.isclose(np.hypot(ends[:, 0], ends[:, 2] - 38), 15, atol=1e-3)]
    assert {-40.0, 40.0} <= set(rim[:, 1])


@pytest.mark.parametrize("name", ["part.svg", "part.gltf", "part.obj", "part.step.exe"])
def test_other_kinds_of_file_are_refused(tmp_path: Path, name: str) -> None:
    (tmp_path / name).write_text("solid")
    with pytest.raises(BodyError, match="upload a"):
        bodies.admit(tmp_path / "runs", tmp_path / name, None)


def test_damaged_body_leaves_nothing_behind(tmp_path: Path) -> None:
    (tmp_path / "bad.stl").write_bytes(b"\0" * 80 + b"\xff\xff\xff\x7f" + b"\0" * 50)
    with pytest.raises(BodyError):
        bodies.admit(tmp_path / "runs", tmp_path / "bad.stl", None)
    assert list((tmp_path / "runs" / ".bodies").iterdir()) == []


def test_upload_is_renamed_to_something_harmless(tmp_path: Path) -> None:
    odd = tmp_path / "..my part; $(rm).STL"
    odd.write_bytes((PARTS / "bracket.stl").read_bytes())
    card = bodies.admit(tmp_path / "runs", odd, "mm")
    assert Path(card.file).name == "my-part-rm.stl"


@pytest.mark.parametrize("body_id", ["", None, "..", "../../etc", "a" * 32, "A" * 32, "0" * 31])
def test_unknown_bodies_are_nobody(tmp_path: Path, body_id: str | None) -> None:
    assert bodies.body_card(tmp_path, body_id) is None

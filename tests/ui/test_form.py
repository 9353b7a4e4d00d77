"""The form becomes a job that the rooms below accept, or one sentence that names the field."""

from pathlib import Path
from typing import Any

import pytest
from ruamel.yaml import YAML

from jobs.errors import JobError
from jobs.spec import parse_job
from jobs.structure_spec import LoadSpec, SupportSpec
from topopt.cad.read import read_body
from topopt.presets import PRESETS
from ui.bodies import BodyCard
from ui.faces import named_faces
from ui.structure.checks import checked_job, findings
from ui.structure.form import job_data
from ui.structure.presets import card_css, choice, picture, sizes, sketch
from ui.structure.problem import face_roles, job_text

BRACKET = Path(__file__).parents[2] / "assets" / "parts" / "bracket.step"
BASE: dict[str, Any] = {
    "name": "",
    "source": "preset",
    "preset": "cantilever_3d",
    "sizes": [24, 12, 6],
    "choice": "",
    "body_id": "",
    "supports": [],
    "loads": [],
    "keeps": [],
    "preserve": "auto",
    "material": "Al 6061-T6",
    "amount": "fraction",
    "volume_percent": 30,
    "mass_kg": None,
    "voxels": 60000,
    "filter_radius": "auto",
    "symmetry": [],
    "max_iterations": 200,
    "penalty": 3,
    "move": 0.2,
    "filter": "density",
    "projection": "default",
    "element": "default",
    "smoothing": 10,
    "tolerance": 0.05,
    "thickness": 5,
    "formats": ["stl", "glb"],
    "checks": ["referee"],
}
LOAD = {"face": "", "kind": "force [N]", "x": 0, "y": 0, "z": 0, "case": "1"}


@pytest.fixture(scope="module")
def card() -> BodyCard:
    body = read_body(BRACKET)
    return BodyCard("0" * 32, str(BRACKET), None, (120.0, 80.0, 60.0), body.volume, tuple(named_faces(body)))


@pytest.fixture
def part(card: BodyCard) -> dict[str, Any]:
    bore = next(face.key for face in card.faces if face.words.startswith("hole d30"))
    return {
        **BASE,
        "source": "part",
        "supports": [{"face": "g0", "fix": "all directions"}],
        "loads": [{**LOAD, "face": bore, "x": 4000, "y": 1500, "z": -2000}],
        "keeps": [{"face": "g0", "thickness": 4}],
    }


def kinds(form: dict[str, Any], card: BodyCard | None) -> list[str]:
    return [line.text for line in findings(form, card) if line.kind == "missing"]


def test_preset_becomes_its_job() -> None:
    job = checked_job(BASE, None)
    assert job.preset and job.preset.name == "cantilever_3d"
    assert job.preset.options == {"nx": 24, "ny": 12, "nz": 6}
    assert job.optimize.volume_fraction == 0.3 and job.name == "cantilever_3d"
    assert job.export.formats == ["stl", "glb"] and job.verify.referee and not job.verify.reanalysis


@pytest.mark.parametrize("name", list(PRESETS))
def test_every_preset_has_a_card_and_runs_with_its_own_numbers(name: str) -> None:
    numbers = list(sizes(name).values())
    words = choice(name)
    form = {**BASE, "preset": name, "sizes": [*numbers, None, None][:3], "choice": words[1][-1] if words else ""}
    job = checked_job(form, None)
    assert job.preset
    problem = PRESETS[name](**job.preset.options)
    assert problem.grid.shape[0] == numbers[0]
    assert sketch(name).title and "<svg" in picture(name) and card_css().count("::before") == len(PRESETS)


def test_part_becomes_its_job(part: dict[str, Any], card: BodyCard) -> None:
    job = checked_job(part, card)
    assert job.body and job.body.file == BRACKET
    holes = {"cylinder": {"radius": 5.0, "axis": "z", "hollow": True}}
    assert job.supports == [SupportSpec(on=holes, fix="all")]
    assert job.keep == [{"around": {"on": holes, "thickness": 4}}]
    (case,) = job.loads
    (load,) = case.apply
    assert load.force == (4000, 1500, -2000) and load.on["cylinder"]["radius"] == 15
    assert kinds(part, card) == []


def test_loads_of_one_case_stand_together(part: dict[str, Any], card: BodyCard) -> None:
    bore = part["loads"][0]["face"]
    top = next(face.key for face in card.faces if "z = 60" in face.words)
    part["loads"] += [
        {**LOAD, "face": top, "kind": "pressure [MPa]", "x": 2.5, "y": 9},
        {**LOAD, "kind": "gravity [g]", "z": -1, "case": "2"},
        {**LOAD, "face": bore, "kind": "moment [N mm]", "y": 100, "case": "2"},
        {**LOAD, "face": "", "x": 7},
    ]
    first, second = checked_job(part, card).loads
    assert [type(load) for load in first.apply] == [LoadSpec, LoadSpec] and first.apply[1].pressure == 2.5
    assert second.gravity == (0, 0, -1) and second.apply[0].moment == (0, 100, 0)


def test_job_file_says_the_same(part: dict[str, Any], card: BodyCard) -> None:
    data = YAML(typ="safe", pure=True).load(job_text(part, card))
    assert parse_job(data, base=BRACKET.parent) == checked_job(part, card)


@pytest.mark.parametrize(
    ("change", "says"),
    [
        ({"supports": []}, "No support"),
        ({"loads": []}, "No load"),
        ({"loads": [{**LOAD, "face": "g0", "x": 1}]}, "face that is held"),
        ({"loads": [{**LOAD, "face": "f5"}]}, "is zero"),
        ({"voxels": 12}, "Voxels: choose between"),
        ({"voxels": None}, "Voxels: choose between"),
        ({"filter_radius": "1"}, "Filter radius 1.00 mm is below"),
        ({"filter_radius": "thick"}, "Filter radius: write a length in mm"),
        ({"filter_radius": "nan"}, "Filter radius: "),
        ({"preserve": "-3"}, "Solid layer: "),
        ({"amount": "mass"}, "Mass: give the mass"),
        ({"amount": "mass", "mass_kg": 50}, "the whole body weighs"),
        ({"volume_percent": 99}, "Volume fraction: choose"),
        ({"keeps": [{"face": "g0", "thickness": 0}]}, "thickness above 0 mm"),
        ({"penalty": 0.5}, "penalty"),
        ({"name": "<b>"}, "Name"),
    ],
)
def test_what_is_wrong_is_said_in_one_sentence(
    part: dict[str, Any], card: BodyCard, change: dict[str, Any], says: str
) -> None:
    form = {**part, **change}
    wrong = [line for line in findings(form, card) if line.kind == "missing"]
    assert len(wrong) == 1 and says.lower() in wrong[0].text.lower() and wrong[0].text.endswith(".")
    assert wrong[0].field
    with pytest.raises(JobError):
        checked_job(form, card)


@pytest.mark.parametrize("numbers", [[None, 12, 6], [24.5, 12, 6], [1, 12, 6], [4000, 4000, 6]])
def test_impossible_grids_are_refused(numbers: list[float | None]) -> None:
    with pytest.raises(JobError):
        checked_job({**BASE, "sizes": numbers}, None)


def test_part_without_a_body_is_refused() -> None:
    assert kinds({**BASE, "source": "part"}, None) == ["No part yet: upload a STEP or STL file, or take a sample part."]
    with pytest.raises(JobError, match="upload"):
        job_data({**BASE, "source": "part"}, None)


def test_mass_is_the_share_of_the_body(part: dict[str, Any], card: BodyCard) -> None:
    job = checked_job({**part, "amount": "mass", "mass_kg": 0.25}, card)
    assert job.optimize.mass_kg == 0.25 and job.optimize.volume_fraction is None
    # 334.74 cm3 of aluminium at 2.70 g/cm3 weigh 904 g.
    assert any("28 % of the body" in line.text for line in findings({**part, "amount": "mass", "mass_kg": 0.25}, card))


def test_roles_of_faces_for_the_picture(part: dict[str, Any], card: BodyCard) -> None:
    roles = face_roles(card, part)
    assert sorted(roles.values()) == ["load", "support", "support", "support", "support"]

"""Job files: YAML in, a checked `StructureJob` out, every default written down.

Unknown keys are refused with the nearest known one. `key=value` overrides take dotted keys and YAML values:
`optimize.volume_fraction=0.25`, `voxels.size=2`, `loads.0.weight=2`.
"""

import difflib
import types
import typing
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError, model_validator

from jobs.errors import JobError

Vector = tuple[float, float, float]
Finite = Annotated[float, Field(allow_inf_nan=False)]
FiniteVector = tuple[Finite, Finite, Finite]
Positive = Annotated[float, Field(gt=0, allow_inf_nan=False)]


class Strict(BaseModel):
    """Nothing is guessed: an unknown key is an error, and a checked job does not change."""

    model_config = ConfigDict(extra="forbid", frozen=True)


class BodySpec(Strict):
    """The part: a STEP, STL, OBJ or PLY file, relative to the job file. Lengths in `units`, mm if not said.

    name: which body, where the file holds several.
    """

    file: Path
    name: str | None = None
    units: Literal["mm", "cm", "m", "in"] | None = None


class PresetSpec(Strict):
    """A textbook problem from `topopt.presets`, with its numbers."""

    name: str
    options: dict[str, int | float | str] = {}


class VoxelSpec(Strict):
    """How fine: the edge length in mm, or about how many voxels inside the body."""

    size: Positive | None = None
    count: Annotated[int, Field(gt=0)] | None = None

    @model_validator(mode="after")
    def _one(self) -> "VoxelSpec":
        if self.size is not None and self.count is not None:
            raise ValueError("give either size or count, not both")
        if self.size is None and self.count is None:
            return VoxelSpec(count=100_000)
        return self


class MaterialSpec(Strict):
    """A material that is not in the catalogue. E and yield in MPa, density in kg/m3."""

    name: str = "own material"
    E: Positive
    nu: Annotated[float, Field(gt=-1, lt=0.5)]
    density: Positive
    yield_strength: Positive


class SupportSpec(Strict):
    """Hold the faces `on`. fix: "all", some of [x, y, z], or "roller" (the direction of the face's normal)."""

    on: dict[str, Any]
    fix: Literal["all", "roller"] | list[Literal["x", "y", "z"]] = "all"


class LoadSpec(Strict):
    """Load the faces `on`: force [N], pressure [MPa, into the body] or moment [N mm, about the faces' centroid]."""

    on: dict[str, Any]
    force: FiniteVector | None = None
    pressure: Finite | None = None
    moment: FiniteVector | None = None

    @model_validator(mode="after")
    def _one(self) -> "LoadSpec":
        if sum(v is not None for v in (self.force, self.pressure, self.moment)) != 1:
            raise ValueError("give exactly one of force, pressure and moment")
        return self


class CaseSpec(Strict):
    """One load case: what acts at the same time. gravity in multiples of g, for instance [0, 0, -1]."""

    name: str = "load"
    weight: Annotated[float, Field(ge=0, allow_inf_nan=False)] = 1.0
    apply: list[LoadSpec] = []
    gravity: FiniteVector = (0.0, 0.0, 0.0)


class OptimizeSpec(Strict):
    """What is allowed and how it is sought. filter_radius in mm: no member gets thinner than about twice that.

    For a preset, None means its textbook value and method; for a body, 2.5 voxels and projection to black and white.
    """

    volume_fraction: float | None = Field(default=None, allow_inf_nan=True)
    mass_kg: Positive | None = None
    filter: Literal["density", "sensitivity"] = "density"
    filter_radius: Positive | None = None
    projection: bool | None = None
    penalty: Annotated[float, Field(ge=1, allow_inf_nan=False)] = 3.0
    move: Annotated[float, Field(gt=0, le=1)] = 0.2
    max_iterations: Annotated[int, Field(ge=1)] = 200
    symmetry: list[Literal["x", "y", "z"]] = []
    element: Literal["incompatible", "standard"] | None = None


class ExportSpec(Strict):
    """Files to write. smoothing: Taubin steps; tolerance: of the simplification, mm. thickness: of 2-D designs, mm."""

    formats: list[Literal["stl", "3mf", "glb", "vtu", "step"]] = ["stl", "3mf", "glb", "vtu"]
    smoothing: Annotated[int, Field(ge=0, le=50)] = 10
    tolerance: Annotated[float, Field(ge=0, allow_inf_nan=False)] = 0.05
    thickness: Positive = 5.0


class VerifySpec(Strict):
    """Second opinions on the exported body: the re-voxelised referee, and DOLFINx on body-fitted tetrahedra."""

    referee: bool = True
    reanalysis: bool = True
    tetrahedra_seconds: Positive | None = None


class ResourceSpec(Strict):
    """What the run may take. memory_gb: default, four fifths of what is free when it starts. threads: 0 means all."""

    memory_gb: Positive | None = None
    threads: Annotated[int, Field(ge=0)] = 0
    checkpoint_every: Annotated[int, Field(ge=1)] = 5


class StructureJob(Strict):
    """From "these supports, these loads, this much material" to a part."""

    job: Literal["structure"] = "structure"
    name: str = Field(default="structure", pattern=r"^[\w .+-]{1,80}$")
    body: BodySpec | None = None
    preset: PresetSpec | None = None
    material: str | MaterialSpec = "Al 6061-T6"
    voxels: VoxelSpec = VoxelSpec(count=100_000)
    keep: list[dict[str, Any]] = []
    keep_out: list[dict[str, Any]] = []
    preserve: Annotated[float, Field(ge=0, allow_inf_nan=False)] | None = None
    supports: list[SupportSpec] = []
    loads: list[CaseSpec] = []
    optimize: OptimizeSpec = OptimizeSpec()
    export: ExportSpec = ExportSpec()
    verify: VerifySpec = VerifySpec()
    resources: ResourceSpec = ResourceSpec()

    @model_validator(mode="after")
    def _one_source(self) -> "StructureJob":
        if (self.body is None) == (self.preset is None):
            raise ValueError("give either a body (body: {file: part.step}) or a preset (preset: {name: mbb_beam})")
        return self


def load_job(path: Path, overrides: Sequence[str] = ()) -> StructureJob:
    """Read and check a job file.

    Raises:
        JobError: missing or unreadable file, YAML that does not parse, an unknown key, a value that cannot be.
    """
    from ruamel.yaml import YAML
    from ruamel.yaml.error import YAMLError

    if not path.is_file():
        raise JobError(f"job file {path} does not exist: check the path")
    try:
        data = YAML(typ="safe", pure=True).load(path.read_text(encoding="utf-8"))
    except (YAMLError, UnicodeDecodeError) as error:
        where = getattr(error, "problem_mark", None)
        line = f" near line {where.line + 1}" if where else ""
        raise JobError(f"{path} is not valid YAML{line}: check indentation, colons and brackets") from error
    if not isinstance(data, dict):
        raise JobError(f"{path} holds no job: it must be a mapping such as `job: structure`")
    for override in overrides:
        _override(data, override)
    return parse_job(data, base=path.parent)


def parse_job(data: Mapping[str, Any], base: Path | None = None) -> StructureJob:
    """Check a job given as plain data; file names in it are relative to `base`.

    Raises:
        JobError: as in `load_job`.
    """
    data = _plain(data)
    _refuse_unknown_keys(data, StructureJob, ())
    try:
        job = StructureJob.model_validate(data)
    except ValidationError as error:
        first = error.errors()[0]
        where = ".".join(str(part) for part in first["loc"] if isinstance(part, int) or str(part)[:1].islower())
        message = first["msg"].removeprefix("Value error, ")
        raise JobError(f"{where or 'job'}: {message}") from error
    if job.body is not None and base is not None:
        body = job.body.model_copy(update={"file": (base / job.body.file).resolve()})
        job = job.model_copy(update={"body": body})
    return job


def dump_job(job: StructureJob, path: Path) -> None:
    """Write the resolved job, every default included."""
    from ruamel.yaml import YAML

    writer = YAML()
    writer.default_flow_style = None
    with path.open("w", encoding="utf-8") as file:
        writer.dump(job.model_dump(mode="json"), file)


def _override(data: dict[str, Any], override: str) -> None:
    from ruamel.yaml import YAML
    from ruamel.yaml.error import YAMLError

    key, sign, text = override.partition("=")
    if not sign or not key:
        raise JobError(f"{override!r} is not an override: write key=value, for instance optimize.volume_fraction=0.25")
    try:
        value = YAML(typ="safe", pure=True).load(text)
    except YAMLError as error:
        raise JobError(f"{override!r}: the value is not valid YAML") from error
    *parents, last = key.split(".")
    place: Any = data
    for part in parents:
        if isinstance(place, list):
            place = place[_index(part, place, key)]
        elif isinstance(place, dict):
            place = place.setdefault(part, {})
        else:
            raise JobError(f"override {key}: {part} has no entries of its own")
    if isinstance(place, list):
        place[_index(last, place, key)] = value
    elif isinstance(place, dict):
        place[last] = value
    else:
        raise JobError(f"override {key}: {last} cannot be set there")


def _index(part: str, place: list[Any], key: str) -> int:
    if not part.isdigit() or int(part) >= len(place):
        raise JobError(f"override {key}: {part} is not an entry of a list of {len(place)}, counted from 0")
    return int(part)


def _refuse_unknown_keys(data: Any, model: type[BaseModel], where: tuple[str, ...]) -> None:
    if not isinstance(data, Mapping):
        return
    known = list(model.model_fields)
    for key, value in data.items():
        if key not in known:
            near = difflib.get_close_matches(str(key), known, n=1, cutoff=0.0)
            place = ".".join(where) or "the job"
            raise JobError(f"unknown key {key!r} in {place}: did you mean {near[0]!r}? It knows {', '.join(known)}")
        inner = _models(model.model_fields[key].annotation)
        for entry in value if isinstance(value, list) else [value]:
            if len(inner) == 1:
                _refuse_unknown_keys(entry, inner[0], (*where, str(key)))


def _models(annotation: Any) -> list[type[BaseModel]]:
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        return [annotation]
    if typing.get_origin(annotation) in (typing.Union, types.UnionType, list, Annotated):
        return [model for part in typing.get_args(annotation) for model in _models(part)]
    return []


def _plain(data: Any) -> Any:
    if isinstance(data, Mapping):
        return {str(k): _plain(v) for k, v in data.items()}
    if isinstance(data, list | tuple):
        return [_plain(v) for v in data]
    return data

"""The job kind `structure`, as it may be stated: a body or a preset, what holds it, what pulls it, how much stays."""

from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import Field, model_validator

from jobs.job import Job
from jobs.strict import Finite, FiniteVector, JobName, Positive, Strict


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

    method: optimality criteria or the method of moving asymptotes.
    For a preset, None means its textbook value and method; for a body, 2.5 voxels and projection to black and white.
    """

    volume_fraction: float | None = Field(default=None, allow_inf_nan=True)
    mass_kg: Positive | None = None
    method: Literal["oc", "mma"] = "oc"
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


class StructureJob(Job):
    """From "these supports, these loads, this much material" to a part."""

    job: Literal["structure"] = "structure"
    name: JobName = "structure"
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

    @property
    def save_every(self) -> int:
        return self.resources.checkpoint_every

    def files(self) -> list[Path]:
        """Every file that the job names: the body, then the bodies of regions."""
        regions = [Path(spec["body"]) for spec in (*self.keep, *self.keep_out) if _is_file(spec)]
        return [self.body.file, *regions] if self.body else regions

    def with_files(self, moved: Mapping[Path, Path]) -> "StructureJob":
        """The same job with its files elsewhere."""

        def at(spec: dict[str, Any]) -> dict[str, Any]:
            return {**spec, "body": str(moved[Path(spec["body"])])} if _is_file(spec) else spec

        body = self.body and self.body.model_copy(update={"file": moved[self.body.file]})
        keep, keep_out = [at(s) for s in self.keep], [at(s) for s in self.keep_out]
        return self.model_copy(update={"body": body, "keep": keep, "keep_out": keep_out})


def _is_file(region: dict[str, Any]) -> bool:
    return isinstance(region.get("body"), str)

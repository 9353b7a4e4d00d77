"""The job kind `features`, as it may be stated: a planar part whose voids or bars are CAD features."""

from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import Field, model_validator

from jobs.job import Job
from jobs.strict import Finite, JobName, Positive, Strict

Point = tuple[Finite, Finite]
Box = tuple[Point, Point]
Share = Annotated[float, Field(gt=0, lt=1, allow_inf_nan=False)]
Count = Annotated[int, Field(ge=1, le=60)]


class PlaceSpec(Strict):
    """Where something acts. box: lowest and highest corner, mm; or edges: a point on each edge of the outline."""

    box: Box | None = None
    edges: list[Point] | None = None

    @model_validator(mode="after")
    def _one_place(self) -> "PlaceSpec":
        if (self.box is None) == (not self.edges):
            raise ValueError("give either a box (two corners) or edges (a point on each)")
        return self


class PlanarSupportSpec(PlaceSpec):
    """What is held: the nodes in the box or on the edges."""

    fix: Literal["all", "x", "y"] = "all"


class PlanarLoadSpec(PlaceSpec):
    """A force in N, shared by the nodes in the box or on the edges."""

    force: Point


class DomainSpec(Strict):
    """The plate before there are voids, and what acts on it.

    outline: corners in mm; or file: a DXF drawing or a STEP body, of which face number `face` is taken, the largest
    first; units: of the file's numbers, null if it says them itself. h: element size, mm. cells: what the optimiser
    sees; triangles that fit, or pixels on the grid engine. loads: load cases, each a list of loads that act together.
    keep: boxes in which material stays. rim: mm of material that stay along the edges that are held or loaded.
    """

    outline: list[Point] | None = None
    file: Path | None = None
    units: Literal["mm", "cm", "m", "in"] | None = None
    face: Annotated[int, Field(ge=1, le=60)] = 1
    h: Positive
    cells: Literal["triangles", "pixels"] = "triangles"
    supports: list[PlanarSupportSpec]
    loads: list[list[PlanarLoadSpec]]
    keep: list[Box] = []
    rim: Annotated[float, Field(ge=0, allow_inf_nan=False)] = 0.0
    E: Positive = 1.0
    nu: Annotated[float, Field(ge=0, lt=0.5)] = 0.3
    plane: Literal["strain", "stress"] = "stress"

    @model_validator(mode="after")
    def _one_outline(self) -> "DomainSpec":
        if (self.outline is None) == (self.file is None):
            raise ValueError("domain: give either an outline (corners) or a file (DXF or STEP)")
        if self.outline is not None and len(self.outline) < 3:
            raise ValueError("domain.outline: at least three corners are needed")
        return self


class FeaturesJob(Job):
    """A published task or a domain of one's own; out come outlines of lines, arcs and ellipses.

    task: 1 to 7. volume: fraction of the domain; null takes the task's. grid: cells of the start layout along x and y.
    feature: voids in a full plate, or bars in an empty one. min_radius: of corners, the tool's, mm. bridge: least width
    of material between voids and to the border, mm. thickness: of the plate, mm; thickness_range: let it be found.
    tidy: by what share the compliance may rise when overlapping voids are made one at the end; 0 leaves them.
    restarts: how many starts are tried, each shifted a little at random (seed); the best one is kept. picture: draw the
    STEP body at the end.
    """

    job: Literal["features"] = "features"
    name: JobName = "features"
    task: Annotated[int, Field(ge=1, le=7)] | None = None
    domain: DomainSpec | None = None
    volume: Share | None = None
    grid: tuple[Count, Count] | None = None
    feature: Literal["void", "bar"] = "void"
    backend: Literal["analytic", "neural"] = "analytic"
    min_radius: Annotated[float, Field(ge=0, allow_inf_nan=False)] = 0.0
    bridge: Annotated[float, Field(ge=0, allow_inf_nan=False)] = 0.0
    thickness: Positive = 1.0
    thickness_range: tuple[Positive, Positive] | None = None
    iterations: Annotated[int, Field(ge=1, le=2000)] = 160
    tidy: Annotated[float, Field(ge=0, lt=1, allow_inf_nan=False)] = 0.01
    restarts: Annotated[int, Field(ge=1, le=20)] = 1
    seed: Annotated[int, Field(ge=0)] = 0
    picture: bool = True
    checkpoint_every: Annotated[int, Field(ge=1)] = 10

    @model_validator(mode="after")
    def _one_source(self) -> "FeaturesJob":
        if (self.task is None) == (self.domain is None):
            raise ValueError("give either a task (1 to 7) or a domain")
        if self.domain is not None and self.volume is None:
            raise ValueError("volume: give the fraction of the domain that may be material")
        if self.feature == "bar" and self.backend == "neural":
            raise ValueError("backend: bars are analytic; take backend: analytic")
        return self

    @property
    def save_every(self) -> int:
        return self.checkpoint_every

    def files(self) -> list[Path]:
        return [self.domain.file] if self.domain and self.domain.file else []

    def with_files(self, moved: Mapping[Path, Path]) -> "FeaturesJob":
        if not self.domain or not self.domain.file:
            return self
        changes: dict[str, Any] = {"file": moved[self.domain.file]}
        return self.model_copy(update={"domain": self.domain.model_copy(update=changes)})

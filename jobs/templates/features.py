"""The job kind `features`: a planar domain in; outlines of lines, arcs and ellipses, as CAD and judged, out."""

from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from jobs.errors import JobError
from jobs.features_spec import DomainSpec, FeaturesJob, PlaceSpec, Point
from jobs.observer import Observer
from jobs.store import Run, readable_errors
from topopt.cad.edges import Edge
from topopt.cad.places import NEAR, edges_at, on_edges, strips
from topopt.cad.region import Region
from topopt.cad.svg import FILL, svg_text
from topopt.cad.whole import write_whole
from topopt.errors import OutlineError
from topopt.features import Settings, layout, tasks
from topopt.features.domain import Domain, within
from topopt.features.finish import Result
from topopt.features.pixel_domain import border_points
from topopt.features.pixels import PixelPlate
from topopt.features.plate import TrianglePlate
from topopt.features.restarts import Restarts, Series

if TYPE_CHECKING:
    from topopt.cad.drawing import Annotation
    from topopt.cad.outline import OutlineAnalysis
    from topopt.cad.places import Where
    from topopt.features.backend import Backend

GRID = (5, 3)
FINISHED, PICTURE = "part", "picture.png"


@dataclass
class FeaturesRun:
    """One run of the job; `setup` fills the rest in."""

    job: FeaturesJob
    run: Run
    observer: Observer

    def setup(self) -> Series:
        """Read, mesh and lay out the first features; -> the first state."""
        job = self.job
        self.observer.phase("pose", f"task {job.task}" if job.task else "reading the domain")
        self.domain, self.plate, goal, grid = self._posed()
        bars = job.feature == "bar"
        lay = layout.crossed_bars if bars else layout.squares
        problem = self.domain.problem(self.plate, job.volume or goal, lay(self.plate, *grid), job.name, solid=bars)
        if job.thickness_range is not None:
            problem = replace(problem, thickness=job.thickness_range)
        asked = {"iterations": job.iterations, "tool": job.min_radius, "bridge": job.bridge, "tidy": job.tidy}
        settings = replace(self._settings(), **asked)
        self.runs = Restarts(problem, settings, self._backend(), job.restarts, job.seed)
        self.first = self.runs.start()
        return self.first

    def load(self, path: Path) -> Series:
        """A checkpoint of this problem.

        Raises:
            JobError: it belongs to another one.
        """
        series = Series.load(path)
        if series.current.x.shape != self.first.current.x.shape or series.starts != self.job.restarts:
            raise JobError(f"{path.name} belongs to another layout; was config.yaml changed?")
        return series

    def step(self, series: Series) -> tuple[Series, dict[str, Any]]:
        series, info = self.runs.step(series)
        return series, {**vars(info), "iteration": series.iteration, "start": len(series.states)}

    def describe(self, row: dict[str, Any]) -> str:
        start = f"start {row['start']}  " if self.job.restarts > 1 else ""
        return (
            f"{start}c {row['compliance']:.6g}  volume {row['volume']:.4f} of {row['target']:.4f}"
            f"  sharpness {row['sharpness']:.2f}  grey {row['grey']:.3f}"
        )

    def preview(self, series: Series, path: Path) -> None:
        """The domain and the features so far, as a picture of the page."""
        x = series.current.x if self.job.thickness_range is None else series.current.x[:-1]
        drawn = [self.domain.region]
        for shape in self.runs.designs[len(series.states) - 1].backend.shapes(x):
            try:
                drawn.append(Region(shape.wires()))
            except OutlineError:  # on its way from one form to another; it becomes valid in time
                continue
        look = self.run.folder / "looks" / "outlines.svg"
        with readable_errors(self.run.folder):
            look.parent.mkdir(exist_ok=True)
            # Material in grey: the domain behind white voids, or bars on a white domain.
            fills = (FILL, "#ffffff") if self.job.feature == "void" else ("#ffffff", FILL)
            write_whole(look, svg_text(drawn, self._annotation(), name=self.job.name, fills=fills).encode())

    def finish(self, series: Series) -> dict[str, Any]:
        """Exact shapes of the best start, files, and the outline meshed to fit and solved again."""
        self.observer.phase("solve", "making every feature valid, and meeting the volume")
        result, *others = self.runs.finish(series)
        self.observer.phase("export", "cutting the outline exactly; STEP, DXF, SVG")
        artifacts = self._write(result)
        self.observer.phase("reanalysis", "solving again on a mesh of the outline")
        outline = self.domain.reanalysed(result, self.plate.h)
        if self.job.picture:
            self.observer.phase("report", "drawing the part")
            artifacts += self._picture()
        summary = self._summary(result, outline, artifacts)
        return {**summary, "starts": [r.thresholded for r in (result, *others)]}

    # -- posing -------------------------------------------------------------------------------------------------------

    def _posed(self) -> tuple[Domain, TrianglePlate | PixelPlate, float, tuple[int, int]]:
        job = self.job
        if job.task is not None:
            task = tasks.task(job.task)
            mesh = task.mesh()
            domain = replace(task.domain(task.anchors(mesh)), thickness=1.0)
            return domain, domain.plate(mesh), task.goal, job.grid or task.grid
        assert job.domain and job.volume
        domain = self._own_domain(job.domain)
        plate = domain.plate(job.domain.h) if job.domain.cells == "triangles" else domain.pixels(job.domain.h)
        return domain, plate, job.volume, job.grid or GRID

    def _own_domain(self, spec: DomainSpec) -> Domain:
        from topopt.cad.outline import PlanarLoad, PlanarSupport
        from topopt.cad.wires import polygon, rectangle

        if not spec.supports or not any(spec.loads):
            raise JobError("domain: nothing holds the plate, or nothing pulls on it; add supports and loads")
        region = Region(polygon(spec.outline)) if spec.outline else _region_of(spec)
        held = {"all": (True, True), "x": (True, False), "y": (False, True)}
        places = [_place(region, place) for place in (*spec.supports, *(load for case in spec.loads for load in case))]
        at = iter(places)
        supports = tuple(PlanarSupport(next(at).where, held[s.fix]) for s in spec.supports)
        cases = tuple(
            tuple(PlanarLoad(place.where, load.force, place.ends) for load, place in zip(case, at, strict=False))
            for case in spec.loads
            if case
        )
        keep = [rectangle(*box) for box in spec.keep]
        if spec.rim:
            keep += strips(tuple(dict.fromkeys(edge for place in places for edge in place.edges)), spec.rim)
        thickness = self.job.thickness
        return Domain(region, supports, cases, (), tuple(keep), spec.E, spec.nu, spec.plane, thickness)

    def _settings(self) -> Settings:
        if self.job.backend == "analytic":
            return Settings()
        from topopt.features.neural.backend import SETTINGS

        return SETTINGS

    def _backend(self) -> "Backend | None":
        if self.job.backend == "analytic":
            return None
        from topopt.features.neural.backend import Neural

        return Neural()

    # -- what leaves --------------------------------------------------------------------------------------------------

    def _annotation(self) -> "Annotation":
        from topopt.cad.drawing import Annotation

        border = border_points(self.domain.region, self.plate.h)
        loads = [load for case in self.domain.cases for load in case]
        # A load within the plate has no point on its border; its arrow ends where its cells are.
        found = [border[load.where(border)] for load in loads]
        found = [
            at if len(at) else self.plate.points[load.where(self.plate.points)]
            for at, load in zip(found, loads, strict=True)
        ]
        arrows = [(tuple(at.mean(0).tolist()), load.force) for at, load in zip(found, loads, strict=True) if len(at)]
        return Annotation((), tuple(arrows))

    def _write(self, result: Result) -> list[str]:
        from topopt.cad.planar_export import export_design

        design = replace_name(self.domain.design(result), FINISHED)
        if result.thickness is None:
            design = design.model_copy(update={"thickness": self.job.thickness})
        with readable_errors(self.run.folder):
            files = export_design(design, self.run.artifacts, annotation=self._annotation())
        look = self.run.folder / "looks" / "outlines.svg"
        if "svg" in files.paths:
            write_whole(look, files.paths["svg"].read_bytes())
        return [f"artifacts/{path.name}" for path in sorted(files.paths.values())]

    def _picture(self) -> list[str]:
        """The STEP file opened again and drawn; nothing where nothing can be drawn."""
        from topopt.cad.planar_picture import step_picture

        path = self.run.artifacts / PICTURE
        return [f"artifacts/{PICTURE}"] if step_picture(self.run.artifacts / f"{FINISHED}.step", path) else []

    def _summary(self, result: Result, outline: "OutlineAnalysis", artifacts: list[str]) -> dict[str, Any]:
        notes = [f"feature {k}: {why}" for k, reasons in result.invalid.items() for why in reasons]
        if not outline.sound:
            notes.append(f"{outline.pieces} pieces, {outline.attached} of {outline.anchors} loaded points attached")
        task = tasks.task(self.job.task) if self.job.task else None
        return {
            "job": self.job.kind(),
            "name": self.job.name,
            "task": self.job.task,
            "backend": self.job.backend,
            "feature": self.job.feature,
            "features": len(result.shapes),
            "iterations": result.iterations,
            "goal": result.problem.goal,
            "volume": result.thresholded_volume,
            "smooth": result.smooth,
            "compliance": result.thresholded,
            "outline_compliance": outline.compliance,
            "outline_volume": outline.volume_fraction,
            "difference": outline.compliance / result.thresholded - 1,
            "published": task.published if task else None,
            "thickness": self.job.thickness if result.thickness is None else result.thickness,
            "sound": outline.sound,
            "artifacts": artifacts,
            "notes": notes,
        }


def replace_name(design: Any, name: str) -> Any:
    """The same planar design under the name that its files will have."""
    return design.model_copy(update={"name": name})


def _ends(box: Any) -> tuple[tuple[float, float], ...]:
    """Points that the mesh must have: the ends of a loaded stretch, where the box is flat."""
    (x0, y0), (x1, y1) = box
    return ((x0, y0), (x1, y1)) if x0 == x1 or y0 == y1 else ()


@dataclass(frozen=True)
class _Place:
    """where: of which points; ends: that the mesh must have as nodes; edges: of the outline, where those were named."""

    where: "Where"
    ends: tuple[Point, ...] = ()
    edges: tuple[Edge, ...] = ()


def _place(region: Region, spec: PlaceSpec) -> _Place:
    if spec.box:
        return _Place(within(spec.box), _ends(spec.box))
    edges = edges_at(region, spec.edges or ())
    ends = tuple(dict.fromkeys(end for edge in edges for end in (edge.start, edge.end)))
    return _Place(on_edges(edges, NEAR * region.size), ends, edges)


def _region_of(spec: DomainSpec) -> Region:
    """The face of the file that is asked for.

    Raises:
        JobError: the file has fewer. BodyError, OutlineError: it holds no plane outline.
    """
    from topopt.cad.flat_file import faces_of_file

    assert spec.file is not None
    found = faces_of_file(spec.file, spec.units)
    if spec.face > len(found):
        raise JobError(f"domain.face is {spec.face}: {spec.file.name} has {len(found)} plane outlines")
    return found[spec.face - 1].region

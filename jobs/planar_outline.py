"""Plane densities as exact CAD: from a finished run or from arrays to STEP, DXF, SVG and editable parameters."""

import zipfile
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from jobs.errors import JobError, RunFolderError
from jobs.observer import Log
from jobs.store import Run, readable_errors
from pde.grid import Grid
from topopt.cad.parameters import PlanarDesign
from topopt.cad.planar_export import export_design
from topopt.density import DensityDesign, State
from topopt.errors import ExportError, OutlineError

Field = NDArray[np.float64]


@dataclass(frozen=True)
class PlaneDensity:
    """density, fraction (share of each element that may be material): (nx, ny). volume: mm2 that the contour encloses;
    None: that of the density. thickness: mm."""

    density: Field
    fraction: Field
    grid: Grid
    volume: float | None = None
    thickness: float = 1.0
    name: str = "part"

    def design(self, tolerance: float | None = None, smoothing: float = 0.0) -> PlanarDesign:
        """Lines and arcs; arguments and errors as those of `topopt.cad.density_outline.outline_of_density`."""
        from topopt.cad.density_outline import outline_of_density
        from topopt.cad.pixel_outline import region_of_pixels

        domain = region_of_pixels(self.fraction >= 0.5, self.grid)
        share = (self.fraction >= 0.5).astype(float)
        found = outline_of_density(
            self.density,
            self.grid,
            domain=domain,
            fraction=share,
            volume=self.volume,
            tolerance=tolerance,
            smoothing=smoothing,
        )
        return found.design(self.thickness, self.name)


def of_design(design: DensityDesign, state: State, name: str = "part") -> PlaneDensity:
    """Of a two-dimensional design.

    The contour is that of the filtered field, which is smooth where the projected one has the stairs of the elements;
    it encloses the volume of the projected one.
    """
    p = design.problem
    filtered, rho, _ = design.density(state)
    field = np.clip(np.where(p.kept, 1.0, filtered), 0, 1)
    volume = float((rho * (p.filled >= 0.5)).sum()) * p.grid.element_volume
    return PlaneDensity(field, p.filled, p.grid, volume, p.thickness, name)


def drawings(plane: PlaneDensity, run: Run) -> tuple[list[str], list[str]]:
    """Leave part.dxf and part.svg among the artifacts. -> their paths, and notes where it cannot be."""
    try:
        with readable_errors(run.folder):
            files = export_design(plane.design(), run.artifacts, formats=("dxf", "svg"))
    except (ExportError, OutlineError) as error:  # the other files of the run stand
        return [], [f"no DXF and SVG: {error}"]
    return [path.relative_to(run.folder).as_posix() for path in sorted(files.paths.values())], []


def of_source(source: Path) -> PlaneDensity:
    """A run folder of a plane structure job, or an .npz file.

    The file holds `density` (nx, ny), in [0, 1], first axis x; and, if they are not 1 mm, 0 and everywhere, `spacing`
    (mm), `origin` (mm) and `fraction` (nx, ny).

    Raises:
        JobError, RunFolderError: it is neither, or not of two dimensions.
    """
    if source.is_dir():
        return _of_run(source)
    if not source.is_file():
        raise JobError(f"there is no {source}: give a run folder, or a file of arrays (.npz)")
    return _of_arrays(source)


def _of_arrays(path: Path) -> PlaneDensity:
    try:
        with np.load(path, allow_pickle=False) as data:
            if isinstance(data, np.ndarray) or "density" not in data:
                raise JobError(f"{path.name} holds no array `density`: write it with numpy.savez(file, density=...)")
            density = np.asarray(data["density"], float)
            if density.ndim != 2:
                raise JobError(
                    f"density of {path.name} has {density.ndim} axes: an outline is plane and needs (nx, ny)"
                )
            spacing = tuple(np.broadcast_to(np.asarray(data.get("spacing", 1.0), float), (2,)).tolist())
            origin = tuple(np.asarray(data.get("origin", (0.0, 0.0)), float).ravel().tolist())
            fraction = np.asarray(data.get("fraction", np.ones(density.shape)), float)
    except JobError:
        raise
    except (OSError, ValueError, zipfile.BadZipFile) as reason:
        raise JobError(f"{path.name} cannot be read as arrays of numbers: write it with numpy.savez") from reason
    if fraction.shape != density.shape:
        raise JobError(f"fraction {fraction.shape} of {path.name} must have the shape {density.shape} of density")
    return PlaneDensity(density, fraction, Grid(density.shape, spacing, origin))


def _of_run(folder: Path) -> PlaneDensity:
    from jobs.spec import load_job
    from jobs.structure_spec import StructureJob
    from jobs.templates.structure import Structure

    run = Run(folder)
    if not run.is_run:
        raise RunFolderError(f"{folder} holds no run: give a folder that `formgrad run` made, or an .npz file")
    job = load_job(run.config)
    if not isinstance(job, StructureJob) or job.preset is None:
        raise JobError(f"{folder} holds no plane density: a structure run of a two-dimensional preset has one")
    template = Structure(job, run, Log())
    template.setup()
    assert template.design
    problem, checkpoint = template.design.problem, run.latest_checkpoint()
    if problem.grid.dim != 2:
        raise JobError(
            f"{job.preset.name} has three dimensions: an outline is plane; its surface is in {run.artifacts}"
        )
    if checkpoint is None:
        raise RunFolderError(f"{folder} has saved no design yet: let the run finish")
    return of_design(template.design, template.load(checkpoint))

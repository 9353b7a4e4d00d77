"""What follows the optimisation: surface, files, second opinions, pictures, report; -> the content of result.json."""

from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

from jobs.observer import Observer
from jobs.store import Run
from jobs.structure_spec import StructureJob
from topopt.cad.export import form_result, write_body
from topopt.cad.surface import FormedBody
from topopt.density import Result
from topopt.errors import ExportError

if TYPE_CHECKING:
    from topopt.cad.gates import Gate
    from topopt.cad.verdict import Reanalysis
    from topopt.part import Part


def finish(job: StructureJob, run: Run, observer: Observer, part: "Part | None", result: Result) -> dict[str, Any]:
    """Everything between the last iteration and result.json.

    Raises:
        ExportError: a gate of the export did not pass; what was optimised stays in the checkpoint.
    """
    observer.phase("surface", "forming the body")
    formed = _form(job, part, result)
    notes = [_note(gate) for gate in formed.gates if not gate.passed]
    if not result.converged:
        notes.append(f"the optimisation ended after {result.iterations} iterations before it had settled")
    observer.phase("export", "writing " + ", ".join(job.export.formats))
    files = _write(job, run, result, formed, notes)
    referee = _referee(job, observer, part, result, formed)
    again = _reanalysis(job, run, observer, part, result, formed, notes)
    observer.phase("report", "drawing and writing the report")
    if again is not None:
        notes += [_note(gate) for gate in again.gates if not gate.passed]
        files.append(_stress_file(run, again))
    summary = _summary(job, part, result, formed) | {
        "exports": files,
        "referee": referee,
        "reanalysis": again.summary() if again else None,
        "notes": notes,
        "pictures": _pictures(run, part, formed, again),
    }
    summary["report"] = _report(job, run, part, result, summary)
    return summary


def _note(gate: "Gate") -> str:
    return f"{gate.name}: {gate.value:.3g}, bound {gate.bound:.3g}. {gate.catches}"


def _summary(job: StructureJob, part: "Part | None", result: Result, formed: FormedBody) -> dict[str, Any]:
    return {
        "status": "succeeded",
        "job": job.kind(),
        "name": job.name,
        "voxels": int((result.problem.filled > 0).sum()),
        "voxel_size_mm": _step(result),
        "iterations": result.iterations,
        "converged": result.converged,
        "compliance": result.compliance,
        "compliance_per_case": list(result.per_case),
        "volume_fraction": result.volume_fraction,
        "volume_mm3": result.volume,
        "grey": result.grey,
        "mass_kg": part.material.mass_kg(formed.volume) if part else None,
        "gates": [asdict(gate) for gate in formed.gates],
        "holes": _holes(part, formed),
    }


def _form(job: StructureJob, part: "Part | None", result: Result) -> FormedBody:
    e = job.export
    if part is None:
        return form_result(result, smoothing=e.smoothing, tolerance=min(e.tolerance, 0.05 * _step(result)))
    return form_result(
        result,
        part.body.surface,
        keep=part.keep_surfaces(),
        keep_out=part.keep_out_surfaces(),
        smoothing=e.smoothing,
        tolerance=e.tolerance,
    )


def _step(result: Result) -> float:
    return float(result.problem.grid.steps.min())


def _write(job: StructureJob, run: Run, result: Result, formed: FormedBody, notes: list[str]) -> list[dict[str, Any]]:
    from topopt.cad.write import exports

    paths = []
    for kind in job.export.formats:
        try:
            paths.append(write_body(result, formed, run.artifacts / f"part.{kind}"))
        except ExportError as error:
            # A free form has too many facets for STEP; that must not cost the other files.
            if kind != "step":
                raise
            notes.append(f"no STEP file: {error}")
    return [{**row, "path": _relative(run, Path(row["path"]))} for row in exports(paths)]


def _relative(run: Run, path: Path) -> str:
    return path.relative_to(run.folder).as_posix()


def _holes(part: "Part | None", formed: FormedBody) -> list[dict[str, Any]]:
    """Radius of every full hole that is held or loaded, measured on the exported surface."""
    from topopt.cad.write import measure_hole_radius

    cylinders = [c for patch in part.patches for c in patch.cylinders if c.hollow] if part else []
    rows: list[dict[str, Any]] = []
    for c in cylinders:
        at = [round(float(v), 6) for v in c.point]
        if any(row["at"] == at and row["radius_mm"] == c.radius for row in rows):
            continue
        try:
            measured = measure_hole_radius(formed.surface, c.point, c.direction, c.radius)
        except ExportError:
            continue  # a hole whose wall the design has mostly left away
        rows.append({"radius_mm": c.radius, "measured_mm": measured, "at": at})
    return rows


def _referee(
    job: StructureJob, observer: Observer, part: "Part | None", result: Result, formed: FormedBody
) -> dict[str, Any] | None:
    if not job.verify.referee:
        return None
    from topopt.cad.referee import referee, referee_on_grid

    observer.phase("referee", "re-voxelising the exported surface and solving once")
    if part is None:
        look = referee_on_grid(formed.surface, result.problem)
    else:
        m = part.material
        look = referee(formed.surface, part.supports, part.cases, m.E, m.nu, _referee_size(result), m.density)
    return {
        "compliance": look.compliance,
        "relative_difference": look.compliance / result.compliance - 1,
        "per_case": look.per_case,
        "max_displacement_mm": look.max_displacement,
        "voxels": look.voxels,
        "voxel_size_mm": look.size,
        "seconds": look.seconds,
    }


def _referee_size(result: Result, most: float = 700_000) -> float:
    """A third finer than the optimiser's voxels, as long as that stays a matter of seconds."""
    grid = result.problem.grid
    return _step(result) * max(1 / 1.5, min(1.0, (grid.size / most) ** (1 / 3)))


def _reanalysis(
    job: StructureJob,
    run: Run,
    observer: Observer,
    part: "Part | None",
    result: Result,
    formed: FormedBody,
    notes: list[str],
) -> "Reanalysis | None":
    if part is None or not job.verify.reanalysis:
        return None
    from topopt.cad.reanalysis import ReanalysisError, reanalyse

    observer.phase("reanalysis", "body-fitted tetrahedra and quadratic elements")
    try:
        look = reanalyse(
            formed.surface,
            part.supports,
            part.cases,
            part.material,
            claim=result.compliance,
            seconds=job.verify.tetrahedra_seconds,
        )
    except ReanalysisError as error:
        # The part stands, and so does the referee's verdict; that the second opinion is missing must be seen.
        notes.append(f"no re-analysis: {error}")
        return None
    return look


def _stress_file(run: Run, again: "Reanalysis") -> dict[str, Any]:
    """Mesh, stress and displacements of the re-analysis, for ParaView."""
    path = again.save(run.artifacts / "reanalysis.vtu")
    volume = float(again.mesh.volumes.sum())
    return {"path": _relative(run, path), "kind": "vtu", "watertight": None, "components": None, "volume_mm3": volume}


def _pictures(run: Run, part: "Part | None", formed: FormedBody, again: "Reanalysis | None") -> list[str]:
    from topopt.cad.picture import Shot, render_all

    ghost = part.body.surface if part else None
    shots = [
        Shot(formed.surface, run.artifacts / "view-iso.png", "iso", size=(1600, 1000), ghost=ghost),
        Shot(formed.surface, run.artifacts / "view-back.png", "back"),
        Shot(formed.surface, run.artifacts / "view-front.png", "front"),
    ]
    if again is not None:
        boundary, stress, _ = again.picture()
        shots.append(Shot(boundary, run.artifacts / "view-stress.png", "iso", scalars=stress))
    return [_relative(run, Path(shot.path)) for shot, drawn in zip(shots, render_all(shots), strict=True) if drawn]


def _report(job: StructureJob, run: Run, part: "Part | None", result: Result, summary: dict[str, Any]) -> str:
    from topopt.cad.report import write_report

    path = run.artifacts / "report.html"
    pictures = [run.folder / p for p in summary["pictures"]]
    write_report(path, job.model_dump(mode="json"), part, result, summary, pictures)
    return _relative(run, path)

"""The job kind `structure`: a part (or a preset) in; a verified, exported design out.

The way of a design: body -> voxels, regions, supports and loads -> density optimisation -> surface -> files ->
referee and re-analysis -> report. This file only says in which order; each step lives in `topopt`.
"""

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from jobs.errors import JobError
from jobs.observer import Observer
from jobs.store import Run
from jobs.structure_spec import LoadSpec, MaterialSpec, StructureJob, SupportSpec
from topopt.density import Continuation, DensityDesign, Result, Settings, State
from topopt.materials import Material, material
from topopt.problem import Problem

if TYPE_CHECKING:
    from topopt.cad.body import Body
    from topopt.loads import Force, LoadCase, Moment, Pressure, Support
    from topopt.part import Part

GRAVITY = 9806.65  # mm/s2


@dataclass
class Structure:
    """One run of the job; `setup` fills the rest in."""

    job: StructureJob
    run: Run
    observer: Observer
    part: "Part | None" = None
    design: DensityDesign | None = None

    # -- what the runner calls ----------------------------------------------------------------------------------------

    def setup(self) -> State:
        """Read, check and pose; -> the first state."""
        problem = self._preset() if self.job.preset else self._posed_part()
        self.design = DensityDesign(problem, self._settings(problem))
        return self.design.start()

    def load(self, path: Path) -> State:
        """A checkpoint of this problem.

        Raises:
            JobError: it belongs to another grid.
        """
        assert self.design
        state = State.load(path)
        if state.x.shape != self.design.problem.grid.shape:
            raise JobError(f"{path.name} belongs to another grid; was config.yaml changed?")
        return state

    def step(self, state: State) -> tuple[State, dict[str, Any]]:
        assert self.design
        state, info = self.design.step(state)
        # A guess: the steps that are planned, each as long as the last few.
        recent = [info.seconds for info in state.history[-8:]]
        return state, {**vars(info), "seconds_left": self.design.steps_left(state) * float(np.mean(recent))}

    def describe(self, row: dict[str, Any]) -> str:
        return (
            f"c {row['compliance']:.6g}  volume {row['volume']:.4f}  change {row['change']:.3f}"
            f"  grey {row['grey']:.3f}  CG {row['cg_iterations']}"
        )

    def preview(self, state: State, path: Path) -> None:
        """The shape so far, as GLB."""
        from topopt.cad.export import spatial_field
        from topopt.cad.picture import preview_glb

        assert self.design
        _, rho, _ = self.design.density(state)
        preview_glb(*spatial_field(rho, self.design.problem), path)

    def finish(self, state: State) -> dict[str, Any]:
        """Surface, files, second opinions and report; -> what goes into result.json."""
        from jobs.templates.structure_finish import finish

        assert self.design
        self.observer.phase("solve", "solving the final design accurately")
        result = self.design.finish(state)
        summary = finish(self.job, self.run, self.observer, self.part, result)
        if self.design.problem.grid.dim == 2:
            from jobs.planar_outline import drawings, of_design

            paths, notes = drawings(of_design(self.design, state), self.run)
            summary["artifacts"] = paths
            summary["notes"] += notes
        return summary

    # -- posing -------------------------------------------------------------------------------------------------------

    def _preset(self) -> Problem:
        from topopt.presets import PRESETS

        spec = self.job.preset
        assert spec
        if self.job.supports or self.job.loads or self.job.keep or self.job.keep_out:
            raise JobError("a preset brings its own supports, loads and regions: remove them, or give a body instead")
        if spec.name not in PRESETS:
            raise JobError(f"preset.name: there is no preset {spec.name!r}; choose one of {', '.join(PRESETS)}")
        try:
            problem = PRESETS[spec.name](**spec.options)
        except TypeError as error:
            raise JobError(f"preset.options: {spec.name} does not take these: {error}") from error
        if self.job.optimize.mass_kg is not None:
            raise JobError("optimize.mass_kg: presets have no mass; give volume_fraction")
        V = self.job.optimize.volume_fraction
        problem = problem if V is None else problem.with_volume(V)
        dofs = problem.physics.dofs_per_node(problem.grid.dim)
        self._check_memory(problem.grid.size, problem.grid.dim, dofs, len(problem.weights))
        from dataclasses import replace

        return replace(problem, thickness=self.job.export.thickness)

    def _posed_part(self) -> Problem:
        from topopt.part import Part, pose
        from topopt.voxels import grid_for

        job = self.job
        assert job.body
        self.observer.phase("read", f"reading {job.body.file.name}")
        body = self._body()
        if not job.supports:
            raise JobError("supports: nothing holds the body; add at least one, for instance "
                           "`- on: {faces: {normal: [0, 0, -1]}}`")  # fmt: skip
        if not any(case.apply or any(case.gravity) for case in job.loads):
            raise JobError("loads: nothing pulls on the body; add a case with a force, pressure, moment or gravity")
        grid = grid_for(body.surface, size=job.voxels.size, count=job.voxels.count)
        self._check_memory(grid.size, 3, 3, len(job.loads), whole=body.volume / grid.element_volume)
        shape = " x ".join(map(str, grid.shape))
        self.observer.phase("pose", f"{shape} voxels of {grid.steps[0]:.3g} mm; supports, loads and regions")
        self.part = Part(
            body=body,
            material=self._material(),
            supports=tuple(self._support(body, s) for s in job.supports),
            cases=tuple(self._case(body, n) for n in range(len(job.loads))),
            keep=tuple(self._region(body, spec) for spec in job.keep),
            keep_out=tuple(self._region(body, spec) for spec in job.keep_out),
            preserve=job.preserve,
        )
        return pose(
            self.part,
            grid,
            volume_fraction=self._volume_fraction(),
            mass_kg=job.optimize.mass_kg,
            element=job.optimize.element or "incompatible",
        )

    def _body(self) -> "Body":
        from topopt.cad.read import read_bodies, read_body

        spec = self.job.body
        assert spec
        if spec.name is None:
            return read_body(spec.file, spec.units)
        bodies = read_bodies(spec.file, spec.units)
        if spec.name not in bodies:
            raise JobError(f"body.name: {spec.file.name} has no body {spec.name!r}; it holds {', '.join(bodies)}")
        return bodies[spec.name]

    def _material(self) -> Material:
        spec = self.job.material
        if isinstance(spec, MaterialSpec):
            return Material(spec.name, spec.E, spec.nu, spec.density * 1e-12, spec.yield_strength)
        return material(spec)

    def _volume_fraction(self) -> float | None:
        V, mass = self.job.optimize.volume_fraction, self.job.optimize.mass_kg
        return 0.3 if V is None and mass is None else V

    def _support(self, body: "Body", spec: SupportSpec) -> "Support":
        from topopt.cad.select import select
        from topopt.loads import Support, roller_components

        patch = select(body, spec.on)
        if spec.fix == "roller":
            return Support(patch, roller_components(patch))
        axes = "xyz" if spec.fix == "all" else spec.fix
        return Support(patch, tuple(axis in axes for axis in "xyz"))  # pyright: ignore[reportArgumentType]

    def _case(self, body: "Body", number: int) -> "LoadCase":
        from topopt.loads import LoadCase

        spec = self.job.loads[number]
        name = spec.name if spec.name != "load" else f"load {number + 1}"
        gravity = tuple(GRAVITY * g for g in spec.gravity)
        return LoadCase(name, tuple(_load(body, load) for load in spec.apply), spec.weight, gravity)  # pyright: ignore[reportArgumentType]

    def _region(self, body: "Body", spec: dict[str, Any]) -> Any:
        from topopt.regions import region

        return region(spec, base=self.run.folder, body=body)

    # -- method -------------------------------------------------------------------------------------------------------

    def _settings(self, problem: Problem) -> Settings:
        o = self.job.optimize
        common: dict[str, Any] = {
            "method": o.method,
            "filter": o.filter,
            "penalty": o.penalty,
            "move": o.move,
            "max_iterations": o.max_iterations,
            "symmetry": tuple("xyz".index(axis) for axis in o.symmetry),
        }
        if self.job.preset:
            projection = Continuation() if o.projection else None
            from topopt.presets import E_MIN

            return Settings(
                radius=o.filter_radius or 1.5,
                projection=projection,
                e_min=E_MIN.get(problem.name, 1e-9),
                **common,
            )
        # A part is made of solid, so its density must end black and white, and its volume must be exact.
        projection = None if o.projection is False else Continuation()
        return Settings(
            radius=o.filter_radius or 2.5 * float(problem.grid.steps.max()),
            projection=projection,
            e_min=1e-6,
            tolerance=1e-3,
            volume_tolerance=1e-12,
            **common,
        )

    def _check_memory(self, elements: int, dim: int, dofs: int, cases: int, whole: float | None = None) -> None:
        import psutil

        from pde.grid.memory import bytes_needed, elements_that_fit

        limit = self.job.resources.memory_gb
        allowed = limit * 1e9 if limit else 0.8 * psutil.virtual_memory().available
        needed = bytes_needed(elements, dim, dofs, cases)
        if needed <= allowed:
            return
        fit = elements_that_fit(int(allowed), dim, dofs, cases)
        inside = f" (about {int(fit * whole / elements):,} inside the body)" if whole else ""
        raise JobError(
            f"voxels: {elements:,} voxels need {needed / 1e9:.1f} GB, but {allowed / 1e9:.1f} GB may be used: "
            f"{fit:,} fit{inside}; raise voxels.size, lower voxels.count, or raise resources.memory_gb"
        )


def _load(body: "Body", spec: LoadSpec) -> "Force | Pressure | Moment":
    from topopt.cad.select import select
    from topopt.loads import Force, Moment, Pressure

    patch = select(body, spec.on)
    if spec.force is not None:
        return Force(patch, spec.force)
    if spec.pressure is not None:
        return Pressure(patch, spec.pressure)
    assert spec.moment is not None
    return Moment(patch, spec.moment)


__all__ = ["Result", "Structure"]

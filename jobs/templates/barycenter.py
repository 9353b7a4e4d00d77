"""The job kind `barycenter`: pictures, volumes or designs in; the density between them and its certificate out."""

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from jobs.barycenter_spec import BarycenterJob
from jobs.observer import Observer
from jobs.store import Run
from transport.ascent import Ascent, Settings, State
from transport.barycenter import Barycenter, barycenter, finish
from transport.densities import as_weights, require_memory
from transport.domain import Domain
from transport.images import prepare, read_field, threshold, write_field
from transport.published import PublishedSettings
from transport.threads import thread_count

Field = NDArray[np.float64]


@dataclass
class Whole:
    """The state of a published method, which runs in one step."""

    iteration: int = 0
    done: bool = False
    found: Barycenter | None = None

    def save(self, path: Path) -> None:
        """Nothing worth keeping: such a run begins anew."""
        path.write_bytes(b"")


@dataclass
class BarycenterRun:
    """One run of the job; `setup` fills the rest in."""

    job: BarycenterJob
    run: Run
    observer: Observer
    measures: Field = field(default_factory=lambda: np.zeros(0))
    ascent: Ascent | None = None

    def setup(self) -> State | Whole:
        """Read the inputs and bring them to one grid; -> the first state."""
        job = self.job
        self.observer.phase("read", f"reading {len(job.inputs)} inputs")
        self.weights = as_weights(job.weights, len(job.inputs))
        self.measures, self.domain = _measures(job)
        self.observer.phase("pose", " x ".join(map(str, self.domain.shape)) + " cells")
        if job.method != "accelerated":
            return Whole()
        self.ascent = Ascent(self.measures, self.weights, self.domain, Settings(), threads=thread_count(job.threads))
        return self.ascent.start()

    def load(self, path: Path) -> State | Whole:
        return self.ascent.load(path) if self.ascent else Whole()

    def step(self, state: Any) -> tuple[Any, dict[str, Any]]:
        if isinstance(state, Whole):
            return self._published()
        assert self.ascent
        state = self.ascent.step(state)
        return state, {**vars(state.history[-1]), "left": self.ascent.iterations_left(state)}

    def describe(self, row: dict[str, Any]) -> str:
        return f"{' x '.join(map(str, row['shape']))}  dual {row['dual']:.8g}  residual {row['residual']:.3g}"

    def preview(self, state: Any, path: Path) -> None:
        """A picture is no GLB; the page shows the result's."""

    def finish(self, state: Any) -> dict[str, Any]:
        self.observer.phase("solve", "distances and the certificate")
        if isinstance(state, Whole):
            assert state.found
            found = state.found
        else:
            assert self.ascent
            found = finish(
                self.ascent,
                self.ascent.potentials(state),
                state.history,
                primal_iterations=self.job.primal_iterations,
            )
        self.observer.phase("export", "writing the files")
        return _result(self.job, found, _write(self.job, self.run.artifacts, found))

    def _published(self) -> tuple[Whole, dict[str, Any]]:
        rows: list[dict[str, Any]] = []

        def watch(row: Any) -> bool:
            if rows:
                self.run.append_progress(rows[-1])
            rows.append(dict(vars(row)))
            return (self.run.folder / "stop").exists()

        found = barycenter(
            self.measures,
            self.weights,
            self.job.method,
            lengths=self.domain.lengths,
            settings=PublishedSettings(),
            threads=self.job.threads,
            callback=watch,
            primal_iterations=self.job.primal_iterations,
        )
        return Whole(len(rows), True, found), rows[-1]


def _measures(job: BarycenterJob) -> tuple[Field, Domain]:
    fields = [read_field(path, invert=job.invert, size=job.size or 128) for path in job.inputs]
    if job.size is not None:
        # Before anything of that size is made.
        longest = max(fields[0].shape)
        require_memory(len(fields), Domain(tuple(max(2, round(n * job.size / longest)) for n in fields[0].shape)))
    names = [path.name for path in job.inputs]
    measures = prepare(fields, names, size=job.size, resize=job.resize, padding=job.padding, floor=job.floor)
    domain = Domain(measures.shape[1:])
    require_memory(len(measures), domain)
    return measures, domain


def _write(job: BarycenterJob, folder: Path, found: Barycenter) -> list[str]:
    """Write density (and design); -> their names, relative to the run folder."""
    suffix = "png" if found.density.ndim == 2 else "vti"
    files = {f"barycenter.{s}": found.density for s in ("npy", suffix)}
    if job.volume_fraction is not None:
        design = threshold(found.density, job.volume_fraction).astype(float)
        files |= {f"design.{s}": design for s in ("npy", suffix)}
    for name, values in files.items():
        write_field(folder / name, values, domain=found.domain)
    return [f"artifacts/{name}" for name in files]


def _result(job: BarycenterJob, found: Barycenter, artifacts: list[str]) -> dict[str, Any]:
    return {
        "status": "succeeded",
        "job": job.kind(),
        "name": job.name,
        "method": found.method,
        "shape": list(found.domain.shape),
        "weights": found.weights.tolist(),
        "iterations": len(found.history),
        "dual_value": found.dual_value,
        "primal_value": found.primal_value,
        "centroid_value": found.centroid_value,
        "shape_value": found.shape_value,
        "shape_bound": found.shape_bound,
        "gap": found.gap,
        "residual": found.residual,
        "half_squared_distances": found.distances.tolist(),
        "inputs": [path.name for path in job.inputs],
        "artifacts": artifacts,
        "notes": [],
    }

"""The job kind `barycenter`: pictures, volumes or designs in; the density between them and its certificate out."""

from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from jobs.barycenter_spec import BarycenterJob
from jobs.observer import Observer
from jobs.store import Run
from jobs.templates.barycenter_film import Film, FilmState
from jobs.templates.barycenter_looks import leave_looks, preview_of
from transport.ascent import Ascent
from transport.barycenter import Barycenter, finish
from transport.debiased import DebiasedSettings, debiased, require_pot
from transport.densities import as_weights, require_memory
from transport.domain import Domain
from transport.images import prepare, read_field, threshold, write_field
from transport.published import Published, PublishedSettings
from transport.threads import thread_count

Field = NDArray[np.float64]


ENTROPIC = (
    "entropic: this density minimises F with an entropy, which makes it smooth; it is not the exact barycenter, and "
    "what is said of F is said of this density"
)


@dataclass(frozen=True)
class Whole:
    """The state of the method of POT, which runs in one step: its answer, or nothing yet."""

    density: Field | None = None

    @property
    def iteration(self) -> int:
        return int(self.done)

    @property
    def done(self) -> bool:
        return self.density is not None

    def save(self, path: Path) -> None:
        with path.open("wb") as file:
            np.savez(file, density=np.zeros(0) if self.density is None else self.density)

    @classmethod
    def load(cls, path: Path) -> "Whole":
        with np.load(path, allow_pickle=False) as data:
            return cls(data["density"] if data["density"].size else None)


@dataclass
class BarycenterRun:
    """One run of the job; `setup` fills the rest in."""

    job: BarycenterJob
    run: Run
    observer: Observer
    measures: Field = field(default_factory=lambda: np.zeros(0))
    ascent: Ascent = field(init=False)
    published: Published | None = None
    film: Film | None = None

    def setup(self) -> Any:
        """Read the inputs and bring them to one grid; -> the first state."""
        job = self.job
        self.observer.phase("read", f"reading {len(job.inputs)} inputs")
        self.weights = as_weights(job.weights, len(job.inputs))
        if job.method == "debiased":
            require_pot()
        fields = _fields(job)
        self.measures = _measures(job, fields)
        self.domain = Domain(self.measures.shape[1:])
        if not (self.run.folder / "looks" / "input-1.png").exists():
            leave_looks(self.run, preview_of(fields, self.weights, job.padding, job.floor), fields)
        self.observer.phase("pose", " x ".join(map(str, self.domain.shape)) + " cells")
        threads = thread_count(job.threads)
        self.ascent = Ascent(self.measures, self.weights, self.domain, None, None, threads, job.device)
        if job.method in ("wdha", "sga"):
            settings = PublishedSettings(job.iterations or PublishedSettings.iterations)
            self.published = Published(job.method, self.measures, self.weights, self.domain, settings, threads)
        if job.path:
            self.film = Film.of(job, self.run, self.measures, self.domain)
            return FilmState(self._begin(), total=job.path.frames)
        return self._begin()

    def load(self, path: Path) -> Any:
        if self.film and self.job.path:
            return FilmState.load(path, self._load, self.job.path.frames)
        return self._load(path)

    def step(self, state: Any) -> tuple[Any, dict[str, Any]]:
        if not isinstance(state, FilmState):
            return self._step(state)
        if state.solved.done and self.film:
            return self.film.frame(state)
        solved, row = self._step(state.solved)
        row["left"] += state.total
        return replace(state, solved=solved), row

    def describe(self, row: dict[str, Any]) -> str:
        if "dual" not in row:
            return "the entropic barycenter, in one piece"
        frame = f"frame {row['frame']} of {row['frames']}  " if "frame" in row else ""
        return f"{frame}{' x '.join(map(str, row['shape']))}  dual {row['dual']:.8g}  residual {row['residual']:.3g}"

    def preview(self, state: Any, path: Path) -> None:
        """A picture is no GLB; the page shows the result's."""

    def finish(self, state: Any) -> dict[str, Any]:
        self.observer.phase("solve", "distances and the bounds")
        found = self._found(state.solved if isinstance(state, FilmState) else state)
        self.observer.phase("export", "writing the files")
        artifacts = _write(self.job, self.run.artifacts, found)
        if self.film:
            artifacts += self.film.write()
        return _result(self.job, found, artifacts)

    # -- the solve, by whichever method -------------------------------------------------------------------------------

    def _begin(self) -> Any:
        if self.job.method == "debiased":
            return Whole()
        return self.published.start() if self.published else self.ascent.start()

    def _load(self, path: Path) -> Any:
        if self.job.method == "debiased":
            return Whole.load(path)
        return self.published.load(path) if self.published else self.ascent.load(path)

    def _step(self, state: Any) -> tuple[Any, dict[str, Any]]:
        if isinstance(state, Whole):
            return self._entropic()
        loop = self.published or self.ascent
        state = loop.step(state)
        return state, {**vars(state.history[-1]), "left": loop.iterations_left(state)}

    def _entropic(self) -> tuple[Whole, dict[str, Any]]:
        job = self.job
        settings = DebiasedSettings(job.regularisation, job.iterations or DebiasedSettings.iterations)
        density = debiased(self.measures, self.weights, self.domain, settings, thread_count(job.threads))
        return Whole(density), {"iteration": 1, "shape": list(self.domain.shape), "left": 0}

    def _found(self, state: Any) -> Barycenter:
        density, potentials, history = None, None, ()
        if isinstance(state, Whole):
            density = state.density
        else:
            history = state.history
            if self.published:
                density, potentials = self.published.answer(state)
            else:
                potentials = self.ascent.potentials(state)
        job = self.job
        return finish(self.ascent, potentials, history, job.method, density, job.primal_iterations, job.upper_bound)


def _fields(job: BarycenterJob) -> list[Field]:
    fields = [read_field(path, invert=job.invert, size=job.size or 128) for path in job.inputs]
    if job.size is not None:
        # Before anything of that size is made.
        longest = max(fields[0].shape)
        require_memory(len(fields), Domain(tuple(max(2, round(n * job.size / longest)) for n in fields[0].shape)))
    return fields


def _measures(job: BarycenterJob, fields: list[Field]) -> Field:
    names = [path.name for path in job.inputs]
    measures = prepare(fields, names, size=job.size, resize=job.resize, padding=job.padding, floor=job.floor)
    require_memory(len(measures), Domain(measures.shape[1:]))
    return measures


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
        "entropic": found.entropic,
        "shape": list(found.domain.shape),
        "weights": found.weights.tolist(),
        "iterations": len(found.history),
        "dual_value": found.dual_value,
        "primal_value": found.primal_value,
        "centroid_value": found.centroid_value,
        "shape_value": found.shape_value,
        "shape_bound": found.shape_bound,
        "upper_value": found.upper_value if job.upper_bound else None,
        "shape_upper": found.shape_upper if job.upper_bound else None,
        "gap": found.gap,
        "certified_gap": found.certified_gap if job.upper_bound else None,
        "residual": found.residual,
        "half_squared_distances": found.distances.tolist(),
        "inputs": [path.name for path in job.inputs],
        "artifacts": artifacts,
        "notes": [ENTROPIC] if found.entropic else [],
    }

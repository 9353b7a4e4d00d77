"""The frames of a barycenter job that goes along a path of weights: one per step, each begun from the one before."""

import zipfile
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from jobs.barycenter_spec import BarycenterJob, WeightPath
from jobs.store import Run
from transport.barycenter import barycenter
from transport.densities import as_weights
from transport.domain import Domain
from transport.errors import TransportError
from transport.frames import FRAME_SETTINGS, weights_along
from transport.images import to_pixels
from transport.pictures import png_bytes, require_encoder, write_film

Field = NDArray[np.float64]


@dataclass(frozen=True)
class FilmState:
    """A solve (see `transport.ascent.State` and its like), and the frames that came after it.

    potentials: of the last frame, whence the next one begins.
    """

    solved: Any
    frames: int = 0
    potentials: Field | None = None
    total: int = 0

    @property
    def iteration(self) -> int:
        return self.solved.iteration + self.frames

    @property
    def done(self) -> bool:
        return self.solved.done and self.frames >= self.total

    def save(self, path: Path) -> None:
        """Write as .npz, the state of the solve inside it."""
        inner, part = path.with_name(path.name + ".solve"), path.with_name(path.name + ".part")
        self.solved.save(inner)
        solved = np.frombuffer(inner.read_bytes(), np.uint8)
        inner.unlink()
        with part.open("wb") as file:
            potentials = np.zeros(0) if self.potentials is None else self.potentials
            np.savez(file, solved=solved, frames=np.array(self.frames), potentials=potentials)
        part.replace(path)

    @classmethod
    def load(cls, path: Path, load_solved: Any, total: int) -> "FilmState":
        """Read what `save` wrote; `load_solved` reads the state of the solve from a file."""
        inner = path.with_name(path.name + ".solve")
        try:
            with np.load(path, allow_pickle=False) as data:
                inner.write_bytes(data["solved"].tobytes())
                frames, potentials = int(data["frames"]), data["potentials"]
            solved = load_solved(inner)
        except (OSError, KeyError, ValueError) as error:
            raise TransportError(f"{path} is not a checkpoint of a barycenter with a path") from error
        finally:
            inner.unlink(missing_ok=True)
        return cls(solved, frames, potentials if potentials.size else None, total)


@dataclass(frozen=True)
class Film:
    """What makes the frames of one run."""

    run: Run
    path: WeightPath
    weights: Field  # (frames, m)
    measures: Field
    domain: Domain
    threads: int
    device: str

    @classmethod
    def of(cls, job: BarycenterJob, run: Run, measures: Field, domain: Domain) -> "Film":
        """Raises: TransportError: a station that is no weight vector, ffmpeg is missing, or a film of a volume."""
        assert job.path
        count = len(measures)
        stations = [as_weights(job.weights, count), *(as_weights(s, count) for s in job.path.stations)]
        if domain.dim == 3 and job.path.format != "npy":
            raise TransportError("path: films are made of pictures; for volumes say format: npy")
        require_encoder(job.path.format)
        weights = weights_along(np.stack(stations), job.path.frames)
        return cls(run, job.path, weights, measures, domain, job.threads, job.device)

    def frame(self, state: FilmState) -> tuple[FilmState, dict[str, Any]]:
        """One more frame, written as an array of single precision."""
        k = state.frames
        found = barycenter(
            self.measures,
            self.weights[k],
            lengths=self.domain.lengths,
            start=state.potentials,
            settings=FRAME_SETTINGS,
            threads=self.threads,
            device=self.device,
            primal_iterations=1,
            upper_bound=False,
        )
        folder = self.run.artifacts / "frames"
        folder.mkdir(exist_ok=True)
        np.save(folder / f"frame-{k:04d}.npy", found.density.astype(np.float32), allow_pickle=False)
        state = replace(state, frames=k + 1, potentials=found.potentials)
        last = found.history[-1]
        row = {"iteration": state.iteration, "shape": list(last.shape), "dual": found.dual_value}
        row |= {
            "residual": found.residual,
            "frame": k + 1,
            "frames": len(self.weights),
            "left": len(self.weights) - k - 1,
        }
        return state, row

    def write(self) -> list[str]:
        """The frames as one array, and the film; -> names relative to the run folder."""
        folder = self.run.artifacts / "frames"
        parts = sorted(folder.glob("frame-*.npy"))
        whole = np.stack([np.load(part, allow_pickle=False) for part in parts])
        np.save(self.run.artifacts / "frames.npy", whole, allow_pickle=False)
        names = ["frames.npy", *self._film(whole)]
        for part in parts:
            part.unlink()
        folder.rmdir()
        return [f"artifacts/{name}" for name in names]

    def _film(self, whole: NDArray[np.float32]) -> list[str]:
        if self.path.format == "npy":
            return []
        peak = float(np.percentile(whole.max(axis=(1, 2)), 75))
        if self.path.format == "png":
            with zipfile.ZipFile(self.run.artifacts / "frames.zip", "w") as archive:
                for k, frame in enumerate(whole):
                    # The time of the entry is fixed: the same frames give the same file.
                    archive.writestr(zipfile.ZipInfo(f"frame-{k:04d}.png"), png_bytes(frame, peak))
            return ["frames.zip"]
        name = f"film.{self.path.format}"
        write_film(self.run.artifacts / name, [to_pixels(f, peak=peak) for f in whole], self.path.seconds)
        return [name]

"""The job kind `operator_data`: members of a family in; a run of the optimizer on each of them out, as HDF5 files."""

import csv
import io
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from jobs.observer import Observer
from jobs.operator_data_spec import OperatorDataJob
from jobs.store import Run
from jobs.templates.operator_pictures import draw_runs
from operators.errors import OperatorError
from operators.recipes import find
from operators.trajectories import Run as Trajectory
from operators.trajectories import path_of, read, record, write
from optim.result import Stop
from topopt.cad.whole import write_whole


@dataclass(frozen=True)
class State:
    """How many runs are there, of how many."""

    iteration: int
    total: int

    @property
    def done(self) -> bool:
        return self.iteration >= self.total

    def save(self, path: Path) -> None:
        """The runs are files of their own, whole or not there."""
        with path.open("wb") as file:
            np.savez(file, runs=np.array(self.iteration))


@dataclass
class OperatorData:
    """One run of the job."""

    job: OperatorDataJob
    run: Run
    observer: Observer

    def setup(self) -> State:
        job = self.job
        self.observer.phase("pose", f"{job.problem}, members {job.first} to {job.first + job.count - 1}")
        self.recipe = find(job.problem)
        self.options = dict(self.recipe.record)
        if job.max_iterations is not None:
            stop = self.options.get("stop") or Stop(tol_f=1e-7, patience=3)
            self.options["stop"] = replace(stop, max_iter=job.max_iterations)
        return State(0, job.count)

    def load(self, path: Path) -> State:
        with np.load(path, allow_pickle=False) as data:
            return State(int(data["runs"]), self.job.count)

    def step(self, state: State) -> tuple[State, dict[str, Any]]:
        """One run; one that is there already, since the job was killed before it could say so, is kept."""
        number = self.job.first + state.iteration
        made = self._kept(number)
        if made is None:
            made = record(self.recipe.member(number), number, **self.options)
            write(self.run.artifacts, made)
        return State(state.iteration + 1, state.total), {"iteration": state.iteration + 1, **_row(made)}

    def describe(self, row: dict[str, Any]) -> str:
        return f"run {row['run']}: {row['iterates']} iterates, J {row['start']:.4g} -> {row['objective']:.4g}"

    def preview(self, state: State, path: Path) -> None:
        """The picture comes at the end."""

    def finish(self, state: State) -> dict[str, Any]:
        """A table and a picture of the runs."""
        folder = self.run.artifacts
        numbers = range(self.job.first, self.job.first + self.job.count)
        runs = read(folder, list(numbers))
        rows = [_row(run) for run in runs]
        text = io.StringIO()
        table = csv.DictWriter(text, list(rows[0]), lineterminator="\n")
        table.writeheader()
        table.writerows(rows)
        write_whole(folder / "runs.csv", text.getvalue().encode())
        draw_runs(folder / "runs.png", [run.J for run in runs], self.recipe.title)
        return {
            "job": self.job.kind(),
            "name": self.job.name,
            "problem": self.job.problem,
            "first": numbers.start,
            "last": numbers.stop - 1,
            "runs": len(runs),
            "iterates": sum(len(run) for run in runs),
            "counts": {name: sum(row[name] for row in rows) for name in ("forward", "adjoint", "tangent")},
            "bytes": sum(path_of(folder, number).stat().st_size for number in numbers),
            "artifacts": ["artifacts/runs.csv", "artifacts/runs.png"],
            "notes": [],
        }

    def _kept(self, number: int) -> Trajectory | None:
        if not path_of(self.run.artifacts, number).is_file():
            return None
        try:
            return read(self.run.artifacts, [number])[0]
        except OperatorError:  # of another version, or damaged: it is made again
            return None


def _row(run: Trajectory) -> dict[str, Any]:
    solves = run.about.get("solves", {})
    return {
        "run": run.number,
        "iterates": len(run),
        "start": float(run.J[0]),
        "objective": float(run.J[-1]),
        **{name: int(solves.get(name, 0)) for name in ("forward", "adjoint", "tangent")},
    }

"""The job kind `hybrid`: a member of a family in; the best design that a solver has seen, and the log, out."""

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from jobs.hybrid_spec import HybridJob
from jobs.observer import Observer
from jobs.store import Run, readable_errors
from operators.hybrid import HybridResult, hybrid
from operators.hybrid_settings import HybridSettings
from operators.recipes import find, shipped
from topopt.cad.whole import npz_bytes, write_whole


@dataclass
class State:
    """Such a run takes seconds and is one step."""

    iteration: int = 0
    done: bool = False
    found: HybridResult | None = None

    def save(self, path: Path) -> None:
        """Nothing worth keeping before the end: it begins anew."""
        path.write_bytes(b"")


@dataclass
class HybridRun:
    """One run of the job; `setup` fills the rest in."""

    job: HybridJob
    run: Run
    observer: Observer

    def setup(self) -> State:
        """Make the member and load the operator."""
        job = self.job
        self.observer.phase("pose", f"{job.problem}, member {job.member}")
        self.member = find(job.problem).member(job.member)
        self.surrogate = None if job.method == "solver_only" else shipped(job.problem)
        return State()

    def load(self, path: Path) -> State:
        return State()

    def step(self, state: State) -> tuple[State, dict[str, Any]]:
        job = self.job
        settings = HybridSettings(
            mode=job.method, radius=job.radius, most_forward=job.most_forward, tolerance=job.tolerance
        )
        found = hybrid(self.member.problem, self.member.start, self.surrogate, settings)
        for row in found.rows()[:-1]:
            self.run.append_progress({"iteration": row["forward"], **row})
        last = found.rows()[-1]
        return State(1, True, found), {"iteration": last["forward"], **last}

    def describe(self, row: dict[str, Any]) -> str:
        return f"J {row['best']:.8g}  {row['forward']} forward and {row['adjoint']} adjoint solves"

    def preview(self, state: State, path: Path) -> None:
        """There is no picture of it."""

    def finish(self, state: State) -> dict[str, Any]:
        """The design and the log."""
        found = state.found
        assert found
        write_whole(self.run.artifacts / "design.npz", npz_bytes(x=found.x))
        with readable_errors(self.run.folder):
            write_whole(self.run.artifacts / "log.json", (json.dumps(found.rows(), indent=1) + "\n").encode())
        return {
            "job": self.job.kind(),
            "name": self.job.name,
            "problem": self.job.problem,
            "member": self.job.member,
            "method": self.job.method,
            "objective": found.J,
            "believed": found.believed,
            "start": found.log[0].J,
            "message": found.message,
            "counts": vars(found.spent),
            "artifacts": ["artifacts/design.npz", "artifacts/log.json"],
            "notes": [],
        }

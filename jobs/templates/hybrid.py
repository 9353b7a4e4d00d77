"""The job kind `hybrid`: a member of a family in; the best design that a solver has seen, and the log, out."""

import json
import shutil
import time
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, cast

import numpy as np
import torch
from numpy.typing import NDArray

from jobs.hybrid_spec import HybridJob
from jobs.observer import Observer
from jobs.store import Run, readable_errors
from jobs.templates.hybrid_looks import look
from jobs.templates.watched import BrokenOff, Watched
from operators.hybrid import SOLVED, HybridResult, hybrid
from operators.hybrid_settings import HybridSettings
from operators.models import load
from operators.recipes import find, shipped
from operators.surrogates.neural import Viewed
from pde.functional import StateProblem
from topopt.cad.whole import npz_bytes, write_whole

LOOK_EVERY = 3.0  # seconds between two pictures while it runs


@dataclass
class State:
    """Such a run takes seconds to minutes and is one step."""

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
    held: dict[str, Any] | None = None
    looked: float = 0.0
    spent_looking: float = 0.0

    def setup(self) -> State:
        """Make the member and load the operator."""
        job = self.job
        self.observer.phase("pose", f"{job.problem}, member {job.member}")
        self.recipe = find(job.problem)
        self.member = self.recipe.member(job.member)
        self.surrogate = None if job.method == "solver_only" else self._operator()
        return State()

    def load(self, path: Path) -> State:
        return State()

    def step(self, state: State) -> tuple[State, dict[str, Any]]:
        """All of it, with a line of progress for every solve; a stop that is asked for ends it between two solves."""
        self.watched = Watched(self.member.problem, self._tell)
        threads = torch.get_num_threads()
        torch.set_num_threads(1)  # small networks asked for one design at a time: more threads only wait for each other
        try:
            found = hybrid(cast(StateProblem, self.watched), self.member.start, self.surrogate, self._settings())
        except BrokenOff:
            return state, self.held or {"iteration": 0}
        finally:
            torch.set_num_threads(threads)
        rows = [{"iteration": row["forward"], **row} for row in found.rows()]
        # The log knows why each solve was made; it takes the place of what was told on the way.
        self.run.write_text("progress.jsonl", "".join(json.dumps(_plain(row)) + "\n" for row in rows[:-1]))
        return State(1, True, found), _plain({**rows[-1], **vars(found.spent)})

    def describe(self, row: dict[str, Any]) -> str:
        best = "-" if row.get("best") is None else f"{row['best']:.8g}"
        return f"J {best}  {row.get('forward', 0)} forward and {row.get('adjoint', 0)} adjoint solves"

    def preview(self, state: State, path: Path) -> None:
        """The best design so far and its state, as a picture of the page."""
        shown = self.watched.best or self.watched.last
        if shown:
            self._look(*shown)

    def finish(self, state: State) -> dict[str, Any]:
        """The design and the log."""
        found, job = state.found, self.job
        assert found
        verified = next((line.J for line in reversed(found.log) if line.event in SOLVED), found.J)
        return {
            "job": job.kind(),
            "name": job.name,
            "problem": job.problem,
            "member": job.member,
            "method": job.method,
            "surrogate": None if self.surrogate is None else self.surrogate.name,
            "objective": found.J,
            "believed": None if self.surrogate is None else _finite(found.believed),
            "verified": _finite(verified),
            "start": found.log[0].J,
            "message": found.message,
            "counts": vars(found.spent),
            "search_seconds": round(found.log[-1].seconds - self.spent_looking, 4),
            "artifacts": self._write(found),
            "notes": [],
        }

    def _operator(self) -> Viewed:
        if self.job.weights is None:
            return shipped(self.job.problem)
        return Viewed(load(self.job.weights), self.recipe.view(), f"neural operator ({self.job.weights.name})")

    def _settings(self) -> HybridSettings:
        job = self.job
        given: dict[str, Any] = {} if job.radius is None else {"radius": job.radius}
        return replace(
            self.recipe.hybrid, mode=job.method, most_forward=job.most_forward, tolerance=job.tolerance, **given
        )

    # -- while it goes on ---------------------------------------------------------------------------------------------

    def _tell(self, row: dict[str, Any]) -> None:
        if self.held is not None:
            self.run.append_progress(self.held)
        self.held = row
        self.observer.iteration(row, self.describe(row))
        if time.monotonic() - self.looked > LOOK_EVERY and self.watched.last:
            began = time.monotonic()
            self._look(*(self.watched.best or self.watched.last))
            self.looked = time.monotonic()
            self.spent_looking += self.looked - began
        if (self.run.folder / "stop").exists():
            raise BrokenOff

    def _look(self, x: NDArray[np.float64], u: NDArray[np.float64]) -> Path | None:
        path = self.run.folder / "looks" / "fields.png"
        with readable_errors(self.run.folder):
            path.parent.mkdir(exist_ok=True)
            return path if look(self.member.problem, x, u, path) else None

    def _write(self, found: HybridResult) -> list[str]:
        folder, best = self.run.artifacts, self.watched.best
        state = {"u": best[1]} if best and np.array_equal(best[0], found.x) else {}
        write_whole(folder / "design.npz", npz_bytes(x=found.x, **state))
        log = [_plain(row) for row in found.rows()]
        write_whole(folder / "log.json", (json.dumps(log, indent=1) + "\n").encode())
        if best and (drawn := self._look(*best)):
            shutil.copyfile(drawn, folder / "fields.png")
        return [f"artifacts/{path.name}" for path in sorted(folder.iterdir())]


def _plain(row: dict[str, Any]) -> dict[str, Any]:
    """Numbers that are not finite have no place in JSON."""
    return {name: None if isinstance(v, float) and not np.isfinite(v) else v for name, v in row.items()}


def _finite(value: float) -> float | None:
    return float(value) if np.isfinite(value) else None

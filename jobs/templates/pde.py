"""The job kind `pde`: a shipped problem in; its optimum, its figures beside the known answer, and its fields out."""

import shutil
import time
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

import optim
from jobs.observer import Observer
from jobs.pde_spec import PdeJob
from jobs.store import Run, readable_errors
from jobs.templates.hybrid_looks import WIDTH
from jobs.templates.pde_ending import ending
from optim.result import Result, Snapshot
from pde import problems
from pde.fem.plane_picture import draw_functions
from pde.fem.result_files import write_results
from topopt.cad.whole import npz_bytes, write_whole

SIMPLICES = ("interval", "triangle", "tetrahedron")
SPENT = "spent_"  # before the names of counts in a checkpoint
SOLVES = {"states": "forward", "adjoints": "adjoint", "tangents": "tangent"}


@dataclass(frozen=True)
class State:
    """A run between two steps, what it has spent by kind of solve, and the verdict once there is one."""

    snapshot: Snapshot
    spent: dict[str, int] = field(default_factory=dict)
    result: Result | None = None

    @property
    def iteration(self) -> int:
        return self.snapshot.iteration

    @property
    def done(self) -> bool:
        return self.result is not None

    def save(self, path: Path) -> None:
        spent = {f"{SPENT}{name}": np.array(count) for name, count in self.spent.items()}
        write_whole(path, npz_bytes(**optim.pack(self.snapshot), **spent))


@dataclass
class PdeRun:
    """One run of the job; `setup` fills the rest in."""

    job: PdeJob
    run: Run
    observer: Observer

    def setup(self) -> State:
        """Pose the problem; -> the state before the first step."""
        job = self.job
        self.observer.phase("pose", f"{job.problem}: {problems.PROBLEMS[job.problem].title}")
        self.posed = problems.pose(job.problem, **job.parameters)
        self.problem = self.posed.problem
        self.method = problems.METHODS[job.method or self.posed.method]()
        self.stop = replace(self.posed.stop, max_iter=job.max_iterations or self.posed.stop.max_iter)
        before = self._counted()
        snapshot = optim.start(self.problem, self.posed.x0, self.method)
        return State(snapshot, self._since(before))

    def load(self, path: Path) -> State:
        """A checkpoint of this problem, judged again: it may have been the last one.

        Raises:
            OptimError: it belongs to another problem or method.
        """
        with np.load(path) as data:
            snapshot = optim.unpack(dict(data), optim.start(self.problem, self.posed.x0, self.method))
            spent = {name.removeprefix(SPENT): int(data[name]) for name in data.files if name.startswith(SPENT)}
        return State(snapshot, spent, self._over(self._continued(snapshot, snapshot.iteration)))

    def step(self, state: State) -> tuple[State, dict[str, Any]]:
        before, began = self._counted(), time.perf_counter()
        result = self._continued(state.snapshot, state.iteration + 1)
        seconds, new = time.perf_counter() - began, self._since(before)
        spent = {name: state.spent.get(name, 0) + count for name, count in new.items()}
        info = result.state.history[-1] if result.state.history else None
        row: dict[str, Any] = {"iteration": result.state.iteration, "objective": _finite(result.f)}
        if info is not None:
            row |= {"kkt": _finite(info.kkt), "violation": _finite(info.feas), "step": _finite(info.step_norm)}
            row |= {"values": info.n_f, "gradients": info.n_g, "hessian_actions": info.n_h}
        row |= {word: spent[name] for name, word in SOLVES.items() if name in spent}
        row["seconds"] = round(seconds, 4)
        return State(result.state, spent, self._over(result)), row

    def describe(self, row: dict[str, Any]) -> str:
        kkt, violation = row.get("kkt"), row.get("violation")
        return f"J {row['objective']:.8g}" + "".join(
            f"  {name} {value:.2e}" for name, value in (("kkt", kkt), ("violation", violation)) if value is not None
        )

    def preview(self, state: State, path: Path) -> None:
        """Control and state so far, as a picture of the page."""
        self._look(problems.fields(self.posed, np.asarray(state.snapshot.x)))

    def finish(self, state: State) -> dict[str, Any]:
        """Figures beside the known answer, and the fields."""
        assert state.result
        counts = self._counts(state)
        self.observer.phase("solve", "evaluating the figures")
        figures = self.posed.measure(state.result.x)
        artifacts = self._write(np.asarray(state.result.x))
        return {
            "job": self.job.kind(),
            "name": self.job.name,
            "problem": self.job.problem,
            "method": self.job.method or self.posed.method,
            "status": state.result.status,
            "message": state.result.message,
            "ended": ending(state.result, self.stop),
            "objective": _finite(state.result.f),
            "iterations": state.result.iterations,
            "figures": {name: _finite(value) for name, value in figures.items()},
            "known": dict(self.posed.known),
            "counts": counts,
            "search_seconds": round(sum(row.get("seconds", 0.0) for row in self.run.progress()), 4),
            "artifacts": artifacts,
            "notes": [] if state.result.success else [f"not converged: {state.result.message}"],
        }

    def _continued(self, snapshot: Snapshot, until: int) -> Result:
        stop = replace(self.stop, max_iter=until)
        resume = snapshot if snapshot.iteration else None
        return optim.minimize(self.problem, self.posed.x0, self.method, stop=stop, resume=resume)

    def _over(self, result: Result) -> Result | None:
        """The result if it is a last one: reaching the iteration asked for is none, unless it is the limit."""
        going_on = result.status == "max_iter" and result.iterations < self.stop.max_iter
        return None if going_on else result

    def _counts(self, state: State) -> dict[str, int]:
        values, gradients, actions = state.snapshot.counts
        return {"values": values, "gradients": gradients, "hessian_actions": actions, **state.spent}

    def _counted(self) -> dict[str, int]:
        """Solves of the problem so far, those for pictures among them; nothing where it does not count."""
        counts = getattr(self.posed.J, "counts", None)
        return dict(vars(counts)) if counts else {}

    def _since(self, before: dict[str, int]) -> dict[str, int]:
        return {name: count - before.get(name, 0) for name, count in self._counted().items()}

    def _write(self, x: NDArray[np.float64]) -> list[str]:
        """The control as numbers; the fields as a picture, and for ParaView where the cells are simplices."""
        folder, found = self.run.artifacts, problems.fields(self.posed, x)
        write_whole(folder / "control.npz", npz_bytes(x=x))
        if drawn := self._look(found):
            shutil.copyfile(drawn, folder / "fields.png")
        functions = [f for f in found if not hasattr(f, "position")]
        if functions and functions[0].function_space.mesh.topology.cell_name() in SIMPLICES:
            write_results(folder / "fields.vtu", *functions)
        return [f"artifacts/{path.name}" for path in sorted(folder.iterdir())]

    def _look(self, found: list[Any]) -> Path | None:
        if any(getattr(f, "function_space", None) and f.function_space.mesh.geometry.dim > 2 for f in found):
            return None
        path = self.run.folder / "looks" / "fields.png"
        with readable_errors(self.run.folder):
            path.parent.mkdir(exist_ok=True)
            draw_functions(path, found, WIDTH)
        return path


def _finite(value: float) -> float | None:
    return float(value) if np.isfinite(value) else None

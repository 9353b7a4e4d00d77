"""The job kind `pde` under `mpirun`: process 0 runs it, the others solve with it. See `jobs.ranks`."""

import shutil
from collections.abc import Callable
from pathlib import Path
from tempfile import mkdtemp
from typing import Any

import numpy as np
from numpy.typing import NDArray

from jobs.errors import JobError
from jobs.pde_spec import PdeJob
from jobs.ranks import leader, ranks
from jobs.store import Run
from jobs.templates.pde import PdeRun, State
from pde import problems

COUNT = "processes"  # a file in a run folder: how many processes shared the mesh, where it was not one


class PdeTogether(PdeRun):
    """The job, done by all processes and written by the first.

    A checkpoint numbers the control as the processes share the mesh, so a run goes on with as many as it began with.
    """

    def setup(self) -> State:
        """See `PdeRun`. Raises: JobError, several processes and none that leads."""
        if ranks() > 1 and leader() is None:
            raise JobError("under mpirun a pde job is started by `formgrad`, which lets the processes share its folder")
        return _led("setup", self.job, super().setup)

    def load(self, path: Path) -> State:
        """See `PdeRun`. Raises: JobError, the run was made by another number of processes."""
        note = self.run.folder / COUNT
        count = int(note.read_text()) if note.is_file() else 1
        if count != ranks():
            start = f"mpirun -n {count} formgrad" if count > 1 else "formgrad"
            raise JobError(f"this run was made by {count} and not {ranks()} processes: go on with `{start} resume`")
        return _led("load", path, lambda: super(PdeTogether, self).load(path))

    def step(self, state: State) -> tuple[State, dict[str, Any]]:
        if ranks() > 1 and state.iteration == 0:
            self.run.write_text(COUNT, f"{ranks()}\n")  # before the first checkpoint
        return _led("step", None, lambda: super(PdeTogether, self).step(state))

    def preview(self, state: State, path: Path) -> None:
        _led("preview", path, lambda: super(PdeTogether, self).preview(state, path))

    def finish(self, state: State) -> dict[str, Any]:
        found = _led("finish", None, lambda: super(PdeTogether, self).finish(state))
        return {**found, "processes": ranks()} if ranks() > 1 else found


def _led[T](order: str, what: Any, work: Callable[[], T]) -> T:
    lead = leader()
    return work() if lead is None else lead.together(order, what, work)


class PdeFollower:
    """Another process: the same parts of the work, with a folder of its own that holds nothing in the end."""

    def __init__(self) -> None:
        self._folder = Path(mkdtemp(prefix="formgrad-"))

    def obey(self, order: str, what: Any) -> None:
        """Do what the leader does. Raises what it raises."""
        if order == "setup":
            self._run = _Silent(what, Run.create(self._folder / "run"), _Nobody())
            self._state = self._run.setup()
        elif order == "load":
            self._state = self._run.load(what)
        elif order == "step":
            self._state = self._run.step(self._state)[0]
        elif order == "preview":
            self._run.preview(self._state, what)
        elif order == "finish":
            self._run.finish(self._state)

    def end(self) -> None:
        shutil.rmtree(self._folder, ignore_errors=True)


class _Silent(PdeRun):
    """Without files."""

    job: PdeJob

    def _write(self, x: NDArray[np.float64]) -> list[str]:
        problems.fields(self.posed, x)
        return []

    def _look(self, found: list[Any]) -> Path | None:
        return None


class _Nobody:
    """An observer that is told and says nothing."""

    def phase(self, name: str, message: str) -> None: ...

    def iteration(self, row: dict[str, Any], text: str) -> None: ...

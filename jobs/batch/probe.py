"""The job kind `probe`: no design, only what the batch layer has to stand. It measures overheads and shows faults.

Its number is that of a linear congruential generator (Knuth's MMIX constants), so that a run that was killed and
resumed can be compared with one that was not.
"""

import json
import os
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import Field

from jobs.batch.warm import SLOTS
from jobs.errors import JobError
from jobs.job import Job
from jobs.observer import Observer
from jobs.store import Run


class ProbeJob(Job):
    """`steps` steps of `seconds` each. fault: what happens at step `at`; amount: MB of memory or of log.

    warm: name of something that is loaded first, in `load_seconds`, unless the process holds it.
    """

    job: Literal["probe"] = "probe"
    name: str = "probe"
    seed: int = 0
    steps: Annotated[int, Field(ge=1)] = 1
    seconds: Annotated[float, Field(ge=0, le=3600)] = 0.0
    checkpoint_every: Annotated[int, Field(ge=1)] = 1
    fault: Literal["none", "refuse", "error", "crash", "memory", "log", "children", "hang"] = "none"
    at: Annotated[int, Field(ge=1)] = 1
    amount: Annotated[int, Field(ge=0)] = 0
    data: Path | None = None
    warm: str = ""
    load_seconds: Annotated[float, Field(ge=0, le=3600)] = 0.0

    @property
    def save_every(self) -> int:
        return self.checkpoint_every

    def files(self) -> list[Path]:
        return [self.data] if self.data else []

    def with_files(self, moved: Any) -> "ProbeJob":
        return self.model_copy(update={"data": moved[self.data]}) if self.data else self


@dataclass(frozen=True)
class ProbeState:
    """Where it is."""

    iteration: int
    steps: int
    x: int

    @property
    def done(self) -> bool:
        return self.iteration >= self.steps

    def save(self, path: Path) -> None:
        path.write_text(json.dumps([self.iteration, self.steps, self.x]))


@dataclass
class Probe:
    """One run of the job."""

    job: ProbeJob
    run: Run
    observer: Observer
    loaded: int = 0
    found: str = ""

    def setup(self) -> ProbeState:
        if self.job.fault == "refuse":
            raise JobError("fault: this probe was asked to be refused; choose another fault")
        if self.job.warm:
            self.found = SLOTS.get("probe", self._load)
        return ProbeState(0, self.job.steps, self.job.seed)

    def _load(self) -> str:
        time.sleep(self.job.load_seconds)
        self.loaded = 1
        return self.job.warm

    def load(self, path: Path) -> ProbeState:
        return ProbeState(*json.loads(path.read_text()))

    def step(self, state: ProbeState) -> tuple[ProbeState, dict[str, Any]]:
        if self.job.seconds:
            time.sleep(self.job.seconds)
        if state.iteration + 1 == self.job.at:
            _fault(self.job)
        x = (state.x * 6364136223846793005 + 1442695040888963407) % 2**64
        state = ProbeState(state.iteration + 1, state.steps, x)
        return state, {"iteration": state.iteration, "x": x / 2**64}

    def describe(self, row: dict[str, Any]) -> str:
        return f"x {row['x']:.6f}"

    def preview(self, state: ProbeState, path: Path) -> None:
        """There is nothing to see."""

    def finish(self, state: ProbeState) -> dict[str, Any]:
        return {
            "status": "succeeded",
            "job": "probe",
            "name": self.job.name,
            "iterations": state.iteration,
            "x": str(state.x),
            "value": state.x / 2**64,
            "work": float(self.job.steps),
            "loaded": self.loaded,
            "held": len(SLOTS.held),
            "found": self.found,
            "threads": int(os.environ.get("OMP_NUM_THREADS", "0")),
        }


def print_probe(result: dict[str, Any], run: Run) -> None:
    """One line."""
    print(f"{result['name']}: x {result['x']} after {result['iterations']} steps")


def _fault(job: ProbeJob) -> None:
    if job.fault == "error":
        raise LookupError("a fault that was asked for")
    if job.fault == "crash":
        os.abort()
    if job.fault == "memory":
        held = [bytearray(b"x" * 2**20) for _ in range(job.amount)]
        raise AssertionError(f"{len(held)} MB were given")
    if job.fault == "log":
        line = b"all work and no play makes a log long\n" * 27594
        for _ in range(job.amount):
            os.write(1, line)
    if job.fault == "children":
        for group in (False, True):
            words = [sys.executable, "-c", "import time; time.sleep(600)"]
            subprocess.Popen(words, start_new_session=group)
    if job.fault == "hang":
        time.sleep(3600)

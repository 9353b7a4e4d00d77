"""The job kind `operator_train`: recorded runs in; a trained operator, its accuracy and its losses out.

One step goes from one validation to the next. What `operators.training` writes down there is the job's checkpoint, and
everything random is drawn from (seed, step): a training that was killed goes on to the same bits on a CPU.
"""

import csv
import io
import tempfile
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import torch

from jobs.observer import Observer
from jobs.operator_runs import learnt_and_judged, read_runs, runs_in, some_of
from jobs.operator_train_spec import OperatorTrainJob
from jobs.store import Run
from jobs.templates.operator_pictures import draw_losses
from operators.evaluation import as_rows, table
from operators.models import Operator, build, save
from operators.recipes import find
from operators.recipes.full import full
from operators.samples import samples
from operators.surrogates.neural import Viewed
from operators.training import Report, TrainingSettings, train
from topopt.cad.whole import write_whole

GIVEN = ("steps", "batch", "rate", "optimizer", "schedule", "validate_every", "patience")  # where they are stated


@dataclass(frozen=True)
class State:
    """A training between two validations.

    Attributes:
        iteration: steps of the optimizer. data: the checkpoint of `operators.training`, b"" before the first.
    """

    iteration: int = 0
    done: bool = False
    data: bytes = b""

    def save(self, path: Path) -> None:
        write_whole(path, self.data)


@dataclass
class OperatorTrain:
    """One run of the job; `setup` fills the rest in."""

    job: OperatorTrainJob
    run: Run
    observer: Observer

    def setup(self) -> State:
        """Read the runs; -> the state before the first step."""
        job = self.job
        self.recipe = full(find(job.problem)) if job.size == "full" else find(job.problem)
        self.settings = _settings(job, self.recipe.training)
        self.found = runs_in(job.data)
        numbers = some_of(self.found, self.recipe.runs)
        self.learnt, self.judged = learnt_and_judged(numbers)
        self.observer.phase("pose", f"{len(self.learnt)} runs to learn from, {len(self.judged)} to judge by")
        keep = job.keep or self.recipe.keep
        self.samples, self.validation = (
            samples(read_runs(self.found, part), keep) for part in (self.learnt, self.judged)
        )
        self.view = self.recipe.view()
        return State()

    def load(self, path: Path) -> State:
        return self._state(path.read_bytes())

    def step(self, state: State) -> tuple[State, dict[str, Any]]:
        told: list[Report] = []

        def tell(report: Report) -> str:
            told.append(report)
            return "stop"

        with tempfile.TemporaryDirectory() as folder:
            kept = Path(folder) / "training.pt"
            if state.data:
                kept.write_bytes(state.data)
            sets = self.samples, self.validation
            train(self._untrained(), self.view, *sets, self.settings, progress=tell, checkpoint=kept)
            state = self._state(kept.read_bytes())
        return state, {"iteration": state.iteration, **_row(told[-1])}

    def describe(self, row: dict[str, Any]) -> str:
        return f"loss {row['loss']:.4f}  unseen states {row['error']:.2%}  best {row['best']:.2%}"

    def preview(self, state: State, path: Path) -> None:
        """The losses so far, as a picture of the page."""
        history = _read(state.data)["history"]
        looks = self.run.folder / "looks"
        looks.mkdir(exist_ok=True)
        draw_losses(looks / "fields.png", history, _best_at(history))

    def finish(self, state: State) -> dict[str, Any]:
        """The weights that judged best, with what is known about them."""
        read = _read(state.data)
        model = self._untrained()
        model.load_state_dict(read["weights"] or read["model"])
        self.observer.phase("solve", "comparing with the solver")
        rows, notes = self._accuracy(model.eval())
        self._write(model, read, rows)
        return {
            "job": self.job.kind(),
            "name": self.job.name,
            "problem": self.job.problem,
            "network": self.job.network,
            "output": self.job.output,
            "parameters": _size(model),
            "steps": state.iteration,
            "validation_error": read["best"],
            "learnt": len(self.learnt),
            "judged": len(self.judged),
            "table": rows,
            "training": asdict(self.settings),
            "artifacts": [f"artifacts/{path.name}" for path in sorted(self.run.artifacts.iterdir())],
            "notes": notes,
        }

    # -- parts --------------------------------------------------------------------------------------------------------

    def _untrained(self) -> Operator:
        sizes = self.recipe.settings(self.job.network, self.job.output)
        return build(sizes, self.recipe.kept, self.job.seed)

    def _state(self, data: bytes) -> State:
        read = _read(data)
        idle = len(read["history"]) - 1 - _best_at(read["history"])
        over = read["step"] >= self.settings.steps or 0 < self.settings.patience <= idle
        return State(read["step"], over, data)

    def _accuracy(self, model: Operator) -> tuple[list[dict[str, Any]], list[str]]:
        """The table of `operators.evaluation`, and what is to be known about it."""
        most, notes = self.job.evaluate, []
        unseen = [number for number in self.found if number in self.recipe.unseen][:most]
        if not unseen:
            unseen = self.judged[:most]
            notes.append(
                f"the data holds none of the runs {self.recipe.unseen.start} to {self.recipe.unseen.stop - 1} that "
                "are never shown: unseen runs are those that chose the weights"
            )
        keep = self.job.keep or self.recipe.keep
        seen, fresh = (
            [run.thinned(keep) for run in read_runs(self.found, part)] for part in (self.learnt[:most], unseen)
        )
        surrogate = Viewed(model, self.view.to("cpu"), referred=self.settings.reach > 0)
        found = table(surrogate, self.recipe.member, seen, fresh, self.recipe.probe)
        return [_plain(row) for row in as_rows(found)], notes

    def _write(self, model: Operator, read: dict[str, Any], rows: list[dict[str, Any]]) -> None:
        folder, job = self.run.artifacts, self.job
        about = {
            "problem": job.problem,
            "command": "formgrad run job.yaml, the job below",
            "job": {key: value for key, value in job.model_dump(mode="json").items() if key != "data"},
            "runs": [self.learnt[0], self.learnt[-1], len(self.learnt)],
            "training": asdict(self.settings),
            "steps": read["step"],
            "validation_error": read["best"],
        }
        save(model, folder / "weights.safetensors", about)
        text = io.StringIO()
        lines = csv.DictWriter(text, list(rows[0]), lineterminator="\n")
        lines.writeheader()
        lines.writerows(rows)
        write_whole(folder / "evaluation.csv", text.getvalue().encode())
        draw_losses(folder / "loss.png", read["history"], _best_at(read["history"]))


def _settings(job: OperatorTrainJob, recipe: TrainingSettings) -> TrainingSettings:
    """Raises: OperatorError, an optimizer or schedule that does not exist, or numbers that cannot be."""
    given = {name: value for name in GIVEN if (value := getattr(job, name)) is not None}
    if job.sensitivity is not None:
        given["weights"] = replace(recipe.weights, sensitivity=job.sensitivity)
    return replace(recipe, **given, seed=job.seed, device=job.device, precision=job.precision)


def _read(data: bytes) -> dict[str, Any]:
    return torch.load(io.BytesIO(data), map_location="cpu", weights_only=True)


def _best_at(history: list[dict[str, Any]]) -> int:
    """Number of the first report with the lowest error."""
    return int(np.argmin([row["error"] for row in history]))


def _row(report: Report) -> dict[str, Any]:
    parts = {f"{name}_loss": value for name, value in report.parts.items()}
    return {"loss": report.loss, **parts, "error": report.error, "best": report.best, "seconds": report.seconds}


def _plain(row: dict[str, Any]) -> dict[str, Any]:
    return {name: None if isinstance(v, float) and not np.isfinite(v) else v for name, v in row.items()}


def _size(model: Operator) -> int:
    """Real numbers that were learnt; a complex one counts as two."""
    return sum(p.numel() * (2 if p.is_complex() else 1) for p in model.parameters())

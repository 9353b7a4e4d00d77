"""Training an operator on runs of an optimizer, so that it can be stopped anywhere and goes on bit for bit.

Everything random in step k is drawn from (seed, k): a checkpoint holds weights, optimizer and step, and no generator.
Under `torchrun` every process takes its part of each batch and gradients are averaged before the step; this is written
out, because the derivative losses differentiate twice and call the network several times, which the usual wrapper does
not allow.
"""

import time
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor

from operators.errors import OperatorError, TrainingError
from operators.losses import Weights, jvp_loss, sensitivity_loss, slopes, state_loss, vjp_loss
from operators.models import Operator, weights_of
from operators.pairs import Pairs
from operators.processes import Team, processes
from operators.samples import Samples
from operators.training_settings import OPTIMIZERS, SCHEDULES, TrainingSettings
from operators.view import Anchor, View, change_from


@dataclass(frozen=True)
class Report:
    """What is told after each validation: losses are means since the last; error: of the states of unseen runs."""

    step: int
    loss: float
    parts: dict[str, float]
    error: float
    best: float
    seconds: float


@dataclass(frozen=True)
class Trained:
    """The best model by validation, in evaluation mode. seconds: wall; cpu_seconds: of this process."""

    model: Operator
    history: tuple[Report, ...]
    steps: int
    seconds: float
    cpu_seconds: float


type Progress = Callable[[Report], Any]


def train(
    model: Operator,
    view: View,
    samples: Samples,
    validation: Samples,
    settings: TrainingSettings | None = None,
    *,
    progress: Progress | None = None,
    checkpoint: Path | None = None,
    seconds: float | None = None,
) -> Trained:
    """Train; `model` is changed, the best weights are returned.

    Args:
        samples, validation: of different runs.
        progress: told after each validation; returning "stop" ends the training.
        checkpoint: written after each validation, and where training goes on if it is there.
        seconds: of wall time, after which training ends; the schedule still counts steps.

    Raises:
        OperatorError: the losses ask for what the samples do not hold; the checkpoint is of another training.
        TrainingError: a loss is not finite, or the checkpoint is damaged.
    """
    settings = settings or TrainingSettings()
    _check(settings.weights, samples)
    if set(samples.run.tolist()) & set(validation.run.tolist()):
        raise OperatorError("training and validation share runs: split the data by run")
    with processes(settings) as team:
        return _Training(model, view, samples, validation, settings, team).go(progress, checkpoint, seconds)


def _check(weights: Weights, samples: Samples) -> None:
    if weights.jvp and samples.direction is None:
        raise OperatorError("the jvp loss needs directions and tangents: add them with operators.samples.with_tangents")
    if weights.vjp and samples.cotangent is None:
        raise OperatorError("the vjp loss needs cotangents: add them with operators.samples.with_pullbacks")


class _Training:
    def __init__(self, model: Operator, view: View, samples: Samples, valid: Samples, s: TrainingSettings, team: Team):
        device = torch.device(s.device)
        self.s, self.team, self.device = s, team, device
        self.model, self.view = model.to(device), view.to(device)
        self.samples, self.valid = samples.to(device), valid.to(device)
        self.pairs = Pairs(samples.run.numpy(), samples.place.numpy(), max(s.reach, 1), seed=s.seed)
        self.judged = Pairs(valid.run.numpy(), valid.place.numpy(), max(s.reach, 1), itself=False, seed=s.seed)
        self.optimizer = OPTIMIZERS[s.optimizer](model.parameters(), s)
        self.schedule = SCHEDULES[s.schedule](self.optimizer, s)
        self.step, self.best, self.stale = 0, float("inf"), 0
        self.weights: dict[str, Tensor] = {}
        self.history: list[Report] = []
        self.epoch: tuple[int, Any] = (-1, None)

    def go(self, progress: Progress | None, checkpoint: Path | None, seconds: float | None) -> Trained:
        if checkpoint is not None and checkpoint.is_file():
            self.resume(checkpoint)
        else:
            with torch.no_grad():
                self.model.fit(self.view.features(self.samples.design), self.view.down(self.samples.state))
        began, cpu = time.perf_counter(), time.process_time()
        sums: dict[str, float] = {}
        since, stopped = 0, False
        while self.step < self.s.steps and not stopped:
            for name, value in self.advance().items():
                sums[name] = sums.get(name, 0.0) + value
            since += 1
            late = seconds is not None and self.team.agree(time.perf_counter() - began > seconds)
            if self.step % self.s.validate_every and self.step < self.s.steps and not late:
                continue
            report = self.judge({name: value / since for name, value in sums.items()}, time.perf_counter() - began)
            sums, since = {}, 0
            if checkpoint is not None and self.team.rank == 0:
                self.save(checkpoint)
            told = progress(report) if progress is not None and self.team.rank == 0 else None
            stopped = late or self.team.agree(told == "stop") or 0 < self.s.patience <= self.stale
        if self.weights:
            self.model.load_state_dict(self.weights)
        spent = time.perf_counter() - began, time.process_time() - cpu
        return Trained(self.model.eval(), tuple(self.history), self.step, *spent)

    def advance(self) -> dict[str, float]:
        """One step of the optimizer; -> its losses."""
        self.model.train()
        rows, references = self.rows()
        with torch.random.fork_rng(devices=[]), self.mixed():
            torch.manual_seed(hash((self.s.seed, self.step)) & 0x7FFFFFFF)
            turn = int(torch.randint(8, ())) if self.s.augment else 0
            loss, parts = self.loss(rows, references, turn)
        self.optimizer.zero_grad(set_to_none=True)
        loss.backward()
        self.team.average(self.model)
        norm = torch.nn.utils.clip_grad_norm_(self.model.parameters(), self.s.clip)
        if not bool(torch.isfinite(loss) & torch.isfinite(norm)):
            raise TrainingError(
                f"the loss is not finite in step {self.step}: lower the rate ({self.s.rate:g}) or the weights of the "
                "derivative losses, and check the data for values that are not finite"
            )
        self.optimizer.step()
        self.schedule.step()
        self.step += 1
        return parts

    def rows(self) -> tuple[np.ndarray, np.ndarray]:
        """Samples of this step and of this process, and their references."""
        size = min(self.s.batch, len(self.samples))
        per_epoch = len(self.samples) // size
        number, place = divmod(self.step, per_epoch)
        if self.epoch[0] != number:
            self.epoch = (number, self.pairs.epoch(number))
        query, reference = self.epoch[1]
        own = slice(place * size + self.team.rank, (place + 1) * size, self.team.size)
        return query[own], reference[own]

    def loss(self, rows: np.ndarray, references: np.ndarray, turn: int) -> tuple[Tensor, dict[str, float]]:
        w, share = self.s.weights, self.s.weights.share(self.step / self.s.steps)
        batch = self.samples.take(rows, self.view.turns, turn)
        anchor = None
        if self.s.reach:
            other = self.samples.take(references, self.view.turns, turn)
            anchor = Anchor(other.design, other.state)
        curved = share > 0 and (w.sensitivity > 0 or w.jvp > 0 or w.vjp > 0)
        design = batch.design.requires_grad_() if curved else batch.design
        state, values = change_from(self.model, self.view, design, anchor)
        parts = {"state": state_error(self.view, state, batch, values)}
        total = w.state * parts["state"]
        if curved:
            for name, part in self.derivatives(batch, design, state).items():
                parts[name] = part
                total = total + share * getattr(w, name) * part
        return total, {name: float(part.detach()) for name, part in parts.items()}

    def derivatives(self, batch: Samples, design: Tensor, state: Tensor) -> dict[str, Tensor]:
        w, parts = self.s.weights, {}
        if w.sensitivity:
            # The design is held in what the objective takes from it directly: that part is known.
            slope = slopes(self.view.objective(state, design.detach(), batch.known), design)
            parts["sensitivity"] = sensitivity_loss(slope, batch.slope, batch.first, w.floor)
        if w.jvp:
            assert batch.direction is not None and batch.tangent is not None
            parts["jvp"] = jvp_loss(state, design, batch.direction, batch.tangent)
        if w.vjp:
            assert batch.cotangent is not None and batch.pullback is not None
            parts["vjp"] = vjp_loss(state, design, batch.cotangent, batch.pullback)
        return parts

    def judge(self, parts: dict[str, float], seconds: float) -> Report:
        error = validation_error(self.model, self.view, self.valid, self.judged if self.s.reach else None)
        if error < self.best:
            self.best, self.stale = error, 0
            self.weights = {name: value.detach().clone() for name, value in weights_of(self.model).items()}
        else:
            self.stale += 1
        report = Report(self.step, sum(parts.values()), parts, error, self.best, seconds)
        self.history.append(report)
        return report

    def mixed(self) -> AbstractContextManager[Any]:
        return torch.autocast("cuda", torch.bfloat16) if self.s.precision == "bf16" else nullcontext()

    # -- checkpoints --------------------------------------------------------------------------------------------------

    def save(self, path: Path) -> None:
        part = path.with_name(path.name + ".part")
        state = {
            "settings": asdict(self.s),
            "step": self.step,
            "best": self.best,
            "stale": self.stale,
            "weights": self.weights,
            "model": weights_of(self.model),
            "optimizer": self.optimizer.state_dict(),
            "schedule": self.schedule.state_dict(),
            "history": [asdict(report) for report in self.history],
        }
        torch.save(state, part)
        part.replace(path)

    def resume(self, path: Path) -> None:
        try:
            state = torch.load(path, map_location=self.device, weights_only=True)
            settings = state["settings"]
        except Exception as error:  # whatever a damaged archive makes of itself
            raise TrainingError(f"{path.name} is no whole checkpoint: delete it and start afresh") from error
        if settings != asdict(self.s):
            changed = ", ".join(name for name, value in asdict(self.s).items() if settings.get(name) != value)
            raise OperatorError(f"{path.name} is of a training with other settings ({changed}): start afresh")
        try:
            self.model.load_state_dict(state["model"])
            self.optimizer.load_state_dict(state["optimizer"])
            self.schedule.load_state_dict(state["schedule"])
        except (KeyError, RuntimeError, ValueError) as error:
            raise OperatorError(f"{path.name} is of another operator: start afresh") from error
        self.step, self.best, self.stale = state["step"], state["best"], state["stale"]
        self.weights, self.history = state["weights"], [Report(**row) for row in state["history"]]


@torch.no_grad()
def validation_error(model: Operator, view: View, samples: Samples, pairs: Pairs | None, batch: int = 64) -> float:
    """Mean relative error of the states on the solver's points; references are never the sample itself."""
    model.eval()
    query, reference = pairs.fixed() if pairs is not None else (np.arange(len(samples)), None)
    total = 0.0
    for first in range(0, len(query), batch):
        own = slice(first, first + batch)
        asked = samples.take(query[own])
        anchor = None
        if reference is not None:
            other = samples.take(reference[own])
            anchor = Anchor(other.design, other.state)
        state, _ = change_from(model, view, asked.design, anchor)
        total += float(state_error(view, state, asked)) * len(asked)
    return total / len(query)


def state_error(view: View, state: Tensor, true: Samples, values: Tensor | None = None) -> Tensor:
    """Mean relative error: in the view's own norm if it has one, else of the values at its points, if given."""
    own = getattr(view, "error", None)
    if own is not None:
        return own(state, true.state, true.design, true.known).mean()
    if values is None:
        return state_loss(state[..., None], true.state[..., None])
    return state_loss(values, view.down(true.state), true.weights)


__all__ = ["OPTIMIZERS", "SCHEDULES", "Report", "Trained", "TrainingSettings", "train", "validation_error"]

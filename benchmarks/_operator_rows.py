"""One row of `benchmarks.operators`: a problem, a training on it, and its judgement on runs that were never shown."""

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

from operators.evaluation import Question, judged, neighbours, probes
from operators.models import Operator, build
from operators.recipes import Recipe, find
from operators.samples import Samples, samples
from operators.settings import Settings
from operators.surrogates.frozen import MeanJacobian
from operators.surrogates.neural import Viewed
from operators.training import Report, TrainingSettings, train
from operators.trajectories import collect, read
from operators.view import View

TIMED = 5  # steps at once
VARIANTS = {
    "base": ("increment", True),
    "state": ("state", True),
    "none": ("none", True),
    "plain": ("increment", False),
    "state_plain": ("state", False),
    "none_plain": ("none", False),
}


@dataclass(frozen=True)
class Case:
    """Attributes:
    variant: a name in VARIANTS. budget: "steps" or "time", CPU seconds; amount: of it. rate: highest learning rate.
    """

    problem: str
    kind: str
    variant: str
    budget: str
    amount: float
    rate: float
    seed: int

    @property
    def output(self) -> str:
        return VARIANTS[self.variant][0]

    @property
    def curved(self) -> bool:
        return VARIANTS[self.variant][1]


@dataclass(frozen=True)
class Ground:
    """What all rows of a problem share: data to learn from, and questions with the solver's answers.

    Attributes:
        view: settings -> how an operator of them sees the problem.
    """

    recipe: Recipe
    view: Callable[[Settings], View]
    learnt: Samples
    valid: Samples
    path: Sequence[Question]
    probe: Sequence[Question]

    @property
    def nothing_learnt(self) -> dict[str, float]:
        """Errors of answering with the reference itself."""
        q = self.path[0]
        still = MeanJacobian(np.zeros((len(q.u), len(q.x))))
        return {"state": judged(still, self.path).state, "probe_state": judged(still, self.probe).state}


def ground(problem: str, folder: Path, runs: int, unseen: int) -> Ground:
    """Runs that are not in the folder are made. A tenth of `runs` are for validation, the first `unseen` of those that
    the recipe never shows are for judgement."""
    recipe = find("inversion" if problem == "points" else problem)
    member = cache(recipe.member)
    numbers, tests = list(recipe.runs)[:runs], list(recipe.unseen)[:unseen]
    collect(folder / recipe.name, member, [*numbers, *tests], **recipe.record)
    own = max(1, len(numbers) // 10)
    learnt, valid = (
        samples(read(folder / recipe.name, part), recipe.keep) for part in (numbers[:-own], numbers[-own:])
    )
    shown = [run.thinned(recipe.keep) for run in read(folder / recipe.name, tests)]
    path, probe = neighbours(member, shown), probes(member, shown, recipe.probe)
    return Ground(recipe, seen(problem, recipe), learnt, valid, path, probe)


def seen(problem: str, recipe: Recipe) -> Callable[[Settings], View]:
    if problem == "points":
        from benchmarks import _operator_points

        return _operator_points.view
    view = recipe.view()
    return lambda settings: view


def model(case: Case, recipe: Recipe) -> Operator:
    output = "state" if case.output == "none" else case.output
    return build(recipe.settings(case.kind, output), recipe.kept, case.seed)


def training(case: Case, recipe: Recipe) -> TrainingSettings:
    reach = 0 if case.output == "none" else recipe.training.reach
    weights = recipe.training.weights if case.curved else replace(recipe.training.weights, sensitivity=0.0)
    return replace(recipe.training, weights=weights, seed=case.seed, reach=reach, rate=case.rate)


def row(case: Case, ground: Ground, steps: int, looks: int) -> dict[str, Any]:
    """Train for so many steps, with `looks` validations, and judge."""
    made, curve, began = model(case, ground.recipe), [], time.process_time()

    def note(report: Report) -> None:
        curve.append([report.step, round(time.process_time() - began, 2), round(report.error, 5)])

    settings = replace(training(case, ground.recipe), steps=steps, validate_every=max(1, steps // looks))
    view = ground.view(made.settings)
    found = train(made, view, ground.learnt, ground.valid, settings, progress=note)
    surrogate = Viewed(found.model, view, referred=settings.reach > 0)
    path, probe = judged(surrogate, ground.path), judged(surrogate, ground.probe)
    figures = {
        "state": path.state,
        "gradient": path.gradient,
        "cosine": path.cosine,
        "probe_state": probe.state,
        "probe_gradient": probe.gradient,
        "probe_cosine": probe.cosine,
    }
    return {
        "steps": found.steps,
        "cpu_seconds": round(found.cpu_seconds, 2),
        "parameters": sum(p.numel() * (1 + p.is_complex()) for p in found.model.parameters()),
        **{name: round(value, 5) for name, value in figures.items()},
        "curve": curve,
    }


def costs(cases: Sequence[Case], ground: Ground, rounds: int = 2) -> dict[str, float]:
    """CPU seconds of a step by "kind output plain" or "kind output curved": the least of several, taken in turns, so
    that what else the machine does is in none of them or in all."""
    least: dict[str, float] = {}
    for _ in range(rounds):
        for name, (case, curved) in needed(cases).items():
            least[name] = min(least.get(name, np.inf), _timed(case, ground, curved))
    return {name: round(value, 6) for name, value in least.items()}


def needed(cases: Sequence[Case]) -> dict[str, tuple[Case, bool]]:
    """The steps that the cases consist of, by name: a case that has such steps, and whether they are curved."""
    kinds = ((case, curved) for case in cases for curved in ((False, True) if case.curved else (False,)))
    return {name_of(case.kind, case.output, curved): (case, curved) for case, curved in kinds}


def name_of(kind: str, output: str, curved: bool) -> str:
    return f"{kind} {output} {'curved' if curved else 'plain'}"


def affordable(case: Case, priced: dict[str, float], settings: TrainingSettings) -> int:
    """Steps within `amount` seconds: derivatives are quiet in the first part of a training."""
    plain, curved = (priced.get(name_of(case.kind, case.output, c), 0.0) for c in (False, True))
    w = settings.weights
    quiet = w.quiet if case.curved else 1.0
    return max(10, int(case.amount / (quiet * plain + (1 - quiet) * curved)))


def _timed(case: Case, ground: Ground, curved: bool) -> float:
    times: list[float] = []
    settings = training(case, ground.recipe)
    factor = ground.recipe.training.weights.sensitivity if curved else 0.0
    weights = replace(settings.weights, sensitivity=factor, quiet=0.0, ramp=0.0)
    settings = replace(settings, weights=weights, steps=3 * TIMED, validate_every=TIMED)
    made = model(case, ground.recipe)
    few = ground.valid.take([0, 1])  # validations are nearly free, and the first steps hold what happens once
    train(
        made,
        ground.view(made.settings),
        ground.learnt,
        few,
        settings,
        progress=lambda report: times.append(time.process_time()),
    )
    return min(np.diff(times)) / TIMED

"""Training learns, resumes bit for bit, stops when it should, and says what is wrong; two processes make one step."""

import os
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch

from operators.errors import OperatorError, TrainingError
from operators.losses import Weights
from operators.models import Operator, weights_of
from operators.processes import gradients, set_gradients
from operators.samples import samples, with_pullbacks, with_tangents
from operators.training import OPTIMIZERS, SCHEDULES, Report, TrainingSettings, train
from tests.operators.small import data, member, operator, runs, view

SHORT = TrainingSettings(steps=12, validate_every=4, weights=Weights(5.0, sensitivity=0.5, quiet=0.3, ramp=0.2))


def test_it_learns() -> None:
    learnt, judged = data()
    settings = TrainingSettings(steps=60, validate_every=30, rate=4e-3)
    found = train(operator(), view(), learnt, judged, settings)
    start = train(operator(), view(), learnt, judged, replace(settings, steps=1))
    assert found.steps == 60
    assert not found.model.training
    assert found.history[-1].best < 0.7 * start.history[0].error


def test_a_run_that_was_stopped_goes_on_bit_for_bit(tmp_path: Path) -> None:
    learnt, judged = data()
    whole = train(operator(), view(), learnt, judged, SHORT)

    def stop(report: Report) -> str | None:
        return "stop" if report.step == 4 else None

    path = tmp_path / "training.pt"
    part = train(operator(), view(), learnt, judged, SHORT, progress=stop, checkpoint=path)
    assert part.steps == 4
    torch.manual_seed(123)  # the state of the global generator must not matter
    rest = train(operator(seed=5), view(), learnt, judged, SHORT, checkpoint=path)
    assert rest.steps == 12
    for name, value in weights_of(whole.model).items():
        assert torch.equal(value, weights_of(rest.model)[name]), name
    assert [r.error for r in whole.history] == [r.error for r in rest.history]
    assert [r.parts for r in whole.history] == [r.parts for r in rest.history]


def test_checkpoints_of_others_and_damaged_ones_are_refused(tmp_path: Path) -> None:
    learnt, judged = data()
    path = tmp_path / "training.pt"
    train(operator(), view(), learnt, judged, replace(SHORT, steps=1), checkpoint=path)
    with pytest.raises(OperatorError, match=r"other settings \(steps\)"):
        train(operator(), view(), learnt, judged, SHORT, checkpoint=path)
    path.write_bytes(path.read_bytes()[:300])
    with pytest.raises(TrainingError, match="no whole checkpoint"):
        train(operator(), view(), learnt, judged, replace(SHORT, steps=1), checkpoint=path)


def test_early_stopping_returns_the_best_weights() -> None:
    learnt, judged = data()
    settings = TrainingSettings(steps=200, validate_every=1, rate=0.3, schedule="constant", patience=3, clip=1e9)
    found = train(operator(), view(), learnt, judged, settings)
    errors = [report.error for report in found.history]
    assert found.steps < 200
    assert min(errors[-3:]) >= min(errors[:-3])
    again = train(found.model, view(), learnt, judged, replace(settings, steps=1, rate=1e-12))
    assert again.history[0].error == pytest.approx(min(errors), rel=1e-4)


def test_what_is_not_finite_is_an_error() -> None:
    learnt, judged = data()
    broken = learnt.state.clone()
    broken[:] = torch.nan
    with pytest.raises(TrainingError, match="not finite in step 0"):
        train(operator(), view(), replace(learnt, state=broken), judged, SHORT)


def test_directional_losses_learn_from_solver_tangents() -> None:
    learnt, judged = data()
    problem, rng = member(0).problem, np.random.default_rng(0)
    n, s = learnt.design.shape[1], learnt.state.shape[1]
    learnt = with_tangents(learnt, problem, rng.standard_normal((len(learnt), 1, n)))
    learnt = with_pullbacks(learnt, problem, rng.standard_normal((len(learnt), 1, s)))
    # h and w meet: w . (du/dx h) = h . (du/dx)^T w
    assert learnt.direction is not None and learnt.cotangent is not None
    assert learnt.tangent is not None and learnt.pullback is not None
    left = (learnt.cotangent * learnt.tangent).sum(-1)
    torch.testing.assert_close(left, (learnt.direction * learnt.pullback).sum(-1), rtol=1e-3, atol=1e-4)
    weights = Weights(1.0, jvp=1.0, vjp=1.0, quiet=0.0, ramp=0.0)
    found = train(operator(), view(), learnt, judged, TrainingSettings(steps=40, validate_every=10, weights=weights))
    assert found.history[-1].parts["jvp"] < 0.9 * found.history[0].parts["jvp"]
    assert set(found.history[0].parts) == {"state", "jvp", "vjp"}


def test_sensitivities_wait_for_the_states() -> None:
    learnt, judged = data()
    found = train(operator(), view(), learnt, judged, replace(SHORT, steps=10, validate_every=2))
    assert "sensitivity" not in found.history[0].parts
    assert "sensitivity" in found.history[-1].parts


def test_what_cannot_be_is_refused_in_one_sentence() -> None:
    learnt, judged = data()
    with pytest.raises(OperatorError, match="share runs"):
        train(operator(), view(), learnt, learnt, SHORT)
    with pytest.raises(OperatorError, match="with_tangents"):
        train(operator(), view(), learnt, judged, replace(SHORT, weights=Weights(jvp=1.0)))
    with pytest.raises(OperatorError, match="optimizer is one of adamw"):
        TrainingSettings(optimizer="magic")
    with pytest.raises(OperatorError, match="CUDA"):
        TrainingSettings(precision="bf16")


@pytest.mark.parametrize("optimizer", list(OPTIMIZERS))
@pytest.mark.parametrize("schedule", list(SCHEDULES))
def test_every_optimizer_with_every_schedule(optimizer: str, schedule: str) -> None:
    learnt, judged = data()
    settings = TrainingSettings(steps=3, validate_every=3, optimizer=optimizer, schedule=schedule)
    assert np.isfinite(train(operator(), view(), learnt, judged, settings).history[-1].error)


def test_gradients_of_complex_weights_travel_as_two_numbers() -> None:
    real, spectral = torch.randn(2, 3), torch.randn(4, dtype=torch.complex64)
    unused = torch.zeros(2, requires_grad=True)
    for p in (real, spectral):
        p.grad = torch.randn_like(p)
    before = [real.grad, spectral.grad]
    flat = gradients([real, spectral, unused])
    assert flat.shape == (6 + 8 + 2,)
    set_gradients([real, spectral, unused], flat / 2)
    for p, g in zip((real, spectral), before, strict=True):
        assert g is not None
        torch.testing.assert_close(p.grad, g / 2)
    torch.testing.assert_close(unused.grad, torch.zeros(2))


def trained_in_double() -> Operator:
    """In single precision AdamW divides rounding by rounding where a gradient nearly vanishes."""
    learnt, judged = (samples(runs(*part), dtype=torch.float64) for part in ((0, 6), (6, 8)))
    return train(operator().double(), view().to(torch.float64), learnt, judged, SHORT).model


PROCESS = """
import os
import sys
from pathlib import Path
import torch
torch.set_num_threads(1)
from operators.models import save
from tests.operators.test_training import trained_in_double
model = trained_in_double()
if os.environ.get("RANK", "0") == "0":
    save(model, Path(sys.argv[1]))
"""


@pytest.mark.slow
def test_two_processes_train_as_one(tmp_path: Path) -> None:
    from operators.models import load

    script = tmp_path / "process.py"
    script.write_text(PROCESS)
    root = Path(__file__).parents[2]
    path = tmp_path / "two.safetensors"
    started = [sys.executable, "-m", "torch.distributed.run", "--standalone", "--nproc-per-node=2", str(script)]
    environment = {**os.environ, "PYTHONPATH": str(root), "OMP_NUM_THREADS": "1"}
    subprocess.run([*started, str(path)], check=True, env=environment, cwd=root, timeout=280)
    together = weights_of(load(path))
    for name, value in weights_of(trained_in_double()).items():
        torch.testing.assert_close(together[name], value, rtol=1e-9, atol=1e-12)

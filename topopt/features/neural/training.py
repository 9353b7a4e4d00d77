"""Training in two stages: first shape and field, then the way back from the latent space to the shape code.

The order is that of the published method (its "first strategy"); `stages` has the losses. Ours draws fresh data all the
time and takes larger batches and Muon steps (Jordan et al. 2024). The learning rate is constant after a short warm-up
and falls to zero along a half cosine over the last part of each stage, so that a longer run repeats the first steps of
a shorter one. Data and noise depend on the seed and the number of the block alone; a run that is resumed therefore
reaches the same bits as one that was not interrupted.
"""

import math
import time
from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from topopt.features.errors import FeatureError
from topopt.features.neural import checkpoint
from topopt.features.neural.settings import Settings
from topopt.features.neural.stages import CodeStage, FieldStage

if TYPE_CHECKING:
    from torch.optim import Optimizer

    from topopt.features.neural.model import Model

Say = Callable[[str], None]


def train(settings: Settings, folder: Path, say: Say = print) -> "Model":
    """Train all networks, or go on where `folder` was left.

    Args:
        settings: those of the interrupted run, except for the lengths of stages, decay, threads and save_every.
        folder: for checkpoints. say: gets a line now and then.

    Returns:
        The trained model, in evaluation mode, with its latent limits.

    Raises:
        FeatureError: the folder holds a run with other settings.
    """
    import torch

    from topopt.features.neural.model import Model

    torch.set_num_threads(settings.threads)
    torch.manual_seed(settings.seed)  # the only use of the global state: how the layers start
    model = Model.fresh(settings.width, settings.depth)
    folder.mkdir(parents=True, exist_ok=True)
    for stage in (FieldStage(settings, model), CodeStage(settings, model)):
        _run(stage, settings, folder / f"{stage.name}.safetensors", say)
    model.eval()
    model.measure_limits(np.random.default_rng([settings.seed, 3]))
    return model


def _run(stage: FieldStage | CodeStage, settings: Settings, file: Path, say: Say) -> None:
    import torch

    optimizers = _optimizers(stage, settings)
    first, noise = 0, torch.Generator()
    if file.exists():
        notes = checkpoint.restore(file, stage.networks, optimizers)
        first = _same_run(notes, settings, file)
    saved, running, begun = time.monotonic(), math.nan, time.monotonic()
    for block in range(first // settings.block, stage.total // settings.block):
        noise.manual_seed(settings.seed * 1_000_003 + block)
        for network in stage.networks.values():
            network.train()
        for place, batch in enumerate(stage.batches(block)):
            step = block * settings.block + place
            loss, error = stage.loss(batch, lambda shape: torch.randn(shape, generator=noise))
            for optimizer in optimizers.values():
                optimizer.zero_grad(set_to_none=True)
            loss.backward()
            for optimizer in optimizers.values():
                for group in optimizer.param_groups:
                    group["lr"] = stage.rate * _schedule(step, stage.total, settings.decay)
                optimizer.step()
            now = error.item()
            if not math.isfinite(now):
                raise FeatureError(f"training left the numbers at step {step}: lower the learning rate")
            running = now if math.isnan(running) else 0.99 * running + 0.01 * now
        done = (block + 1) * settings.block
        if time.monotonic() - saved > settings.save_every or done == stage.total:
            saved = time.monotonic()
            checkpoint.save(file, stage.networks, optimizers, {"step": done, "settings": asdict(settings)})
            pace = (done - first) / (saved - begun)
            say(f"{stage.name}: step {done} of {stage.total}, mean squared error {running:.3e}, {pace:.1f} steps/s")


def _optimizers(stage: FieldStage | CodeStage, settings: Settings) -> "dict[str, Optimizer]":
    # Muon (Jordan et al. 2024) for the matrices between hidden layers, its steps scaled to the size of AdamW's.
    import torch

    every = [p for network in stage.networks.values() for p in network.parameters()]
    inner = [p for p in every if p.ndim == 2 and min(p.shape) >= 64]
    outer = [p for p in every if not (p.ndim == 2 and min(p.shape) >= 64)]
    rate, shrink = stage.rate, settings.weight_decay
    return {
        "muon": torch.optim.Muon(inner, lr=rate, weight_decay=shrink, adjust_lr_fn="match_rms_adamw"),
        "adamw": torch.optim.AdamW(outer, lr=rate, weight_decay=shrink),
    }


def _schedule(step: int, total: int, decay: float) -> float:
    warm = min(1.0, (step + 1) / 500)
    left = (total - step) / (decay * total)
    return warm * (1.0 if left >= 1 else 0.5 - 0.5 * math.cos(math.pi * left))


def _same_run(notes: dict[str, Any], settings: Settings, file: Path) -> int:
    # A stage may be made longer or shorter, and decay later; whatever else differs would be another run.
    free = ("steps", "code_steps", "decay", "threads", "save_every")
    old, new = notes["settings"], asdict(settings)
    other = [name for name in new if name not in free and old.get(name) != new[name]]
    if other:
        raise FeatureError(f"{file} is of a run with another {', '.join(other)}: remove it to start afresh")
    return notes["step"]

"""How an operator is trained, and the optimizers and schedules that a training can name."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field

import torch
from torch import Tensor

from operators.errors import OperatorError
from operators.losses import Weights


@dataclass(frozen=True)
class TrainingSettings:
    """How an operator is trained.

    Attributes:
        steps, batch: of the optimizer. optimizer, schedule: names in OPTIMIZERS and SCHEDULES.
        rate: highest learning rate. decay: of the weights. warm_up: part of the steps before it is reached.
        clip: longest gradient. weights: of the losses.
        reach: references are at most so many stored iterates away; 0: no reference. augment: turn the samples by the
            symmetries of the view.
        validate_every: steps; patience: validations without a better one before training stops, 0: never.
        precision: "fp32", or "bf16" for mixed precision on CUDA. device: of torch.
    """

    steps: int = 1200
    batch: int = 8
    optimizer: str = "adamw"
    schedule: str = "one_cycle"
    rate: float = 2e-3
    decay: float = 5e-5
    warm_up: float = 0.1
    clip: float = 1.0
    weights: Weights = field(default_factory=Weights)
    reach: int = 3
    augment: bool = True
    validate_every: int = 100
    patience: int = 0
    seed: int = 0
    precision: str = "fp32"
    device: str = "cpu"

    def __post_init__(self) -> None:
        if self.steps < 1 or self.batch < 1 or self.validate_every < 1:
            raise OperatorError("steps, batch and validate_every must be at least 1")
        for name, table in (("optimizer", OPTIMIZERS), ("schedule", SCHEDULES)):
            if getattr(self, name) not in table:
                raise OperatorError(f"{name} is one of {', '.join(table)}, not {getattr(self, name)!r}")
        if self.precision not in ("fp32", "bf16"):
            raise OperatorError(f"precision is fp32 or bf16, not {self.precision!r}")
        if self.precision == "bf16" and not self.device.startswith("cuda"):
            raise OperatorError("mixed precision needs a CUDA device: take precision fp32 on this one")


type MakeOptimizer = Callable[[Iterable[Tensor], TrainingSettings], torch.optim.Optimizer]
type MakeSchedule = Callable[[torch.optim.Optimizer, TrainingSettings], torch.optim.lr_scheduler.LRScheduler]

OPTIMIZERS: dict[str, MakeOptimizer] = {
    "adamw": lambda parameters, s: torch.optim.AdamW(parameters, s.rate, weight_decay=s.decay),
    "sgd": lambda parameters, s: torch.optim.SGD(parameters, s.rate, momentum=0.9, weight_decay=s.decay),
}


def _one_cycle(optimizer: torch.optim.Optimizer, s: TrainingSettings) -> torch.optim.lr_scheduler.LRScheduler:
    # The cycle divides by the length of its phases, which must not vanish.
    start = min(max(s.warm_up, 2 / (s.steps + 1)), 0.9)
    return torch.optim.lr_scheduler.OneCycleLR(optimizer, s.rate, total_steps=s.steps + 1, pct_start=start)


SCHEDULES: dict[str, MakeSchedule] = {
    "one_cycle": _one_cycle,
    "cosine": lambda optimizer, s: torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, s.steps),
    "constant": lambda optimizer, s: torch.optim.lr_scheduler.ConstantLR(optimizer, 1.0),
}

"""Several processes that train one operator, each on its part of every batch; `torchrun` starts them."""

import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

import torch
from torch import Tensor, nn

from operators.errors import OperatorError
from operators.training_settings import TrainingSettings


@dataclass(frozen=True)
class Team:
    """Which process this is, and of how many."""

    rank: int = 0
    size: int = 1

    def average(self, model: nn.Module) -> None:
        """Gradients become their mean over the processes; a parameter without one counts as zero."""
        if self.size == 1:
            return
        import torch.distributed as dist

        parameters = list(model.parameters())
        flat = gradients(parameters)
        dist.all_reduce(flat)
        set_gradients(parameters, flat / self.size)

    def agree(self, mine: bool) -> bool:
        """Whether any process says so."""
        if self.size == 1:
            return mine
        import torch.distributed as dist

        told = torch.tensor(float(mine), device="cuda" if dist.get_backend() == "nccl" else "cpu")
        dist.all_reduce(told, dist.ReduceOp.MAX)
        return bool(told > 0)


@contextmanager
def processes(settings: TrainingSettings) -> Iterator[Team]:
    """The processes that `torchrun` started, or this one alone."""
    size = int(os.environ.get("WORLD_SIZE", "1"))
    if size == 1:
        yield Team()
        return
    import torch.distributed as dist

    if settings.batch % size:
        raise OperatorError(f"a batch of {settings.batch} cannot be split over {size} processes: take a multiple")
    cuda = settings.device.startswith("cuda")
    if cuda:
        torch.cuda.set_device(int(os.environ.get("LOCAL_RANK", "0")))
    ours = not dist.is_initialized()
    if ours:
        dist.init_process_group("nccl" if cuda else "gloo")
    try:
        yield Team(dist.get_rank(), size)
    finally:
        if ours:
            dist.destroy_process_group()


def gradients(parameters: Sequence[Tensor]) -> Tensor:
    """One flat vector of real numbers; a complex entry is two of them."""
    found = [torch.zeros_like(p) if p.grad is None else p.grad for p in parameters]
    return torch.cat([(torch.view_as_real(g) if g.is_complex() else g).reshape(-1) for g in found])


def set_gradients(parameters: Sequence[Tensor], flat: Tensor) -> None:
    """Hand the vector of `gradients` back."""
    sizes = [p.numel() * (1 + p.is_complex()) for p in parameters]
    for p, part in zip(parameters, flat.split(sizes), strict=True):
        p.grad = torch.view_as_complex(part.view(*p.shape, 2)).clone() if p.is_complex() else part.view_as(p).clone()

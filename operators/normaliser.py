"""Mean and standard deviation of features, kept inside the model, so that no weights meet the wrong statistics."""

from collections.abc import Iterable

import torch
from torch import Tensor, nn

SMALLEST = 1e-8


class Normaliser(nn.Module):
    """Standardises the last axis.

    Args:
        count: features. kept: numbers of features that stay as they are, such as masks and coordinates.
    """

    mean: Tensor
    std: Tensor

    def __init__(self, count: int, kept: Iterable[int] = ()) -> None:
        super().__init__()
        self.kept = sorted(kept)
        self.register_buffer("mean", torch.zeros(count))
        self.register_buffer("std", torch.ones(count))

    def fit(self, values: Tensor) -> None:
        """values : (..., count), of the training runs only."""
        flat = values.reshape(-1, values.shape[-1]).to(self.mean)
        mean, std = flat.mean(0), flat.std(0).clamp(min=SMALLEST)
        mean[self.kept], std[self.kept] = 0.0, 1.0
        self.mean.copy_(mean)
        self.std.copy_(std)

    def forward(self, values: Tensor) -> Tensor:
        return (values - self.mean) / self.std

    def back(self, values: Tensor) -> Tensor:
        """To physical units."""
        return values * self.std + self.mean

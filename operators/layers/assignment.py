"""Which point belongs to which virtual sensor: logits, and what padding and quadrature weights do to them."""

import math

import torch
from torch import Tensor, nn

from operators.errors import OperatorError

COLDEST = 1e-2  # the least temperature


def split_heads(x: Tensor, heads: int) -> Tensor:
    """(B, M, C) -> (B, H, M, C / H)"""
    return x.unflatten(-1, (heads, -1)).transpose(1, 2)


def merge_heads(x: Tensor) -> Tensor:
    """(B, H, M, h) -> (B, M, H h)"""
    return x.transpose(1, 2).flatten(2)


def width_per_head(width: int, heads: int) -> int:
    """Raises: OperatorError, the width is no multiple of the heads."""
    if heads < 1 or width % heads:
        raise OperatorError(f"width {width} cannot be split into {heads} heads: make it a multiple")
    return width // heads


class Assignment(nn.Module):
    """Logits (B, H, M, S) of points for sensors: one linear map for all heads, and a temperature for each.

    Args:
        width: of a head, h. heads: H. sensors: S. warmth: of the temperatures at the start, in units of 1 / sqrt(h).
    """

    def __init__(self, width: int, heads: int, sensors: int, warmth: float = 1.0) -> None:
        super().__init__()
        self.linear = nn.Linear(width, sensors)
        self.temperature = nn.Parameter(torch.full((heads,), warmth / math.sqrt(width)))

    def forward(self, z: Tensor) -> Tensor:
        """z : (B, H, M, h)"""
        return self.linear(z) / self.temperature.clamp(min=COLDEST)[:, None, None]


def over_points(logits: Tensor, mask: Tensor | None, weights: Tensor | None) -> Tensor:
    """Softmax over the points, padding left out, each point counted with its quadrature weight.

    exp(a + log w) / sum: a sensor's value is a weighted mean, which two points of half the weight in place of one leave
    as it is.
    """
    if weights is not None:
        logits = logits + weights.clamp(min=torch.finfo(weights.dtype).tiny).log()[:, None, :, None]
    if mask is not None:
        logits = logits.masked_fill(~mask[:, None, :, None], -torch.inf)
    return logits.softmax(dim=2)

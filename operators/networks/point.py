"""A network for points in any order: embeddings of query, reference and change, then blocks that mix the points.

    e = MLP_q(x) + MLP_xr(x_r) + MLP_ur(u_r) + MLP_d(x - x_r)  ->  blocks  ->  MLP_out

After the reference neural operator (Cheng et al. 2024) and its use for optimisation (ICML 2025), our implementation.
"""

import math
from collections.abc import Callable

import torch
from torch import Tensor, nn

from operators.errors import OperatorError
from operators.layers import PhysicsAttention, SubspaceAttention, VirtualFourier
from operators.layers.mlp import Block, ResidualMlp
from operators.settings import Settings

MIXERS: dict[str, Callable[[Settings], nn.Module]] = {
    "virtual_fourier": lambda s: VirtualFourier(s.width, s.heads, s.sensors, s.modes, s.spectrum),
    "physics_attention": lambda s: PhysicsAttention(s.width, s.heads, s.sensors),
    "subspace_attention": lambda s: SubspaceAttention(s.width, s.heads, s.sensors),
}


class PointNetwork(nn.Module):
    """Raises: OperatorError, `settings.kind` is no mixer."""

    def __init__(self, s: Settings) -> None:
        super().__init__()
        if s.kind not in MIXERS:
            raise OperatorError(f"there is no mixer {s.kind!r}: choose one of {', '.join(MIXERS)}")
        self.query = ResidualMlp(s.inputs + 2 * s.dim * s.frequencies, s.width, s.width, s.hidden)
        self.other, self.change = (ResidualMlp(s.inputs, s.width, s.width, s.hidden) for _ in range(2))
        self.state = ResidualMlp(s.outputs, s.width, s.width, s.hidden)
        self.blocks = nn.ModuleList(Block(s.width, MIXERS[s.kind](s), s.dropout) for _ in range(s.blocks))
        self.out = ResidualMlp(s.width, s.width, s.outputs, s.hidden)
        self.dim, self.frequencies = s.dim, [math.pi * 2**k for k in range(s.frequencies)]

    def forward(
        self, x: Tensor, reference: tuple[Tensor, Tensor] | None, mask: Tensor | None, weights: Tensor | None
    ) -> Tensor:
        if reference is None:
            return self._mixed(self._asked(x), mask, weights)
        moved = self._asked(x) + self.change(x - reference[0])
        return self._mixed(moved + self._anchored(reference), mask, weights)

    def increment(
        self, x: Tensor, reference: tuple[Tensor, Tensor], mask: Tensor | None, weights: Tensor | None
    ) -> Tensor:
        """Psi(x; x_r, u_r) - Psi(x_r; x_r, u_r); the two passes share what is embedded of the reference."""
        anchored = self._anchored(reference)
        there = self._asked(x) + self.change(x - reference[0]) + anchored
        return self._mixed(there, mask, weights) - self._mixed(self._unmoved(reference[0], anchored), mask, weights)

    def still(self, reference: tuple[Tensor, Tensor], mask: Tensor | None, weights: Tensor | None) -> Tensor:
        """Psi(x_r; x_r, u_r)"""
        return self._mixed(self._unmoved(reference[0], self._anchored(reference)), mask, weights)

    def _asked(self, x: Tensor) -> Tensor:
        waves = [turn(f * x[..., : self.dim]) for f in self.frequencies for turn in (torch.sin, torch.cos)]
        return self.query(torch.cat([x, *waves], dim=-1) if waves else x)

    def _anchored(self, reference: tuple[Tensor, Tensor]) -> Tensor:
        x_r, u_r = reference
        return self.other(x_r) + self.state(u_r)

    def _unmoved(self, x_r: Tensor, anchored: Tensor) -> Tensor:
        return self._asked(x_r) + self.change(torch.zeros_like(x_r[:1, :1])) + anchored

    def _mixed(self, embedded: Tensor, mask: Tensor | None, weights: Tensor | None) -> Tensor:
        for block in self.blocks:
            embedded = block(embedded, mask, weights)
        return self.out(embedded)

"""The reference operator: the state at a query design from the state at a reference design on the same points.

    e = MLP_q(x) + MLP_xr(x_r) + MLP_ur(u_r) + MLP_d(x - x_r)  ->  blocks  ->  MLP_out = Psi(x; x_r, u_r)

    output "state":      u = Psi(x; x_r, u_r)
    output "increment":  u = u_r + Psi(x; x_r, u_r) - Psi(x_r; x_r, u_r)

The increment is exact at the reference by construction, and was the ingredient that mattered most in our measurements;
the state output is the published one. Without a reference the same weights are an ordinary operator, which reference
dropout during training prepares. After the reference neural operator (Cheng et al. 2024) and its use for optimisation
(ICML 2025), our implementation.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

import torch
from torch import Tensor, nn

from operators.errors import OperatorError
from operators.layers import PhysicsAttention, SubspaceAttention, VirtualFourier
from operators.layers.mlp import Block, ResidualMlp
from operators.layers.virtual_fourier import Spectrum

Mixer = Literal["virtual_fourier", "physics_attention", "subspace_attention"]
Output = Literal["state", "increment"]


@dataclass(frozen=True)
class ReferenceSettings:
    """Sizes of a reference operator.

    Attributes:
        inputs: features of a point, coordinates, design and masks. outputs: components of the state.
        width: C. blocks, heads, sensors, modes: of the mixers. hidden: residual layers of each MLP.
        spectrum: of Virtual-Fourier. output: see above. dropout: inside the blocks.
        reference_dropout: probability per training batch that the reference is left out.
    """

    inputs: int
    outputs: int
    width: int = 128
    blocks: int = 3
    heads: int = 8
    sensors: int = 128
    modes: int = 16
    hidden: int = 3
    mixer: Mixer = "virtual_fourier"
    output: Output = "increment"
    spectrum: Spectrum = "complex"
    dropout: float = 0.0
    reference_dropout: float = 0.3


MIXERS: dict[str, Callable[[ReferenceSettings], nn.Module]] = {
    "virtual_fourier": lambda s: VirtualFourier(s.width, s.heads, s.sensors, s.modes, s.spectrum),
    "physics_attention": lambda s: PhysicsAttention(s.width, s.heads, s.sensors),
    "subspace_attention": lambda s: SubspaceAttention(s.width, s.heads, s.sensors),
}


class ReferenceOperator(nn.Module):
    """The network, in normalised units.

    Raises:
        OperatorError: a mixer or output that does not exist.
    """

    def __init__(self, settings: ReferenceSettings) -> None:
        super().__init__()
        s = self.settings = settings
        if s.mixer not in MIXERS or s.output not in ("state", "increment"):
            raise OperatorError(f"mixer is one of {', '.join(MIXERS)}, and output state or increment")
        self.query, self.other, self.change = (ResidualMlp(s.inputs, s.width, s.width, s.hidden) for _ in range(3))
        self.state = ResidualMlp(s.outputs, s.width, s.width, s.hidden)
        self.blocks = nn.ModuleList(Block(s.width, MIXERS[s.mixer](s), s.dropout) for _ in range(s.blocks))
        self.out = ResidualMlp(s.width, s.width, s.outputs, s.hidden)

    def forward(
        self,
        x: Tensor,
        reference: tuple[Tensor, Tensor] | None = None,
        mask: Tensor | None = None,
        weights: Tensor | None = None,
    ) -> Tensor:
        """State at x.

        Args:
            x: (B, M, inputs). reference: x_r : (B, M, inputs) and u_r : (B, M, outputs), on the same points in the same
                order. mask: (B, M), true at real points. weights: (B, M), quadrature weights.

        Returns:
            (B, M, outputs)
        """
        if self.training and reference is not None and torch.rand(()) < self.settings.reference_dropout:
            reference = None
        if reference is None:
            return self._psi(self.query(x), mask, weights)
        x_r, u_r = reference
        if x_r.shape != x.shape or u_r.shape[:-1] != x.shape[:-1]:
            raise OperatorError(f"the reference has {tuple(x_r.shape)} where the query has {tuple(x.shape)}")
        around = self.other(x_r) + self.state(u_r)
        there = self._psi(self.query(x) + around + self.change(x - x_r), mask, weights)
        if self.settings.output == "state":
            return there
        here = self._psi(self.query(x_r) + around + self.change(torch.zeros_like(x)), mask, weights)
        return u_r + there - here

    def _psi(self, embedded: Tensor, mask: Tensor | None, weights: Tensor | None) -> Tensor:
        for block in self.blocks:
            embedded = block(embedded, mask, weights)
        return self.out(embedded)

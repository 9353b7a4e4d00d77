"""neuraloperator's FNO, TFNO and UNO on a grid: the reference enters as further channels, and a flag tells whether it
is there. Points are the nodes of the grid in `ij` order."""

from typing import Any

import torch
from torch import Tensor, nn

from operators.errors import OperatorError
from operators.networks.neuralop import models
from operators.settings import Settings


class GridNetwork(nn.Module):
    """Raises: OperatorError, the settings name no grid."""

    def __init__(self, s: Settings) -> None:
        super().__init__()
        if s.grid is None:
            raise OperatorError(f"{s.kind} needs a grid: give the points per axis, for instance grid=(25, 25)")
        self.grid, self.outputs = s.grid, s.outputs
        self.net = _network(s, channels=2 * s.inputs + s.outputs + 1)

    def forward(
        self, x: Tensor, reference: tuple[Tensor, Tensor] | None, mask: Tensor | None, weights: Tensor | None
    ) -> Tensor:
        if reference is None:
            rest = [torch.zeros_like(x), x.new_zeros(*x.shape[:2], self.outputs + 1)]
        else:
            x_r, u_r = reference
            rest = [x - x_r, u_r, torch.ones_like(x[..., :1])]
        channels = torch.cat([x, *rest], dim=-1)
        if mask is not None:
            channels = channels * mask[..., None]
        field = channels.transpose(1, 2).unflatten(2, self.grid)
        return self.net(field).flatten(2).transpose(1, 2)

    def increment(
        self, x: Tensor, reference: tuple[Tensor, Tensor], mask: Tensor | None, weights: Tensor | None
    ) -> Tensor:
        """Psi(x; x_r, u_r) - Psi(x_r; x_r, u_r)"""
        return self(x, reference, mask, weights) - self.still(reference, mask, weights)

    def still(self, reference: tuple[Tensor, Tensor], mask: Tensor | None, weights: Tensor | None) -> Tensor:
        """Psi(x_r; x_r, u_r)"""
        return self(reference[0], reference, mask, weights)


def _network(s: Settings, channels: int) -> Any:
    assert s.grid is not None
    common: dict[str, Any] = {
        "in_channels": channels,
        "out_channels": s.outputs,
        "hidden_channels": s.width,
        "n_layers": s.blocks,
        "positional_embedding": None,  # coordinates are among the inputs
        "domain_padding": s.padding or None,
    }
    modes = (s.modes,) * len(s.grid)
    if s.kind == "uno":
        layers = s.blocks
        return models().UNO(
            **common,
            lifting_channels=2 * s.width,
            projection_channels=2 * s.width,
            uno_out_channels=[s.width] * layers,
            uno_n_modes=[list(modes)] * layers,
            uno_scalings=[[1.0] * len(s.grid)] * layers,
            channel_mlp_skip="linear",  # layers beside a skip connection have more channels than they return
        )
    if s.kind == "tfno":
        return models().TFNO(n_modes=modes, factorization="Tucker", rank=0.42, **common)
    return models().FNO(n_modes=modes, **common)

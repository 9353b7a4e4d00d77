"""neuraloperator's GINO: points to a grid by a graph kernel, FNO on the grid, and back to the points.

All samples of a batch must share their points; coordinates are the first `dim` features and are brought to [0, 1].
"""

import torch
from torch import Tensor, nn

from operators.errors import OperatorError
from operators.networks.neuralop import models
from operators.settings import Settings


class GeometryNetwork(nn.Module):
    """A latent grid of `sensors` nodes in all, over the box of the points."""

    def __init__(self, s: Settings) -> None:
        super().__init__()
        self.dim, self.outputs = s.dim, s.outputs
        self.side = max(4, round(s.sensors ** (1 / s.dim)))
        self.net = models().GINO(
            in_channels=2 * s.inputs + s.outputs + 1,
            out_channels=s.outputs,
            gno_coord_dim=s.dim,
            in_gno_radius=s.radius,
            out_gno_radius=s.radius,
            in_gno_transform_type="nonlinear",  # the features enter the kernel
            fno_n_modes=(min(s.modes, self.side),) * s.dim,
            fno_in_channels=2 * s.inputs + s.outputs + 1,
            fno_hidden_channels=s.width,
            fno_n_layers=s.blocks,
            gno_use_open3d=False,
            gno_use_torch_scatter=False,
        )

    def forward(
        self, x: Tensor, reference: tuple[Tensor, Tensor] | None, mask: Tensor | None, weights: Tensor | None
    ) -> Tensor:
        if mask is not None and not bool(mask.all()):
            raise OperatorError("gino takes no padded points: give batches of one mesh")
        points = x[0, :, : self.dim].detach()
        if x.shape[0] > 1 and not torch.equal(x[..., : self.dim].detach(), points.expand(x.shape[0], -1, -1)):
            raise OperatorError("gino needs the same points in every sample of a batch: group them by mesh")
        low, high = points.amin(0), points.amax(0)
        points = (points - low) / (high - low).clamp(min=1e-12)
        if reference is None:
            rest = [torch.zeros_like(x), x.new_zeros(*x.shape[:2], self.outputs + 1)]
        else:
            rest = [x - reference[0], reference[1], torch.ones_like(x[..., :1])]
        axis = torch.linspace(0, 1, self.side, dtype=x.dtype, device=x.device)
        latent = torch.stack(torch.meshgrid(*[axis] * self.dim, indexing="ij"), dim=-1)[None]
        features = torch.cat([x, *rest], dim=-1)
        return self.net(input_geom=points[None], latent_queries=latent, output_queries=points[None], x=features)

    def increment(
        self, x: Tensor, reference: tuple[Tensor, Tensor], mask: Tensor | None, weights: Tensor | None
    ) -> Tensor:
        """Psi(x; x_r, u_r) - Psi(x_r; x_r, u_r)"""
        return self(x, reference, mask, weights) - self.still(reference, mask, weights)

    def still(self, reference: tuple[Tensor, Tensor], mask: Tensor | None, weights: Tensor | None) -> Tensor:
        """Psi(x_r; x_r, u_r)"""
        return self(reference[0], reference, mask, weights)

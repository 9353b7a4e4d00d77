"""A network for points in any order: embeddings of query, reference and change, then blocks that mix the points.

    e = MLP_q(x) + MLP_xr(x_r) + MLP_ur(u_r) + MLP_d(x - x_r)  ->  blocks  ->  MLP_out

After the reference neural operator (Cheng et al. 2024) and its use for optimisation (ICML 2025), our implementation.
"""

from collections.abc import Callable

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
        self.query, self.other, self.change = (ResidualMlp(s.inputs, s.width, s.width, s.hidden) for _ in range(3))
        self.state = ResidualMlp(s.outputs, s.width, s.width, s.hidden)
        self.blocks = nn.ModuleList(Block(s.width, MIXERS[s.kind](s), s.dropout) for _ in range(s.blocks))
        self.out = ResidualMlp(s.width, s.width, s.outputs, s.hidden)

    def forward(
        self, x: Tensor, reference: tuple[Tensor, Tensor] | None, mask: Tensor | None, weights: Tensor | None
    ) -> Tensor:
        embedded = self.query(x)
        if reference is not None:
            x_r, u_r = reference
            embedded = embedded + self.other(x_r) + self.state(u_r) + self.change(x - x_r)
        for block in self.blocks:
            embedded = block(embedded, mask, weights)
        return self.out(embedded)

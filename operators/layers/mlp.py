"""Pointwise networks: in, residual hidden layers z <- GELU(L z) + z, out."""

from torch import Tensor, nn
from torch.nn.functional import gelu


class ResidualMlp(nn.Module):
    """Args: inputs, width, outputs: features per point. hidden: number of residual layers."""

    def __init__(self, inputs: int, width: int, outputs: int, hidden: int = 3) -> None:
        super().__init__()
        self.enter, self.leave = nn.Linear(inputs, width), nn.Linear(width, outputs)
        self.hidden = nn.ModuleList(nn.Linear(width, width) for _ in range(hidden))

    def forward(self, x: Tensor) -> Tensor:
        z = gelu(self.enter(x))
        for layer in self.hidden:
            z = gelu(layer(z)) + z
        return self.leave(z)


class Block(nn.Module):
    """x <- x + GELU(W a + LayerNorm(a)) with a = mixer(LayerNorm(x)).

    Args: mixer: a layer of `operators.layers` of the same width. dropout: of what it returns.
    """

    def __init__(self, width: int, mixer: nn.Module, dropout: float = 0.0) -> None:
        super().__init__()
        self.before, self.after = nn.LayerNorm(width), nn.LayerNorm(width)
        self.mixer, self.linear, self.dropout = mixer, nn.Linear(width, width), nn.Dropout(dropout)

    def forward(self, x: Tensor, mask: Tensor | None = None, weights: Tensor | None = None) -> Tensor:
        a = self.dropout(self.mixer(self.before(x), mask, weights))
        return x + gelu(self.linear(a) + self.after(a))

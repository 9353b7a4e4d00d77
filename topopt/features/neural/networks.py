"""The three networks: shape code -> latent point, latent point and place -> H, latent point -> shape code.

| network | layers |
|---|---|
| `Encoder` | code -> 128 -> 256 -> 128 (linear, batch norm, leaky ReLU), two heads: mean and log-variance |
| `HeavisideDecoder` | (z, x, y) -> hidden layers (linear, layer norm, SiLU), the input again halfway, sigmoid |
| `CodeDecoder` | latent -> 128 -> 256 -> 128 (as above) -> code |

The encoder and the code decoder are those of the published method (Heaviside-SDF topology optimisation, ICML 2025);
its Heaviside decoder follows Park et al. (2019), DeepSDF. Ours is narrower, has SiLU in place of ReLU, so that it has
second derivatives, a sigmoid in place of tanh, since H lies in [0, 1], and no dropout, since no shape is seen twice.

This module needs torch; import it where it is used.
"""

import torch
from torch import Tensor, nn

from topopt.features.neural.codes import SIZE

SLOPE = 0.2  # of leaky ReLU


class Encoder(nn.Module):
    """Codes (n, 15) -> means and log-variances (n, latent) of a normal distribution in the latent space."""

    def __init__(self, latent: int = SIZE) -> None:
        super().__init__()
        self.trunk = _trunk(SIZE)
        self.mean = nn.Linear(128, latent)
        self.log_variance = nn.Linear(128, latent)

    def forward(self, code: Tensor) -> tuple[Tensor, Tensor]:
        """code : (n, 15) -> (n, latent), (n, latent)."""
        hidden = self.trunk(code)
        return self.mean(hidden), self.log_variance(hidden)


class HeavisideDecoder(nn.Module):
    """Latent points and places -> H in (0, 1).

    Args:
        latent: entries of z. width: of the hidden layers. depth: how many of them; the input joins again halfway.
    """

    def __init__(self, latent: int = SIZE, width: int = 256, depth: int = 8) -> None:
        super().__init__()
        self.latent, self.width, self.depth = latent, width, depth
        self.joint = depth // 2
        entry = latent + 2
        sizes = [width] * depth
        sizes[self.joint - 1] -= entry  # so that the layer after it has `width` inputs with the entry joined
        before = [entry, *sizes[:-1]]
        before[self.joint] = width
        self.hidden = nn.ModuleList(
            nn.Sequential(nn.Linear(a, b), nn.LayerNorm(b), nn.SiLU()) for a, b in zip(before, sizes, strict=True)
        )
        self.last = nn.Linear(width, 1)

    def forward(self, z: Tensor, points: Tensor) -> Tensor:
        """z : (n, latent), points : (n, 2) -> H (n,)."""
        return torch.sigmoid(self.logit(z, points))

    def logit(self, z: Tensor, points: Tensor) -> Tensor:
        """log(H / (1 - H)) (n,): about twenty times the signed distance, positive inside."""
        entry = torch.cat([z, points], dim=-1)
        value = entry
        for index, layer in enumerate(self.hidden):
            if index == self.joint:
                value = torch.cat([value, entry], dim=-1)
            value = layer(value)
        return self.last(value).squeeze(-1)


class CodeDecoder(nn.Module):
    """Latent points (n, latent) -> codes (n, 15), near valid ones but not exactly so."""

    def __init__(self, latent: int = SIZE) -> None:
        super().__init__()
        self.trunk = _trunk(latent)
        self.last = nn.Linear(128, SIZE)

    def forward(self, z: Tensor) -> Tensor:
        """z : (n, latent) -> (n, 15)."""
        return self.last(self.trunk(z))


def _trunk(entries: int) -> nn.Sequential:
    layers: list[nn.Module] = []
    for before, after in ((entries, 128), (128, 256), (256, 128)):
        layers += [nn.Linear(before, after), nn.BatchNorm1d(after), nn.LeakyReLU(SLOPE)]
    return nn.Sequential(*layers)

"""The Virtual-Fourier layer: scattered points to a short sequence of virtual sensors, a spectral filter, and back.

Per head, with logits A : (M, S) of points for sensors,

    V = softmax over points(A)^T Z,    W = F^-1[ R_k F(V)_k, k < K ],    Y = softmax over sensors(A) W

after the layer of the same name in the operator-learning paper of the docs (ICML 2025), our implementation.
"""

import math
from typing import Literal

import torch
from torch import Tensor, nn

from operators.errors import OperatorError
from operators.layers.assignment import Assignment, merge_heads, over_points, split_heads, width_per_head

Spectrum = Literal["complex", "real"]

# The published filter starts at 1 / C^2, next to nothing: what sensors gather does not come back. Ours starts near the
# identity, and assignments sharper; the page on surrogates has what that changed.
NOISE, WARMTH = 0.3, 0.3


class VirtualFourier(nn.Module):
    """Args:
        width: C. heads: H, a divisor of C. sensors: S. modes: K <= S / 2 + 1.
        spectrum: "complex", or "real": only the real part of the filtered spectrum is kept, so that the filter has no
            phase. The published runs may have used the latter; it is here to compare.

    Raises:
        OperatorError: more modes than the sensors have; a width that is no multiple of the heads.
    """

    def __init__(self, width: int, heads: int = 8, sensors: int = 128, modes: int = 16, spectrum: Spectrum = "complex"):
        super().__init__()
        h = width_per_head(width, heads)
        if not 0 < modes <= sensors // 2 + 1:
            raise OperatorError(f"{sensors} sensors have {sensors // 2 + 1} modes, not {modes}: lower modes")
        if spectrum not in ("complex", "real"):
            raise OperatorError(f"spectrum is complex or real, not {spectrum!r}")
        self.heads, self.sensors, self.modes, self.spectrum = heads, sensors, modes, spectrum
        self.enter, self.leave = nn.Linear(width, width), nn.Linear(width, width)
        self.assign = Assignment(h, heads, sensors, warmth=WARMTH)
        # Real and imaginary part beside each other: optimizers and files then see real numbers only.
        start = NOISE * torch.randn(heads, h, h, modes, 2) / math.sqrt(2 * h)
        start[..., 0] += torch.eye(h)[:, :, None]
        self.filter = nn.Parameter(start)

    def forward(self, x: Tensor, mask: Tensor | None = None, weights: Tensor | None = None) -> Tensor:
        z = split_heads(self.enter(x), self.heads)
        logits = self.assign(z)
        sensors = over_points(logits, mask, weights).transpose(2, 3) @ z
        return self.leave(merge_heads(logits.softmax(dim=-1) @ self.mix(sensors)))

    def mix(self, sensors: Tensor) -> Tensor:
        """The spectral filter along the sensors; sensors : (B, H, S, h)."""
        spectrum = torch.fft.rfft(sensors.transpose(2, 3), dim=-1)
        kept = torch.einsum("bhik,hiok->bhok", spectrum[..., : self.modes], torch.view_as_complex(self.filter))
        if self.spectrum == "real":
            kept = torch.complex(kept.real, torch.zeros_like(kept.real))
        # irfft fills the modes that are missing with zeros.
        return torch.fft.irfft(kept, n=self.sensors, dim=-1).transpose(2, 3)

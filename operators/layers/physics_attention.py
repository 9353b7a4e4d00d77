"""Physics attention: points to slices by one soft assignment, attention among the slices, and back (Transolver,
Wu et al. 2024, our implementation). Each slice is the mean of its points, divided by its mass."""

from torch import Tensor, nn

from operators.layers.assignment import Assignment, merge_heads, split_heads, width_per_head

MASS = 1e-5  # keeps empty slices finite


class PhysicsAttention(nn.Module):
    """Args: width: C. heads: H, a divisor of C. slices: S."""

    def __init__(self, width: int, heads: int = 8, slices: int = 64) -> None:
        super().__init__()
        h = width_per_head(width, heads)
        self.heads = heads
        self.enter, self.leave = nn.Linear(width, width), nn.Linear(width, width)
        self.assign = Assignment(h, heads, slices)
        self.query, self.key, self.value = (nn.Linear(h, h, bias=False) for _ in range(3))

    def forward(self, x: Tensor, mask: Tensor | None = None, weights: Tensor | None = None) -> Tensor:
        z = split_heads(self.enter(x), self.heads)
        share = self.assign(z).softmax(dim=-1)
        counted = share if mask is None else share * mask[:, None, :, None]
        if weights is not None:
            real = weights if mask is None else weights * mask
            counted = counted * (weights / real.sum(1, True))[:, None, :, None]
        least = MASS if weights is None else MASS**2  # masses then are shares of the whole
        slices = counted.transpose(2, 3) @ z / (counted.sum(dim=2)[..., None] + least)
        return self.leave(merge_heads(share @ self.mix(slices)))

    def mix(self, slices: Tensor) -> Tensor:
        """Attention among the slices, written out: fused kernels cannot be differentiated twice."""
        q, k, v = self.query(slices), self.key(slices), self.value(slices)
        return (q @ k.transpose(2, 3) / q.shape[-1] ** 0.5).softmax(dim=-1) @ v

"""Attention as denoising towards subspaces, and nothing else: heads U_k with query = key = value = U_k^T.

    out = sum_k U_k U_k^T W softmax(W^T U_k U_k^T W / s)        W = LayerNorm of the tokens

after "Attention-Only Transformers via Unrolled Subspace Denoising" (ICML 2025), our formulation for meshes: points are
first gathered into slices, which are the tokens, and receive their slice's answer back.
"""

import torch
from torch import Tensor, nn

from operators.layers.assignment import Assignment, merge_heads, over_points, split_heads, width_per_head


class SubspaceAttention(nn.Module):
    """Args: width: C. heads: K, each of a subspace of dimension C / K. slices: tokens. step: eta at the start."""

    def __init__(self, width: int, heads: int = 8, slices: int = 64, step: float = 0.5) -> None:
        super().__init__()
        h = width_per_head(width, heads)
        self.heads = heads
        self.assign = Assignment(h, heads, slices)
        self.norm = nn.LayerNorm(width)
        self.bases = nn.Parameter(torch.linalg.qr(torch.randn(width, width)).Q.unflatten(1, (heads, h)).clone())
        self.step = nn.Parameter(torch.tensor(step))

    def forward(self, x: Tensor, mask: Tensor | None = None, weights: Tensor | None = None) -> Tensor:
        z = split_heads(x, self.heads)
        logits = self.assign(z)
        tokens = merge_heads(over_points(logits, mask, weights).transpose(2, 3) @ z)
        back = logits.softmax(dim=-1)
        return self.step * merge_heads(back @ split_heads(self.mix(tokens), self.heads))

    def mix(self, tokens: Tensor) -> Tensor:
        """tokens : (B, S, C) -> the sum over the heads, (B, S, C)."""
        return subspace_attention(self.norm(tokens), self.bases)


def subspace_attention(tokens: Tensor, bases: Tensor) -> Tensor:
    """Multi-head subspace self-attention. tokens : (B, N, d); bases U : (d, K, p)."""
    inside = torch.einsum("bnd,dkp->bknp", tokens, bases)
    alike = (inside @ inside.transpose(2, 3) / inside.shape[-1] ** 0.5).softmax(dim=-1)
    return torch.einsum("bknp,dkp->bnd", alike @ inside, bases)

"""Layers that mix the points of a cloud or mesh, linear in their number and smooth enough to be differentiated twice.

Each takes features X : (B, M, C) with `mask` : (B, M), true at real points, and `weights` : (B, M), quadrature weights,
and returns (B, M, C). They are interchangeable in `operators.reference`.
"""

from operators.layers.physics_attention import PhysicsAttention
from operators.layers.subspace_attention import SubspaceAttention
from operators.layers.virtual_fourier import VirtualFourier

__all__ = ["PhysicsAttention", "SubspaceAttention", "VirtualFourier"]

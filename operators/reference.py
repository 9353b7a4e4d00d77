"""The reference operator: the state at a query design from the state at a reference design on the same points.

    output "state":      u = Psi(x; x_r, u_r)
    output "increment":  u = u_r + Psi(x; x_r, u_r) - Psi(x_r; x_r, u_r)

The increment is exact at the reference by construction, and was the ingredient that mattered most in our measurements;
the state output is the published one. Without a reference the same weights are an ordinary operator, which reference
dropout during training prepares.
"""

from typing import Protocol, cast

import torch
from torch import Tensor, nn

from operators.errors import OperatorError
from operators.settings import Settings


class Network(Protocol):
    """What the increment needs of a network."""

    def increment(
        self, x: Tensor, reference: tuple[Tensor, Tensor], mask: Tensor | None, weights: Tensor | None
    ) -> Tensor:
        """Psi(x; x_r, u_r) - Psi(x_r; x_r, u_r)"""
        ...

    def still(self, reference: tuple[Tensor, Tensor], mask: Tensor | None, weights: Tensor | None) -> Tensor:
        """Psi(x_r; x_r, u_r)"""
        ...


class ReferenceOperator(nn.Module):
    """Any network of `operators.networks`, in normalised units.

    Raises:
        OperatorError: an output that does not exist.
    """

    def __init__(self, settings: Settings, psi: nn.Module) -> None:
        super().__init__()
        if settings.output not in ("state", "increment"):
            raise OperatorError(f"output is state or increment, not {settings.output!r}")
        self.settings, self.psi = settings, psi

    def forward(
        self,
        x: Tensor,
        reference: tuple[Tensor, Tensor] | None = None,
        mask: Tensor | None = None,
        weights: Tensor | None = None,
        still: Tensor | None = None,
    ) -> Tensor:
        """State at x.

        Args:
            x: (B, M, inputs). reference: x_r : (B, M, inputs) and u_r : (B, M, outputs), on the same points in the same
                order. mask: (B, M), true at real points. weights: (B, M), quadrature weights.
            still: what `still` has answered for this reference, so that it is not worked out again.

        Returns:
            (B, M, outputs)

        Raises:
            OperatorError: the reference has another shape.
        """
        if self.training and reference is not None and torch.rand(()) < self.settings.reference_dropout:
            reference = None
        if reference is None:
            return self.psi(x, None, mask, weights)
        x_r, u_r = reference
        if x_r.shape != x.shape or u_r.shape[:-1] != x.shape[:-1]:
            raise OperatorError(f"the reference has {tuple(x_r.shape)} where the query has {tuple(x.shape)}")
        if self.settings.output == "state":
            return self.psi(x, reference, mask, weights)
        if still is not None:
            return u_r + (self.psi(x, reference, mask, weights) - still)
        return u_r + cast(Network, self.psi).increment(x, (x_r, u_r), mask, weights)

    def still(
        self, reference: tuple[Tensor, Tensor], mask: Tensor | None = None, weights: Tensor | None = None
    ) -> Tensor | None:
        """The part of an increment that no query enters, Psi(x_r; x_r, u_r) : (B, M, outputs); None of a state."""
        if self.settings.output == "state":
            return None
        return cast(Network, self.psi).still(reference, mask, weights)

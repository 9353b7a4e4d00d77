"""A trained operator as a surrogate: the design enters as a feature of the points, the anchor is its reference.

An increment is the difference of two passes of the network; the one at the reference is made once for each anchor.
"""

from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np
import torch
from torch import Tensor

from operators.models import Operator
from operators.surrogates import Pull, Vector
from operators.view import Anchor, Seen, View, predict


@dataclass
class Neural:
    """Args:
    model: trained, in evaluation mode.
    features: x : (n,) design -> (1, M, inputs), differentiable. A design matrix inside it is the user's affair.
    shape: (M, outputs) of the state; the state vector is its rows one after the other.
    """

    model: Operator
    features: Callable[[Tensor], Tensor]
    shape: tuple[int, int]
    name: str = "neural operator"
    reference: tuple[Tensor, Tensor] | None = field(default=None, repr=False)
    still: Tensor | None = field(default=None, repr=False)

    def anchor(self, x: Vector, u: Vector) -> None:
        with torch.no_grad():
            self.reference = self.features(self._tensor(x)), self._tensor(u).reshape(1, *self.shape)
            self.still = self.model.still(self.reference)

    def state(self, x: Vector) -> tuple[Vector, Pull]:
        design = self._tensor(x).requires_grad_()
        u = self.model(self.features(design), self.reference, still=self.still)
        return _answer(u, design)

    def _tensor(self, values: Vector) -> Tensor:
        return torch.as_tensor(np.asarray(values), dtype=self.model.of_states.mean.dtype)


@dataclass
class Viewed:
    """An operator that sees the problem through a view, for instance on a coarser grid; the anchor is its reference.

    Args:
        model: trained, in evaluation mode. referred: False for an operator that was trained without references.
    """

    model: Operator
    view: View
    name: str = "neural operator"
    referred: bool = True
    at: Seen | None = field(default=None, repr=False)

    def __post_init__(self) -> None:
        self.view = self.view.to(self.model.of_states.mean.dtype)

    def anchor(self, x: Vector, u: Vector) -> None:
        if self.referred:
            self.at = Seen.of(self.view, Anchor(self._tensor(x)[None], self._tensor(u)[None])).by(self.model)

    def state(self, x: Vector) -> tuple[Vector, Pull]:
        design = self._tensor(x).requires_grad_()
        return _answer(predict(self.model, self.view, design[None], self.at), design)

    def _tensor(self, values: Vector) -> Tensor:
        return torch.as_tensor(np.asarray(values), dtype=self.model.of_states.mean.dtype)


def _answer(u: Tensor, design: Tensor) -> tuple[Vector, Pull]:
    def pull(w: Vector) -> Vector:
        cotangent = torch.as_tensor(np.asarray(w), dtype=u.dtype).reshape(u.shape)
        (slope,) = torch.autograd.grad(u, design, cotangent, retain_graph=True)
        return slope.double().numpy()

    return u.detach().double().numpy().reshape(-1), pull

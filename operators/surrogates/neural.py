"""A trained operator as a surrogate: the design enters as a feature of the points, the anchor is its reference."""

from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np
import torch
from torch import Tensor

from operators.models import Operator
from operators.surrogates import Pull, Vector


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

    def anchor(self, x: Vector, u: Vector) -> None:
        with torch.no_grad():
            self.reference = self.features(self._tensor(x)), self._tensor(u).reshape(1, *self.shape)

    def state(self, x: Vector) -> tuple[Vector, Pull]:
        design = self._tensor(x).requires_grad_()
        u = self.model(self.features(design), self.reference)

        def pull(w: Vector) -> Vector:
            (slope,) = torch.autograd.grad(u, design, self._tensor(w).reshape(u.shape), retain_graph=True)
            return slope.double().numpy()

        return u.detach().double().numpy().reshape(-1), pull

    def _tensor(self, values: Vector) -> Tensor:
        return torch.as_tensor(np.asarray(values), dtype=next(self.model.parameters()).dtype)

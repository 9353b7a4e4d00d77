"""What training minimises: wrong states, and wrong derivatives of them.

    L = a L_u + b L_s + c L_jvp + d L_vjp

    L_u    |u_hat - u| / |u|                             states, per component
    L_s    |dJ_hat - dJ| / (|dJ| + e |dJ_0|)             sensitivities of one objective, through the state
    L_jvp  |P^T (dU_hat h - dU h)| / |P^T dU h|          directions h, whatever the objective
    L_vjp  |dU_hat^T w - dU^T w| / |dU^T w|              cotangents w, whatever the objective

With the columns of a basis as directions and another as P, L_jvp is the reduced-basis Jacobian loss of
O'Leary-Roseberry et al. (2022, DINO). L_s after Cheng et al. (ICML 2025); near the optimum dJ vanishes, which the floor
e |dJ_0|, a part of the gradient at the run's start, keeps harmless.
"""

from dataclasses import dataclass

import torch
from torch import Tensor

from operators.errors import OperatorError

TINY = 1e-30


@dataclass(frozen=True)
class Weights:
    """How the losses are added.

    Attributes:
        state, sensitivity, jvp, vjp: factors.
        quiet: part of the steps before derivatives count, which the states need to be about right: from the first step
            on, the cheapest escape from a huge misfit gradient is a flat output.
        ramp: part of the steps over which the factors of derivatives then rise to their values.
        floor: e of L_s.
    """

    state: float = 1.0
    sensitivity: float = 0.0
    jvp: float = 0.0
    vjp: float = 0.0
    quiet: float = 0.35
    ramp: float = 0.10
    floor: float = 0.05

    def __post_init__(self) -> None:
        if min(self.state, self.sensitivity, self.jvp, self.vjp, self.floor) < 0:
            raise OperatorError("weights of losses must not be negative")
        if not 0 <= self.quiet <= 1 or not 0 <= self.ramp <= 1:
            raise OperatorError("quiet and ramp are parts of the training between 0 and 1")

    def share(self, progress: float) -> float:
        """Of the derivative losses at `progress` in [0, 1]: 0, then rising, then 1."""
        if progress < self.quiet:
            return 0.0
        return 1.0 if self.ramp == 0 else min(1.0, (progress - self.quiet) / self.ramp)


def state_loss(predicted: Tensor, true: Tensor, weights: Tensor | None = None) -> Tensor:
    """Mean over samples and components of the relative error. predicted, true : (B, M, c); weights : (B, M) or None."""
    w = torch.ones_like(true[..., :1]) if weights is None else weights[..., None]
    wrong = (w * (predicted - true) ** 2).sum(1)
    return (_root(wrong) / _root((w * true**2).sum(1))).mean()


def sensitivity_loss(slope: Tensor, true: Tensor, first: Tensor | None = None, floor: float = 0.05) -> Tensor:
    """Mean relative error of covectors. slope, true : (B, n); first : (B,), norm at the start of the sample's run."""
    size = _root((true**2).sum(1))
    if first is not None:
        size = size + floor * first
    return (_root(((slope - true) ** 2).sum(1)) / size.clamp(min=TINY)).mean()


def slopes(objective: Tensor, design: Tensor) -> Tensor:
    """Derivative of J : (B,) with respect to designs (B, n), which can be differentiated again."""
    return torch.autograd.grad(objective.sum(), design, create_graph=True)[0]


def jvp_loss(state: Tensor, design: Tensor, h: Tensor, true: Tensor, basis: Tensor | None = None) -> Tensor:
    """Changes of the state along directions.

    Args:
        state: (B, s) computed from design : (B, n), which requires gradients.
        h: (B, k, n) directions. true: (B, k, s), or (B, k, r) with a basis.
        basis: (s, r), P: compare its components only.
    """
    cotangent = torch.zeros_like(state, requires_grad=True)
    pulled = torch.autograd.grad(state, design, cotangent, create_graph=True)[0]
    # The pull-back is linear in its cotangent, so its derivative along h is the push-forward.
    changes = [torch.autograd.grad(pulled, cotangent, h[:, k], create_graph=True)[0] for k in range(h.shape[1])]
    pushed = torch.stack(changes, dim=1)
    return _relative(pushed if basis is None else pushed @ basis, true)


def vjp_loss(state: Tensor, design: Tensor, w: Tensor, true: Tensor) -> Tensor:
    """Pull-backs of cotangents w : (B, k, s); true : (B, k, n)."""
    pulled = [torch.autograd.grad(state, design, w[:, k], create_graph=True)[0] for k in range(w.shape[1])]
    return _relative(torch.stack(pulled, dim=1), true)


def jacobian_loss(state: Tensor, design: Tensor, inputs: Tensor, outputs: Tensor, true: Tensor) -> Tensor:
    """The reduced Jacobian outputs^T (du/dx) inputs. inputs : (n, r_i); outputs : (s, r_o); true : (B, r_o, r_i)."""
    h = inputs.T.expand(len(design), -1, -1)
    return jvp_loss(state, design, h, true.transpose(1, 2), outputs)


def _relative(found: Tensor, true: Tensor) -> Tensor:
    """Over all directions of a sample together, as in a Frobenius norm."""
    return (_root(((found - true) ** 2).sum((1, 2))) / _root((true**2).sum((1, 2))).clamp(min=TINY)).mean()


def _root(square: Tensor) -> Tensor:
    """A square root whose derivative is finite at 0."""
    return torch.sqrt(square + TINY)

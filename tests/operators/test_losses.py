"""Losses against closed forms and finite differences of the solver's own derivatives."""

import numpy as np
import pytest
import torch

from operators.errors import OperatorError
from operators.losses import (
    Weights,
    jacobian_loss,
    jvp_loss,
    sensitivity_loss,
    slopes,
    state_loss,
    vjp_loss,
)

A = torch.as_tensor(np.random.default_rng(0).standard_normal((5, 4)))


def number(loss: torch.Tensor) -> float:
    return float(loss.detach())


def state(x: torch.Tensor) -> torch.Tensor:
    """u = sin(A x), du/dx = diag(cos(A x)) A."""
    return torch.sin(x @ A.T)


def jacobian(x: torch.Tensor) -> torch.Tensor:
    return torch.cos(x @ A.T)[:, :, None] * A


def designs(seed: int = 1) -> torch.Tensor:
    return torch.as_tensor(np.random.default_rng(seed).standard_normal((3, 4))).requires_grad_()


def test_state_loss_is_the_relative_norm_per_component_and_knows_weights() -> None:
    u = torch.ones(2, 4, 2, dtype=torch.float64)
    wrong = u.clone()
    wrong[..., 1] *= 1.3
    assert float(state_loss(wrong, u)) == pytest.approx(0.15)
    weights = torch.tensor([[1.0, 0.0, 0.0, 0.0]] * 2, dtype=torch.float64)
    off = u.clone()
    off[:, 1:] = 9.0
    assert float(state_loss(off, u, weights)) == pytest.approx(0.0, abs=1e-12)


def test_sensitivity_loss_has_its_floor() -> None:
    true = torch.zeros(1, 3, dtype=torch.float64)
    slope = torch.tensor([[0.3, 0.0, 0.4]], dtype=torch.float64)
    first = torch.tensor([10.0], dtype=torch.float64)
    assert float(sensitivity_loss(slope, true, first, 0.05)) == pytest.approx(1.0)
    assert float(sensitivity_loss(2 * slope, slope)) == pytest.approx(1.0)


def test_directional_losses_vanish_for_the_truth_and_measure_what_is_missing() -> None:
    x, rng = designs(), np.random.default_rng(2)
    h = torch.as_tensor(rng.standard_normal((3, 2, 4)))
    w = torch.as_tensor(rng.standard_normal((3, 2, 5)))
    pushed = torch.einsum("bsn,bkn->bks", jacobian(x), h).detach()
    pulled = torch.einsum("bsn,bks->bkn", jacobian(x), w).detach()
    assert number(jvp_loss(state(x), x, h, pushed)) < 1e-12
    assert number(vjp_loss(state(x), x, w, pulled)) < 1e-12
    assert number(jvp_loss(state(x), x, h, 2 * pushed)) == pytest.approx(0.5, rel=1e-9)
    assert number(vjp_loss(state(x), x, w, 2 * pulled)) == pytest.approx(0.5, rel=1e-9)


def test_the_reduced_jacobian_is_that_of_the_bases() -> None:
    x = designs()
    inputs, outputs = torch.linalg.qr(torch.randn(4, 2).double()).Q, torch.linalg.qr(torch.randn(5, 3).double()).Q
    true = (outputs.T @ jacobian(x) @ inputs).detach()
    assert number(jacobian_loss(state(x), x, inputs, outputs, true)) < 1e-12
    assert number(jacobian_loss(state(x), x, inputs, outputs, true / 2)) == pytest.approx(1.0, rel=1e-9)


def test_losses_of_derivatives_can_be_learnt_from() -> None:
    """Their own derivative with respect to a parameter, against a central difference."""
    x, h = designs(), torch.ones(3, 1, 4, dtype=torch.float64)
    true = torch.ones(3, 1, 5, dtype=torch.float64)

    def loss(a: torch.Tensor) -> torch.Tensor:
        u = torch.sin(a * (x @ A.T))
        J = (u**2).sum(1) / 2
        return jvp_loss(u, x, h, true) + sensitivity_loss(slopes(J, x), torch.ones(3, 4).double())

    a = torch.tensor(0.7, dtype=torch.float64, requires_grad=True)
    (slope,) = torch.autograd.grad(loss(a), a)
    e = 1e-5
    central = (loss(a.detach() + e) - loss(a.detach() - e)) / (2 * e)
    assert float(slope) == pytest.approx(number(central), rel=1e-7)


def test_derivatives_wait_then_ramp() -> None:
    w = Weights(sensitivity=0.5, quiet=0.35, ramp=0.10)
    assert [w.share(p) for p in (0.0, 0.34)] == [0.0, 0.0]
    assert w.share(0.40) == pytest.approx(0.5)
    assert w.share(0.46) == w.share(1.0) == 1.0
    with pytest.raises(OperatorError, match="negative"):
        Weights(jvp=-1)

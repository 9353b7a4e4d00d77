"""The attacker's closed form, its monotony, the gap, and a model where standard training fails and robust one does not.

The known-answer model: x_1 = y with probability 0.95, else -y; x_2 ... x_(d+1) ~ N(eta y, 1) with eta = 3 / sqrt(d);
attacks of |d|_inf <= 2 eta. The mean of all but the first classifies Phi(3) = 0.99865 rightly, and Phi(-3) = 0.00135
under attack; the first alone 0.95 either way.
"""

from dataclasses import replace
from math import erf, sqrt

import numpy as np
import pytest
import torch
from torch import Tensor, nn

from operators.errors import OperatorError
from operators.model import Model
from operators.robust import Exploited, Robust, ascend, ends, exploit, exploit_gap, linear_within, robust_loss
from operators.surrogates.frozen import MeanJacobian
from tests.operators.small import member

D = 100
ETA = 3 / sqrt(D)


def batch(count: int, generator: torch.Generator) -> tuple[Tensor, Tensor]:
    y = torch.randint(2, (count,), generator=generator) * 2.0 - 1
    first = torch.where(torch.rand(count, generator=generator) < 0.95, y, -y)
    rest = ETA * y[:, None] + torch.randn(count, D, generator=generator)
    return torch.cat([first[:, None], rest], dim=1), y


def test_averaging_is_right_until_it_is_attacked() -> None:
    x, y = batch(50_000, torch.Generator().manual_seed(0))
    phi = 0.5 * (1 + erf(3 / sqrt(2)))
    mean = x[:, 1:].mean(1)
    assert float((mean * y > 0).float().mean()) == pytest.approx(phi, abs=1e-3)
    # An attack of 2 eta against the label moves the mean from eta y to -eta y.
    attacked = ascend(lambda z: -(z[:, 1:].mean(1) * y), x, 2 * ETA, 5)[:, 1:].mean(1)
    assert float((attacked * y > 0).float().mean()) == pytest.approx(1 - phi, abs=1e-3)
    first = ascend(lambda z: -(z[:, 0] * y), x, 2 * ETA, 5)[:, 0]
    assert float((first * y > 0).float().mean()) == pytest.approx(0.95, abs=4e-3)


def test_a_linear_surrogate_is_exploited_in_closed_form() -> None:
    rng = torch.Generator().manual_seed(1)
    w, dJ, x = torch.randn(6, generator=rng), torch.randn(3, 6, generator=rng), torch.randn(3, 6, generator=rng)
    d = exploit(lambda z: z @ w, x, torch.zeros(3), dJ, Robust(radius=0.2))
    torch.testing.assert_close(d, 0.2 * (dJ - w).sign())


def test_the_loss_of_a_linear_surrogate_in_closed_form() -> None:
    w, dJ = torch.tensor([1.0, -1.0]), torch.tensor([[2.0, 1.0]])
    x, J = torch.tensor([[0.5, 0.5]]), torch.tensor([0.3])
    # S(x) = 0; d = 0.1 (1, 1); S(x + d) - J - dJ . d = 0 - 0.3 - 0.3
    found = robust_loss(lambda z: z @ w, x, J, dJ, Robust(0.1, exploit=0.5, slope=0.1))
    assert float(found.detach()) == pytest.approx(0.3**2 + 0.5 * 0.6**2 + 0.1 * (1 + 4), rel=1e-6)


def test_the_attack_never_falls_below_no_attack_and_keeps_to_its_shape() -> None:
    torch.manual_seed(0)
    net = nn.Sequential(nn.Linear(8, 16), nn.Tanh(), nn.Linear(16, 1))
    x, dJ, J = torch.randn(64, 8), torch.randn(64, 8), torch.randn(64)

    def smooth(xi: Tensor) -> Tensor:
        return (xi + xi.roll(1, 1) + xi.roll(-1, 1)) / 3

    def surrogate(z: Tensor) -> Tensor:
        return net(z)[:, 0]

    settings = Robust(0.3, steps=5, shape=smooth)
    d = exploit(surrogate, x, J, dJ, settings)

    def gain(d: Tensor) -> Tensor:
        return J + (dJ * d).sum(1) - surrogate(x + d)

    assert float(d.abs().max()) <= 0.3 + 1e-6
    assert bool((gain(d) >= gain(torch.zeros_like(d))).all())
    longer = exploit(surrogate, x, J, dJ, replace(settings, steps=20))
    assert float((gain(longer) >= gain(d) - 1e-3).float().mean()) > 0.95


def test_the_gap_is_the_median_of_what_was_promised_and_is_not_there() -> None:
    x = np.zeros(1)
    assert exploit_gap([Exploited(x, 1.0, 2.0), Exploited(x, 1.9, 2.0), Exploited(x, 1.6, 2.0)]) == pytest.approx(0.2)
    with pytest.raises(OperatorError, match="at least one"):
        exploit_gap([])


def test_an_optimizer_exploits_a_constant_surrogate() -> None:
    problem, start = member(0).problem, member(0).start
    constant = MeanJacobian(np.zeros((problem.n, problem.n)))

    def anchored(x: np.ndarray) -> Model:
        return Model(problem, constant, x, problem.solve(x))

    (end,) = ends(problem, anchored, [start], steps=20)
    # The state is believed to stay: what remains is |z|^2 / 2, whose minimum is z = 0.
    np.testing.assert_allclose(end.x, 0, atol=1e-6)
    assert end.true == pytest.approx(problem.objective(problem.solve(end.x), end.x))
    assert end.believed == pytest.approx(problem.objective(problem.solve(start), 0 * start))


def test_where_the_objective_is_linear() -> None:
    g = np.array([1.0, -2.0])
    assert linear_within(lambda x: float(g @ x), np.zeros(2), 0.0, g, 0.5) == pytest.approx(1.0)
    assert linear_within(lambda x: float(g @ x + 50 * x @ x), np.zeros(2), 0.0, g, 0.5) < 0.5


class TwoLayer(nn.Module):
    """F_i(x) = sum_r s(w_ir . x), eight units per class, s a ReLU that starts like z^3."""

    def __init__(self) -> None:
        super().__init__()
        # Much smaller, and the cubic start of s lets the decay win: all weights vanish.
        self.w = nn.Parameter(0.1 * torch.randn(2, 8, D + 1))

    def forward(self, x: Tensor) -> Tensor:
        """F_+ - F_-, (B,)."""
        z = torch.einsum("bn,irn->bir", x, self.w).clamp(min=0)
        q, rho = 3, 0.2
        s = torch.where(z <= rho, z.clamp(max=rho) ** q / (q * rho ** (q - 1)), z - (1 - 1 / q) * rho)
        return s[:, 0].sum(1) - s[:, 1].sum(1)


def trained(robust: bool) -> TwoLayer:
    torch.manual_seed(0)
    net, generator = TwoLayer(), torch.Generator().manual_seed(1)
    optimizer = torch.optim.SGD(net.parameters(), 0.1, weight_decay=2e-3)
    for _ in range(3000):
        x, y = batch(256, generator)
        if robust:
            x = ascend(lambda z, y=y: -y * net(z), x, 2 * ETA, 5)
        loss = nn.functional.softplus(-y * net(x)).mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    return net


def accuracy(net: TwoLayer, steps: int) -> float:
    x, y = batch(4000, torch.Generator().manual_seed(2))
    if steps:
        x = ascend(lambda z: -y * net(z), x, 2 * ETA, steps)
    return float((net(x) * y > 0).float().mean())


@pytest.mark.slow
def test_standard_training_takes_the_weak_features_and_robust_training_the_strong_one() -> None:
    standard = trained(robust=False)
    assert accuracy(standard, 0) == pytest.approx(0.9995, abs=0.02)
    assert accuracy(standard, 20) == pytest.approx(0.003, abs=0.02)
    robust = trained(robust=True)
    assert accuracy(robust, 0) == pytest.approx(0.945, abs=0.02)
    assert accuracy(robust, 20) == pytest.approx(0.944, abs=0.02)

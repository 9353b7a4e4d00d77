"""A network in place of a cantilever's solver: an optimizer exploits it, and less so after robust training.

The cantilever is a sheet of 64 x 32 elements whose stiffness is proportional to its thickness, between 0.1 and 1. The
network sees the logarithm of the mean thickness of 16 x 8 blocks and answers with the logarithm of the compliance:
there steps are shares of the thickness, and within 5 % the derivative says nearly all. In thicknesses themselves it
does not, where the sheet is thin.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cache
from itertools import pairwise

import numpy as np
import pytest
import scipy.sparse as sp
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from operators.problems.compliance import E_MIN, Compliance, cantilever
from operators.problems.starts import waves
from operators.robust import Robust, ends, exploit_gap, linear_within, robust_loss
from optim import minimize
from optim.design import MMA
from optim.problem import Problem
from optim.result import Stop
from pde.functional import Solved

Vector = NDArray[np.float64]
SHAPE, BLOCKS, SIDE = (64, 32), (16, 8), 4
THINNEST, MEAN = 0.1, 0.4
STANDARD = Robust(exploit=0.0, slope=0.0)
ROBUST = Robust(radius=0.05, steps=4, exploit=0.5, slope=0.02)


class Sheet(Compliance):
    """The law of the modulus goes on above 1, so that steps about a full element have a derivative."""

    def modulus(self, x: Vector) -> Vector:
        return E_MIN + (1 - E_MIN) * (self.filter @ x)


@cache
def sheet() -> Sheet:
    given = cantilever(SHAPE, MEAN)
    made = Sheet(given.system, given.force, given.volume, given.filter, power=1.0)
    made.lower = made.lower + THINNEST
    return made


@cache
def bare() -> Sheet:
    """The same of a design that is filtered already."""
    return replace(sheet(), filter=sp.eye_array(sheet().n, format="csr"))


def start(number: int) -> Vector:
    centres = np.stack(np.meshgrid(*(np.linspace(0.5, n - 0.5, n) for n in SHAPE), indexing="ij"), axis=-1).reshape(
        -1, 2
    )
    above = np.maximum(waves(sheet(), number, MEAN, 0.15, centres), THINNEST) - THINNEST
    return THINNEST + above * min(1.0, 0.999 * (MEAN - THINNEST) / above.mean())


def path(number: int) -> list[Vector]:
    """Every second iterate of an optimizer on the solver."""
    problem, seen = sheet(), [start(number)]
    stated = Problem(Solved(problem), None, problem.lower, problem.upper, problem.constraints, problem.space)
    minimize(
        stated,
        seen[0],
        MMA(),
        stop=Stop(max_iter=24, tol_kkt=None, tol_x=None),
        callbacks=[lambda _, state, __: seen.append(np.array(state.x))],
    )
    return seen[::2]


def pooled(values: Vector) -> Vector:
    """Sums over the blocks, (elements,) -> (blocks,)."""
    return values.reshape(BLOCKS[0], SIDE, BLOCKS[1], SIDE).sum((1, 3)).ravel()


def spread(values: Vector) -> Vector:
    return values.reshape(BLOCKS).repeat(SIDE, axis=0).repeat(SIDE, axis=1).ravel()


@dataclass(frozen=True)
class Known:
    """q : (k, blocks), logarithms of means. value : (k,), log J. slope : (k, blocks), of log J along q."""

    q: Tensor
    value: Tensor
    slope: Tensor

    @classmethod
    def of(cls, designs: Sequence[Vector]) -> "Known":
        q, value, slope = [], [], []
        for x in designs:
            thick = sheet().filter @ x
            u = bare().solve(thick)
            J = bare().objective(u, thick)
            q.append(np.log(pooled(thick) / SIDE**2))
            value.append(np.log(J))
            slope.append(pooled(bare().adjoint_gradient(thick, u) * thick) / J)
        return cls(*(torch.as_tensor(np.array(part)) for part in (q, value, slope)))


@cache
def learnt() -> Known:
    return Known.of([x for number in range(3000, 3010) for x in path(number)])


class Network(nn.Module):
    """log J : (B,) at q : (B, blocks)."""

    def __init__(self, known: Known) -> None:
        super().__init__()
        torch.manual_seed(0)
        sizes, layers = (BLOCKS[0] * BLOCKS[1], 64, 64), []
        for enter, leave in pairwise(sizes):
            layers += [nn.Linear(enter, leave), nn.Softplus()]
        self.body = nn.Sequential(*layers, nn.Linear(sizes[-1], 1)).double()
        self.middle, self.unit = known.value.mean(), known.value.std()
        self.of_q = known.q.mean(), known.q.std()

    def forward(self, q: Tensor) -> Tensor:
        return self.middle + self.unit * self.scaled(q)

    def scaled(self, q: Tensor) -> Tensor:
        return self.body((q - self.of_q[0]) / self.of_q[1])[:, 0]


def trained(settings: Robust, steps: int = 1000) -> Network:
    known = learnt()
    net, generator = Network(known), torch.Generator().manual_seed(0)
    value, slope = (known.value - net.middle) / net.unit, known.slope / net.unit
    optimizer = torch.optim.Adam(net.parameters(), 2e-3)
    schedule = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, steps)
    for _ in range(steps):
        k = torch.randint(len(value), (16,), generator=generator)
        loss = robust_loss(net.scaled, known.q[k], value[k], slope[k], settings)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        schedule.step()
    return net


@dataclass(frozen=True)
class Promised:
    """The network's compliance of a design."""

    net: Network

    def value(self, x: Vector) -> float:
        return self.value_grad(x)[0]

    def value_grad(self, x: Vector) -> tuple[float, Vector]:
        thick = sheet().filter @ x
        means = torch.as_tensor(pooled(thick) / SIDE**2)[None].requires_grad_()
        J = torch.exp(self.net(torch.log(means))).sum()
        (slope,) = torch.autograd.grad(J, means)
        return float(J.detach()), sheet().filter.T @ (spread(slope.numpy()) / SIDE**2)


def clean_error(net: Network) -> float:
    """Root mean square error of log J along unseen paths."""
    known = Known.of([x for number in range(3020, 3023) for x in path(number)])
    with torch.no_grad():
        return float(((net(known.q) - known.value) ** 2).mean().sqrt())


def gap(net: Network) -> float:
    starts = [start(number) for number in range(3040, 3045)]
    return exploit_gap(ends(sheet(), lambda _: Promised(net), starts, steps=50))


def test_the_promised_slope_is_the_derivative() -> None:
    known = Known.of([start(3000), start(3001)])
    promised, x = Promised(Network(known)), start(3002)
    h, e = np.random.default_rng(0).standard_normal(len(x)), 1e-5
    central = (promised.value(x + e * h) - promised.value(x - e * h)) / (2 * e)
    assert float(promised.value_grad(x)[1] @ h) == pytest.approx(central, rel=1e-6)


def test_steps_of_five_per_cent_are_in_the_linear_range() -> None:
    for x in path(3020)[2::5]:
        thick, known = sheet().filter @ x, Known.of([x])

        def J(d: Vector, thick: Vector = thick) -> float:
            changed = thick * np.exp(spread(d))
            return float(np.log(bare().objective(bare().solve(changed), changed)))

        slope = known.slope[0].numpy()
        assert linear_within(J, np.zeros(len(slope)), float(known.value[0]), slope, ROBUST.radius) > 0.99


@pytest.mark.slow
def test_robust_training_halves_the_exploit_gap_and_keeps_the_error() -> None:
    standard, robust = trained(STANDARD), trained(ROBUST)
    promised_in_vain = gap(standard)
    assert promised_in_vain > 0.2  # else there was nothing to exploit
    assert gap(robust) <= 0.5 * promised_in_vain
    assert clean_error(robust) <= 1.2 * clean_error(standard)

"""Training against the optimizer, which looks for designs where the surrogate is wrongly optimistic.

For a surrogate S of an objective J with known derivative, along the steps d that a design can take,

    d* = argmax over |d|_inf <= e of  J(x) + dJ(x) . d - S(x + d)
    loss = (S(x) - J)^2 + mu (S(x + d*) - J - dJ . d*)^2 + nu |dS - dJ|^2

The label moves with the design: training for one label in the whole neighbourhood would teach the surrogate to be flat.
After "Adversarial training can provably improve robustness" (ICLR 2025), our formulation for regression.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from operators.errors import OperatorError
from optim import minimize
from optim.design import MMA, ProjectedLBFGS
from optim.problem import Problem
from optim.result import Stop
from pde.functional import ReducedFunctional, StateProblem

Vector = NDArray[np.float64]
type Scalar = Callable[[Tensor], Tensor]  # (B, n) -> (B,)


@dataclass(frozen=True)
class Robust:
    """How hard the attacker tries.

    Attributes:
        radius: e, no larger than where J is about linear (`linear_within`). steps: of the ascent.
        exploit, slope: mu and nu.
        shape: xi -> d, such as the design's filter; it must not enlarge the largest entry.
    """

    radius: float = 0.1
    steps: int = 4
    exploit: float = 0.5
    slope: float = 0.1
    shape: Callable[[Tensor], Tensor] = lambda xi: xi

    def __post_init__(self) -> None:
        if self.radius <= 0 or self.steps < 1 or min(self.exploit, self.slope) < 0:
            raise OperatorError("robust training needs radius > 0, steps >= 1 and factors that are not negative")


def ascend(gain: Scalar, start: Tensor, radius: float, steps: int) -> Tensor:
    """Projected sign ascent of gain : (B, n) -> (B,) in the box around `start`, steps of 2.5 radius / steps.

    Returns:
        the best point of each sample that was seen, (B, n).
    """
    x = best = start.detach()
    value = torch.full(start.shape[:1], -torch.inf, dtype=start.dtype, device=start.device)
    for number in range(steps + 1):
        x = x.detach().requires_grad_(number < steps)
        now = gain(x)
        better = now.detach() > value
        best = torch.where(better[:, None], x.detach(), best)
        value = torch.where(better, now.detach(), value)
        if number < steps:
            (slope,) = torch.autograd.grad(now.sum(), x)
            moved = x.detach() + 2.5 * radius / steps * slope.sign()
            x = torch.minimum(torch.maximum(moved, start - radius), start + radius)
    return best.detach()


def exploit(surrogate: Scalar, x: Tensor, J: Tensor, dJ: Tensor, settings: Robust) -> Tensor:
    """d* of each sample. x, dJ : (B, n); J : (B,)."""

    def gain(xi: Tensor) -> Tensor:
        d = settings.shape(xi)
        return J + (dJ * d).sum(1) - surrogate(x + d)

    return settings.shape(ascend(gain, torch.zeros_like(x), settings.radius, settings.steps)).detach()


def robust_loss(surrogate: Scalar, x: Tensor, J: Tensor, dJ: Tensor, settings: Robust) -> Tensor:
    """Mean over the batch; bring J and x to unit size first."""
    d = exploit(surrogate, x, J, dJ, settings)
    here = x.detach().requires_grad_()
    value = surrogate(here)
    loss = ((value - J) ** 2).mean()
    if settings.slope:
        (slope,) = torch.autograd.grad(value.sum(), here, create_graph=True)
        loss = loss + settings.slope * ((slope - dJ) ** 2).sum(1).mean()
    if settings.exploit:
        loss = loss + settings.exploit * ((surrogate(x + d) - J - (dJ * d).sum(1)) ** 2).mean()
    return loss


def linear_within(
    J: Callable[[Vector], float], x: Vector, value: float, dJ: Vector, radius: float, tries: int = 20, seed: int = 0
) -> float:
    """R^2 of J + dJ . d for random d in the box; below 0.95 the radius is too large. `tries` true solves."""
    d = np.random.default_rng(seed).uniform(-radius, radius, (tries, len(x)))
    true = np.array([J(x + step) for step in d]) - value
    return 1 - float(((true - d @ dJ) ** 2).sum()) / max(float(((true - true.mean()) ** 2).sum()), 1e-300)


@dataclass(frozen=True)
class Exploited:
    """Where an optimizer on the surrogate ends. x : (n,); believed and true objective there."""

    x: Vector
    believed: float
    true: float


def exploit_gap(ends: Sequence[Exploited]) -> float:
    """Median of (J_true - S) / |J_true| over the ends: 0.2 means that a fifth of what is promised is not there."""
    if not ends:
        raise OperatorError("an exploit gap needs at least one end point")
    return float(np.median([(end.true - end.believed) / max(abs(end.true), 1e-300) for end in ends]))


def ends(
    problem: StateProblem, surrogate: Callable[[Vector], ReducedFunctional], starts: Sequence[Vector], steps: int = 50
) -> list[Exploited]:
    """Optimise on the surrogate alone and solve where that ends: the exploit gap's data, and hard negatives to learn.

    Args:
        surrogate: start -> what is minimised from there, such as `operators.model.Model` anchored at it.

    Raises:
        Whatever the solver raises at an end; a design that cannot be solved is the worst of exploits.
    """
    method: Any = MMA() if problem.constraints else ProjectedLBFGS()
    found = []
    for start in starts:
        functional = surrogate(start)
        stated = Problem(functional, None, problem.lower, problem.upper, problem.constraints, problem.space)
        result = minimize(stated, start, method, stop=Stop(max_iter=steps, tol_kkt=None, tol_x=None))
        x = np.asarray(result.x)
        found.append(Exploited(x, float(result.f), float(problem.objective(problem.solve(x), x))))
    return found

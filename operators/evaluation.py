"""How good a surrogate is where an optimizer asks it: along paths, a step beside them, and far away.

    learnt runs     iterates of runs that were learnt from, each from a neighbour on its path (never from itself)
    unseen runs     the same on runs that were never shown
    probe step      a random step of fixed length off an unseen path, from the point that it leaves
    random design   a design of another run, from a point of this one

The gradient is dJ/dx through the state, J with the surrogate's state in place of the solver's. Errors of gradients are
relative, in the dual norm of the design space. Near an optimum that error says nothing: the residual there is of the
size of the noise, and a state that is half a percent off is larger. Judge by the probe step, and by solves.
"""

from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass

import numpy as np
from numpy.typing import NDArray

from operators.errors import OperatorError
from operators.pairs import Pairs
from operators.solver import FAILURES
from operators.surrogates import Surrogate
from operators.trajectories import Member, Run
from optim.space import Space, dual_norm
from pde.functional import StateProblem

Vector = NDArray[np.float64]
WAYS = ("learnt runs", "unseen runs", "probe step", "random design")


@dataclass(frozen=True)
class Accuracy:
    """Medians over the samples, and the tenth percentile of the cosine.

    Attributes:
        state: relative error of the state. gradient: of the gradient. cosine, low_cosine: between the gradients.
        count: samples.
    """

    state: float
    gradient: float
    cosine: float
    low_cosine: float
    count: int

    @classmethod
    def of(cls, rows: Sequence[tuple[float, float, float]]) -> "Accuracy":
        """Raises: OperatorError, there are no samples."""
        if not rows:
            raise OperatorError("there is nothing to evaluate: give runs with two or more iterates")
        state, gradient, cosine = np.array(rows).T
        low = float(np.quantile(cosine, 0.1))
        return cls(float(np.median(state)), float(np.median(gradient)), float(np.median(cosine)), low, len(rows))


def compare(
    problem: StateProblem, surrogate: Surrogate, x: Vector, u: Vector, slope: Vector
) -> tuple[float, float, float]:
    """Error of the state, error of the gradient and cosine at x, anchored before; u and slope are the solver's."""
    guess, pull = surrogate.state(x)
    found = pull(problem.partials(guess, x)[0])
    state = float(np.linalg.norm(guess - u) / max(float(np.linalg.norm(u)), 1e-300))
    size, space = dual_norm(problem.space, slope), problem.space
    wrong = dual_norm(space, found - slope) / max(size, 1e-300)
    return state, wrong, _cosine(space, found, slope)


def along(
    surrogate: Surrogate, member: Callable[[int], Member], runs: Sequence[Run], reach: int = 3, seed: int = 0
) -> Accuracy:
    """Along stored paths, each iterate from a neighbour at most `reach` places away."""
    return judged(surrogate, neighbours(member, runs, reach, seed))


def beside(
    surrogate: Surrogate,
    member: Callable[[int], Member],
    runs: Sequence[Run],
    length: float,
    each: int = 4,
    seed: int = 0,
) -> Accuracy:
    """At random steps of `length` off the paths, `each` per run; a solve and an adjoint for each of them."""
    return judged(surrogate, probes(member, runs, length, each, seed))


@dataclass(frozen=True)
class Question:
    """What a surrogate is asked at x : (n,), with the solver's state u : (s,) and slope : (n,) there, from the
    reference x_r, u_r."""

    problem: StateProblem
    x: Vector
    u: Vector
    slope: Vector
    x_r: Vector
    u_r: Vector


def judged(surrogate: Surrogate, questions: Sequence[Question]) -> Accuracy:
    """Raises: OperatorError, there are no questions."""
    rows = []
    for q in questions:
        surrogate.anchor(q.x_r, q.u_r)
        rows.append(compare(q.problem, surrogate, q.x, q.u, q.slope))
    return Accuracy.of(rows)


def neighbours(member: Callable[[int], Member], runs: Sequence[Run], reach: int = 3, seed: int = 0) -> list[Question]:
    """Those of `along`; they cost no solves."""
    asked = []
    for run in runs:
        problem = member(run.number).problem
        pairs = Pairs(np.zeros(len(run), int), np.arange(len(run)), reach, itself=False, seed=seed + run.number)
        for k, r in zip(*pairs.fixed(), strict=True):
            slope = run.gradient[k] - run.explicit[k]
            asked.append(Question(problem, run.design[k], run.state[k], slope, run.design[r], run.state[r]))
    return asked


def probes(
    member: Callable[[int], Member], runs: Sequence[Run], length: float, each: int = 4, seed: int = 0
) -> list[Question]:
    """Those of `beside`, to be put to several surrogates."""
    asked = []
    for run in runs:
        problem, rng = member(run.number).problem, np.random.default_rng([seed, run.number])
        for place in rng.integers(len(run), size=each):
            x, d = run.design[place], rng.standard_normal(run.design.shape[1])
            step = problem.space.riesz(d)
            step = step * (length / max(problem.space.inner(step, step) ** 0.5, 1e-300))
            asked += _solved(problem, _inside(problem, x + step), x, run.state[place])
    return asked


def far(
    surrogate: Surrogate, member: Callable[[int], Member], runs: Sequence[Run], each: int = 2, seed: int = 0
) -> Accuracy:
    """At the starts of other members, from a point of this path."""
    asked = []
    for run in runs:
        problem, rng = member(run.number).problem, np.random.default_rng([seed, run.number, 1])
        for place, other in zip(
            rng.integers(len(run), size=each), rng.integers(10_000, 20_000, size=each), strict=True
        ):
            x = member(int(other)).start
            asked += _solved(problem, x, run.design[place], run.state[place])
    return judged(surrogate, asked)


def table(
    surrogate: Surrogate,
    member: Callable[[int], Member],
    learnt: Sequence[Run],
    unseen: Sequence[Run],
    probe: float,
    seed: int = 0,
) -> dict[str, Accuracy]:
    """The four rows of this module, by name."""
    return {
        "learnt runs": along(surrogate, member, learnt, seed=seed),
        "unseen runs": along(surrogate, member, unseen, seed=seed),
        "probe step": beside(surrogate, member, unseen, probe, seed=seed),
        "random design": far(surrogate, member, unseen, seed=seed),
    }


def as_rows(found: dict[str, Accuracy]) -> list[dict[str, float | str]]:
    """For printing and for JSON."""
    return [{"where": where, **asdict(accuracy)} for where, accuracy in found.items()]


def _solved(problem: StateProblem, x: Vector, x_r: Vector, u_r: Vector) -> list[Question]:
    """Nothing where the solver refuses the design."""
    try:
        u = problem.solve(x)
        slope = problem.adjoint_gradient(x, u) - problem.partials(u, x)[1]
    except FAILURES:
        return []
    return [Question(problem, x, u, slope, x_r, u_r)]


def _inside(problem: StateProblem, x: Vector) -> Vector:
    if problem.lower is None and problem.upper is None:
        return x
    return np.clip(x, problem.lower, problem.upper)


def _cosine(space: Space, a: Vector, b: Vector) -> float:
    size = dual_norm(space, a) * dual_norm(space, b)
    return float(a @ space.riesz(b)) / size if size > 0 else 0.0

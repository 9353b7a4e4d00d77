"""The driver: counts, stopping, callbacks, rejected steps, resume."""

from dataclasses import dataclass, field

import numpy as np
import pytest

import optim
from optim import Stop
from optim.design import GCMMA, MMA, SQP, AugmentedLagrangian, OptimalityCriteria, ProjectedLBFGS, TrustRegionNewton
from tests.optim import problems


def volume():
    c = np.linspace(1, 9, 12) / 100
    f = optim.smooth(lambda x: ((c / x).sum(), -c / x**2))
    g = optim.constraint(lambda x: (np.array([x.sum() - 4.0]), np.ones((1, 12))))
    return optim.Problem(f, None, 1e-3, 1.0, (g,)), np.full(12, 0.3)


RESUMABLE = [
    (MMA(), problems.toy),
    (GCMMA(), problems.toy),
    (SQP(), problems.hs71),
    (AugmentedLagrangian(), problems.hs71),
    (ProjectedLBFGS(memory=3), lambda: problems.rosenbrock(6)),
    (TrustRegionNewton(), lambda: problems.rosenbrock(6)),
    (OptimalityCriteria(), volume),
]


@pytest.mark.parametrize(("method", "make"), RESUMABLE, ids=[type(m).__name__ for m, _ in RESUMABLE])
@pytest.mark.parametrize("at", [1, 4])
def test_resumed_from_a_file_equals_uninterrupted_bit_for_bit(tmp_path, method, make, at):
    problem, x0 = make()
    whole = optim.minimize(problem, x0, method, stop=Stop(max_iter=7, tol_kkt=None))
    half = optim.minimize(problem, x0, method, stop=Stop(max_iter=at, tol_kkt=None))
    np.savez(tmp_path / "state.npz", **optim.pack(half.state))
    with np.load(tmp_path / "state.npz", allow_pickle=False) as data:
        again = optim.unpack(dict(data), optim.start(problem, x0, method))
    result = optim.minimize(problem, x0, method, stop=Stop(max_iter=7, tol_kkt=None), resume=again)
    assert np.array_equal(result.x, whole.x) and result.f == whole.f
    assert np.array_equal(result.multipliers, whole.multipliers)
    assert result.history.keys() == whole.history.keys()
    for name, column in whole.history.items():
        assert np.array_equal(result.history[name], column, equal_nan=column.dtype.kind == "f"), name


def test_resume_on_torch(tmp_path):
    problem, x0 = problems.toy("torch")
    whole = optim.minimize(problem, x0, MMA(), stop=Stop(max_iter=6))
    half = optim.minimize(problem, x0, MMA(), stop=Stop(max_iter=3))
    again = optim.unpack(optim.pack(half.state), optim.start(problem, x0, MMA()))
    result = optim.minimize(problem, x0, MMA(), stop=Stop(max_iter=6), resume=again)
    assert result.x.equal(whole.x)


def test_a_checkpoint_of_another_problem_is_refused():
    problem, x0 = problems.rosenbrock(6)
    other, y0 = problems.rosenbrock(4)
    packed = optim.pack(optim.minimize(problem, x0, ProjectedLBFGS(), stop=Stop(max_iter=2)).state)
    with pytest.raises(optim.OptimError, match="6 variables, the problem has 4"):
        optim.unpack(packed, optim.start(other, y0, ProjectedLBFGS()))
    with pytest.raises(optim.OptimError, match="another method"):
        optim.unpack(packed, optim.start(problem, x0, TrustRegionNewton()))


def test_the_one_liner():
    result = optim.minimize(lambda x: ((x - 2) ** 2).sum(), [0.2, 0.9, 0.4], bounds=(0, 1))
    assert result.success and result.x == pytest.approx([1, 1, 1])
    result = optim.minimize(
        lambda x: ((x - 2) ** 2).sum(), np.zeros(3), bounds=(0, 1), constraints=[lambda x: x.sum() - 1]
    )
    assert result.success and result.x == pytest.approx([1 / 3] * 3, abs=1e-6)


@dataclass
class Counting:
    """x . x, which notes how often it is asked."""

    values: list = field(default_factory=list)
    gradients: list = field(default_factory=list)

    def value(self, x):
        self.values.append(x)
        return float(x @ x)

    def value_grad(self, x):
        self.gradients.append(x)
        return float(x @ x), 2 * x


def test_evaluations_are_counted():
    f = Counting()
    a = optim.minimize(f, np.array([3.0, 4.0]), ProjectedLBFGS())
    assert a.history["n_g"][-1] == len(f.gradients)
    assert a.history["n_f"][-1] == len({tuple(x) for x in f.values + f.gradients})


def test_a_callback_ends_the_run_by_a_word_or_by_stop_iteration():
    def enough(k, snapshot, info):
        if k == 3:
            raise StopIteration

    problem, x0 = problems.rosenbrock(6)
    for callback in (enough, lambda k, snapshot, info: "stop" if k == 3 else None):
        result = optim.minimize(problem, x0, ProjectedLBFGS(), callbacks=[callback])
        assert result.status == "user_stop" and result.iterations == 3
        on = optim.minimize(problem, x0, ProjectedLBFGS(), resume=result.state)
        assert on.status == "converged"


def test_callbacks_see_iterate_multipliers_and_feasibility():
    problem, x0 = problems.toy()
    seen = []
    optim.minimize(problem, x0, MMA(), callbacks=[lambda k, s, i: seen.append((k, s.x, s.multipliers, i.feas))])
    k, x, lam, feas = seen[-1]
    assert k == len(seen) and x == pytest.approx(problems.TOY, abs=1e-5)
    assert lam == pytest.approx([0.42624, 0.759573], abs=1e-4) and feas < 1e-6


def test_limits():
    problem, x0 = problems.rosenbrock(6)
    assert optim.minimize(problem, x0, ProjectedLBFGS(), stop=Stop(max_iter=4)).status == "max_iter"
    few = optim.minimize(problem, x0, ProjectedLBFGS(), stop=Stop(max_evals=9))
    assert few.status == "max_evals" and few.history["n_f"][-1] >= 9 > few.history["n_f"][-2]
    assert optim.minimize(problem, x0, ProjectedLBFGS(), stop=Stop(wall_time=0.0)).status == "wall_time"


def test_small_changes_end_the_run_only_after_min_iter():
    problem, x0 = problems.toy()
    stop = {"tol_kkt": None, "tol_f": 1e-2, "patience": 1}
    assert optim.minimize(problem, x0, MMA(), stop=Stop(**stop)).iterations == 3
    assert optim.minimize(problem, x0, MMA(), stop=Stop(**stop, min_iter=6)).iterations == 6


class Cliff:
    """(x - 1)^2 summed, which cannot be evaluated beyond .6 once."""

    def __init__(self, times):
        self.times = times

    def value_grad(self, x):
        return self.value(x), 2 * (x - 1)

    def value(self, x):
        if x.max() > 0.6 and self.times:
            self.times -= 1
            return np.nan
        return float(((x - 1) ** 2).sum())

    def hvp(self, x, v):
        return 2 * v


@pytest.mark.parametrize(
    "method", [MMA(), GCMMA(inner=0), SQP(), TrustRegionNewton()], ids=["mma", "gcmma", "sqp", "newton"]
)
def test_a_value_that_is_not_a_number_gives_the_step_back(method):
    result = optim.minimize(Cliff(1), np.array([0.2, 0.1]), method, bounds=(0, 1))
    refused = np.flatnonzero(~result.history["accepted"])
    assert len(refused) >= 1
    assert "finite" in result.history["reason"][refused[0]]
    assert result.success and result.x == pytest.approx([1, 1], abs=1e-5)


@pytest.mark.parametrize("method", [ProjectedLBFGS(), AugmentedLagrangian()], ids=["lbfgs", "al"])
def test_a_line_search_backs_away_from_what_is_not_a_number(method):
    result = optim.minimize(Cliff(1), np.array([0.2, 0.1]), method, bounds=(0, 1))
    assert result.success and result.x == pytest.approx([1, 1], abs=1e-5)


@pytest.mark.parametrize("method", [MMA(), GCMMA(), SQP(), TrustRegionNewton(), ProjectedLBFGS()])
def test_a_function_that_never_recovers_ends_the_run(method):
    result = optim.minimize(Cliff(10**9), np.array([0.2, 0.1]), method, bounds=(0, 1), stop=Stop(tol_x=None))
    assert not result.success
    assert result.x.max() <= 0.6 and np.isfinite(result.f)


def test_scaling_does_not_change_what_is_reported():
    problem, x0 = problems.toy()
    plain = optim.minimize(problem, x0, MMA(), scale=False, stop=Stop(tol_kkt=1e-8))
    scaled = optim.minimize(problem, x0, MMA(), scale=True, stop=Stop(tol_kkt=1e-8))
    assert scaled.f == pytest.approx(plain.f, rel=1e-9)
    assert scaled.multipliers == pytest.approx(plain.multipliers, rel=1e-4)
    assert scaled.state.scales == pytest.approx([10 / 29, 1 / 6, 1 / 6])


def test_units_do_not_matter_for_mma():
    """The same beam in other units: objective times 1e-9, constraint times 1e6."""
    f = optim.smooth(lambda x: (6.24e-11 * x.sum(), np.full(5, 6.24e-11)))
    g = optim.constraint(
        lambda x: (1e6 * np.array([(problems.K / x**3).sum() - 1]), 1e6 * (-3 * problems.K / x**4)[None])
    )
    stop = Stop(tol_kkt=1e-15, tol_feas=1)
    result = optim.minimize(optim.Problem(f, None, 1.0, 10.0, (g,)), np.full(5, 5.0), MMA(), stop=stop)
    assert result.f == pytest.approx(1.3399563606e-9, rel=1e-7)


def test_the_same_question_has_the_same_bits():
    problem, x0 = problems.truss()
    first, second = (optim.minimize(problem, x0, GCMMA()) for _ in range(2))
    assert np.array_equal(first.x, second.x)
    assert x0 == pytest.approx([1.5, 0.5], abs=0), "the start is not written to"

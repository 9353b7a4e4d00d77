"""Runs as data: what is stored is what the solver says, files are whole, runs are not made twice, splits are by run."""

from pathlib import Path

import numpy as np
import pytest

from operators.errors import OperatorError
from operators.trajectories import Member, Recorder, collect, path_of, read, record, split
from optim.design import MMA
from optim.result import Stop
from optim.space import Euclidean
from pde.functional import Spent
from pde.grid.errors import SolverError
from pde.problems.inversion import Inversion, Square

SQUARE = Square.of(8)


def member(number: int) -> Member:
    problem, start = Inversion.member(SQUARE, number)
    return Member(problem, start, {"data": problem.data, "sigma": np.array([problem.sigma])})


def test_every_iterate_is_what_the_solver_says() -> None:
    run = record(member(3), 3, stop=Stop(max_iter=6))
    problem = member(3).problem
    assert len(run) == 7
    assert (np.diff(run.J) < 0).all()
    assert (np.diff(run.seconds) >= 0).all()
    np.testing.assert_array_equal(run.design[0], member(3).start)
    for x, u, g, explicit, J in zip(run.design, run.state, run.gradient, run.explicit, run.J, strict=True):
        np.testing.assert_allclose(problem.solve(x), u, rtol=1e-12, atol=1e-15)
        np.testing.assert_allclose(problem.adjoint_gradient(x, u), g, rtol=1e-9, atol=1e-9)
        np.testing.assert_array_equal(explicit, x)
        assert problem.objective(u, x) == pytest.approx(J, rel=1e-12)


def test_no_solve_is_spent_twice() -> None:
    run = record(member(0), stop=Stop(max_iter=8))
    assert run.about["solves"]["adjoint"] <= len(run) + 1
    assert run.about["solves"]["forward"] <= len(run) + 12


def test_the_first_steps_are_short_and_a_design_that_overflows_is_rejected() -> None:
    run = record(member(1), cap=2.0, capped=3, stop=Stop(max_iter=6))
    steps = np.linalg.norm(np.diff(run.design, axis=0), axis=1)
    assert (steps[:3] <= 2.0 + 1e-9).all()
    recorder = Recorder(member(1).problem)
    assert np.isfinite(recorder.value(member(1).start))
    assert recorder.value(1e6 * member(1).start) == np.inf


def test_a_start_that_cannot_be_solved_says_so() -> None:
    given = member(1)
    with pytest.raises(SolverError, match="smaller steps"):
        record(Member(given.problem, 1e6 * given.start))


class Bounded:
    """J = |u|^2 / 2 with u = x - 2 in a box, and sum x <= 1: MMA's kind of problem, optimum x = 1 / 3."""

    lower, upper, n = 0.0, 1.0, 3

    def __init__(self) -> None:
        self.spent, self.space = Spent(), Euclidean()
        self.constraints = (self,)
        self.m, self.kind = 1, "ineq"

    def value(self, x: np.ndarray) -> np.ndarray:
        return np.array([x.sum() - 1.0])

    def jac(self, x: np.ndarray) -> np.ndarray:
        return np.ones((1, 3))

    def solve(self, x: np.ndarray) -> np.ndarray:
        self.spent.forward += 1
        return x - 2

    def objective(self, u: np.ndarray, x: np.ndarray) -> float:
        return 0.5 * float(u @ u)

    def partials(self, u: np.ndarray, x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        return u, np.zeros(3)

    def adjoint_gradient(self, x: np.ndarray, u: np.ndarray) -> np.ndarray:
        self.spent.adjoint += 1
        return u


def test_constraints_are_stored_and_mma_runs() -> None:
    run = record(Member(Bounded(), np.array([0.1, 0.2, 0.3])), method=MMA(), stop=Stop(max_iter=40))
    np.testing.assert_allclose(run.constraints[:, 0], run.design.sum(axis=1) - 1)
    np.testing.assert_allclose(run.design[-1], 1 / 3, atol=1e-4)
    assert run.about["method"]["name"] == "MMA"


def test_files_are_whole_and_runs_are_made_once(tmp_path: Path) -> None:
    stop = Stop(max_iter=3)
    asked: list[int] = []

    def counted(number: int) -> Member:
        asked.append(number)
        return member(number)

    assert collect(tmp_path, counted, range(2), stop=stop) == 2
    before = path_of(tmp_path, 0).read_bytes()
    assert collect(tmp_path, counted, range(3), stop=stop) == 1
    assert asked == [0, 1, 2]
    assert path_of(tmp_path, 0).read_bytes() == before
    assert not list(tmp_path.glob("*.part"))
    again = record(member(1), 1, stop=stop)
    stored = read(tmp_path, [1])[0]
    for name in ("design", "state", "gradient", "explicit", "J"):
        np.testing.assert_array_equal(getattr(stored, name), getattr(again, name))
    np.testing.assert_array_equal(stored.known["data"], again.known["data"])
    assert [run.number for run in read(tmp_path)] == [0, 1, 2]


def test_damaged_and_missing_runs_are_named(tmp_path: Path) -> None:
    with pytest.raises(OperatorError, match="holds no runs"):
        read(tmp_path)
    with pytest.raises(OperatorError, match=r"run-00004\.h5 does not exist"):
        read(tmp_path, [4])
    path_of(tmp_path, 4).write_bytes(b"no file of this kind")
    with pytest.raises(OperatorError, match="delete it"):
        read(tmp_path)


def test_the_split_is_by_run_and_complete() -> None:
    train, valid, test = split(range(100), seed=3)
    assert (len(train), len(valid), len(test)) == (80, 10, 10)
    assert sorted([*train, *valid, *test]) == list(range(100))
    assert split(range(100), seed=3) == (train, valid, test)
    assert split(range(100), seed=4)[0] != train
    assert all(split(range(3)))
    with pytest.raises(OperatorError, match="at least three"):
        split([1, 2])


def test_thinning_keeps_the_early_iterates_and_the_last() -> None:
    run = record(member(2), stop=Stop(max_iter=30))
    thin = run.thinned(16)
    assert len(thin) == 16
    np.testing.assert_array_equal(thin.design[:8], run.design[:8])
    np.testing.assert_array_equal(thin.design[-1], run.design[-1])
    assert (np.diff(thin.J) < 0).all()
    assert run.thinned(100) is run

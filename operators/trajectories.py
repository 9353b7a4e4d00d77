"""Runs of classical optimizers as training data: what a design looks like on its way to the optimum.

An operator that is asked inside an optimizer is asked along such paths, so it learns from them: every accepted iterate
with its state, its adjoint gradient, its objective and its constraints. A data set is a folder with one HDF5 file per
run, written whole or not at all: runs can be made by many processes, and a run that is there is not made again.

    folder/run-00012.h5     design (k, n), state (k, s), gradient (k, n), explicit (k, n), J (k,), constraints (k, m),
                            seconds (k,), known/NAME; attributes: number, method, tolerances, solves, message

`gradient` and `explicit` are covectors in physical units: dJ/dx in all, and its part with the state held.
"""

import json
import os
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import asdict, dataclass, field, is_dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from operators.errors import OperatorError
from operators.solver import FAILURES
from optim import minimize
from optim.design import MMA, ProjectedLBFGS
from optim.minimize import Method
from optim.problem import Problem
from optim.result import Stop
from optim.space import Space
from pde.functional import StateProblem

Vector = NDArray[np.float64]


@dataclass(frozen=True)
class Member:
    """One problem of a family, where its run starts, and what tells it from its siblings.

    Attributes:
        start: (n,), feasible. known: name -> array; what the objective of this member needs, such as its data.
        weights: quadrature weights of the points, or None.
    """

    problem: StateProblem
    start: Vector
    known: dict[str, Vector] = field(default_factory=dict)
    weights: Vector | None = None


@dataclass(frozen=True)
class Run:
    """The accepted iterates of one run, the start first.

    Attributes:
        design: (k, n). state: (k, s). gradient, explicit: (k, n) covectors. J, seconds: (k,), since the start.
        constraints: (k, m). known: of the member. about: method, tolerances, solves, message.
    """

    number: int
    design: Vector
    state: Vector
    gradient: Vector
    explicit: Vector
    J: Vector
    constraints: Vector
    seconds: Vector
    known: dict[str, Vector]
    about: dict[str, Any]

    def __len__(self) -> int:
        return len(self.J)

    def thinned(self, keep: int, early: int = 8) -> "Run":
        """At most `keep` iterates: the first `early`, where most happens, and the rest spread evenly to the last."""
        if len(self) <= keep:
            return self
        early = min(early, keep - 1)
        late = np.round(np.linspace(early, len(self) - 1, keep - early)).astype(int)
        rows = np.concatenate([np.arange(early), late])
        arrays = {name: getattr(self, name)[rows] for name in COLUMNS}
        return Run(self.number, **arrays, known=self.known, about=self.about)


COLUMNS = ("design", "state", "gradient", "explicit", "J", "constraints", "seconds")


@dataclass
class Recorder:
    """A `StateProblem` as an objective that remembers its last evaluations.

    Without curvature the first step of a line search is a guess, and exp(m) of a long one makes a matrix singular: a
    trial farther than `cap` from the last iterate counts as infinitely bad and costs no solve, and so does a design
    that the solver refuses, once the start has been solved.

    Args:
        cap: longest step, in the norm of the design space.
    """

    problem: StateProblem
    cap: float = np.inf
    centre: Vector | None = None
    seen: list[tuple[Vector, Vector, float, Vector | None]] = field(default_factory=list, repr=False)

    @property
    def space(self) -> Space:
        return self.problem.space

    def value(self, x: Vector) -> float:
        found = self.at(x, gradient=False)
        return np.inf if found is None else found[1]

    def value_grad(self, x: Vector) -> tuple[float, Vector]:
        found = self.at(x, gradient=True)
        return (np.inf, np.zeros_like(x)) if found is None or found[2] is None else (found[1], found[2])

    def at(self, x: Vector, gradient: bool) -> tuple[Vector, float, Vector | None] | None:
        """State, objective and, if asked for, derivative at x; None where there are none."""
        for number, (y, u, J, g) in enumerate(self.seen):
            if np.array_equal(x, y):
                if gradient and g is None:
                    g = self.problem.adjoint_gradient(x, u)
                    self.seen[number] = (y, u, J, g)
                return u, J, g
        if self.centre is not None and _distance(self.space, x, self.centre) > self.cap:
            return None
        try:
            u = self.problem.solve(x)
            J = self.problem.objective(u, x)
            g = self.problem.adjoint_gradient(x, u) if gradient else None
        except FAILURES:
            if self.centre is None:
                raise
            return None
        self.seen = [*self.seen[-3:], (x.copy(), u, J, g)]
        if self.centre is None:
            self.centre = x.copy()
        return u, J, g


def _distance(space: Space, x: Vector, y: Vector) -> float:
    return max(0.0, float(space.inner(x - y, x - y))) ** 0.5


def record(
    member: Member,
    number: int = 0,
    *,
    method: Method | None = None,
    stop: Stop | None = None,
    cap: float = 5.0,
    capped: int = 3,
) -> Run:
    """Run an optimizer on the solver and keep every accepted iterate.

    Args:
        method: None: MMA where there are constraints, else projected L-BFGS. stop: None: 60 iterations.
        cap: longest of the first `capped` steps, in the norm of the design space.

    Raises:
        Whatever the solver raises at the start. OperatorError: the run made no step.
    """
    problem = member.problem
    method = method or (MMA() if problem.constraints else ProjectedLBFGS())
    stop = stop or Stop(max_iter=60, tol_f=1e-7, patience=3)
    recorder, began, rows = Recorder(problem, cap), time.perf_counter(), []

    def note(x: Vector) -> None:
        found = recorder.at(x, gradient=True)
        assert found is not None and found[2] is not None
        u, J, g = found
        parts = [np.atleast_1d(c.value(x)) for c in problem.constraints]
        c = np.concatenate([*parts, np.zeros(0)])
        explicit = np.broadcast_to(problem.partials(u, x)[1], x.shape)
        rows.append((x.copy(), u, g, explicit, J, c, time.perf_counter() - began))
        recorder.centre = x.copy()
        recorder.cap = cap if len(rows) <= capped else np.inf

    def tell(k: int, snapshot: Any, info: Any) -> None:
        if info.accepted:
            note(np.array(snapshot.x))

    start = np.asarray(member.start, float)
    note(start)
    stated = Problem(recorder, None, problem.lower, problem.upper, problem.constraints, problem.space)
    result = minimize(stated, start, method, stop=stop, callbacks=[tell])
    if len(rows) < 2:
        raise OperatorError(f"run {number} made no step ({result.message}): start elsewhere or take another method")
    arrays = {name: np.array(column, float) for name, column in zip(COLUMNS, zip(*rows, strict=True), strict=True)}
    known = member.known if member.weights is None else {**member.known, "weights": member.weights}
    about = {
        "method": {"name": type(method).__name__, **(asdict(method) if is_dataclass(method) else {})},  # pyright: ignore[reportArgumentType]
        "tolerances": asdict(stop),
        "cap": cap,
        "solves": asdict(problem.spent) if is_dataclass(problem.spent) else {},
        "message": result.message,
    }
    return Run(number, **arrays, known=dict(known), about=about)


def collect(
    folder: Path,
    member: Callable[[int], Member],
    numbers: Iterable[int],
    *,
    progress: Callable[[int, Run | None], None] | None = None,
    **options: Any,
) -> int:
    """Make the runs that are not in the folder yet; -> how many were made.

    Args:
        member: number -> `Member`; the same number gives the same member. progress: called with the number and the
            new run, or None where it was there. options: of `record`.
    """
    folder.mkdir(parents=True, exist_ok=True)
    made = 0
    for number in numbers:
        if path_of(folder, number).is_file():
            run = None
        else:
            run = record(member(number), number, **options)
            write(folder, run)
            made += 1
        if progress is not None:
            progress(number, run)
    return made


def path_of(folder: Path, number: int) -> Path:
    return folder / f"run-{number:05d}.h5"


def write(folder: Path, run: Run) -> Path:
    """One file per run: whole, or not there."""
    import h5py

    path = path_of(folder, run.number)
    part = path.with_name(f"{path.name}.{os.getpid()}.part")
    with h5py.File(part, "w") as file:
        for name in COLUMNS:
            file[name] = getattr(run, name)
        for name, values in run.known.items():
            file[f"known/{name}"] = np.asarray(values)
        file.attrs["number"], file.attrs["about"] = run.number, json.dumps(run.about)
    part.replace(path)
    return path


def read(folder: Path, numbers: Sequence[int] | None = None) -> list[Run]:
    """The runs of a folder, by rising number.

    Args:
        numbers: which; None: all that are there.

    Raises:
        OperatorError: the folder holds no runs; a run is missing or cannot be read.
    """
    paths = sorted(folder.glob("run-*.h5")) if numbers is None else [path_of(folder, n) for n in sorted(numbers)]
    if not paths:
        raise OperatorError(f"{folder} holds no runs: make them with `formgrad operator data`")
    return [_read(path) for path in paths]


def _read(path: Path) -> Run:
    import h5py

    if not path.is_file():
        raise OperatorError(f"{path} does not exist: make the run with `formgrad operator data`")
    try:
        with h5py.File(path, "r") as file:
            arrays = {name: _values(file, name) for name in COLUMNS}
            names = list(file["known"].keys()) if "known" in file else []  # pyright: ignore[reportAttributeAccessIssue]
            known = {name: _values(file, f"known/{name}") for name in names}
            number, about = int(file.attrs["number"]), json.loads(str(file.attrs["about"]))  # pyright: ignore[reportArgumentType]
    except (OSError, KeyError, ValueError) as error:
        raise OperatorError(f"{path} is no run of this version: delete it and make it again") from error
    return Run(number, **arrays, known=known, about=about)


def _values(file: Any, name: str) -> Vector:
    return np.asarray(file[name][()], float)


def split(
    numbers: Iterable[int], parts: tuple[float, float, float] = (0.8, 0.1, 0.1), seed: int = 0
) -> tuple[list[int], list[int], list[int]]:
    """Runs for training, validation and test: whole runs, so that no iterate is near one that was learnt.

    Raises:
        OperatorError: fewer than three runs, or parts that are not positive.
    """
    numbers = sorted(set(numbers))
    if len(numbers) < 3 or min(parts) <= 0:
        raise OperatorError(f"{len(numbers)} runs cannot be split {parts}: give at least three runs, positive parts")
    order = np.random.default_rng(seed).permutation(numbers)
    first = min(max(1, round(len(order) * parts[0] / sum(parts))), len(order) - 2)
    second = min(max(first + 1, round(len(order) * (parts[0] + parts[1]) / sum(parts))), len(order) - 1)
    return tuple(sorted(int(n) for n in part) for part in np.split(order, [first, second]))  # pyright: ignore[reportReturnType]

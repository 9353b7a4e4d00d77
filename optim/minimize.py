"""One loop for every method: `minimize(problem, x0, method)`.

The method owns the mathematics of one step; this file owns everything around it: when to stop, whom to tell, what to
count, and what must be kept so that a run can go on bit for bit.
"""

import time
from collections.abc import Callable, Iterable
from dataclasses import replace
from typing import Any, Protocol, cast

import numpy as np

from optim.arrays import Array, namespace
from optim.errors import OptimError
from optim.functions import constraint, smooth
from optim.prepared import Evaluation, Prepared, first_value_scales, prepare
from optim.problem import Constraint, Problem, Smooth
from optim.result import Info, Result, Snapshot, Status, Stop, as_arrays

type Callback = Callable[[int, Snapshot, Info], Any]


class Method(Protocol):
    """A frozen dataclass of hyper-parameters with two pure functions."""

    def init(self, problem: Any, x0: Array) -> Any: ...

    def step(self, problem: Any, state: Any) -> tuple[Any, Info]: ...


def minimize(
    problem: Problem | Smooth | Callable[[Array], Any] | Any,
    x0: Array,
    method: Method | None = None,
    *,
    bounds: tuple[Any, Any] | None = None,
    constraints: Iterable[Any] = (),
    stop: Stop | None = None,
    callbacks: Iterable[Callback] = (),
    resume: Snapshot | None = None,
    scale: bool | None = None,
) -> Result:
    """Find a minimum.

    Args:
        problem: a `Problem`, or for short an objective or a plain function, with `bounds` and `constraints` beside it;
            or whatever a method of another package asks for.
        x0: (n,) start within the bounds; a NumPy array, torch tensor or JAX array. What comes back is of its kind.
        method: from `optim.design`. None: MMA for inequalities in a box, the augmented Lagrangian for other
            constraints, projected L-BFGS without.
        bounds: (lower, upper), each a number or (n,).
        constraints: from `optim.constraint`, or plain functions g with g(x) <= 0.
        stop: when to end; see `Stop`.
        callbacks: called as (iteration, snapshot, info) after every step; "stop" or StopIteration ends the run cleanly.
        resume: `Result.state` or a snapshot kept by a callback; x0 then only says of which kind the arrays are.
        scale: bring objective and constraints to size 10 and 1 at the start. None: where the method depends on it.

    Raises:
        OptimError: before the first step, in one sentence, if something cannot be right.
    """
    x0 = np.asarray(x0, float) if isinstance(x0, list | tuple) else x0
    problem = _stated(problem, bounds, constraints)
    method = method or _usual(cast(Problem, problem), x0)
    stop = _within_precision(stop or Stop(), x0)
    began, callbacks = time.perf_counter(), tuple(callbacks)
    scale = bool(getattr(method, "scaled", False)) if scale is None else scale
    ready, snapshot, verdict = _begin(problem, x0, method, resume, scale)
    if snapshot.history:
        verdict = _verdict(stop, snapshot, 0.0)
    while verdict is None:
        state, info = method.step(ready, snapshot.state)
        counts = cast(tuple[int, int, int], tuple(ready.counts)) if isinstance(ready, Prepared) else (0, 0, 0)
        snapshot = replace(
            snapshot,
            state=state,
            iteration=snapshot.iteration + 1,
            counts=counts,
            history=(*snapshot.history, info),
        )
        stopped = _tell(callbacks, snapshot, info)
        verdict = _verdict(stop, snapshot, time.perf_counter() - began)
        if stopped and (verdict is None or verdict[0] in ("max_iter", "max_evals", "wall_time")):
            verdict = "user_stop", "stopped by a callback"
    status, message = verdict
    f = snapshot.history[-1].f if snapshot.history else _objective(snapshot)
    return Result(snapshot.state.x, f, snapshot.multipliers, status, message, as_arrays(snapshot.history), snapshot)


def start(problem: Problem, x0: Array, method: Method, scale: bool | None = None) -> Snapshot:
    """The snapshot before the first step, for instance as the pattern that `optim.unpack` fills."""
    scale = bool(getattr(method, "scaled", False)) if scale is None else scale
    return _begin(problem, x0, method, None, scale)[1]


def _stated(problem: Any, bounds: tuple[Any, Any] | None, constraints: Iterable[Any]) -> Any:
    constraints = tuple(cast(Constraint, c if hasattr(c, "jac") else constraint(c)) for c in constraints)
    own = not hasattr(problem, "value_grad") and not callable(problem)  # stated in full, or in the method's own terms
    if own:
        if bounds is not None or constraints:
            raise OptimError("bounds and constraints belong into the Problem when one is given")
        return problem
    f = problem if hasattr(problem, "value_grad") else smooth(problem)
    lower, upper = bounds if bounds is not None else (None, None)
    space = getattr(f, "space", None)
    return Problem(cast(Smooth, f), None, lower, upper, constraints, **({"space": space} if space is not None else {}))


def _usual(problem: Problem, x0: Array) -> Method:
    from optim.design import MMA, AugmentedLagrangian, ProjectedLBFGS

    if not problem.constraints:
        return ProjectedLBFGS()
    ready = prepare(problem, x0)
    boxed = ready.xp.finite(ready.lower) and ready.xp.finite(ready.upper)
    return MMA() if boxed and not ready.equal.any() else AugmentedLagrangian()


def _within_precision(stop: Stop, x0: Array) -> Stop:
    """Single precision cannot meet tolerances below 1e-5."""
    if not hasattr(x0, "dtype") or namespace(x0).precision(x0) < 1e-10:
        return stop
    floor = {name: value for name in ("tol_kkt", "tol_feas") if (value := getattr(stop, name)) is not None}
    return replace(stop, **{name: max(1e-5, value) for name, value in floor.items()})


def _begin(
    problem: Any, x0: Array, method: Method, resume: Snapshot | None, scale: bool
) -> tuple[Any, Snapshot, tuple[Status, str] | None]:
    if not isinstance(problem, Problem):  # a method that brings its own evaluations
        if resume is not None:
            return problem, resume, None
        return problem, Snapshot(method.init(problem, x0), 0, (0, 0, 0), np.ones(1)), None
    if resume is not None:
        ready = prepare(problem, x0, resume.scales)
        ready.counts = list(resume.counts)
        return ready, resume, None
    ready = prepare(problem, x0)
    x0 = ready.xp.private(x0)
    if scale:
        now = ready.first_look(x0)
        ready.start_from(ready.rescale(now, first_value_scales(ready, now)))
    state = method.init(ready, x0)
    counts = cast(tuple[int, int, int], tuple(ready.counts))
    return ready, Snapshot(state, 0, counts, ready.scales), _flat(ready, state)


def _flat(problem: Prepared, state: Any) -> tuple[Status, str] | None:
    """A start that is already stationary, because the gradient is exactly zero there."""
    now: Evaluation | None = getattr(state, "now", None)
    if now is None or problem.xp.largest(now.df) > 0:
        return None
    if (now.c[~problem.equal] > 0).any() or (now.c[problem.equal] != 0).any():
        return None
    return "stationary", (
        "the gradient is zero at x0, so x0 is returned: it is a minimum, a saddle or a maximum, or the objective does "
        "not depend on x; start elsewhere to find out"
    )


def _objective(snapshot: Snapshot) -> float:
    now = getattr(snapshot.state, "now", None)
    return float("nan") if now is None else now.f / float(snapshot.scales[0])


def _tell(callbacks: tuple[Callback, ...], snapshot: Snapshot, info: Info) -> bool:
    stopped = False
    for callback in callbacks:
        try:
            stopped = callback(snapshot.iteration, snapshot, info) == "stop" or stopped
        except StopIteration:
            stopped = True
    return stopped


def _verdict(stop: Stop, snapshot: Snapshot, seconds: float) -> tuple[Status, str] | None:
    info, k = snapshot.history[-1], snapshot.iteration
    feasible = not info.feas > stop.tol_feas
    lacking = f"no feasible point was found: constraints are violated by {info.feas:.3g}; relax them or start elsewhere"
    lacking += f" ({info.reason})" if info.reason else ""
    if info.verdict == "failed":
        return "failed", info.reason
    if info.verdict == "infeasible" or (info.verdict and not feasible):
        return "infeasible", lacking
    if info.verdict:
        return info.verdict, info.reason or "the method is at its end"
    if stop.tol_kkt is not None and info.kkt <= stop.tol_kkt and feasible:
        return "converged", f"optimal to {info.kkt:.2g}"
    if info.f < -1e30:
        return "unbounded", "the objective falls below every bound: add bounds or constraints"
    if k >= stop.min_iter and (settled := _settled(stop, snapshot.history)):
        return ("converged", settled) if feasible else ("infeasible", lacking)
    end = "" if feasible else f"; {lacking}"
    if k >= stop.max_iter:
        return "max_iter", f"{stop.max_iter} iterations are over{end}"
    if stop.max_evals is not None and info.n_f >= stop.max_evals:
        return "max_evals", f"{info.n_f} evaluations are over{end}"
    if stop.wall_time is not None and seconds >= stop.wall_time:
        return "wall_time", f"{seconds:.1f} s are over{end}"
    return None


def _settled(stop: Stop, history: tuple[Info, ...]) -> str:
    recent = history[-stop.patience :]
    if len(recent) < stop.patience or not all(info.accepted for info in recent):
        return ""
    if stop.tol_x is not None and all(info.step_norm <= stop.tol_x for info in recent):
        return f"no variable changed by more than {stop.tol_x:g}"
    values = [info.f for info in history[-stop.patience - 1 :]]
    if stop.tol_f is None or len(values) <= stop.patience:
        return ""
    steady = all(
        abs(a - b) <= stop.tol_f * max(abs(a), abs(b), 1e-300) for a, b in zip(values[1:], values[:-1], strict=True)
    )
    return f"the objective changed by less than {stop.tol_f:g}" if steady else ""

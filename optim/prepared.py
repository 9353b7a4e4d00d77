"""A problem made ready for one start: checked, scaled, counted.

Methods look at a problem only through this object, so that every evaluation is counted and every number that comes
back from the user's functions is checked once, in one place.
"""

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from optim.arrays import Array, Host, Namespace, namespace
from optim.errors import BoundsError, MethodError, ShapeError, StartError
from optim.problem import Problem


@dataclass(frozen=True)
class Evaluation:
    """One look at a point, scaled.

    Attributes:
        f: objective. df: (n,) its derivative. c: (m,) constraints, on the host. J: (m, n) or None for none.
    """

    f: float
    df: Array
    c: Host
    J: Array | None


@dataclass
class Prepared:
    """See the module. `problem` is what was stated; everything here is scaled by `scales`.

    Attributes:
        lower, upper: (n,) arrays like x0, infinite where there is no bound.
        equal: (m,) bool, which constraints are equations.
        scales: (1 + m,) factors of the objective and of each constraint.
        counts: [n_f, n_g, n_h].
    """

    problem: Problem
    xp: Namespace
    n: int
    lower: Array
    upper: Array
    equal: NDArray[np.bool_]
    scales: Host
    dtype: Any
    counts: list[int] = field(default_factory=lambda: [0, 0, 0])

    @property
    def m(self) -> int:
        return len(self.equal)

    @property
    def space(self) -> Any:
        return self.problem.space

    def look(self, x: Array, seen: bool = False) -> Evaluation:
        """Values and derivatives. `seen`: the values at x were counted already."""
        self.counts[0] += not seen
        self.counts[1] += 1
        f, df = self.problem.f.value_grad(x)  # pyright: ignore[reportAttributeAccessIssue]
        self._check(df, (self.n,), "gradient of the objective")
        s, t = float(self.scales[0]), self.scales[1:]
        parts, rows = self._constraints(x, jacobian=True)
        c = np.concatenate([*parts, np.zeros(0)])
        J = self.xp.concatenate(rows) if rows else None
        if J is not None and (t != 1).any():
            J = self.xp.like(t, x)[:, None] * J
        return Evaluation(s * float(f), df if s == 1 else s * df, t * c, J)

    def values(self, x: Array) -> tuple[float, Host]:
        """f and c (m,)."""
        self.counts[0] += 1
        f = float(self.problem.f.value(x))  # pyright: ignore[reportAttributeAccessIssue]
        parts, _ = self._constraints(x, jacobian=False)
        return float(self.scales[0]) * f, self.scales[1:] * np.concatenate([*parts, np.zeros(0)])

    def hvp(self, x: Array, v: Array, lam: Host | None = None) -> Array:
        """Hessian of the objective, or of the Lagrangian at `lam`, times v."""
        self.counts[2] += 1
        out = float(self.scales[0]) * self.problem.f.hvp(x, v)  # pyright: ignore[reportAttributeAccessIssue]
        if lam is None:
            return out
        weights, first = self.scales[1:] * lam, 0
        for constraint in self.problem.constraints:
            m = self._rows[id(constraint)]
            weight = self.xp.like(weights[first : first + m], x)
            out, first = out + constraint.hvp(x, v, weight), first + m  # pyright: ignore[reportAttributeAccessIssue]
        return out

    def has_hvp(self, constraints: bool = False) -> bool:
        parts = [self.problem.f, *(self.problem.constraints if constraints else ())]
        return all(hasattr(part, "hvp") for part in parts)

    def inside(self, x: Array) -> Array:
        """Nearest point within the bounds."""
        return self.xp.clip(x, self.lower, self.upper)

    def finite(self, now: Evaluation) -> str:
        """Empty, or which part is not a number."""
        if not np.isfinite(now.f):
            return "the objective is not a finite number"
        if not self.xp.finite(now.df):
            return "the gradient holds a value that is not finite"
        if not np.isfinite(now.c).all() or (now.J is not None and not self.xp.finite(now.J)):
            return "a constraint or its Jacobian holds a value that is not finite"
        return ""

    def first_look(self, x: Array) -> Evaluation:
        """At the start, where nothing may be wrong.

        Raises:
            StartError: a value is not finite.
        """
        if self._first is not None:
            now, self._first = self._first, None
            return now
        now = self.look(x)
        if wrong := self.finite(now):
            raise StartError(f"x0: {wrong} there; start from a point where everything can be evaluated")
        return now

    def rescale(self, now: Evaluation, scales: Host) -> Evaluation:
        """Scale from here on by `scales` (1 + m,); -> `now`, which was not scaled, in the new units."""
        self.scales = np.asarray(scales, float)
        s, t = float(self.scales[0]), self.scales[1:]
        J = None if now.J is None else self.xp.like(t, now.J)[:, None] * now.J
        return Evaluation(s * now.f, s * now.df, t * now.c, J)

    def start_from(self, now: Evaluation) -> None:
        """The first look was taken already: hand this over instead."""
        self._first = now

    # -- checks -------------------------------------------------------------------------------------------------------

    _rows: dict[int, int] = field(default_factory=dict)
    _first: Evaluation | None = None

    def _constraints(self, x: Array, jacobian: bool) -> tuple[list[Host], list[Array]]:
        parts, rows = [], []
        for number, constraint in enumerate(self.problem.constraints):
            if jacobian and hasattr(constraint, "value_jac"):
                c, J = constraint.value_jac(x)  # pyright: ignore[reportAttributeAccessIssue]
            else:
                c, J = constraint.value(x), constraint.jac(x) if jacobian else None
            c = self.xp.host(c).reshape(-1)
            m = self._rows.setdefault(id(constraint), len(c))
            if len(c) != m or (constraint.m is not None and len(c) != constraint.m):
                raise ShapeError(
                    f"constraint {number} has {len(c)} values, it promised {constraint.m or m}: return (m,)"
                )
            if J is not None:
                self._check(J, (m, self.n), f"Jacobian of constraint {number}")
                rows.append(J)
            parts.append(c)
        return parts, rows

    def _check(self, array: Array, shape: tuple[int, ...], name: str) -> None:
        if tuple(array.shape) != shape:
            raise ShapeError(f"the {name} has shape {tuple(array.shape)}, this problem needs {shape}")
        if namespace(array).name != self.xp.name:
            raise ShapeError(f"the {name} is a {namespace(array).name} array, but x0 is a {self.xp.name} array")
        if array.dtype != self.dtype:
            raise ShapeError(
                f"the {name} is {array.dtype}, but x0 is {self.dtype}: use one type throughout, "
                "double precision if in doubt"
            )


def prepare(problem: Problem | Prepared, x: Array, scales: Host | None = None) -> Prepared:
    """Check the statement and the start; a problem that is ready is returned as it is.

    Args:
        x: (n,) floating point start.
        scales: (1 + m,); None leaves everything as it is.

    Raises:
        BoundsError, StartError, ShapeError, MethodError: with what to change.
    """
    if isinstance(problem, Prepared):
        return problem
    xp = namespace(x)
    if len(x.shape) != 1 or not x.shape[0]:
        raise StartError(f"x0 has shape {tuple(x.shape)}: give a flat vector (n,) and reshape inside the function")
    if "float" not in str(x.dtype):
        raise StartError(f"x0 is {x.dtype}: give floating point numbers, double precision if in doubt")
    if not xp.finite(x):
        raise StartError("x0 holds a value that is not finite: check it for nan and infinity")
    if problem.psi is not None or not hasattr(problem.f, "value_grad"):
        raise MethodError("design methods take a differentiable objective (value_grad) and no psi")
    lower, upper = (_bound(b, x, xp, sign) for b, sign in ((problem.lower, -1), (problem.upper, 1)))
    _check_bounds(x, lower, upper, xp)
    ready = Prepared(problem, xp, x.shape[0], lower, upper, np.zeros(0, bool), np.ones(1), x.dtype)
    if problem.constraints:
        counts = [len(xp.host(c.value(x)).reshape(-1)) for c in problem.constraints]
        ready.equal = np.repeat([c.kind == "eq" for c in problem.constraints], counts)
    ready.scales = np.ones(1 + ready.m) if scales is None else np.asarray(scales, float)
    return ready


def first_value_scales(problem: Prepared, now: Evaluation) -> Host:
    """Objective to 10 and each constraint to 1 at the start; (1 + m,).

    A value that happens to be small there says nothing about its size, so the variation over the box counts too.
    """
    xp, width = problem.xp, problem.upper - problem.lower
    width = xp.where(xp.isfinite(width), width, xp.ones_like(width))
    size = max(abs(now.f), 1e-3 * xp.largest(now.df * width))
    scales = [10 / size if size > 0 else 1.0]
    for number in range(problem.m):
        assert now.J is not None
        size = max(abs(now.c[number]), 1e-2 * float(abs(now.J[number] * width).sum()))
        scales.append(1 / size if size > 0 else 1.0)
    return np.array(scales)


def _bound(bound: Array | float | None, x: Array, xp: Namespace, sign: int) -> Array:
    name = "lower" if sign < 0 else "upper"
    if bound is None:
        return xp.full_like(x, sign * np.inf)
    array: Any = bound if hasattr(bound, "shape") else np.asarray(bound, float)
    shape = tuple(array.shape)
    if shape not in ((), tuple(x.shape)):
        raise BoundsError(f"{name} has shape {shape}, x0 has {tuple(x.shape)}: give one number or one per variable")
    if shape == ():
        return xp.full_like(x, float(array))
    return xp.like(array if type(array) is type(x) else namespace(array).host(array), x)


def _check_bounds(x: Array, lower: Array, upper: Array, xp: Namespace) -> None:
    low, high, at = xp.host(lower), xp.host(upper), xp.host(x)
    if np.isnan(low).any() or np.isnan(high).any():
        raise BoundsError("the bounds hold a value that is not a number: use -inf and inf where there is no bound")
    crossed = np.flatnonzero(low > high)
    if len(crossed):
        j = crossed[0]
        raise BoundsError(f"bounds: lower[{j}] = {low[j]:g} is above upper[{j}] = {high[j]:g}; swap them")
    outside = np.flatnonzero((at < low) | (at > high))
    if len(outside):
        j = outside[0]
        raise StartError(
            f"x0[{j}] = {at[j]:g} is outside its bounds [{low[j]:g}, {high[j]:g}] ({len(outside)} of {len(at)} are): "
            "clip x0 first"
        )


def need_finite_bounds(problem: Prepared, method: str) -> None:
    """Raises: BoundsError, if a variable has no bound on one side."""
    if not (problem.xp.finite(problem.lower) and problem.xp.finite(problem.upper)):
        raise BoundsError(f"{method} needs a finite lower and upper bound for every variable: give lower and upper")


def need_inequalities(problem: Prepared, method: str) -> None:
    """Raises: MethodError, if a constraint is an equation."""
    if problem.equal.any():
        raise MethodError(f"{method} takes inequalities only: use AugmentedLagrangian or SQP for equations")


def need_no_constraints(problem: Prepared, method: str) -> None:
    """Raises: MethodError, if there is a constraint beside the bounds."""
    if problem.m:
        raise MethodError(f"{method} takes bounds but no other constraints: use MMA, AugmentedLagrangian or SQP")

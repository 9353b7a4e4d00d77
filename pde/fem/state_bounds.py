"""Bounds on the state at every vertex: lower <= s(u) <= upper, by the augmented Lagrangian in function space.

    min J(u, m) + 1/(2 rho) sum_i w_i [ max(0, lam_i + rho (s_i - upper_i))^2 - lam_i^2 ]   (and the same below)
    lam_i <- max(0, lam_i + rho (s_i - upper_i))

with w_i the lumped masses (Ito and Kunisch 1990; Hintermueller, Ito and Kunisch 2003 for its Newton method, which
`TrustRegionNewton` is here: the term has Hessian actions wherever no vertex is just at its bound). Each round is a
problem without state bounds for any method of `optim`; the multipliers make its answer exact at a moderate price rho.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from optim import minimize
from optim.problem import Constraint, Problem
from optim.result import Stop
from pde.fem.dolfinx_import import load
from pde.fem.errors import FemError, FemSolverError
from pde.fem.form import Integral
from pde.fem.numbering import Numbering
from pde.fem.reduced import Reduced

Vector = NDArray[np.float64]
FELL = 0.25  # part to which the violation must fall in a round; else the price rises
DEARER = 10.0


@dataclass(frozen=True)
class Bounded:
    """A design whose state keeps its bounds.

    Attributes:
        x: (n,). J: the objective without multipliers. violation: largest, in units of s.
        multipliers: at the vertices, (vertices,), of the upper bound less those of the lower one.
        rounds, price: what it took.
    """

    x: Vector
    J: float
    violation: float
    multipliers: Vector
    rounds: int
    price: float


class StateBounds:
    """J(u(m), m) with bounds on the state. Arguments as those of `Reduced`, and

    Args:
        of: s(u), a scalar UFL expression of the state; None: the state itself.
        lower, upper: numbers or UFL expressions, such as functions of place; None for none.
        price: rho at first. Its unit is that of J over s^2 and area.

    Raises:
        FemError: neither bound is given, s is no scalar, or see `Reduced`.
    """

    def __init__(
        self,
        residual: Any,
        objective: Any,
        state: Any,
        control: Any,
        bcs: Iterable[Any] = (),
        *,
        of: Any = None,
        lower: Any = None,
        upper: Any = None,
        price: float = 1e3,
        **options: Any,
    ) -> None:
        fe = load()
        s = state if of is None else of
        if (lower is None and upper is None) or not price > 0:
            raise FemError("state bounds need a lower or an upper bound, and a price above 0")
        if getattr(s, "ufl_shape", ()) != ():
            raise FemError("the bounded quantity must be a scalar: give of=, for instance the component u[0]")
        ufl, mesh = fe.ufl, state.function_space.mesh
        V = fe.fem.functionspace(mesh, ("Lagrange", 1))
        at_vertices = ufl.dx(domain=mesh, metadata={"quadrature_rule": "vertex", "quadrature_degree": 1})
        self.price = fe.fem.Constant(mesh, float(price))
        # How far beyond each bound, positive where it is violated.
        beyond = [*([] if upper is None else [s - upper]), *([] if lower is None else [lower - s])]
        self._signs = [*([] if upper is None else [1.0]), *([] if lower is None else [-1.0])]
        self._multipliers = [fe.fem.Function(V) for _ in beyond]
        terms = [
            (ufl.max_value(0, lam + self.price * gap) ** 2 - lam**2) / (2 * self.price) * at_vertices
            for lam, gap in zip(self._multipliers, beyond, strict=True)
        ]
        self.J = Reduced(residual, objective + sum(terms[1:], terms[0]), state, control, bcs, **options)
        self._fe, self._objective = fe, Integral(fe, objective)
        points = V.element.interpolation_points
        self._gaps = [fe.fem.Expression(ufl.as_ufl(gap), points) for gap in beyond]
        self._gap = fe.fem.Function(V)

    def solve(
        self,
        method: Any = None,
        *,
        x0: Vector | None = None,
        lower: Any = None,
        upper: Any = None,
        constraints: tuple[Constraint, ...] = (),
        stop: Stop | None = None,
        tolerance: float = 1e-6,
        rounds: int = 30,
    ) -> Bounded:
        """Minimise.

        Args:
            method: of `optim.design`; None: what suits the constraints. lower, upper, constraints: of the control.
            stop: of each round. tolerance: of the violation, relative to the first one.

        Raises:
            FemSolverError: the bounds are not met after so many rounds. FemError, OptimError: see `minimize`.
        """
        x = self.J.x0 if x0 is None else x0
        first, before = 0.0, np.inf
        for done in range(1, rounds + 1):
            problem = Problem(self.J, None, lower, upper, constraints, self.J.space)
            x = minimize(problem, x, method, stop=stop).x
            violation, complementary = self._update(x)
            first = first or max(violation, complementary, 1e-300)
            worst = max(violation, complementary)
            if worst <= tolerance * first or worst < 1e-14:
                return self._found(x, violation, done)
            if worst > FELL * before:
                self.price.value *= DEARER
            before = worst
            self.J.forget()
        raise FemSolverError(
            f"the bounds of the state are still violated by {before:.2g} after {rounds} rounds: allow more rounds, a "
            "tighter stop of each, or bounds that some control can keep"
        )

    def _update(self, x: Vector) -> tuple[float, float]:
        """New multipliers at x; -> largest violation, and the largest change of a multiplier over the price."""
        self.J.value(x)
        comm, violation, complementary = self._gap.function_space.mesh.comm, 0.0, 0.0
        for lam, expression in zip(self._multipliers, self._gaps, strict=True):
            self._gap.interpolate(expression)
            gap, old = self._gap.x.array, lam.x.array.copy()
            lam.x.array[:] = np.maximum(0.0, old + self.price.value * gap)
            changed = float(np.abs(lam.x.array - old).max(initial=0.0)) / float(self.price.value)
            # Over all processes, which must come to the same verdict.
            for most, change in comm.allgather((float(gap.max(initial=0.0)), changed)):
                violation, complementary = max(violation, most), max(complementary, change)
        self.J.forget()
        return max(violation, 0.0), complementary

    def _found(self, x: Vector, violation: float, rounds: int) -> Bounded:
        self.J.value(x)
        J = self._objective()
        signed = sum(sign * lam.x.array for sign, lam in zip(self._signs, self._multipliers, strict=True))
        multipliers = Numbering(self._fe, self._gap.function_space).gather(np.asarray(signed))
        return Bounded(x, J, violation, multipliers, rounds, float(self.price.value))

"""Controls of a time-dependent problem as one flat vector: of each step, or the same for all of them.

x is the numbers of the first control, then those of the second, and so on. A control with values of its own for each
step has them row by row, first step first.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from optim.space import Space
from pde.fem.control import Inner, checked
from pde.fem.controls import Controls
from pde.fem.dolfinx_import import Dolfinx
from pde.fem.errors import FemError
from pde.fem.motion import MeshMotion
from pde.fem.product import together

Vector = NDArray[np.float64]


@dataclass(frozen=True)
class InTime:
    """<a, b> = sum_n w_n <a_n, b_n> of controls with one row per step. Args: each, their space; weights : (steps,)."""

    each: Space
    weights: NDArray[np.float64]

    def inner(self, a: Vector, b: Vector) -> float:
        rows = zip(self.weights, self._rows(a), self._rows(b), strict=True)
        return float(sum(w * self.each.inner(p, q) for w, p, q in rows))

    def riesz(self, dual: Vector) -> Vector:
        return np.concatenate([self.each.riesz(d) / w for w, d in zip(self.weights, self._rows(dual), strict=True)])

    def _rows(self, x: Vector) -> Vector:
        return x.reshape(len(self.weights), -1)


class Backwards:
    """Derivatives by the controls, step after step from the last to the first; those of all steps are added up."""

    def __init__(self, per_step: tuple[bool, ...]) -> None:
        self._per_step = per_step
        self.rows: list[list[Vector]] = [[] for _ in per_step]

    def add(self, duals: list[Vector]) -> None:
        """Of one step: one array of all degrees of freedom per control."""
        for rows, own, dual in zip(self.rows, self._per_step, duals, strict=True):
            if own or not rows:
                rows.append(dual)
            else:
                rows[0] += dual


class ControlsInTime:
    """Between x : (n,) and the coefficients of the forms in each step.

    Args:
        given, active, inner: as `Controls` takes them.
        per_step: whether a control has values for each step; one answer, or one for each control.
        weights: (steps,), what a step weighs in an integral over time.

    Attributes:
        parts: one `Control` each. coefficients: their functions. per_step: one answer each.
        cuts: where in x each control begins, and the last ends.

    Raises:
        FemError: the arguments do not fit each other.
    """

    def __init__(
        self,
        fe: Dolfinx,
        given: Any,
        domain: Any,
        active: Any,
        inner: Inner | Sequence[Inner],
        per_step: bool | Sequence[bool],
        weights: Vector,
    ) -> None:
        if any(isinstance(c, MeshMotion) for c in (given if isinstance(given, list | tuple) else [given])):
            raise FemError("a mesh motion cannot be the control of a time-dependent problem: the mesh stays as it is")
        self._each = Controls(fe, given, domain, active, inner)
        self.parts, self.coefficients = self._each.parts, self._each.coefficients
        self.in_forms, self.check_apart = self._each.in_forms, self._each.check_apart
        self.steps, self.comm = len(weights), domain.comm
        several = isinstance(per_step, list | tuple)
        self.per_step = tuple(map(bool, per_step)) if several else (bool(per_step),) * len(self.parts)
        if len(self.per_step) != len(self.parts):
            raise FemError(
                f"there are {len(self.parts)} controls: give per_step once, or as a list of {len(self.parts)}"
            )
        rows = [self.steps if p else 1 for p in self.per_step]
        self.cuts = tuple(int(c) for c in np.cumsum([0, *(r * c.n for r, c in zip(rows, self.parts, strict=True))]))
        self.n = self.cuts[-1]
        inners = list(inner) if isinstance(inner, list | tuple) else [inner] * len(self.parts)
        spaces = (
            InTime(part.space, weights) if own and kind != "l2" else part.space
            for part, own, kind in zip(self.parts, self.per_step, inners, strict=True)
        )
        self.space: Space = together(tuple(spaces), self.cuts)

    def get(self) -> Vector:
        """(n,) with the coefficients as they stand now in every step."""
        times = [self.steps if own else 1 for own in self.per_step]
        return np.concatenate([np.tile(part.get(), k) for part, k in zip(self.parts, times, strict=True)])

    def split(self, x: Vector) -> list[Vector]:
        """x : (n,) -> for each control its numbers: (steps, k) where there are some for each step, (k,) otherwise."""
        blocks = np.split(x, self.cuts[1:-1])
        return [b.reshape(self.steps, -1) if own else b for b, own in zip(blocks, self.per_step, strict=True)]

    def set(self, x: Vector, n: int) -> None:
        """Make the coefficients those of step n."""
        for part, own in zip(self.parts, self._at(x, n), strict=True):
            part.set(own)

    def directions(self, dx: Vector, n: int) -> list[Vector]:
        """dx : (n,) as a change of all degrees of freedom in step n, one array per control."""
        return [part.direction(own) for part, own in zip(self.parts, self._at(dx, n), strict=True)]

    def checked(self, x: Any) -> Vector:
        """x as all processes shall take it: that of process 0.

        Raises:
            FemError: x cannot be a control.
        """
        return checked(x if self.comm.size == 1 else self.comm.bcast(x), self.n)

    def lasting(self, dx: Vector) -> list[Vector]:
        """The same of what belongs to no step; zero for controls of each step."""
        changes = self.directions(dx, 0)
        return [0 * change if own else change for change, own in zip(changes, self.per_step, strict=True)]

    def gather(self, steps: "Backwards", lasting: list[Vector]) -> Vector:
        """(n,) from derivatives by all degrees of freedom: those of all steps, and what belongs to no step."""
        blocks = []
        for part, own, rows, more in zip(self.parts, self.per_step, steps.rows, lasting, strict=True):
            blocks += [part.gather(row) for row in reversed(rows)] if own else [part.gather(rows[0] + more)]
        return np.concatenate(blocks)

    def _at(self, x: Vector, n: int) -> list[Vector]:
        return [b[n] if own else b for b, own in zip(self.split(x), self.per_step, strict=True)]

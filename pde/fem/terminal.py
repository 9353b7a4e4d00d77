"""The part of an objective that looks at the last state: phi(u(T), m), with what the way back needs of it."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from pde.fem.dolfinx_import import Dolfinx
from pde.fem.form import LinearForm

Vector = NDArray[np.float64]


class Terminal:
    """phi at the functions u and ms as they stand. phi : a form without arguments; None: zero."""

    def __init__(self, fe: Dolfinx, phi: Any, u: Any, ms: tuple[Any, ...]) -> None:
        self._fe, self._phi, self._u, self._ms = fe, phi, u, ms
        self._value = None if phi is None else fe.fem.form(phi)
        self._first = (self._by(u), [self._by(m) for m in ms])
        self._second: tuple[LinearForm, list[LinearForm]] | None = None
        self.du, self.dms = fe.fem.Function(u.function_space), [fe.fem.Function(m.function_space) for m in ms]

    def value(self) -> float:
        """On this process."""
        return 0.0 if self._value is None else float(self._fe.fem.assemble_scalar(self._value))

    def derivative(self) -> tuple[Vector, list[Vector]]:
        """By u and by each control."""
        by_u, by_m = self._first
        return by_u.assemble(), [form.assemble() for form in by_m]

    def bend(self) -> tuple[Vector, list[Vector]]:
        """The change of the derivative for the changes `du` and `dms` as they stand."""
        if self._second is None:
            self._second = (self._by(self._u, bent=True), [self._by(m, bent=True) for m in self._ms])
        by_u, by_m = self._second
        return by_u.assemble(), [form.assemble() for form in by_m]

    def _by(self, f: Any, bent: bool = False) -> LinearForm:
        ufl = self._fe.ufl
        form = ufl.Form([]) if self._phi is None else ufl.derivative(self._phi, f, ufl.TestFunction(f.function_space))
        if bent and self._phi is not None:
            changes = [(self._u, self.du), *zip(self._ms, self.dms, strict=True)]
            form = sum(ufl.derivative(form, g, dg) for g, dg in changes)
        return LinearForm(self._fe, form, len(f.x.array))

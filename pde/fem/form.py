"""Forms: one quadrature for a form and all its derivatives, and vectors from forms that may be zero.

Left alone, each form is integrated by a rule of the degree that it seems to need. exp(m) seems to be of lower degree
than its derivative exp(m) dm, so the two would be summed at different points, and the derivative would be that of
another function: right to quadrature error only. So degrees are fixed once, before anything is differentiated.

No rule has a single point. Where one has, and stands in a form beside others, FFCx (0.11) takes a coefficient to be
constant in the cell and gives the others its value at that point: the sum of two integrals is then not the sum of their
values.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from pde.fem.dolfinx_import import Dolfinx
from pde.fem.errors import FemError
from pde.fem.numbering import add_up, total

Vector = NDArray[np.float64]
LEAST_DEGREE = 2  # of rules with more than one point


def with_fixed_quadrature(fe: Dolfinx, form: Any) -> Any:
    """The same form, with the degree that UFL estimates, at least 2, written into every integral that names none.

    Raises:
        FemError: an integral names a rule of one point.
    """
    algorithms, integrals = fe.ufl.algorithms, []
    for integral in form.integrals():
        metadata = dict(integral.metadata())
        if not metadata.keys() & {"quadrature_degree", "quadrature_rule", "quadrature_points"}:
            lowered = algorithms.expand_derivatives(fe.ufl.Form([integral]))
            degree = algorithms.estimate_total_polynomial_degree(lowered) if not lowered.empty() else 0
            integral = integral.reconstruct(metadata=metadata | {"quadrature_degree": max(degree, LEAST_DEGREE)})
        elif _has_one_point(metadata):
            raise FemError(
                "an integral asks for a quadrature rule of one point, which FFCx mixes up with the rules of other "
                f"integrals: give quadrature_degree {LEAST_DEGREE} or more"
            )
        integrals.append(integral)
    return fe.ufl.Form(integrals)


def _has_one_point(metadata: dict[str, Any]) -> bool:
    rule = metadata.get("quadrature_rule", "default")
    if rule == "custom":
        return len(metadata["quadrature_points"]) == 1
    return rule != "vertex" and metadata.get("quadrature_degree", LEAST_DEGREE) < LEAST_DEGREE


class LinearForm:
    """A form with one test function, (size,); compiled once. Where UFL finds a derivative to be zero, so is this.

    Args:
        size: degrees of freedom of the test function's space on this process, with ghosts.
    """

    def __init__(self, fe: Dolfinx, form: Any, size: int) -> None:
        self.fe, self.size = fe, size
        form = fe.ufl.algorithms.expand_derivatives(form)
        self.form = None if form.empty() else fe.fem.form(form)
        self._sum = None
        if self.form is not None:
            V = form.arguments()[0].ufl_function_space()
            self._sum = fe.fem.Function(V) if V.mesh.comm.size > 1 else None

    def assemble(self) -> Vector:
        """(size,) at the present values of all coefficients; ghosts hold what their owners do."""
        b = np.zeros(self.size)
        if self.form is not None:
            self.fe.fem.assemble_vector(b, self.form)
        if self._sum is not None:
            self._sum.x.array[:] = b
            add_up(self.fe, self._sum)
            b[:] = self._sum.x.array
        return b


def assembled_number(fe: Dolfinx, form: Any, comm: Any) -> float:
    """The value of a compiled form without arguments, over all processes."""
    return total(comm, float(fe.fem.assemble_scalar(form)))


class Integral:
    """A form without arguments, compiled once; `integral()` is its value over all processes, as all its data stand."""

    def __init__(self, fe: Dolfinx, form: Any) -> None:
        self._fe, self._form = fe, fe.fem.form(with_fixed_quadrature(fe, form))

    def __call__(self) -> float:
        return assembled_number(self._fe, self._form, self._form.mesh.comm)

"""Forms: one quadrature for a form and all its derivatives, and vectors from forms that may be zero.

Left alone, each form is integrated by a rule of the degree that it seems to need. exp(m) seems to be of lower degree
than its derivative exp(m) dm, so the two would be summed at different points, and the derivative would be that of
another function: right to quadrature error only. So degrees are fixed once, before anything is differentiated.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from pde.fem.dolfinx_import import Dolfinx

Vector = NDArray[np.float64]


def with_fixed_quadrature(fe: Dolfinx, form: Any) -> Any:
    """The same form, with the degree that UFL estimates written into every integral that names none."""
    algorithms, integrals = fe.ufl.algorithms, []
    for integral in form.integrals():
        metadata = dict(integral.metadata())
        if not metadata.keys() & {"quadrature_degree", "quadrature_rule", "quadrature_points"}:
            lowered = algorithms.expand_derivatives(fe.ufl.Form([integral]))
            degree = algorithms.estimate_total_polynomial_degree(lowered) if not lowered.empty() else 0
            integral = integral.reconstruct(metadata=metadata | {"quadrature_degree": degree})
        integrals.append(integral)
    return fe.ufl.Form(integrals)


class LinearForm:
    """A form with one test function, (size,); compiled once. Where UFL finds a derivative to be zero, so is this."""

    def __init__(self, fe: Dolfinx, form: Any, size: int) -> None:
        self.fe, self.size = fe, size
        form = fe.ufl.algorithms.expand_derivatives(form)
        self.form = None if form.empty() else fe.fem.form(form)

    def assemble(self) -> Vector:
        """(size,) at the present values of all coefficients."""
        b = np.zeros(self.size)
        if self.form is not None:
            self.fe.fem.assemble_vector(b, self.form)
        return b

"""A length scale for designs: the Helmholtz filter, and a functional of the filtered design.

    -r^2 Laplace y + y = x,    dy/dn = 0,    r = R / (2 sqrt 3)

smooths like a cone of radius R (Lazarov and Sigmund 2011) and keeps the integral.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from optim.space import Space
from pde.fem.dolfinx_import import Dolfinx, load
from pde.fem.errors import FemError
from pde.fem.reduced import Reduced
from pde.fem.state import Counts
from pde.fem.whole_vectors import WholeVectors

Vector = NDArray[np.float64]


class HelmholtzFilter:
    """y = (r^2 K + M)^-1 M x on a scalar Lagrange space; a linear map of (n,) vectors that every process holds whole.

    Args:
        V: space of the design. radius: R, in lengths of the mesh; 0 leaves x as it is.
    """

    def __init__(self, V: Any, radius: float) -> None:
        if radius < 0 or not np.isfinite(radius):
            raise FemError(f"the radius of a filter is {radius}: give a length of 0 or more")
        self.radius = radius
        if radius == 0:
            return
        fe = load()
        ufl = fe.ufl
        u, v = ufl.TrialFunction(V), ufl.TestFunction(V)
        r = radius / (2 * np.sqrt(3))
        mass = fe.fem.form(u * v * ufl.dx)
        stiff = fe.fem.form((r**2 * ufl.inner(ufl.grad(u), ufl.grad(v)) + u * v) * ufl.dx)
        if V.mesh.comm.size > 1:
            spread = [WholeVectors(fe, self._assembled(fe, form)) for form in (mass, stiff)]
            self._multiply, self._solve = spread[0].multiply, spread[1].solve
            return
        import scipy.sparse.linalg as sla

        matrix = fe.fem.assemble_matrix(mass).to_scipy()
        self._multiply: Callable[[Vector], Vector] = lambda x: matrix @ x
        self._solve: Callable[[Vector], Vector] = sla.splu(fe.fem.assemble_matrix(stiff).to_scipy().tocsc()).solve

    def apply(self, x: Vector) -> Vector:
        return x if self.radius == 0 else self._solve(self._multiply(x))

    def transposed(self, y: Vector) -> Vector:
        """The adjoint map: both matrices are symmetric."""
        return y if self.radius == 0 else self._multiply(self._solve(y))

    def _assembled(self, fe: Dolfinx, form: Any) -> Any:
        matrix = fe.petsc.assemble_matrix(form)
        matrix.assemble()
        return matrix


@dataclass(frozen=True)
class Filtered:
    """J(filter(x)) as a functional of x, with the chain rule done."""

    J: Reduced
    filter: HelmholtzFilter

    @property
    def n(self) -> int:
        return self.J.n

    @property
    def space(self) -> Space:
        return self.J.space

    @property
    def counts(self) -> Counts:
        return self.J.counts

    def value(self, x: Vector) -> float:
        return float(self.J.value(self.filter.apply(x)))

    def value_grad(self, x: Vector) -> tuple[float, Vector]:
        J, slope = self.J.value_grad(self.filter.apply(x))
        return float(J), self.filter.transposed(slope)

    def hvp(self, x: Vector, v: Vector) -> Vector:
        return self.filter.transposed(self.J.hvp(self.filter.apply(x), self.filter.apply(v)))

"""The shape as control: every point x of the mesh goes to x + Phi(x).

    J(Phi) = J over the moved mesh,    dJ . V = d/dt J(Phi + t V) at t = 0

The forms are written as on any mesh. UFL pulls them back to the reference cell and differentiates by the coordinates of
the vertices (Ham, Mitchell, Paganini and Wechsung 2019), so dJ is the exact derivative of the discrete functional, and
so are second derivatives. Degrees of freedom of state, data functions and Dirichlet values travel with the mesh.

The inner product is an integral over the mesh as it was when the control was made. A mesh that is moved too far
folds; no equation is solved there, and the functional is infinite, which line searches and trust regions take as
"shorter".
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pde.fem.control import Control, Inner
from pde.fem.dolfinx_import import Dolfinx
from pde.fem.errors import FemError

Vector = NDArray[np.float64]


@dataclass(frozen=True)
class MeshMotion:
    """The mesh moved by a field, as a control.

        Phi = fem.Function(fem.functionspace(mesh, ("Lagrange", 1, (2,))))
        Reduced(F, J, u, MeshMotion(Phi), inner="elasticity")

    Args:
        displacement: Function, vectors at the vertices of a mesh of straight-sided intervals, triangles or tetrahedra.
        least: det(I + grad Phi) below which a cell counts as folded.
    """

    displacement: Any
    least: float = 1e-3


class MotionControl(Control):
    """Between x : (n,) and the vertices of the mesh.

    Args:
        inner: as for `Control`, or "elasticity": int eps(a) : eps(b) + div a div b / 2 + a . b / 100.

    Raises:
        FemError: the displacement is not one of vertices.
    """

    moves_mesh = True

    def __init__(self, fe: Dolfinx, control: MeshMotion, domain: Any, active: Any, inner: Inner) -> None:
        _check(fe, control.displacement, domain)
        self._least, self._geometry = control.least, domain.geometry
        V = control.displacement.function_space
        # Cell by cell, the vertices of the geometry and of the space come in the same order.
        cells, dofs = domain.geometry.dofmaps[0], V.dofmap.list
        self._vertex = np.zeros(len(control.displacement.x.array) // V.dofmap.index_map_bs, np.int64)
        self._vertex[dofs.ravel()] = cells.ravel()
        self._cells = np.asarray(cells)
        self._dim = domain.geometry.dim
        self._start = domain.geometry.x.copy()
        self._volumes = self._determinants()
        super().__init__(fe, control.displacement, domain, active, inner)
        self._coordinates = fe.ufl.SpatialCoordinate(domain)
        self.set(self.get())

    def derivative(self, form: Any, direction: Any) -> Any:
        change = self.fe.ufl.derivative(form, self._coordinates, direction)
        return change + super().derivative(form, direction) if super().is_in(form) else change

    def is_in(self, *forms: Any) -> bool:
        """Every integral depends on the mesh."""
        return True

    def set(self, x: Vector) -> None:
        super().set(x)
        self.restore()

    def restore(self) -> None:
        moved = self._geometry.x
        moved[:] = self._start
        moved[self._vertex, : self._dim] += self.coefficient.x.array.reshape(-1, self._dim)

    def infeasible(self) -> str:
        shares = self._determinants() / self._volumes
        least = min(self.comm.allgather(float(shares.min(initial=np.inf))))
        if least > self._least:
            return ""
        return (
            f"the mesh motion folds the mesh: a cell has {least:.2g} times the volume that it had, and {self._least:g} "
            "is the least allowed; move in smaller steps, or mesh the present shape anew"
        )

    def _determinants(self) -> Vector:
        corners = self._geometry.x[self._cells][..., : self._dim]
        return np.linalg.det(corners[:, 1:] - corners[:, :1])

    def _product(self, inner: Inner) -> Any:
        if inner != "elasticity":
            return super()._product(inner)
        ufl, V = self.fe.ufl, self.coefficient.function_space
        a, b = ufl.TrialFunction(V), ufl.TestFunction(V)
        return stiffness(self.fe, a, b) + 0.01 * ufl.inner(a, b) * ufl.dx


def stiffness(fe: Dolfinx, a: Any, b: Any, mu: Any = 0.5, lam: Any = 0.5) -> Any:
    """int 2 mu eps(a) : eps(b) + lambda div a div b, the elastic energy by which a motion is extended or measured."""
    ufl = fe.ufl
    strains = ufl.inner(ufl.sym(ufl.grad(a)), ufl.sym(ufl.grad(b)))
    return (2 * mu * strains + lam * ufl.div(a) * ufl.div(b)) * ufl.dx


def _check(fe: Dolfinx, displacement: Any, domain: Any) -> None:
    dim = domain.geometry.dim
    simplex = domain.topology.cell_name() in ("interval", "triangle", "tetrahedron")
    if not simplex or domain.geometry.cmaps[0].degree != 1 or domain.topology.dim != dim:
        raise FemError("a mesh motion needs a mesh of straight-sided intervals, triangles or tetrahedra")
    wanted = fe.basix.ufl.element("Lagrange", domain.topology.cell_name(), 1, shape=(dim,))
    fits = isinstance(displacement, fe.fem.Function) and displacement.function_space.ufl_element() == wanted
    if not fits or displacement.function_space.mesh is not domain:
        raise FemError(
            f"a mesh motion needs a Function of functionspace(mesh, ('Lagrange', 1, ({dim},))) on the state's mesh"
        )

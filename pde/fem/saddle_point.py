"""Velocity and pressure: what holds them on a closed rim, and a preconditioner for creeping flow.

Where the velocity is given on the whole rim, the pressure is known only up to a constant, and is held at one point.

The preconditioner is multigrid for the velocity and the mass matrix for the pressure:

    [A  B^T] [v]   [f]          A = viscous part,   S = B A^-1 B^T, spectrally equivalent to the pressure's mass matrix
    [B   0 ] [q] = [g]

Silvester and Wathen (1994). With A^-1 by a multigrid cycle and S^-1 by the mass matrix' diagonal, the number of
iterations does not grow with the mesh.
"""

from collections.abc import Callable
from typing import Any

import numpy as np

from pde.fem.dolfinx_import import Dolfinx
from pde.fem.errors import FemError


def split_velocity_and_pressure(fe: Dolfinx, ksp: Any, W: Any) -> None:
    """Make ksp's preconditioner a field split of W, whose first part is the velocity and whose second the pressure.

    Raises:
        FemError: W has not two parts.
    """
    if W is None or W.num_sub_spaces != 2 or W.dofmap.index_map_bs != 1:
        raise FemError("'stokes-fieldsplit' needs a mixed space of velocity and pressure: use solver='direct'")
    first, owned = W.dofmap.index_map.local_range[0], W.dofmap.index_map.size_local
    sets = []
    for part in range(2):
        dofs = np.sort(W.sub(part).collapse()[1])
        sets.append(
            fe.PETSc.IS().createGeneral((dofs[dofs < owned] + first).astype(fe.PETSc.IntType), comm=W.mesh.comm)
        )
    q, r = fe.ufl.split(fe.ufl.TrialFunction(W))[1], fe.ufl.split(fe.ufl.TestFunction(W))[1]
    whole = fe.petsc.assemble_matrix(fe.fem.form(q * r * fe.ufl.dx))
    whole.assemble()
    pc = ksp.getPC()
    pc.setType("fieldsplit")
    pc.setFieldSplitType(fe.PETSc.PC.CompositeType.SCHUR)  # before the next two, which a split of another type ignores
    pc.setFieldSplitIS(("velocity", sets[0]), ("pressure", sets[1]))
    mass = whole.createSubMatrix(sets[1], sets[1])
    pc.setFieldSplitSchurPreType(fe.PETSc.PC.FieldSplitSchurPreType.USER, mass)


def held_on_rim(fe: Dolfinx, W: Any, velocity: Callable[[Any], Any] | None = None) -> list[Any]:
    """Dirichlet conditions of a flow in a closed box with a corner at the origin: velocity on the rim, pressure there.

    Args:
        W: mixed space, velocity first and pressure second.
        velocity: of points x : (3, k) -> (dim, k); None: no slip.
    """
    flow, pressure, mesh = W.sub(0), W.sub(1), W.mesh
    given = fe.fem.Function(flow.collapse()[0])
    if velocity is not None:
        given.interpolate(velocity)
    dim = mesh.topology.dim - 1
    rim = fe.mesh.locate_entities_boundary(mesh, dim, lambda x: np.full(x.shape[1], True))
    held = fe.fem.locate_dofs_topological((flow, given.function_space), dim, rim)
    level = fe.fem.Function(pressure.collapse()[0])
    corner = fe.fem.locate_dofs_geometrical((pressure, level.function_space), lambda x: np.isclose(x, 0).all(axis=0))
    return [fe.fem.dirichletbc(given, held, flow), fe.fem.dirichletbc(level, corner, pressure)]

"""A preconditioner for creeping flow: multigrid for the velocity, the mass matrix for the pressure.

    [A  B^T] [v]   [f]          A = viscous part,   S = B A^-1 B^T, spectrally equivalent to the pressure's mass matrix
    [B   0 ] [q] = [g]

Silvester and Wathen (1994). With A^-1 by a multigrid cycle and S^-1 by the mass matrix' diagonal, the number of
iterations does not grow with the mesh.
"""

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

"""A state that is zero on part of the boundary, as most of the shipped problems have it."""

from typing import Any

import numpy as np

from pde.fem.dolfinx_import import Dolfinx


def zero_on(fe: Dolfinx, V: Any, where: Any = None) -> Any:
    """The condition u = 0 on the boundary facets of V's mesh.

    Args:
        where: marker of points x : (3, k) -> (k,) bool; None: the whole boundary.
    """
    mesh = V.mesh
    rim = mesh.topology.dim - 1
    marker = where or (lambda x: np.full(x.shape[1], True))
    dofs = fe.fem.locate_dofs_topological(V, rim, fe.mesh.locate_entities_boundary(mesh, rim, marker))
    return fe.fem.dirichletbc(np.zeros(V.value_shape) if V.value_shape else 0.0, dofs, V)

"""Fixed values of the state, and those among them that the control fixes.

`dirichletbc(g, dofs)` holds the function g. Where g is the control itself, u = P m on the boundary: a Dirichlet
control.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from pde.fem.errors import FemError

Vector = NDArray[np.float64]


class Dirichlet:
    """All conditions of a state.

    Args:
        V: function space of the state. coefficient: the control as a Function.

    Attributes:
        fixed: degrees of freedom, sorted.
        link: P, (degrees of freedom of the state, of the control); None when no condition follows the control.
    """

    def __init__(self, bcs: tuple[Any, ...], V: Any, coefficient: Any) -> None:
        for bc in bcs:
            # DOLFINx would pass over it in silence, and the value would be held nowhere.
            if not V._cpp_object.contains(bc.function_space):
                raise FemError(
                    "a Dirichlet condition belongs to another space than the state: make g in the state's space, or "
                    "give dirichletbc(g, (dofs of the state, dofs of g), V)"
                )
        self.bcs = bcs
        size = V.dofmap.index_map.size_local * V.dofmap.index_map_bs
        lists = [bc.dof_indices()[0] for bc in bcs]
        self.fixed = np.unique(np.concatenate([np.zeros(0, np.int32), *lists]))
        self.link = self._link(size, coefficient)

    def apply(self, u: Vector) -> None:
        """Write the fixed values into u : (size,)."""
        for bc in self.bcs:
            bc.set(u)

    def follow(self, dm: Vector) -> Vector:
        """P dm, (size,)."""
        assert self.link is not None
        return self.link @ dm

    def _link(self, size: int, coefficient: Any) -> csr_array | None:
        values = coefficient.x.array
        owner, ruled = np.full(size, -1), False
        kept = values.copy()
        for bc in self.bcs:
            dofs = bc.dof_indices()[0]
            owner[dofs] = -1  # a later condition overrules an earlier one
            if bc.g is not coefficient._cpp_object:
                continue
            # Which degree of freedom of the control goes where? Let each carry its own number and look.
            values[:] = np.arange(len(values))
            probe = np.zeros(size)
            bc.set(probe)
            values[:] = kept
            owner[dofs], ruled = np.rint(probe[dofs]).astype(int), True
        if not ruled:
            return None
        rows = np.flatnonzero(owner >= 0)
        return csr_array((np.ones(len(rows)), (rows, owner[rows])), shape=(size, len(values)))

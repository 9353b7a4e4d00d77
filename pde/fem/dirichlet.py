"""Fixed values of the state, and those among them that a control fixes.

`dirichletbc(g, dofs)` holds the function g. Where g is a control itself, u = P m on the boundary: a Dirichlet control.
"""

from collections.abc import Iterable
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from pde.fem.dolfinx_import import load
from pde.fem.errors import FemError
from pde.fem.numbering import add_up, owned_size

Vector = NDArray[np.float64]


def conditions(given: Any) -> tuple[Any, ...]:
    """A caller's `bcs`.

    Raises:
        FemError: it is no list of Dirichlet conditions.
    """
    kind = load().fem.DirichletBC
    listed = tuple(given) if isinstance(given, Iterable) else (None,)
    if not all(isinstance(bc, kind) for bc in listed):
        raise FemError("bcs must be a list of Dirichlet conditions: bcs=[fem.dirichletbc(0.0, dofs, V)]")
    return listed


class Dirichlet:
    """All conditions of a state.

    Args:
        V: function space of the state. coefficient: the control as a Function, or several controls.

    Attributes:
        fixed: degrees of freedom of this process with ghosts, sorted.
        links: P of each control, (degrees of freedom of the state, of the control); None where no condition follows it.
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
        self._coefficients = coefficient if isinstance(coefficient, tuple) else (coefficient,)
        self._owned = owned_size(V)
        size = self._owned + V.dofmap.index_map.num_ghosts * V.dofmap.index_map_bs
        lists = [bc.dof_indices()[0] for bc in bcs]
        self.fixed = np.unique(np.concatenate([np.zeros(0, np.int32), *lists]))
        self.links = self._links(size)

    @property
    def link(self) -> csr_array | None:
        """P of the only, or the first, control."""
        return self.links[0]

    def apply(self, u: Vector) -> None:
        """Write the fixed values into u : (size,)."""
        for bc in self.bcs:
            bc.set(u)

    def follow(self, *dm: Vector) -> Vector:
        """The sum of P dm over all controls, (size,)."""
        return sum(P @ d for P, d in zip(self.links, dm, strict=True) if P is not None)  # pyright: ignore[reportReturnType]

    @property
    def follows(self) -> bool:
        """A condition follows a control. The same on every process."""
        return any(P is not None for P in self.links)

    def pull_back(self, which: int, reaction: Vector) -> Vector:
        """P^T reaction for one control: what the reactions at its values weigh on it."""
        P, coefficient = self.links[which], self._coefficients[which]
        assert P is not None
        if coefficient.function_space.mesh.comm.size == 1:
            return P.T @ reaction
        fe = load()
        mine = reaction.copy()
        mine[self._owned :] = 0
        sums = fe.fem.Function(coefficient.function_space)
        sums.x.array[:] = P.T @ mine
        add_up(fe, sums)
        return sums.x.array.copy()

    def _links(self, size: int) -> tuple[csr_array | None, ...]:
        ruler, place = np.full(size, -1), np.zeros(size, int)
        ruled = {which for bc in self.bcs for which, m in enumerate(self._coefficients) if bc.g is m._cpp_object}
        for bc in self.bcs:
            dofs = bc.dof_indices()[0]
            ruler[dofs] = -1  # a later condition overrules an earlier one
            for which, coefficient in enumerate(self._coefficients):
                if bc.g is coefficient._cpp_object:
                    ruler[dofs], place[dofs] = which, _places(bc, coefficient, size)[dofs]
        return tuple(
            self._matrix(np.flatnonzero(ruler == which), place, size, len(m.x.array)) if which in ruled else None
            for which, m in enumerate(self._coefficients)
        )

    def _matrix(self, rows: Any, place: Any, size: int, columns: int) -> csr_array:
        return csr_array((np.ones(len(rows)), (rows, place[rows])), shape=(size, columns))


def _places(bc: Any, coefficient: Any, size: int) -> NDArray[np.int64]:
    """Which degree of freedom of the control goes where? Let each carry its own number and look."""
    values = coefficient.x.array
    kept, probe = values.copy(), np.zeros(size)
    values[:] = np.arange(len(values))
    bc.set(probe)
    values[:] = kept
    return np.rint(probe).astype(np.int64)

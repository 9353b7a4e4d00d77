"""One vector for all processes: degrees of freedom of a function, spread over processes, as x : (n,) on each of them.

DOLFINx gives every process the degrees of freedom that it owns and copies of its neighbours' (ghosts), owned ones
first. Optimizers, networks and arrays know nothing of this. So x is whole on every process, its numbers in the order of
processes and, within one, of degrees of freedom; every process computes the same steps from the same bits. That costs
n numbers of memory per process, little beside the factors of a matrix. Values, derivatives and inner products are asked
for by all processes together: `if rank == 0: print(J.value(x))` waits for ever.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from pde.fem.dolfinx_import import Dolfinx
from pde.fem.errors import FemError

Vector = NDArray[np.float64]


class Numbering:
    """Which place in x belongs to which degree of freedom.

    Args:
        V: a function space. active: degrees of freedom of this process that take part, flat; None: all.

    Attributes:
        n: numbers in x, over all processes.
        place: (degrees of freedom of this process with ghosts,), place in x; -1 where inactive.

    Raises:
        FemError: active names a degree of freedom that is not there, or none on any process.
    """

    def __init__(self, fe: Dolfinx, V: Any, active: Any = None) -> None:
        self.comm = V.mesh.comm
        scratch = fe.fem.Function(V)
        size, self.owned = len(scratch.x.array), owned_size(V)
        chosen = np.ones(size, bool)
        if active is not None:
            active = np.asarray(active, np.int64)
            fits = active.ndim == 1 and bool(np.isin(active, np.arange(size)).all())
            if not all(self.comm.allgather(fits)):
                raise FemError(f"active must be a list of degrees of freedom between 0 and {size - 1}")
            # A process may name a neighbour's degree of freedom that its owner does not.
            scratch.x.array[active] = 1
            add_up(fe, scratch)
            chosen = scratch.x.array > 0
        self._own = np.flatnonzero(chosen[: self.owned])
        counts = self.comm.allgather(len(self._own))
        self.n, self.first = sum(counts), sum(counts[: self.comm.rank])
        if not self.n:
            raise FemError(f"active must be a list of degrees of freedom between 0 and {size - 1}")
        scratch.x.array[:] = -1
        scratch.x.array[self._own] = self.first + np.arange(len(self._own))
        scratch.x.scatter_forward()
        self.place = np.rint(scratch.x.array).astype(np.int64)
        self._here = np.flatnonzero(self.place >= 0)

    @property
    def mine(self) -> NDArray[np.int64]:
        """Degrees of freedom of this process that are active and owned, in the order of x."""
        return self._own

    def spread(self, x: Vector, values: Vector) -> None:
        """Write x : (n,) into values : (degrees of freedom here, with ghosts); inactive ones stay."""
        values[self._here] = x[self.place[self._here]]

    def gather(self, values: Vector) -> Vector:
        """(n,) on every process, from the owned part of values."""
        own = values[self._own]
        return own if self.comm.size == 1 else np.concatenate(self.comm.allgather(own))


def owned_size(V: Any) -> int:
    """Degrees of freedom that this process owns, flat; they come first."""
    return V.dofmap.index_map.size_local * V.dofmap.index_map_bs


def add_up(fe: Dolfinx, function: Any) -> None:
    """Add up what processes hold of each degree of freedom, and tell them all the sum."""
    function.x.scatter_reverse(fe.la.InsertMode.add)
    function.x.scatter_forward()


def by_place(fe: Dolfinx, V: Any, values: Vector) -> Vector:
    """Numbers handed out to degrees of freedom in the order of their places, so that a random field is the same field
    however the mesh is spread.

    Args:
        V: space of scalars whose degrees of freedom have places. values: (n,), the same on all processes.

    Returns:
        (n,) in the order of x.
    """
    numbering = Numbering(fe, V)
    own = V.tabulate_dof_coordinates()[numbering.mine]
    places = np.concatenate(V.mesh.comm.allgather(own))
    size = np.abs(places).max(initial=0.0) or 1.0
    found = np.empty(numbering.n)
    found[np.lexsort(np.round(places / size, 9).T)] = values
    return found


def total(comm: Any, part: float) -> float:
    """The sum over processes, with the same bits on each."""
    return part if comm.size == 1 else float(sum(comm.allgather(part)))

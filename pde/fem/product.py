"""Inner products of control spaces, from forms, and of several controls together.

    <a, b> = a . M b,    M_ij = form(phi_j, phi_i)

A derivative is a covector d; the vector that represents it in this product is M^-1 d (Riesz).
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from optim.space import Euclidean, Hilbert, Space, Weighted
from pde.fem.dolfinx_import import Dolfinx
from pde.fem.errors import FemError
from pde.fem.numbering import Numbering
from pde.fem.whole_vectors import WholeVectors

Vector = NDArray[np.float64]


@dataclass(frozen=True)
class Together:
    """The product of several spaces: <a, b> is the sum over the parts.

    Args:
        spaces: one per part. cuts: (parts + 1,), where each part begins and the last ends.
    """

    spaces: tuple[Space, ...]
    cuts: tuple[int, ...]

    def inner(self, a: Vector, b: Vector) -> float:
        return sum(space.inner(p, q) for space, p, q in zip(self.spaces, self._cut(a), self._cut(b), strict=True))

    def riesz(self, dual: Vector) -> Vector:
        return np.concatenate([space.riesz(part) for space, part in zip(self.spaces, self._cut(dual), strict=True)])

    def _cut(self, x: Vector) -> list[Vector]:
        return np.split(x, self.cuts[1:-1])


def together(spaces: tuple[Space, ...], cuts: tuple[int, ...]) -> Space:
    """The space of all parts; that of the part itself where there is one only."""
    plain = all(isinstance(space, Euclidean) for space in spaces)
    return spaces[0] if len(spaces) == 1 else Euclidean() if plain else Together(spaces, cuts)


def space_of(fe: Dolfinx, form: Any, numbering: Numbering) -> Space:
    """From a bilinear form, restricted to the active degrees of freedom.

    Raises:
        FemError: the product vanishes for some of them.
    """
    form = fe.fem.form(form)
    if numbering.comm.size > 1:
        return _across_processes(fe, form, numbering)
    mass = fe.fem.assemble_matrix(form).to_scipy().tocsc()[numbering.mine][:, numbering.mine]
    mass.eliminate_zeros()
    diagonal = mass.diagonal()
    _check(bool((diagonal > 0).all()))
    return Weighted(diagonal) if mass.nnz == numbering.n else Hilbert.from_matrix(mass)


def _across_processes(fe: Dolfinx, form: Any, numbering: Numbering) -> Space:
    PETSc, comm = fe.PETSc, numbering.comm
    whole = fe.petsc.assemble_matrix(form)
    whole.assemble()
    rows = PETSc.IS().createGeneral((numbering.mine + whole.getOwnershipRange()[0]).astype(PETSc.IntType), comm=comm)
    mass = whole.createSubMatrix(rows, rows)
    diagonal = mass.getDiagonal()
    _check(all(comm.allgather(bool((diagonal.array_r > 0).all()))))
    spread = WholeVectors(fe, mass)
    return Hilbert(spread.multiply, spread.solve)


def _check(positive: bool) -> None:
    if not positive:
        raise FemError(
            "the inner product vanishes for some degrees of freedom of the control: name those that matter in "
            "active, for instance those on the boundary"
        )

"""Direct solvers for many systems with one pattern: assembly and factorisation for changing element factors.

The matrix of a planar mesh is banded after a reverse Cuthill-McKee ordering (Cuthill and McKee 1969; George 1971) and
is factorised by LAPACK's banded Cholesky; at some 10^4 values that takes a few hundredths of a second and needs no
package beyond SciPy.
"""

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import LinAlgError, cho_solve_banded, cholesky_banded
from scipy.sparse import coo_array
from scipy.sparse.csgraph import reverse_cuthill_mckee
from scipy.sparse.linalg import splu

from topopt.features.errors import FeatureError

Field = NDArray[np.float64]


@dataclass
class Banded:
    """Assembly into and Cholesky factorisation of a symmetric band.

    Args:
        dofs: (m, d). matrices: (m, d, d) of unit factor. fixed: (N,) bool.
    """

    dofs: NDArray[np.int64]
    matrices: Field
    fixed: NDArray[np.bool_]
    half: int = field(init=False)

    def __post_init__(self) -> None:
        n, m = len(self.fixed), self.dofs.shape[1]
        free = ~self.fixed
        rows, columns = np.repeat(self.dofs, m, 1).ravel(), np.tile(self.dofs, (1, m)).ravel()
        graph = coo_array((np.ones(len(rows), np.int8), (rows, columns)), shape=(n, n)).tocsr()[free][:, free]
        order = reverse_cuthill_mckee(graph, symmetric_mode=True)
        self.place = np.full(n, -1)
        self.place[np.flatnonzero(free)[order]] = np.arange(len(order))
        i, j = np.tril_indices(m)
        a, b = self.place[self.dofs[:, i]], self.place[self.dofs[:, j]]
        kept = (a >= 0) & (b >= 0)
        low, gap = np.minimum(a, b)[kept], np.abs(a - b)[kept]
        self.half, self.size = int(gap.max(initial=0)), len(order)
        # Fortran order, as LAPACK takes it: column `low`, diagonal `gap`.
        self.slots = low * (self.half + 1) + gap
        self.entries, self.element = self.matrices[:, i, j][kept], np.nonzero(kept)[0]

    @property
    def values(self) -> int:
        return self.size * (self.half + 1)

    def solve(self, factors: Field, right: Field) -> Field:
        """factors (m,) of the element matrices, right (N, cases), zero where fixed -> (N, cases)."""
        band = np.bincount(self.slots, factors[self.element] * self.entries, self.values)
        band = band.reshape(self.size, self.half + 1).T
        free = self.place >= 0
        inner = np.zeros((self.size, right.shape[1]))
        inner[self.place[free]] = right[free]
        try:
            factor = cholesky_banded(band, overwrite_ab=True, lower=True, check_finite=False)
        except LinAlgError as reason:
            raise FeatureError("the plate is not held: its stiffness matrix is singular; add supports") from reason
        inner = cho_solve_banded((factor, True), inner, check_finite=False)
        if not np.isfinite(inner).all():
            raise FeatureError("the plate's displacements are not finite: check supports and densities")
        out = np.zeros_like(right)
        out[free] = inner[self.place[free]]
        return out


@dataclass
class Sparse:
    """The same by a sparse LU factorisation, for meshes whose band is too wide."""

    dofs: NDArray[np.int64]
    matrices: Field
    fixed: NDArray[np.bool_]

    def solve(self, factors: Field, right: Field) -> Field:
        """As `Banded.solve`."""
        m, n, free = self.dofs.shape[1], len(self.fixed), ~self.fixed
        rows, columns = np.repeat(self.dofs, m, 1).ravel(), np.tile(self.dofs, (1, m)).ravel()
        values = factors[:, None, None] * self.matrices
        K = coo_array((values.ravel(), (rows, columns)), shape=(n, n)).tocsc()[free][:, free]
        out = np.zeros_like(right)
        try:
            out[free] = splu(K, permc_spec="MMD_AT_PLUS_A", options={"SymmetricMode": True}).solve(right[free])
        except RuntimeError as reason:
            raise FeatureError("the plate is not held: its stiffness matrix is singular; add supports") from reason
        if not np.isfinite(out).all():
            raise FeatureError("the plate's displacements are not finite: check supports and densities")
        return out

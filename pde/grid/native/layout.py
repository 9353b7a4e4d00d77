"""Where a nodal value and an element lie in the kernels' memory.

Nodal values are [plane][component][row][x] with x fastest, elements [layer][row][x]; planes are z in three dimensions
and y in two. Grids are padded with elements without material until they can be halved often enough. Public arrays,
`field[ix, iy, iz]` and `u[ix, iy, iz, c]`, are transposed views of the same memory wherever possible.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from pde.grid.native.library import apart, room

Field = NDArray[np.float64]


@dataclass(frozen=True)
class Layout:
    """One grid, padded.

    Attributes:
        shape: elements along each axis as asked.
        padded: elements along each axis in memory.
        dofs: values per node.
    """

    shape: tuple[int, ...]
    padded: tuple[int, ...]
    dofs: int

    @property
    def nx(self) -> int:
        return self.padded[0]

    @property
    def ny(self) -> int:
        """Rows of elements per layer: 1 in two dimensions."""
        return self.padded[1] if len(self.padded) == 3 else 1

    @property
    def layers(self) -> int:
        return self.padded[-1]

    @property
    def nodal(self) -> tuple[int, int, int, int]:
        """Shape of nodal arrays in memory."""
        rows = self.padded[1] + 1 if len(self.padded) == 3 else 1
        return (self.layers + 1, self.dofs, rows, self.nx + 1)

    @property
    def plane(self) -> int:
        """Values per node plane."""
        return int(np.prod(self.nodal[1:]))

    @property
    def values(self) -> int:
        return int(np.prod(self.nodal))

    def public(self, memory: NDArray) -> NDArray:
        """The (..., *node_shape, dofs) view of nodal arrays."""
        n = tuple(s + 1 for s in self.shape)
        if len(n) == 3:
            return np.moveaxis(memory[..., : n[2], :, : n[1], : n[0]], (-1, -2, -4, -3), (-4, -3, -2, -1))
        return np.moveaxis(memory[..., : n[1], :, 0, : n[0]], (-1, -3, -2), (-3, -2, -1))

    def public_field(self, memory: NDArray) -> NDArray:
        """The (*shape,) view of an element array (layers, ny, nx or more)."""
        if len(self.shape) == 3:
            nx, ny, nz = self.shape
            return memory[:nz, :ny, :nx].transpose(2, 1, 0)
        nx, ny = self.shape
        return memory[:ny, 0, :nx].transpose(1, 0)

    def columns(self, count: int, dtype: type = np.float64) -> NDArray:
        """Zeros for `count` nodal arrays, (count, planes, dofs, rows, x), as far apart as the kernels want them."""
        memory = room((count, apart(self.values)), dtype)
        return memory[:, : self.values].reshape(count, *self.nodal)

    def vector(self, u: NDArray | None = None) -> Field:
        """A nodal array in memory order, zero or a copy of the public array u."""
        memory = room(self.nodal, np.float64)
        if u is not None:
            self.public(memory)[...] = u
        return memory

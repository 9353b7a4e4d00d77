"""A box of equal pixels or voxels.

Arrays are in `ij` order: `field[ix, iy(, iz)]` for elements, one more along each axis for nodes. Node (0, 0, 0) lies
at `origin`; element (ix, iy, iz) spans the nodes ix..ix+1, iy..iy+1, iz..iz+1.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from pde.grid.errors import GridError


@dataclass(frozen=True)
class Grid:
    """A regular grid.

    Args:
        shape: number of elements along each axis, (nx, ny) or (nx, ny, nz).
        spacing: element edge lengths in mm, one number for squares and cubes. Default 1.
        origin: coordinates of the first node in mm. Default: zeros.

    Raises:
        GridError: not two or three axes, an axis without elements, a spacing that is not positive and finite.
    """

    shape: tuple[int, ...]
    spacing: float | tuple[float, ...] = 1.0
    origin: tuple[float, ...] = ()

    def __post_init__(self) -> None:
        shape = tuple(int(n) for n in self.shape)
        if len(shape) not in (2, 3) or min(shape) < 1:
            raise GridError(f"a grid has two or three axes with at least one element each, not shape {self.shape}")
        object.__setattr__(self, "shape", shape)
        steps = np.broadcast_to(np.asarray(self.spacing, float), (len(shape),))
        if not (np.isfinite(steps).all() and (steps > 0).all()):
            raise GridError(f"grid spacing must be positive and finite, not {self.spacing}")
        object.__setattr__(self, "spacing", tuple(float(h) for h in steps))
        origin = tuple(float(o) for o in self.origin) or (0.0,) * len(shape)
        if len(origin) != len(shape) or not np.isfinite(origin).all():
            raise GridError(f"grid origin needs {len(shape)} finite coordinates, not {self.origin}")
        object.__setattr__(self, "origin", origin)

    @property
    def dim(self) -> int:
        return len(self.shape)

    @property
    def steps(self) -> NDArray[np.float64]:
        """Element edge lengths as an array, (dim,), mm."""
        return np.asarray(self.spacing, float)

    @property
    def size(self) -> int:
        """Number of elements."""
        return int(np.prod(self.shape))

    @property
    def node_shape(self) -> tuple[int, ...]:
        return tuple(n + 1 for n in self.shape)

    @property
    def element_volume(self) -> float:
        """mm3 (mm2 in two dimensions)."""
        return float(np.prod(self.steps))

    @property
    def upper(self) -> NDArray[np.float64]:
        """The far corner, (dim,), mm."""
        return np.asarray(self.origin) + self.steps * self.shape

    def node_axes(self) -> list[NDArray[np.float64]]:
        """Node coordinates along each axis, mm."""
        return [o + h * np.arange(n + 1) for o, h, n in zip(self.origin, self.steps, self.shape, strict=True)]

    def center_axes(self) -> list[NDArray[np.float64]]:
        """Element centre coordinates along each axis, mm."""
        return [o + h * (np.arange(n) + 0.5) for o, h, n in zip(self.origin, self.steps, self.shape, strict=True)]

    def nodes(self) -> NDArray[np.float64]:
        """Node coordinates, (*node_shape, dim), mm."""
        return np.stack(np.meshgrid(*self.node_axes(), indexing="ij"), axis=-1)

    def centers(self) -> NDArray[np.float64]:
        """Element centre coordinates, (*shape, dim), mm."""
        return np.stack(np.meshgrid(*self.center_axes(), indexing="ij"), axis=-1)

    @property
    def corner_offsets(self) -> tuple[tuple[int, ...], ...]:
        """Corners of an element in the local node order: bit 0 of the number is x, bit 1 is y, bit 2 is z."""
        return tuple(tuple((corner >> axis) & 1 for axis in range(self.dim)) for corner in range(2**self.dim))

    def element_nodes(self) -> NDArray[np.int64]:
        """Flat node numbers (C order of `node_shape`) of every element's corners, (*shape, 2**dim)."""
        numbers = np.arange(np.prod(self.node_shape)).reshape(self.node_shape)
        corners = [
            numbers[tuple(slice(o, o + n) for o, n in zip(offset, self.shape, strict=True))]
            for offset in self.corner_offsets
        ]
        return np.stack(corners, axis=-1)

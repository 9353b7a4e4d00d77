"""Where a barycenter may have mass: a part of the box.

Outside, the potentials take no part in the minimum of the c-transform, so that no mass is sent there; what the
interpolated map lays down between allowed cells is moved to the nearest one.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.ndimage import distance_transform_edt

from transport.domain import Domain
from transport.errors import TransportError
from transport.levels import resample

Field = NDArray[np.float64]


@dataclass(frozen=True)
class Mask:
    """Allowed cells, and the way to them from the others.

    Args:
        forbidden: (n_1, ..., n_d) bool.
        nearest: flat index of the nearest allowed cell of every forbidden one.
        closed: the value of a potential that no minimum chooses.
    """

    forbidden: NDArray[np.bool_]
    nearest: NDArray[np.int64]
    closed: float

    @classmethod
    def on(cls, allowed: NDArray[np.bool_], domain: Domain) -> "Mask":
        """The mask on a grid of the box; a coarse cell is allowed when any part of it is.

        Raises:
            TransportError: no cell is allowed.
        """
        allowed = np.asarray(allowed, bool)
        if not allowed.any():
            raise TransportError("mask: it allows no cell at all")
        here = resample(allowed[None].astype(float), domain)[0] > 0
        places = distance_transform_edt(~here, sampling=domain.steps, return_distances=False, return_indices=True)
        nearest = np.asarray(np.ravel_multi_index([p[~here] for p in np.asarray(places)], domain.shape), np.int64)
        return cls(~here, nearest, -1e3 * sum(a * a for a in domain.lengths))

    def close(self, f: Field) -> None:
        """Take the forbidden cells out of the minimum of the c-transform, in place. f : (m, n_1, ..., n_d)"""
        f[:, self.forbidden] = self.closed

    def gather(self, masses: Field) -> None:
        """Move mass from forbidden cells to the nearest allowed ones, in place. masses : (m, n_1, ..., n_d)"""
        for mass in masses:
            astray = np.bincount(self.nearest, mass[self.forbidden], minlength=mass.size)
            mass[self.forbidden] = 0
            mass += astray.reshape(mass.shape)

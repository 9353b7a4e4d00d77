"""The density method on the same triangles, as the baseline that feature designs are compared with.

Penalised densities (SIMP, p = 3), the sensitivity filter of Sigmund (2001) with cone weights of radius `rmin` between
centroids, and optimality criteria with move limit 0.2 and exponent 1/2, for a fixed number of evaluations. Settings are
those of the published comparison, so its seven values serve as a check of the mechanics.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array
from scipy.spatial import KDTree

from topopt.features.plate import TrianglePlate

Field = NDArray[np.float64]

LEAST = 1e-3


@dataclass(frozen=True)
class Baseline:
    """rho: (m,) of the last evaluation; its compliance, N mm; grey: mean of 4 rho (1 - rho) over the elements.

    thresholded, thresholded_volume: of the elements with rho >= 1/2, solid, and all others void.
    """

    rho: Field
    compliance: float
    grey: float
    thresholded: float
    thresholded_volume: float


def density_design(plate: TrianglePlate, volume: float, rmin: float, evaluations: int = 40) -> Baseline:
    """Run the baseline.

    Args:
        volume: volume fraction. rmin: filter radius, mm. evaluations: of the compliance; updates are one fewer.
    """
    weights = cone(plate.points, rmin)
    mass = weights.sum(1)
    share = plate.areas / plate.areas.sum()
    rho = np.full(len(plate.areas), volume)
    look = plate.response(rho)
    for _ in range(evaluations - 1):
        slope = weights @ (rho * look.gradient) / mass / np.maximum(rho, LEAST)
        rho = _criteria(rho, slope, share, volume)
        look = plate.response(rho)
    solid = rho >= 0.5
    sharp = plate.response(np.where(solid, 1.0, 0.0))
    grey = float((4 * rho * (1 - rho)).mean())
    return Baseline(rho, look.compliance, grey, sharp.compliance, float(share @ solid))


def cone(points: Field, rmin: float) -> csr_array:
    """Weights max(0, rmin - distance), (m, m)."""
    pairs = KDTree(points).sparse_distance_matrix(KDTree(points), rmin, output_type="coo_matrix").tocsr()
    pairs.data = rmin - pairs.data
    # A point's distance to itself is an explicit zero, which the conversion may have dropped.
    out = csr_array(pairs)
    out.setdiag(rmin)
    return out


def _criteria(rho: Field, slope: Field, share: Field, volume: float) -> Field:
    """rho sqrt(-slope / (lambda share)) within the moves, with the lambda that gives the volume."""
    low, high = 0.0, 1e9 * float(np.abs(slope).max() / share.min())
    lower, upper = np.maximum(LEAST, rho - 0.2), np.minimum(1.0, rho + 0.2)
    new = rho
    while (high - low) > 1e-12 * (high + low):
        middle = 0.5 * (low + high)
        new = np.clip(rho * np.sqrt(np.maximum(-slope, 0) / (middle * share)), lower, upper)
        if float(share @ new) > volume:
            low = middle
        else:
            high = middle
    return new

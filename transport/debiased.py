"""The debiased entropic barycenter of POT, for those who want smooth shapes: Janati, Cuturi and Gramfort (2020).

Entropy of strength `regularisation` spreads every transport by about its square root; the debiasing takes the blur of
equal inputs away again. Between Gaussian-like blobs the answer is nearly the exact one and very smooth; sharp shapes
get rounded corners and lobes. It minimises another functional than F, so that nothing is certified by construction; F
of its answer is bounded from both sides like that of any density.

POT is an optional dependency (MIT licence); its kernel runs over [0, 1] with end points, on torch in double precision.
"""

import importlib.util
import math
import warnings
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from transport.densities import centroids
from transport.domain import Domain
from transport.errors import AscentError, TransportError

Field = NDArray[np.float64]

MOST_DRIFT = 0.01
"""Of the centre of mass, as a part of the longest side."""


@dataclass(frozen=True)
class DebiasedSettings:
    """Parameters of the entropic barycenter.

    Args:
        regularisation: in sides squared; .005 is usual, below about .002 the kernel underflows.
        iterations: at most.
        tolerance: of POT's stopping rule; 0 runs all iterations.
    """

    regularisation: float = 0.005
    iterations: int = 300
    tolerance: float = 1e-6

    def __post_init__(self) -> None:
        if not (self.regularisation > 0 and self.iterations >= 1 and self.tolerance >= 0):
            raise TransportError("regularisation and iterations must be positive, tolerance not negative")


def require_pot() -> None:
    """Raises: TransportError where POT is not installed."""
    if importlib.util.find_spec("ot") is None:
        raise TransportError("method 'debiased' needs POT: install it with `pip install formgrad[pot]`")


def debiased(mu: Field, weights: Field, domain: Domain, settings: DebiasedSettings, threads: int = 1) -> Field:
    """The barycenter (n_1, n_2), of mean one.

    Args:
        mu: (m, n_1, n_2), of mean one.

    Raises:
        TransportError: POT is not installed, the densities are volumes, or the cells are not square.
        AscentError: the iteration ended in values that are not finite, or in a density that lies elsewhere.
    """
    require_pot()
    if mu.ndim != 3:
        raise TransportError("method 'debiased' knows pictures only, no volumes: use 'accelerated'")
    if not math.isclose(*domain.steps, rel_tol=1e-9):
        raise TransportError("method 'debiased' knows square cells only: leave `lengths` out, or use 'accelerated'")
    import ot
    import torch

    longest = max(domain.shape)
    square = np.pad(mu, [(0, 0), *((0, longest - n) for n in domain.shape)])  # POT takes the sides as equally long
    # Its guard against the logarithm of zero stands above the kernel of far points by default: exp(-70) and less.
    options = {"numItermax": settings.iterations, "stopThr": settings.tolerance, "warn": False, "stabThr": 1e-300}
    threads_before = torch.get_num_threads()
    torch.set_num_threads(threads)
    torch.set_flush_denormal(True)  # the kernel of far points is full of them, and they are slow
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # what it warns of is checked below
            answer = ot.bregman.convolutional_barycenter2d_debiased(
                torch.as_tensor(square / mu[0].size),
                reg=settings.regularisation,
                weights=torch.as_tensor(weights),
                **options,
            )
    finally:
        torch.set_flush_denormal(False)
        torch.set_num_threads(threads_before)
    density = np.maximum(np.asarray(answer, np.float64), 0)[tuple(slice(n) for n in domain.shape)]
    if np.isfinite(density).all() and density.sum() > 0:
        density *= density.size / density.sum()
        # Any barycenter is centred where the inputs are, in the weighted mean; where the kernel underflows, it drifts.
        drift = np.abs(centroids(density[None], domain)[0] - weights @ centroids(mu, domain)).max()
        if drift < MOST_DRIFT * max(domain.lengths):
            return density
    raise AscentError(
        f"the entropic barycenter has no true value at regularisation {settings.regularisation:g}: raise it, "
        "or use the method 'accelerated'"
    )
